package restore

import (
	"context"

	"github.com/firesweep/firesweep/shared/undo"
)

// Contents hands over what a run's log holds, an entry at a time, in the order in which they were written, and how many of how many
// entries were before. It only reads. The error is [ErrNoLog] where there is nothing.
func (p Project) Contents(ctx context.Context, runID string, each func(done, total int, records []undo.Record) error) error {
	entries, err := p.entriesOf(ctx, runID)
	if err != nil {
		return err
	}
	for i, e := range entries {
		records, err := p.read(ctx, e)
		if err != nil {
			return err
		}
		if err := each(i, len(entries), records); err != nil {
			return err
		}
	}
	return nil
}
