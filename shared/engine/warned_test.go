package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestWarningsOfTheRunBefore: what a run warns of as the last one did is one line that says so; what is new, or named otherwise, is
// said. A preview says all.
func TestWarningsOfTheRunBefore(t *testing.T) {
	undated, doubt := 1, "nobody ever wrote posts"
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		for i := range undated {
			p.Keep(ctx, fmt.Sprintf("things/%d", i), cleanup.Invalid("no date"), 1)
		}
		p.Keep(ctx, "things", cleanup.Invalid("no owner"), 7)
		p.Warn(ctx, doubt)
		return nil
	}})
	noDate, noOwner := "WARNING things/0: kept, no date", "WARNING 7 of things: kept, no owner"
	for _, tt := range []struct {
		night, body string
		change      func()
		want        []string
	}{
		{"the first", "", nil, []string{noDate, noOwner, "WARNING testJob: nobody ever wrote posts"}},
		{"the same", "", nil, []string{"INFO testJob: 3 warnings are the same as in the last run"}},
		{"again", "", nil, []string{"INFO testJob: 3 warnings are the same as in the last run"}},
		{"a preview", `{"dryRun":true}`, nil, []string{noDate, noOwner, "WARNING testJob: nobody ever wrote posts"}},
		{"one more", "", func() { undated = 2 }, []string{"WARNING things/0, things/1: kept, no date", "INFO testJob: 2 warnings are the same as in the last run"}},
		{"one less", "", func() { undated = 1 }, []string{noDate, "INFO testJob: 2 warnings are the same as in the last run"}},
		{"another doubt", "", func() { doubt = "nobody ever wrote circles" },
			[]string{"WARNING testJob: nobody ever wrote circles", "INFO testJob: 2 warnings are the same as in the last run"}},
		{"none of one", "", func() { undated = 0 }, []string{"INFO testJob: 2 warnings are the same as in the last run"}},
		{"it is back", "", func() { undated = 1 }, []string{noDate, "INFO testJob: 2 warnings are the same as in the last run"}},
	} {
		if tt.change != nil {
			tt.change()
		}
		got := f.Run(t, tt.body)
		var said []string
		for _, line := range f.LogLines(t) {
			message, whole := line["message"].(string), fmt.Sprint(line["warnings"])
			labels, _ := line["logging.googleapis.com/labels"].(map[string]any)
			if labels["runId"] != got.RunID || line["report"] != nil {
				continue
			}
			if all, same := line["warnings"].([]any); same {
				message = message[:len("testJob: 3 warnings are the same as in the last run")]
				if fmt.Sprintf("testJob: %d warnings are the same as in the last run", len(all)) != message {
					t.Errorf("%s: %s of %s", tt.night, message, whole)
				}
			}
			said = append(said, fmt.Sprint(line["severity"], " ", message))
		}
		if !slices.Equal(tt.want, said) {
			t.Errorf("%s: the log says %q, want %q", tt.night, said, tt.want)
		}
	}
	enginetest.Want(t, "kept", 7, f.Run(t, "").Kept["no owner"])
}
