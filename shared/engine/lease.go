package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/logging"
)

// A run acquires its job's lease, and releases it with its report. A worker does neither, for it has one task; nor does a
// preview, which writes nothing.

func (r *run) statePath() string { return jobstate.Path(r.job.Name) }

func (r *run) store() jobstate.Store {
	return jobstate.Store{Writer: r.clients.Documents.Writer(nil), Job: r.job.Name}
}

// acquire takes the job's lease, and learns where to begin.
func (r *run) acquire(ctx context.Context) error {
	if r.job.Task != nil || r.Report.DryRun {
		return r.look(ctx)
	}
	var killed *report.Report
	acquired, err := r.store().Change(ctx, nil, func(s jobstate.State, read time.Time) (jobstate.State, map[string]any, error) {
		now := r.clock()
		if now.Sub(read).Abs() > jobstate.Margin/2 && !r.hooks.AnyClock {
			return s, nil, fmt.Errorf("this machine's clock says %s, and Firestore's %s: by it the run would judge what is due and "+
				"what lease has ended; set it, then run again", now.UTC().Format(time.RFC3339), read.UTC().Format(time.RFC3339))
		}
		begun := *r.Report
		after, err := s.Acquire(jobstate.Candidate{
			Who: r.Report.RunID, Begun: &begun, Retry: r.scheduled && !r.Report.Force,
			Now: now, For: r.timeout + jobstate.Margin,
		})
		if _, leased := errors.AsType[*jobstate.LeasedError](err); leased {
			err = cmp.Or(s.TooLong(r.job.Name, now), err)
		}
		after.Leaves = after.Leaves || r.job.Leaves()
		if killed = s.Killed(now); err != nil || killed == nil {
			return after, nil, err
		}
		return after, killed.Document(), nil
	})
	if err != nil {
		return err
	}
	r.beginAt(acquired)
	// Whoever holds all jobs looks for leases afterwards, so the run must look for that with its lease.
	heeded, err := jobstate.Heed(ctx, r.clients.Documents.Reader(), r.job.Name, acquired.State)
	if err == nil && heeded.Held != nil {
		err = &jobstate.HeldError{Hold: *heeded.Held}
	}
	if err != nil {
		r.giveBack(ctx)
		return err
	}
	r.decider.KeepAll(heeded)
	if killed != nil {
		r.Logger.WarnContext(ctx, fmt.Sprintf("%s found that run %s was killed, and continues from there: "+
			"firesweep show %s lists what it did", r.job.Name, killed.RunID, killed.RunID), slog.String("killed", killed.RunID))
	}
	r.listen(ctx)
	return nil
}

// giveBack gives the lease back of a run that has done nothing with it.
func (r *run) giveBack(ctx context.Context) {
	_, err := r.store().Change(ctx, &r.state, func(s jobstate.State, _ time.Time) (jobstate.State, map[string]any, error) {
		return s.Free(r.Report.RunID), nil, nil
	})
	if err != nil {
		r.Logger.WarnContext(ctx, r.job.Name+" could not give its lease back, which ends by itself: "+err.Error())
	}
}

// look reads the job's record without taking the lease. A worker that is held does nothing; a preview does, and says so.
func (r *run) look(ctx context.Context) error {
	s, _, err := jobstate.Read(ctx, r.clients.Documents.Reader(), r.job.Name)
	if err != nil {
		return err
	}
	r.beginAt(jobstate.Known{State: s})
	r.decider.KeepAll(s)
	if s.Held == nil {
		return nil
	}
	held := &jobstate.HeldError{Hold: *s.Held}
	if !r.Report.DryRun {
		return held
	}
	r.Warn(ctx, held.Error())
	return nil
}

// beginAt sets where the run begins, and what it knows of earlier ones.
func (r *run) beginAt(s jobstate.Known) {
	r.state, r.checkpoint, r.cuts, r.leaves = s, s.Begins(), s.Cuts, s.Leaves
	if s.Last != nil {
		r.Expect(s.Last.Scanned)
	}
}

// turnedAway ends a run that could not acquire the lease. It returns the report of an earlier run if that was aborted for the
// same schedule time, for planning again would cost as much and end the same way, or stopped, for it stays so.
func (r *run) turnedAway(ctx context.Context, err error) (earlier *report.Report) {
	var (
		held    *jobstate.HeldError
		leased  *jobstate.LeasedError
		ended   *jobstate.EndedError
		foreign *jobstate.ForeignError
	)
	switch {
	case errors.As(err, &ended):
		how, wayOut := "aborted", `do as that run's report says, or wait for the next scheduled time`
		if ended.Report.Stopped {
			how, wayOut = "stopped", "the next scheduled run continues, and so does a run by hand"
		}
		r.Logger.InfoContext(ctx, fmt.Sprintf("%s is not planned again: run %s was %s for the same schedule time, "+
			"and this is a retry of it; %s", r.job.Name, ended.Report.RunID, how, wayOut), slog.String(how, ended.Report.RunID))
		return ended.Report
	case errors.As(err, &held):
		r.Report.Status, r.Report.WasHeld = report.Skipped, true
		r.Report.Warnings = append(r.Report.Warnings, held.Error())
		r.Logger.WarnContext(ctx, r.job.Name+" skipped: "+held.Error(), logging.Alert("held"))
	case errors.As(err, &leased):
		r.Report.Status = report.Skipped
		r.Logger.InfoContext(ctx, r.job.Name+" skipped: "+leased.Error())
	case r.job.Task != nil, r.Report.DryRun:
		r.Fail(ctx, r.statePath(), "read the job's record", err)
	default:
		r.Fail(ctx, r.statePath(), "take lease", err)
	}
	// Otherwise Firestore does not answer, or this machine's clock is wrong.
	if r.job.Task != nil || r.Report.DryRun || held == nil && leased == nil && !errors.As(err, &foreign) {
		r.complete(0)
		return nil
	}
	r.saveAlone(ctx)
	return nil
}

// saveAlone saves the report of a run that does not hold the lease.
func (r *run) saveAlone(ctx context.Context) {
	r.complete(1)
	if err := r.store().Save(ctx, r.Report.Document()); err != nil {
		r.Fail(ctx, r.statePath(), "save report", err)
		r.complete(0)
	}
}

// release saves the report and the checkpoint of the next run, and gives the lease back, all in one commit. If the lease was lost
// meanwhile, it stays with whoever has it.
func (r *run) release(ctx context.Context) {
	if r.job.Task != nil || r.Report.DryRun {
		r.complete(0)
		return
	}
	_, err := r.store().Change(ctx, &r.state, func(s jobstate.State, _ time.Time) (jobstate.State, map[string]any, error) {
		r.complete(2)
		if s.Released(r.Report.RunID) { // an earlier attempt took effect and its answer was lost
			return s, nil, nil
		}
		s.Cuts, s.Warned, s.Leaves = r.cuts, r.Warned, r.leaves
		after, err := s.Release(r.Report, r.checkpoint)
		return after, r.Report.Document(), err
	})
	var lost *jobstate.LostError
	var foreign *jobstate.ForeignError
	switch {
	case err == nil:
		r.released = true
	case errors.As(err, &lost), errors.As(err, &foreign):
		how := " lost its lease to another run"
		if foreign != nil {
			how = " cannot give its lease back: " + foreign.Error()
		}
		r.Logger.WarnContext(ctx, r.job.Name+how+"; what it did stands, but its checkpoint is not saved")
		r.saveAlone(ctx)
	default:
		r.Fail(ctx, r.statePath(), "save report and release lease", err)
		r.complete(0)
	}
}
