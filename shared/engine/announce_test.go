package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// announcingJob is thingsJob with lines of its own.
func announcingJob() cleanup.Job {
	job := thingsJob(10)
	job.Lines = &cleanup.Lines{
		Begun: "begun", Ended: "ended: deleted %d, changed %d, %d ms", Counted: [2]string{"delete things", "update things"},
		Canceled: "ended, canceled",
	}
	return job
}

// ownLines returns the lines of announcingJob.
func ownLines(t *testing.T, f *enginetest.Function) []string {
	t.Helper()
	lines := []string{}
	for _, line := range f.LogLines(t) {
		message := line["message"].(string)
		if message == "begun" || strings.HasPrefix(message, "ended") {
			lines = append(lines, message)
			if labels, _ := line["logging.googleapis.com/labels"].(map[string]any); line["severity"] != "INFO" || labels["runId"] == nil {
				t.Errorf("line %v", line)
			}
		}
	}
	return lines
}

func TestAnnouncedLines(t *testing.T) {
	done := []string{"begun", "ended: deleted 3, changed 0, 0 ms"}
	for name, tt := range map[string]struct {
		setup func(f *enginetest.Function) (ctx context.Context, body string)
		want  []string
	}{
		"canceled with nothing left undone": {func(f *enginetest.Function) (context.Context, string) {
			for _, id := range left(t, f) {
				f.Delete(t, "things/"+id)
			}
			ctx, cancel := context.WithCancel(t.Context())
			f.Hooks.BeforeApply = cancel
			return ctx, ""
		}, []string{"begun", "ended: deleted 0, changed 0, 0 ms"}},
		"completed": {nil, done},
		"dry run":   {func(*enginetest.Function) (context.Context, string) { return t.Context(), `{"dryRun":true}` }, []string{}},
		"skipped": {func(f *enginetest.Function) (context.Context, string) {
			f.Set(t, "cleanupJobs/testJob", enginetest.Leased("testJob-other", start.Add(time.Hour)))
			return t.Context(), ""
		}, []string{}},
		"out of time": {func(f *enginetest.Function) (context.Context, string) {
			clock := start
			f.Clock = func() time.Time { return clock }
			f.Hooks.BeforeApply = func() { clock = start.Add(f.Timeout) }
			return t.Context(), ""
		}, []string{"begun", "ended: deleted 0, changed 0, 300000 ms"}},
		"canceled while planning": {func(*enginetest.Function) (context.Context, string) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, ""
		}, []string{"begun", "ended, canceled"}},
		"canceled while applying": {func(f *enginetest.Function) (context.Context, string) {
			ctx, cancel := context.WithCancel(t.Context())
			f.Hooks.BeforeApply = cancel
			return ctx, ""
		}, []string{"begun", "ended, canceled"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, announcingJob())
			seed(t, f, 3)
			ctx, body := t.Context(), ""
			if tt.setup != nil {
				ctx, body = tt.setup(f)
			}
			f.PostQuery(ctx, t, "", body)
			enginetest.Want(t, "the job's lines", tt.want, ownLines(t, f))
		})
	}
}
