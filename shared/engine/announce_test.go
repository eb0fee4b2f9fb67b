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
	done, canceled := []string{"begun", "ended: deleted 3, changed 0, 0 ms"}, []string{"begun", "ended, canceled"}
	for name, tt := range map[string]struct {
		body    string
		disturb func(t *testing.T, f *enginetest.Function, cancel func())
		want    []string
	}{
		"completed": {"", nil, done},
		"dry run":   {`{"dryRun":true}`, nil, []string{}},
		"skipped": {"", func(t *testing.T, f *enginetest.Function, _ func()) {
			f.Set(t, "cleanupJobs/testJob", enginetest.Leased("testJob-other", start.Add(time.Hour)))
		}, []string{}},
		"out of time": {"", func(_ *testing.T, f *enginetest.Function, _ func()) {
			late := lateClock(f)
			f.Hooks.BeforeApply = func() { late.Store(true) }
		}, []string{"begun", "ended: deleted 0, changed 0, 300000 ms"}},
		"canceled while planning": {"", func(_ *testing.T, _ *enginetest.Function, cancel func()) { cancel() }, canceled},
		"canceled while applying": {"", func(_ *testing.T, f *enginetest.Function, cancel func()) { f.Hooks.BeforeApply = cancel }, canceled},
		"canceled with nothing left undone": {"", func(t *testing.T, f *enginetest.Function, cancel func()) {
			for _, id := range left(t, f) {
				f.Delete(t, "things/"+id)
			}
			f.Hooks.BeforeApply = cancel
		}, []string{"begun", "ended: deleted 0, changed 0, 0 ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, announcingJob())
			seed(t, f, 3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.disturb != nil {
				tt.disturb(t, f, cancel)
			}
			f.PostQuery(ctx, t, "", tt.body)
			enginetest.Want(t, "the job's lines", tt.want, ownLines(t, f))
		})
	}
}
