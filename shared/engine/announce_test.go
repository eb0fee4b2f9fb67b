package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// announcingJob is thingsJob with lines of its own.
func announcingJob(pageSize int, end func(bool, time.Duration, map[string]int) string) cleanup.Job {
	job := thingsJob(pageSize)
	job.FirstLine, job.LastLine = "begun", end
	return job
}

func tell(canceled bool, took time.Duration, _ map[string]int) string {
	return fmt.Sprintf("ended after %s, canceled: %v", took, canceled)
}

// ownLines returns the lines of announcingJob.
func ownLines(t *testing.T, f *enginetest.Function) []string {
	t.Helper()
	lines := []string{}
	for _, line := range f.LogLines(t) {
		message := line["message"].(string)
		if message == "begun" || strings.HasPrefix(message, "ended ") {
			lines = append(lines, message)
			if labels, _ := line["logging.googleapis.com/labels"].(map[string]any); line["severity"] != "INFO" || labels["runId"] == nil {
				t.Errorf("line %v", line)
			}
		}
	}
	return lines
}

func TestAnnouncedLines(t *testing.T) {
	done := []string{"begun", "ended after 0s, canceled: false"}
	for name, tt := range map[string]struct {
		setup func(f *enginetest.Function) (ctx context.Context, body string)
		want  []string
	}{
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
		}, []string{"begun", "ended after 5m0s, canceled: false"}},
		"canceled while planning": {func(*enginetest.Function) (context.Context, string) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, ""
		}, []string{"begun", "ended after 0s, canceled: true"}},
		"canceled while applying": {func(f *enginetest.Function) (context.Context, string) {
			ctx, cancel := context.WithCancel(t.Context())
			f.Hooks.BeforeApply = cancel
			return ctx, ""
		}, []string{"begun", "ended after 0s, canceled: true"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, announcingJob(10, tell))
			seed(t, f, 3)
			ctx, body := t.Context(), ""
			if tt.setup != nil {
				ctx, body = tt.setup(f)
			}
			f.PostContext(ctx, t, body)
			enginetest.Want(t, "the job's lines", tt.want, ownLines(t, f))
		})
	}
}

func TestCanceledWithNothingLeftUndone(t *testing.T) {
	f := newFunction(t, announcingJob(10, tell))
	ctx, cancel := context.WithCancel(t.Context())
	f.Hooks.BeforeApply = cancel
	if w := f.PostContext(ctx, t, ""); !strings.Contains(w.Body.String(), `"status":"completed"`) {
		t.Errorf("answer %s", w.Body)
	}
	if lines := ownLines(t, f); !slices.Contains(lines, "ended after 0s, canceled: false") {
		t.Errorf("lines %v", lines)
	}
}

func TestPanicOverTheLastLine(t *testing.T) {
	f := newFunction(t, announcingJob(10, func(bool, time.Duration, map[string]int) string { panic("no words") }))
	seed(t, f, 1)
	wantAnswer(t, "answer", f.Post(t, ""), http.StatusOK, `"status":"completed"`)
	reported := slices.ContainsFunc(f.LogLines(t), func(line map[string]any) bool {
		stack, _ := line["stack_trace"].(string)
		return line["severity"] == "ERROR" && strings.Contains(stack, "no words")
	})
	enginetest.Want(t, "reported", true, reported)
	enginetest.Want(t, "summaries", 1, len(f.Summaries(t)))
	enginetest.Want(t, "left", 0, len(left(t, f)))
}
