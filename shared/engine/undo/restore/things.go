package restore

import (
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Things adds up what a run's log holds, as sum says, and tells progress, if set, how many of how many entries it has read. kept
// is false if the run has no log. It only reads.
func (p Project) Things(ctx context.Context, runID string, sum undo.Sum, progress func(done, total int)) (
	things []undo.Thing, kept bool, err error,
) {
	err = p.Contents(ctx, runID, func(done, total int, records []undo.Record) error {
		if progress != nil {
			progress(done, total)
		}
		sum.Add(records)
		return nil
	})
	if errors.Is(err, ErrNoLog) {
		return []undo.Thing{}, false, nil
	}
	return sum.Things(), err == nil, err
}
