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
		pass, err := passOf(p.Checkpoint, "", p.Now)
		if err != nil {
			return err
		}
		return pass.sweep(ctx, p, ahead, documents.Query{Collection: "things", PageSize: 2})
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
