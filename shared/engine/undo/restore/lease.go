package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

// Store is where a job's record is.
func (p Project) Store(job string) jobstate.Store { return jobstate.Store{Writer: p.DB, Job: job} }

// free returns [ErrUnderWay] if a run of a job is under way that may have begun before the job was held. An undo is no such run.
// Whether a lease has ended, Firestore's clock says: the operator's may be minutes off.
func (u *undoing) free(ctx context.Context, in Project, job string) error {
	s, now, err := jobstate.Read(ctx, in.DB.Reader, job)
	if err != nil {
		return fmt.Errorf("look whether %s is under way: %w", job, err)
	}
	if holder := s.Leased(now); holder != "" && !jobstate.ByUndo(holder) {
		return underWay(job, holder, s.Until)
	}
	return nil
}

func underWay(job, holder string, until time.Time) error {
	return fmt.Errorf("%w: %s holds the lease of %s until %s, also if it was killed: wait for its end, "+
		"or have a run end with firesweep hold %[3]s --stop", ErrUnderWay, holder, job, until.UTC().Format(time.RFC3339))
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

// release gives the job's lease back. The job's next run begins at the beginning, for what comes back may lie before the place
// from which it would continue.
func (u *undoing) release(ctx context.Context) error {
	free := func(s jobstate.State) (jobstate.State, error) { return s.Free(u.holder), nil }
	err := u.Store(u.job).Update(context.WithoutCancel(ctx), free)
	if err != nil {
		return fmt.Errorf("give the lease of %s back, which ends by itself after %s: %w", u.job, jobstate.UndoLease, err)
	}
	return nil
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
	_, err := u.Store(u.job).Change(ctx, nil, func(s jobstate.State, now time.Time) (
		after jobstate.State, also map[string]any, err error,
	) {
		if !u.renewed.IsZero() {
			after, err = s.Renew(u.holder, now, jobstate.UndoLease)
			return after, nil, err
		}
		if killed := s.Killed(now); killed != nil {
			also = killed.Document()
		}
		after, err = s.Acquire(jobstate.Candidate{Who: u.holder, Now: now, For: jobstate.UndoLease})
		return after, also, err
	})
	if err == nil {
		u.renewed = began
	}
	if _, lost := errors.AsType[*jobstate.LostError](err); lost {
		return ErrLeaseLost
	}
	if leased, is := errors.AsType[*jobstate.LeasedError](err); is { // perhaps by another undo of this run
		return underWay(u.job, leased.Holder, leased.Until)
	}
	return err
}

// takeAllBack takes back what the run did, and then keeps what it has left to do from being done. It returns [ErrUnfinished] if
// there is something left and only a part of the run is to be taken back. If anything stays away, so does that which is left: the
// job's next run does it for what stayed, and leaves out what came back.
func (u *undoing) takeAllBack(ctx context.Context) error {
	todos, err := u.all(ctx, runlog.PendingOfRun(u.job, u.runID))
	switch {
	case err != nil:
		return fmt.Errorf("read what the run has left to do: %w", err)
	case len(todos) > 0 && u.partial():
		return ErrUnfinished
	}
	u.began = true
	if err := u.takeBack(ctx); err != nil || u.stayed > 0 {
		return err
	}
	for some := range slices.Chunk(todos, documents.MaxBatch) {
		refs := make([]documents.Ref, len(some))
		for i, d := range some {
			refs[i] = d.Ref()
		}
		if err := cmp.Or(u.DB.Wait(ctx, len(refs)), u.stillOurs(ctx)); err != nil {
			return err
		}
		if err := u.DB.Put(ctx, runlog.Deletions(refs)); err != nil {
			return fmt.Errorf("delete %d things that the run has left to do, of %s on: %w; run undo again", len(some), some[0].Path, err)
		}
	}
	return nil
}
