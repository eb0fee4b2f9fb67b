package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

func (p Project) store(job string) jobstate.Store {
	return jobstate.Store{Writer: p.DB, Config: p.Config, Job: job}
}

// free returns [ErrUnderWay] if a run of the job is under way. Whether a lease has ended, Firestore's clock says: the
// operator's may be minutes off.
func (u *undoing) free(ctx context.Context) error {
	s, now, err := u.store(u.job).Read(ctx)
	if err != nil {
		return fmt.Errorf("look whether the job is under way: %w", err)
	}
	return u.busy(s, now)
}

// busy returns [ErrUnderWay] if somebody else holds the lease, such as another undo of this run.
func (u *undoing) busy(s jobstate.State, now time.Time) error {
	holder := s.Leased(now)
	if holder == "" || holder == u.holder {
		return nil
	}
	return fmt.Errorf("%w: %s holds its lease until %s, also if it was killed; wait for its end", ErrUnderWay, holder,
		s.Until.UTC().Format(time.RFC3339))
}

// all returns all documents of a query.
func (p Project) all(ctx context.Context, q documents.Query) (all []documents.Document, err error) {
	for page, err := range p.DB.Pages(ctx, q, "") {
		if err != nil {
			return nil, err
		}
		all = append(all, page.Documents...)
	}
	return all, nil
}

// lease takes the job's lease, so that no run is under way meanwhile, and returns what gives it back. The job's next run begins
// at the beginning, for what comes back may lie before the place from which it would continue.
func (u *undoing) lease(ctx context.Context) (release func() error, err error) {
	if err := u.renew(ctx); err != nil {
		return nil, err
	}
	return func() error {
		_, err := u.store(u.job).Change(context.WithoutCancel(ctx), nil, func(s jobstate.State, _ time.Time) (jobstate.State, map[string]any, error) {
			return s.Free(u.holder), nil, nil
		})
		if err != nil {
			return fmt.Errorf("give the lease of %s back, which ends by itself after %s: %w", u.job, jobstate.UndoLease, err)
		}
		return nil
	}, nil
}

// stillOurs returns an error unless this undo holds the lease and will for another minute. It is asked before whatever is
// written.
func (u *undoing) stillOurs(ctx context.Context) error {
	u.leasing.Lock()
	defer u.leasing.Unlock()
	if jobstate.Since(u.renewed, u.Clock()) < jobstate.UndoLease/3 {
		return nil
	}
	return u.renew(ctx)
}

// renew takes the lease, or holds it for longer. Like a job's next run, it saves the report of a run that was killed.
func (u *undoing) renew(ctx context.Context) error {
	began := u.Clock() // before Firestore reads the clock that the lease goes by
	_, err := u.store(u.job).Change(ctx, nil, func(s jobstate.State, now time.Time) (after jobstate.State, also map[string]any, err error) {
		if err := u.busy(s, now); err != nil {
			return s, nil, err
		}
		if !u.renewed.IsZero() {
			after, err = s.Renew(u.holder, now, jobstate.UndoLease)
			if _, lost := errors.AsType[*jobstate.LostError](err); lost {
				err = ErrLeaseLost
			}
			return after, nil, err
		}
		if killed := s.Killed(now); killed != nil {
			also = killed.Document()
		}
		after, err = s.Acquire(jobstate.Ask{Who: u.holder, Now: now, For: jobstate.UndoLease})
		return after, also, err
	})
	if err == nil {
		u.renewed = began
	}
	return err
}

// leftToDo returns the run's Todos, and [ErrUnfinished] if there are some and only a part of the run is to be taken back.
func (u *undoing) leftToDo(ctx context.Context) ([]documents.Document, error) {
	todos, err := u.all(ctx, runlog.PendingOfRun(u.job, u.runID))
	if err != nil {
		return nil, fmt.Errorf("read what the run has left to do: %w", err)
	}
	if len(todos) > 0 && u.partial() {
		return nil, ErrUnfinished
	}
	return todos, nil
}

// takeAllBack keeps what the run has left to do from being done, and takes back what it did.
func (u *undoing) takeAllBack(ctx context.Context, todos []documents.Document) error {
	for some := range slices.Chunk(todos, pace.MaxBatch) {
		refs := make([]documents.Ref, len(some))
		for i, d := range some {
			refs[i] = d.Ref()
		}
		if err := cmp.Or(u.DB.Wait(ctx, len(refs)), u.stillOurs(ctx)); err != nil {
			return err
		}
		if err := u.DB.Put(ctx, runlog.Deletions(refs)); err != nil {
			return fmt.Errorf("delete %d things that the run has left to do, of %s on: %w", len(some), some[0].Path, err)
		}
	}
	u.began = true
	err := u.takeBack(ctx)
	if err != nil && len(todos) > 0 && !errors.Is(err, ErrRefused) {
		err = fmt.Errorf("%w; what the run had left to do is not done any more: run undo again", err)
	}
	return err
}
