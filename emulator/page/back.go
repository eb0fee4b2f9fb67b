package page

import (
	"cmp"
	"context"
	"slices"

	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// taken is the result of taking a run back, or of a preview of that.
type taken struct {
	Applied  bool      `json:"applied"`
	Back     int       `json:"back"`              // how many items come back
	Outcomes []outcome `json:"outcomes"`          // the first of them
	Problem  string    `json:"problem,omitempty"` // why it ended early
}

type outcome struct {
	restore.Outcome
	Says string `json:"says"` // the step, in words
}

// order is the order in which outcomes are shown: what comes back, what does not, and what is as it was.
var order = []undo.Step{undo.Recreate, undo.Replace, undo.Revert, undo.Remove, undo.Conflict, undo.Lost, undo.Stays, undo.Nothing}

// undo takes a run back, or previews that.
func (s *server) undo(ctx context.Context, q struct {
	Run   string
	Apply bool
}) (taken, error) {
	t := taken{Applied: q.Apply, Outcomes: []outcome{}}
	err := s.on(ctx, jobOf(q.Run), nil, func(p restore.Project) error {
		return p.Undo(ctx, q.Run, restore.Options{Apply: q.Apply}, func(o restore.Outcome) error {
			if o.Step.Back() {
				t.Back++
			}
			t.Outcomes = append(t.Outcomes, outcome{o, string(o.Step)})
			return nil
		})
	})
	slices.SortFunc(t.Outcomes, func(a, b outcome) int {
		return cmp.Or(slices.Index(order, a.Step)-slices.Index(order, b.Step), cmp.Compare(a.Target, b.Target))
	})
	if err != nil && len(t.Outcomes) > 0 { // also show what is done
		t.Problem = err.Error()
		return t, nil
	}
	return t, err
}

// release lets jobs judge again what came back by undoing runs of a job.
func (s *server) release(ctx context.Context, q struct{ Job string }) (struct{}, error) {
	return struct{}{}, s.on(ctx, q.Job, inFirestore, func(p restore.Project) error {
		_, err := p.Release(ctx, q.Job)
		return err
	})
}
