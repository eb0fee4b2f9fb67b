package firesweep_test

import (
	"encoding/json"
	"os"
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
		ok(t, err)
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

// TestTheActionRunsWhatWasApproved: a plan file with another checksum than the approved one is refused before anything is called.
func TestTheActionRunsWhatWasApproved(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no " + tool + ", which the action needs")
		}
	}
	dir := t.TempDir()
	called, plan := dir+"/called", dir+"/plan.json"
	for name, text := range map[string]string{"firesweep": "#!/bin/sh\ntouch " + called + "\n", "plan.json": `{"checksum":"good"}`} {
		ok(t, os.WriteFile(dir+"/"+name, []byte(text), 0o755))
	}
	for checksum, runs := range map[string]bool{"good": true, "": true, "other": false} {
		_ = os.Remove(called)
		run := exec.CommandContext(t.Context(), "release/action/run")
		run.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+dir+"/output",
			"FIRESWEEP_COMMAND=run", "FIRESWEEP_PROJECT=p", "FIRESWEEP_ITEMS=1", "FIRESWEEP_JOBS=", "FIRESWEEP_OUT=", "FIRESWEEP_VERSION=",
			"FIRESWEEP_PLAN="+plan, "FIRESWEEP_CHECKSUM="+checksum)
		out, err := run.CombinedOutput()
		_, missing := os.Stat(called)
		if refused := strings.Contains(string(out), "another than the one that was approved"); (missing == nil) != runs || refused == runs {
			t.Errorf("checksum %q: %v: %s", checksum, err, out)
		}
	}
}
