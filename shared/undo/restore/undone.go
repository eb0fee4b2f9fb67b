package restore

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/sweep"
)

// undoneField is the field of a report that says who has taken the run back.
const undoneField = "undone"

// noteUndone notes in the run's report, where there is one, that things came back.
func (u *undoing) noteUndone(ctx context.Context) error {
	if u.back == 0 {
		return nil
	}
	report, record := u.Firestore.Doc(collections.Runs+"/"+u.runID), u.jobRef()
	err := u.Firestore.RunTransaction(context.WithoutCancel(ctx), func(_ context.Context, tx *firestore.Transaction) error {
		d, err := tx.Get(report)
		if status.Code(err) == codes.NotFound { // a worker's, or of a run that was killed
			return nil
		}
		if err != nil {
			return err
		}
		job, err := tx.Get(record)
		if err != nil && status.Code(err) != codes.NotFound {
			return err
		}
		done := sweep.Undone{At: u.Clock().UTC(), By: u.By, Things: u.back, Partial: u.partial()}
		var before struct {
			Undone *sweep.Undone `firestore:"undone"`
		}
		if err := d.DataTo(&before); err == nil && before.Undone != nil {
			done.Things += before.Undone.Things
			done.Partial = done.Partial && before.Undone.Partial
		}
		if last, _ := job.Data()["lastReport"].(map[string]any); last["runId"] == u.runID {
			if err := tx.Update(record, []firestore.Update{{Path: "lastReport." + undoneField, Value: done}}); err != nil {
				return err
			}
		}
		return tx.Update(report, []firestore.Update{{Path: undoneField, Value: done}})
	})
	if err != nil {
		return fmt.Errorf("note in the report of %s that it was taken back: %w", u.runID, err)
	}
	return nil
}
