package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// undoneField is the field of a report that says who has taken the run back.
const undoneField = "undone"

// noteUndone notes in the run's report, where there is one, that things came back.
func (u *undoing) noteUndone(ctx context.Context) error {
	if u.back == 0 {
		return nil
	}
	report := collections.Runs + "/" + u.runID
	// It may be noted already, if the answer to that was lost: the time, as Firestore keeps it, says by whom.
	done := sweep.Undone{At: u.Clock().UTC().Truncate(time.Microsecond), By: u.By, Things: u.back, Partial: u.partial()}
	err := u.DB.Transact(context.WithoutCancel(ctx), func(_ context.Context, tx *documents.Transaction) error {
		d, found, err := tx.Get(report)
		if err != nil || !found { // a worker's, or of a run that was killed
			return err
		}
		job, _, err := tx.Get(u.record())
		if err != nil {
			return err
		}
		total := done
		if before, err := sweep.ReportOf(d); err == nil && before.Undone != nil { // any other report tells nothing of it
			if before.Undone.At.Equal(done.At) {
				return nil
			}
			total.Things += before.Undone.Things
			total.Partial = total.Partial && before.Undone.Partial
		}
		if last, _ := job.Data["lastReport"].(map[string]any); last["runId"] == u.runID {
			last[undoneField] = total
			if err := tx.Update(u.record(), map[string]any{"lastReport": last}); err != nil {
				return err
			}
		}
		return tx.Update(report, map[string]any{undoneField: total})
	})
	if err != nil {
		return fmt.Errorf("note in the report of %s that it was taken back: %w", u.runID, err)
	}
	return nil
}
