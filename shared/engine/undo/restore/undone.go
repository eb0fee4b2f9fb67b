package restore

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
)

// undoneField is the field of a report that says who has taken the run back.
const undoneField = "undone"

// noteUndone notes in the run's report, where there is one, that things came back.
func (u *undoing) noteUndone(ctx context.Context) error {
	if u.back == 0 {
		return nil
	}
	report := collections.Runs + "/" + u.runID
	done := engine.Undone{At: u.Clock().UTC(), By: u.By, Things: u.back, Partial: u.partial()}
	added := false // what came back before: once, or what an attempt has noted whose answer was lost would count twice
	err := u.DB.Transact(context.WithoutCancel(ctx), func(_ context.Context, tx *documents.Transaction) error {
		d, found, err := tx.Get(report)
		if err != nil || !found { // a worker's, or of a run that was killed
			return err
		}
		job, _, err := tx.Get(u.record())
		if err != nil {
			return err
		}
		if before, err := engine.ReportOf(d); err == nil && before.Undone != nil && !added { // any other report tells nothing of it
			done.Things += before.Undone.Things
			done.Partial = done.Partial && before.Undone.Partial
		}
		added = true
		if last, _ := job.Data["lastReport"].(map[string]any); last["runId"] == u.runID {
			last[undoneField] = done
			if err := tx.Update(u.record(), map[string]any{"lastReport": last}); err != nil {
				return err
			}
		}
		return tx.Update(report, map[string]any{undoneField: done})
	})
	if err != nil {
		return fmt.Errorf("note in the report of %s that it was taken back: %w", u.runID, err)
	}
	return nil
}
