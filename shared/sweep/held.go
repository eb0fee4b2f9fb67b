package sweep

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/undo"
)

// What came back by undoing a run would be due again. So whoever undoes it writes the items down in cleanupJobs/{job}/held, and
// the job keeps them until they are released.

// keptHeld is why an item is kept that is held.
const keptHeld = "held, because it came back by undoing a run, until it is released with firesweep release"

// readHeld reads what is held of the job's items.
func (r *run) readHeld(ctx context.Context) error {
	held := map[string]bool{}
	for page, err := range r.documents.Pages(ctx, documents.Query{Collection: undo.HeldOf(r.job.Name)}, "") {
		if err != nil {
			return fmt.Errorf("read what is held: %w", err)
		}
		for _, d := range page.Documents {
			targets, err := undo.HeldTargets(d)
			if err != nil {
				return err
			}
			for _, target := range targets {
				held[target] = true
			}
		}
	}
	r.held = held
	return nil
}

// keepHeld counts and names an item that is held. It reports whether it is.
func (p *Planner) keepHeld(ctx context.Context, a Action) bool {
	if !p.run.held[a.Target] {
		return false
	}
	p.keepNamed(ctx, a.Target, keptHeld)
	return true
}
