package restore

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// noteUndone notes in the run's report, where there is one, that things came back.
func (u *undoing) noteUndone(ctx context.Context) error {
	if u.back == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	path := collections.Runs + "/" + u.runID
	d, found, err := u.DB.Get(ctx, path)
	if err == nil && found { // or else it is a worker's, or of a run that was killed
		err = u.note(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("note in the report of %s that it was taken back: %w", u.runID, err)
	}
	return nil
}

// note adds what came back to what came back before, in the report and where the job's state holds it.
func (u *undoing) note(ctx context.Context, d documents.Document) error {
	done := report.Undone{At: u.Clock().UTC(), By: u.By, Things: u.back, Partial: u.partial()}
	if before, err := report.Of(d); err == nil && before.Undone != nil { // any other report tells nothing of it
		done.Things += before.Undone.Things
		done.Partial = done.Partial && before.Undone.Partial
	}
	noted := maps.Clone(d.Data)
	noted["undone"] = done
	_, err := u.store(u.job).Change(ctx, nil, func(s state.State, _ time.Time) (state.State, map[string]any, error) {
		if s.Last != nil && s.Last.RunID == u.runID {
			last := *s.Last
			last.Undone = &done
			s.Last = &last
		}
		return s, map[string]any{d.Path: noted}, nil
	})
	return err
}
