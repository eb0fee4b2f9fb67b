package firesweep_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode"
)

// TestTheActionsComment: what users wrote adds no line to it, is no command, mention or link, and hides nothing.
func TestTheActionsComment(t *testing.T) {
	t.Parallel()
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("there is no jq, which the action needs")
	}
	const odd = "nl\nforged <b>@org/team\u202e\u009b\x1b\u200b\u2028\U000e0041 end"
	item := map[string]any{"target": "drafts/" + odd, "action": "delete " + odd, "reason": odd}
	counts := map[string]any{"delete " + odd: map[string]any{"planned": 1, "done": 1}}
	report := map[string]any{
		"job": "cleanupDrafts", "runId": "r", "status": "completed", "dryRun": true, "actions": counts, "plan": []any{item},
		"kept":     map[string]any{"1 @org/team " + odd: 1},
		"failures": []any{map[string]any{"target": odd, "error": odd}},
	}
	for _, key := range []string{"plans", "runs"} {
		text, err := json.Marshal(map[string]any{key: []any{
			map[string]any{"job": "cleanupDrafts", "report": report}, map[string]any{"job": "cleanupOthers", "error": odd},
		}})
		if err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), jq, "-r", "--argjson", "items", "10", "--arg", "project", "p", "--arg", "checksum", "",
			"--arg", "folder", "", "--arg", "jobs", "", "--arg", "database", "", "-f", "release/action/comment.jq")
		run.Stdin = strings.NewReader(string(text))
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		shown := 0
		outside := true // of what is shown as it is
		for _, line := range strings.Split(string(out), "\n") {
			for i, r := range line {
				switch {
				case strings.HasPrefix(line[i:], "<pre>") || strings.HasPrefix(line[i:], "<code>"):
					outside = false
				case strings.HasPrefix(line[i:], "</pre>") || strings.HasPrefix(line[i:], "</code>"):
					outside = true
				case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), outside && r == '@', strings.HasPrefix(line[i:], "<b>"):
					t.Errorf("%s: %q", key, line)
				}
			}
			shown += strings.Count(line, `nl\u{a}forged &lt;b&gt;@org/team\u{202e}\u{9b}\u{1b}\u{200b}\u{2028}\u{e0041} end`)
		}
		if shown != 8 {
			t.Errorf("%s: what users wrote is shown %d times, want 8:\n%s", key, shown, out)
		}
	}
}
