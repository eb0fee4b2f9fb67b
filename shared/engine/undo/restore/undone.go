package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// noteUndone notes in the run's report, where there is one, and where the job's state holds it, that things came back: also by an
// earlier undo that was killed before it noted that. One that ended with an error has brought back a part.
func (u *undoing) noteUndone(ctx context.Context, ended error) error {
	if !u.back {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	d, found, err := u.DB.Get(ctx, collections.Runs+"/"+u.runID)
	if err == nil && found { // or else it is a worker's, or of a run that was killed
		err = u.note(ctx, d, u.partial() || ended != nil && !errors.Is(ended, ErrRefused))
	}
	if err != nil {
		return fmt.Errorf("note in the report of %s that it was taken back: %w", u.runID, err)
	}
	return nil
}

// note notes it. What all came back of before stays so.
func (u *undoing) note(ctx context.Context, d documents.Document, partial bool) error {
	done := report.Undone{At: u.Clock().UTC(), By: u.By, Partial: partial}
	if before, err := report.Of(d); err == nil && before.Undone != nil { // any other report tells nothing of it
		if done.Partial = partial && before.Undone.Partial; len(u.came) == 0 && done.Partial == before.Undone.Partial {
			return nil
		}
	}
	noted := maps.Clone(d.Data)
	noted["undone"] = done
	_, err := u.Store(u.job).Change(ctx, nil, func(s jobstate.State, _ time.Time) (jobstate.State, map[string]any, error) {
		if s.Last != nil && s.Last.RunID == u.runID {
			last := *s.Last
			last.Undone = &done
			s.Last = &last
		}
		return s, map[string]any{d.Path: noted}, nil
	})
	return err
}
