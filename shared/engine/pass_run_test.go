package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestPass looks at all things once, and then only at those behind them and at one that failed, until a day is over.
func TestPass(t *testing.T) {
	terms := "some"
	var seen []time.Time
	told := engine.Rule[engine.Subject]{
		Name: "thing", Load: engine.Itself, Reach: engine.Reach{Items: "things"},
		Judge: func(s engine.Subject, _ engine.Run) engine.Decision {
			if s.Data["fails"] == true {
				return engine.Do("tell", "it is there")
			}
			return engine.Keep("looked at")
		},
		Change: func(engine.Subject, engine.Decision, engine.Run) engine.Change {
			return engine.Change{Fail: fmt.Errorf("no luck")}
		},
	}
	f := newFunction(t, engine.Job{Name: "testJob", Plan: func(ctx context.Context, p *engine.Planner) error {
		pass, err := p.Pass(told, terms, 24*time.Hour)
		if err != nil {
			return err
		}
		if at, ok := pass.Seen(); ok {
			seen = append(seen, at)
		}
		return pass.Sweep(ctx, documents.Query{Collection: "things", PageSize: 2})
	}})
	for i := range 5 {
		f.Set(t, fmt.Sprintf("things/b%d", i), map[string]any{"fails": i == 1})
	}
	run := func(after time.Duration, status engine.Status, looked, failed int) {
		t.Helper()
		f.Now = start.Add(after)
		f.Clock = func() time.Time { return f.Now }
		seen = nil
		got := f.Run(t, "")
		if got.Status != status || got.Kept["looked at"] != looked || got.Actions["tell"].Failed != failed {
			t.Errorf("after %s: %s, kept %v, actions %v; want %d looked at, %d failed", after, got.Status, got.Kept, got.Actions, looked, failed)
		}
	}
	run(0, engine.Failed, 4, 1)
	f.Set(t, "things/a", map[string]any{}) // before all that were looked at
	f.Set(t, "things/c", map[string]any{})
	run(time.Hour, engine.Failed, 1, 1)
	enginetest.Want(t, "seen when the pass began", []time.Time{start}, seen)
	run(2*time.Hour, engine.Failed, 0, 1)
	enginetest.Want(t, "seen an hour later", []time.Time{start.Add(time.Hour)}, seen)
	f.Set(t, "things/b1", map[string]any{"fails": false})
	run(3*time.Hour, engine.Completed, 1, 0)
	run(4*time.Hour, engine.Completed, 0, 0)
	terms = "others"
	run(5*time.Hour, engine.Completed, 7, 0)
	run(29*time.Hour-time.Microsecond, engine.Completed, 0, 0)
	run(29*time.Hour, engine.Completed, 7, 0)
	enginetest.Want(t, "seen by a new pass", []time.Time(nil), seen)

	// What nobody of us wrote: the run begins at the beginning.
	f.Set(t, "cleanupJobs/testJob", enginetest.From(`{"terms":"others","began":"2026-01-01T00:00:00Z","undone":["a/b/c"]}`))
	f.Now = time.Time{}
	if got := f.Run(t, ""); got.Status != engine.Completed || got.Kept["looked at"] != 7 {
		t.Errorf("with a foreign checkpoint: %s, kept %v", got.Status, got.Kept)
	}
}

// TestPassReadsAhead: what the rule needs for later pages is read while that for the first one is awaited, and yet the
// documents are judged in their order.
func TestPassReadsAhead(t *testing.T) {
	var judged []string
	later := make(chan struct{})
	ahead := engine.Rule[engine.Subject]{
		Name: "thing", Reach: engine.Reach{Items: "things"},
		Load: func(_ context.Context, _ engine.Source, subjects []engine.Subject) ([]engine.Subject, error) {
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
		Judge: func(s engine.Subject, _ engine.Run) engine.Decision {
			judged = append(judged, s.ID())
			return engine.Keep("looked at")
		},
	}
	f := newFunction(t, engine.Job{Name: "testJob", Plan: func(ctx context.Context, p *engine.Planner) error {
		pass, err := p.Pass(ahead, "", 24*time.Hour)
		if err != nil {
			return err
		}
		return pass.Sweep(ctx, documents.Query{Collection: "things", PageSize: 2})
	}})
	seed(t, f, 11)
	got := f.Run(t, "")
	var want []string
	for i := range 11 {
		want = append(want, fmt.Sprintf("t%03d", i))
	}
	enginetest.Want(t, "judged", want, judged)
	if got.Status != engine.Completed || got.Scanned != 11 {
		t.Errorf("%s, %d scanned", got.Status, got.Scanned)
	}
}
