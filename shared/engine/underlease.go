package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// lock takes the right to the job, or to the one shard. When it finds that free, it calls free with what the last run saved, and
// then commits. If somebody else was faster, it looks again.
func (r *run) lock(ctx context.Context, free func(saved)) (saved, error) {
	if r.part != nil {
		return r.shardLease().take(ctx, r.admit, free)
	}
	return r.lease().take(ctx, r.admit, free)
}

// underLease does the run, unless another one holds the lease. It returns the report of an earlier run if that was
// aborted for the same schedule time, for to plan it anew would cost as much and end the same, or stopped, for it is to stay so.
func (r *run) underLease(ctx context.Context) (earlier *Report) {
	path := r.lease().path()
	// What is read beside the commit that takes the lease counts as if it had been read after it: the commit fails if anybody has
	// written to the job's record since it was found free.
	var begun *reading
	last, err := r.lock(ctx, func(last saved) {
		begun.stop()
		r.from(last)
		if begun = nil; r.part == nil && !r.maySplit(last) { // the shards' record changes often
			begun = r.begin(ctx, r.checkpoint)
		}
	})
	if err != nil {
		begun.stop()
	}
	var (
		held      *heldError
		ended     *endedError
		overtaken *overtakenError
		foreign   *recordError
	)
	switch {
	case errors.As(err, &ended):
		how, wayOut := "aborted", `lift the safety limit as that run's report says, or wait for the next scheduled time`
		if ended.report.Stopped {
			how, wayOut = "stopped", "the next scheduled run continues, and so does a run by hand"
		}
		r.log.InfoContext(ctx, fmt.Sprintf("%s is not planned again: run %s was %s for the same schedule time, and this is a retry of it; %s",
			r.job.Name, ended.report.RunID, how, wayOut), slog.String(how, ended.report.RunID))
		return ended.report
	case errors.As(err, &held):
		r.report.Status = Skipped
		r.log.InfoContext(ctx, r.job.Name+" skipped: "+held.Error())
		r.handOutAgain(ctx, held.split)
	case errors.As(err, &overtaken):
		r.report.Status = Skipped
		r.log.InfoContext(ctx, r.job.Name+" skipped: "+overtaken.Error())
	case errors.As(err, &foreign):
		r.failed(ctx, path, "take lease", err)
	case err != nil:
		r.failed(ctx, path, "take lease", err)
		r.complete(0)
		return nil
	default:
		r.locked, r.taken = true, last.taken
		if last.killed != nil {
			r.log.WarnContext(ctx, fmt.Sprintf(
				"%s found that run %s was killed, and continues from there: firesweep show %s lists what it did",
				r.job.Name, last.killed.RunID, last.killed.RunID), slog.String("killed", last.killed.RunID))
		}
		if !r.hooks.DeafToStop {
			r.stop.look, r.stop.looked = func() bool { return r.lookForStop(ctx) }, r.begun
			r.stop.told.Store(last.told)
		}
		r.ranges = r.splits(ctx, last)
		switch {
		case len(r.ranges) > 0, last.told:
			r.unfinished = true
		case r.failures == 0:
			if begun == nil {
				begun = r.begin(ctx, r.checkpoint)
			}
			r.sweep(ctx, begun)
		}
	}
	stillHeld, err := r.unlock(ctx)
	switch {
	case err != nil:
		r.failed(ctx, path, "save report and release lease", err)
		r.complete(0)
	case stillHeld && r.report.Continued:
		if err := r.continueInTask(ctx); err != nil {
			r.failed(ctx, r.job.Name, "hand over what is left", err)
			r.complete(0)
			r.report.Continued = false
		}
	case !stillHeld && r.report.Status != Skipped && foreign == nil:
		r.log.WarnContext(ctx, r.job.Name+" lost its lease to another run; what it did stands, but its checkpoint is not saved")
	}
	return nil
}

// from sets where the run begins: where the last one ended.
func (r *run) from(last saved) {
	r.checkpoint, r.partialRuns = last.checkpoint, last.partialRuns
	r.beganAt = last.checkpoint
	r.bounds = last.bounds
	r.limits.Done = last.acted.at(r.report.Now)
	if s := last.split; s != nil && s.Seed.Now.Equal(r.report.Now) {
		r.limits.Done = max(r.limits.Done, s.claimed(-1))
	}
	switch {
	case r.part != nil:
		r.limits.Done = last.claimed
	case r.report.Continues != nil:
		r.report.Continues.Done = r.limits.Done
	}
}

// reserve counts the planned actions as done before the first of them, for the run may be killed.
func (r *run) reserve(ctx context.Context, planned int) (err error) {
	if planned == 0 {
		return nil
	}
	r.taken, err = r.lease().reserve(ctx, r.taken, acted{Now: r.report.Now, Actions: r.limits.Done + planned})
	r.reserved = err == nil
	return err
}

// did returns what counts as done for the run's now at its end; nil if the run reserved nothing.
func (r *run) did() *acted {
	if !r.reserved {
		return nil
	}
	return &acted{Now: r.report.Now, Actions: r.limits.Done + r.report.Done()}
}

// unlock saves the run's report and gives back what [run.lock] took. It returns false if that was lost meanwhile.
func (r *run) unlock(ctx context.Context) (stillHeld bool, err error) {
	switch {
	case r.part == nil:
		return r.lease().finish(ctx, r.taken, r.checkpoint, r.ranges, r.limits.Done, r.complete, r.did)
	case !r.locked: // another run may continue the shard, and what this one came to is in its answer and in the log
		r.complete(0)
		return false, nil
	}
	var ended *split
	stillHeld, ended, err = r.shardLease().finish(ctx, r.checkpoint, r.through, r.complete, func() string { return r.stays })
	if err == nil && ended != nil {
		r.whole = ended.report(r.clock())
		for _, sh := range ended.Shards {
			r.wholeStays = cmp.Or(r.wholeStays, sh.Stays)
		}
	}
	return stillHeld, err
}

// admit looks at what the last run left before the run begins. The error is an [*endedError] or an [*overtakenError] if it is not to.
func (r *run) admit(last *Report) error {
	c, err := r.continuation(last)
	if err != nil {
		return err
	}
	if r.retries(last) {
		return &endedError{last}
	}
	if r.report.Continues = c; c != nil { // what a task says decides nothing
		r.report.Now, r.report.Force, r.report.Lift = last.Now, last.Force, last.Lift
		r.limits.Lifted, r.limits.Lift = last.Force, last.Lift
	}
	return nil
}

// retries reports whether the run is a retry of the one that left this report, which, or a shard of which, was aborted, or which was stopped.
func (r *run) retries(last *Report) bool {
	if last == nil || last.DryRun || !r.scheduled || r.report.Force || len(r.report.Lift) > 0 || !last.Now.Equal(r.report.Now) {
		return false
	}
	aborted := func(s Shard) bool { return s.Status == Aborted }
	return last.Stopped || last.Status == Aborted || slices.ContainsFunc(last.Shards, aborted)
}

func (r *run) lease() lease {
	return lease{writer: r.records, config: r.config, job: r.job.Name, runID: r.report.RunID, clock: r.clock,
		length: r.timeout + leaseMargin, begun: r.report.Begun()}
}
