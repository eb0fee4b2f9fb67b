package sweep

import (
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

// leaseMargin is how much longer than its function's timeout a run's lease lasts, so that it can only expire on a run
// that is dead.
const leaseMargin = time.Minute

// A heldError says that another run holds the lease.
type heldError struct {
	runID string
	until time.Time
}

func (e *heldError) Error() string {
	return fmt.Sprintf("run %s holds the lease until %s", e.runID, e.until.Format(time.RFC3339))
}

// lease is a run's exclusive right to a job, kept in cleanupJobs/{job} together with where the last run got to.
type lease struct {
	writer documents.Writer
	job    string
	runID  string
	clock  func() time.Time
}

func (l lease) path() string { return "cleanupJobs/" + l.job }

// take takes the lease for so long and returns the position that the last run saved. If another run holds it, the
// error is a [*heldError].
func (l lease) take(ctx context.Context, length time.Duration) (position string, err error) {
	err = l.writer.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		doc, _, err := tx.Get(l.path())
		if err != nil {
			return err
		}
		now := l.clock()
		holder, until, err := leaseOf(doc)
		if err != nil {
			return err
		}
		// A lease of this very run was taken by an attempt whose answer was lost.
		if holder != l.runID && now.Before(until) {
			return &heldError{runID: holder, until: until}
		}
		if position, err = positionOf(doc); err != nil {
			return err
		}
		return tx.Merge(l.path(), map[string]any{
			"lease": map[string]any{"runId": l.runID, "expiresAt": now.Add(length)},
		})
	})
	return position, err
}

// finish saves the run's report and position and gives the lease back, all in one commit. complete is called with
// every attempt and returns the report to save, so that its usage can include this commit's. A run that lost its lease
// to another saves its report only, and finish returns false.
func (l lease) finish(ctx context.Context, position string, complete func(writes int) *Report) (held bool, err error) {
	err = l.writer.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		doc, _, err := tx.Get(l.path())
		if err != nil {
			return err
		}
		holder, _, err := leaseOf(doc)
		if last, _ := doc.Data["lastReport"].(map[string]any); err == nil && holder == "" && last["runId"] == l.runID {
			held = true
			return nil // an earlier try of this transaction took effect and its answer was lost
		}
		held = err == nil && holder == l.runID
		writes := 1
		if held {
			writes = 2
		}
		report := complete(writes)
		if held {
			err := tx.Merge(l.path(), map[string]any{"lease": nil, "position": position, "lastReport": report})
			if err != nil {
				return err
			}
		}
		return tx.Set("cleanupRuns/"+l.runID, storedRun{Report: *report, ExpireAt: report.StartedAt.Add(RunRetention)})
	})
	return held, err
}

// storedRun is cleanupRuns/{runId}.
type storedRun struct {
	Report
	ExpireAt time.Time `firestore:"expireAt"`
}

func leaseOf(doc documents.Document) (holder string, until time.Time, err error) {
	value, set := doc.Data["lease"]
	if !set || value == nil {
		return "", time.Time{}, nil
	}
	m, _ := value.(map[string]any)
	holder, ok := m["runId"].(string)
	until, ok2 := m["expiresAt"].(time.Time)
	if !ok || !ok2 {
		return "", time.Time{}, fmt.Errorf("the field lease of %s is not one that this program wrote: delete that field", doc.Path)
	}
	return holder, until, nil
}

func positionOf(doc documents.Document) (string, error) {
	value, set := doc.Data["position"]
	if !set || value == nil {
		return "", nil
	}
	position, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("the field position of %s is not one that this program wrote: delete that field to begin at the beginning", doc.Path)
	}
	return position, nil
}
