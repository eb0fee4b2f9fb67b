package inactiveprojects

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestPass looks at all things once, and then only at those behind them and at one that failed, until a day is over.
func TestPass(t *testing.T) {
	terms := "some"
	var seen []time.Time
	told := cleanup.Rule[cleanup.Subject]{
		Name: "thing", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "things"},
		Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
			if s.Data["fails"] == true {
				return cleanup.Do("tell", "it is there")
			}
			return cleanup.Keep("looked at")
		},
		Change: func(cleanup.Subject, cleanup.Decision, cleanup.Run) cleanup.Change {
			return cleanup.Change{Fail: fmt.Errorf("no luck")}
		},
	}
	f := newTestJob(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		pass, err := passOf(p, told, terms, 24*time.Hour)
		if err != nil {
			return err
		}
		if at, ok := pass.seen(); ok {
			seen = append(seen, at)
		}
		return pass.sweep(ctx, documents.Query{Collection: "things", PageSize: 2})
	}})
	for i := range 5 {
		f.Set(t, fmt.Sprintf("things/b%d", i), map[string]any{"fails": i == 1})
	}
	run := func(after time.Duration, status report.Status, looked, failed int) {
		t.Helper()
		f.Now = now.Add(after)
		f.Clock = func() time.Time { return f.Now }
		seen = nil
		got := f.Run(t, "")
		if got.Status != status || got.Kept["looked at"] != looked || got.Actions["tell"].Failed != failed {
			t.Errorf("after %s: %s, kept %v, actions %v; want %d looked at, %d failed", after, got.Status, got.Kept, got.Actions, looked, failed)
		}
	}
	run(0, report.Failed, 4, 1)
	f.Set(t, "things/a", map[string]any{}) // before all that were looked at
	f.Set(t, "things/c", map[string]any{})
	run(time.Hour, report.Failed, 1, 1)
	enginetest.Want(t, "seen when the pass began", []time.Time{now}, seen)
	run(2*time.Hour, report.Failed, 0, 1)
	enginetest.Want(t, "seen an hour later", []time.Time{now.Add(time.Hour)}, seen)
	f.Set(t, "things/b1", map[string]any{"fails": false})
	run(3*time.Hour, report.Completed, 1, 0)
	run(4*time.Hour, report.Completed, 0, 0)
	terms = "others"
	run(5*time.Hour, report.Completed, 7, 0)
	run(29*time.Hour-time.Microsecond, report.Completed, 0, 0)
	run(29*time.Hour, report.Completed, 7, 0)
	enginetest.Want(t, "seen by a new pass", []time.Time(nil), seen)

	// What nobody of us wrote: the run begins at the beginning.
	f.Set(t, "cleanupJobs/testJob", enginetest.From(`{"terms":"others","began":"2026-01-01T00:00:00Z","undone":["a/b/c"]}`))
	f.Now = time.Time{}
	if got := f.Run(t, ""); got.Status != report.Completed || got.Kept["looked at"] != 7 {
		t.Errorf("with a foreign checkpoint: %s, kept %v", got.Status, got.Kept)
	}
}

// TestPassReadsAhead: what the rule needs for later pages is read while that for the first one is awaited, and yet the
// documents are judged in their order.
func TestPassReadsAhead(t *testing.T) {
	var judged []string
	later := make(chan struct{})
	ahead := cleanup.Rule[cleanup.Subject]{
		Name: "thing", Reach: cleanup.Reach{Items: "things"},
		Load: func(_ context.Context, _ cleanup.Source, subjects []cleanup.Subject) ([]cleanup.Subject, error) {
			switch subjects[0].ID() {
			case "t000":
				select {
				case <-later:
				case <-time.After(time.Minute):
					t.Error("the fourth page was not read ahead")
				}
			case "t006":
				close(later)
			}
			return subjects, nil
		},
		Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
			judged = append(judged, s.ID())
			return cleanup.Keep("looked at")
		},
	}
	f := newTestJob(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		pass, err := passOf(p, ahead, "", 24*time.Hour)
		if err != nil {
			return err
		}
		return pass.sweep(ctx, documents.Query{Collection: "things", PageSize: 2})
	}})
	f.SetMany(t, 11, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%03d", i), map[string]any{} })
	got := f.Run(t, "")
	var want []string
	for i := range 11 {
		want = append(want, fmt.Sprintf("t%03d", i))
	}
	enginetest.Want(t, "judged", want, judged)
	if got.Status != report.Completed || got.Scanned != 11 {
		t.Errorf("%s, %d scanned", got.Status, got.Scanned)
	}
}

// newTestJob returns a function that serves a job of a test.
func newTestJob(t *testing.T, job cleanup.Job) *enginetest.Function {
	t.Helper()
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore}))
	f.Clock = func() time.Time { return now }
	return f
}
