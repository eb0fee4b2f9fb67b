package sweep

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/undo"
)

// What an undo brought back would be due again. So the undo writes the items to cleanupJobs/{job}/held, and the job keeps them
// until they are released.

// KeptHeld is why an item is kept that is held.
const KeptHeld = "held, because it came back by undoing a run, until it is released with firesweep release"

// readHeld reads what is held of the job's items, if anything may be.
func (r *run) readHeld(ctx context.Context) (map[string]bool, error) {
	held := map[string]bool{}
	if !r.holds {
		return held, nil
	}
	for page, err := range r.documents.Pages(ctx, documents.Query{Collection: undo.HeldOf(r.job.Name)}, "") {
		if err != nil {
			return nil, fmt.Errorf("read what is held: %w", err)
		}
		for _, d := range page.Documents {
			targets, err := undo.HeldTargets(d)
			if err != nil {
				return nil, err
			}
			for _, target := range targets {
				held[target] = true
			}
		}
	}
	return held, nil
}

// First returns the first n documents of a query whose items are not held, and the held ones among them. Without this, held
// items would keep a job that takes a few at a time from everything after them.
func (p *Planner) First(ctx context.Context, q documents.Query, n int) ([]documents.Document, error) {
	found, err := p.Documents.First(ctx, q, "", n+len(p.run.held))
	for i, d := range found {
		if p.run.held[d.Path] {
			continue
		}
		if n--; n < 0 {
			return found[:i], err
		}
	}
	return found, err
}

// keepHeld counts and names an item that is held. It reports whether it is.
func (p *Planner) keepHeld(ctx context.Context, a Action) bool {
	if !p.run.held[a.Target] {
		return false
	}
	p.keepNamed(ctx, a.Target, KeptHeld)
	return true
}
