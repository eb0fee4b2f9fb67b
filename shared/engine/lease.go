package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
	"github.com/firesweep/firesweep/shared/engine/internal/plan"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/logging"
)

// A run is one or more calls of its function, and its state is in cleanupJobs/{job}. A call acquires what it works on, reserves
// the actions that it may do, and releases what it acquired with its report. A worker does none of that, for it has one task;
// nor does a preview, which writes nothing.

// id is the run that undoing, stopping and the log know. The call's own id is that of its report.
func (r *run) id() string {
	if r.continues != nil {
		return r.continues.Run
	}
	return r.Report.RunID
}

// newLog returns the log of the run's commits. What a run's calls leave is one log.
func (r *run) newLog() *runlog.Log {
	kept := time.Duration(max(1, r.config.UndoDays))*24*time.Hour + min(r.config.ContinueFor, config.MaxContinueFor)
	l := &runlog.Log{Job: r.job.Name, Run: r.id(), Saves: r.decider.Saves, Expire: r.Report.StartedAt.Add(kept)}
	if r.continues != nil {
		l.By = digest.Of(r.Report.RunID)[:16]
	}
	return l
}

// number is that of the range that the call works on.
func (r *run) number() int {
	if r.continues != nil {
		return r.continues.Range
	}
	return 0
}

// goesOn reports whether the call goes on where an earlier one of its run ended.
func (r *run) goesOn() bool { return r.continues != nil && r.beganAt != r.bounds.Begin }

func (r *run) statePath() string { return state.Path(r.job.Name) }

func (r *run) store() state.Store {
	return state.Store{Writer: r.clients.documents.Writer(nil), Config: r.config, Job: r.job.Name}
}

// acquire takes what the call works on, and learns where to begin.
func (r *run) acquire(ctx context.Context) error {
	switch {
	case r.job.Task != nil:
		r.share(1)
		return nil
	case r.Report.DryRun:
		r.share(1)
		s, _, err := r.store().Read(ctx)
		if err != nil {
			return err
		}
		r.checkpoint = s.NextBegins()
		r.beganAt = r.checkpoint
		return nil
	}
	var before state.State
	var overtaken *report.Report
	known, err := r.store().Change(ctx, nil, func(s state.State, read time.Time) (state.State, map[string]any, error) {
		now := r.clock()
		if now.Sub(read).Abs() > state.Margin/2 && !r.hooks.AnyClock {
			return s, nil, fmt.Errorf("this machine's clock says %s, and Firestore's %s: by it the run would judge what is due and "+
				"what lease has ended; set it, then run again", now.UTC().Format(time.RFC3339), read.UTC().Format(time.RFC3339))
		}
		ask := state.Ask{Who: r.Report.RunID, Task: r.continues, Within: r.config.ContinueFor + maxLate, Now: now,
			For: r.timeout + state.Margin, Longest: state.Longest}
		if r.continues == nil {
			begin := r.Report.Begun()
			ask.Begin, ask.Alone = &begin, r.config.ContinueFor == 0 || r.job.Split == nil || r.decider.Approved != nil
			ask.Retry = r.scheduled && !r.Report.Force && len(r.Report.Lift) == 0
		}
		after, err := s.Acquire(ask)
		if told := s.Begun; r.continues != nil && err == nil {
			if told.Bucket, told.Revision = r.Report.Bucket, r.Report.Revision; state.Told(told) != r.continues.Told {
				err = &state.OvertakenError{Token: r.continues.Token, Last: s.Run}
			}
		}
		if err != nil {
			return s, nil, err
		}
		before = s
		if overtaken = s.Overtaken(after.Run, now); overtaken != nil {
			return after, overtaken.Document(), nil
		}
		return after, nil, nil
	})
	if err != nil {
		return err
	}
	r.leased = true
	r.from(known)
	if overtaken != nil && overtaken.Status == report.Killed {
		r.Logger.WarnContext(ctx, fmt.Sprintf("%s found that run %s was killed, and continues from there: "+
			"firesweep show %s lists what it did", r.job.Name, overtaken.RunID, overtaken.RunID), slog.String("killed", overtaken.RunID))
	}
	if left := before.Remaining(); left > 0 && r.continues == nil {
		r.tellOfShards(ctx, before.Run, left)
	}
	r.listen(ctx)
	return nil
}

// from sets what the call knows from the state.
func (r *run) from(known state.Known) {
	r.saved = known
	s, i := known.State, r.number()
	if r.continues != nil { // what a task says decides nothing but that the state is as it was left
		r.Report.Now, r.Report.Force, r.Report.Lift = s.Begun.Now, s.Begun.Force, s.Begun.Lift
		r.limits.Lifted, r.limits.Lift = s.Begun.Force, s.Begun.Lift
		// As that of the other calls, but not sooner than UNDO_DAYS from now, however late the task comes.
		r.applier.Log.Expire = r.applier.Log.Expire.Add(max(s.Begun.StartedAt.Sub(r.Report.StartedAt),
			-min(r.config.ContinueFor, config.MaxContinueFor)))
		r.Report.Part = &report.Part{Of: s.Run, Number: i, Shards: len(s.Ranges)}
		r.share(len(s.Ranges))
		labels := []slog.Attr{slog.String("callId", r.Report.RunID)}
		if s.Divided() {
			labels = []slog.Attr{slog.String("shard", strconv.Itoa(i)), slog.String("shardRunId", r.Report.RunID)}
		}
		r.Logger = r.logTo.With(logging.Labels(append(r.labels(), labels...)...))
	} else {
		r.share(1)
	}
	r.bounds = s.Ranges[i].Bounds
	r.checkpoint = s.Begins(i)
	r.beganAt = r.checkpoint
	r.limits.Done = s.Spent(i)
}

// share opens what the call writes with. It is one of so many calls at once, which share what Google's services take.
func (r *run) share(calls int) {
	var writes documents.Pace = pace.NewShareOfRate(calls)
	if r.hooks.Pace != nil {
		writes = r.hooks.Pace(calls)
	}
	a := r.applier
	a.Own = r.clients.documents.Writer(writes) // which does not tell what it writes: the log is about what is the user's
	a.Documents = a.Own
	a.Documents.Written, a.Documents.InTime = r.WroteDocuments, r.inTime
	if r.clients.objects != nil {
		a.Objects = r.clients.objects.Writer(newStoragePace(calls))
		a.Objects.InTime = r.inTime // each batch tells by itself what it deletes
	}
	r.decider.Run, r.decider.Documents = r.known(), a.Documents.Reader
	if r.hooks.writers != nil {
		r.hooks.writers(a)
	}
}

// turnedAway ends a call that could not acquire what it was to work on. It returns the report of an earlier run if that was
// aborted for the same schedule time, for planning again would cost as much and end the same way, or stopped, for it stays so.
func (r *run) turnedAway(ctx context.Context, err error) (earlier *report.Report) {
	var (
		leased    *state.LeasedError
		ended     *state.EndedError
		overtaken *state.OvertakenError
		foreign   *state.ForeignError
	)
	switch {
	case errors.As(err, &ended):
		how, wayOut := "aborted", `lift the safety limit as that run's report says, or wait for the next scheduled time`
		if ended.Report.Stopped {
			how, wayOut = "stopped", "the next scheduled run continues, and so does a run by hand"
		}
		r.Logger.InfoContext(ctx, fmt.Sprintf("%s is not planned again: run %s was %s for the same schedule time, "+
			"and this is a retry of it; %s", r.job.Name, ended.Report.RunID, how, wayOut), slog.String(how, ended.Report.RunID))
		return ended.Report
	case errors.As(err, &leased):
		r.Report.Status = report.Skipped
		r.Logger.InfoContext(ctx, r.job.Name+" skipped: "+leased.Error())
		r.handOutAgain(ctx, leased)
	case errors.As(err, &overtaken):
		r.Report.Status = report.Skipped
		r.Logger.InfoContext(ctx, r.job.Name+" skipped: "+overtaken.Error())
	case r.Report.DryRun:
		r.Fail(ctx, r.statePath(), "read the checkpoint", err)
	default:
		r.Fail(ctx, r.statePath(), "take lease", err)
	}
	// Otherwise Firestore does not answer, or this machine's clock is wrong.
	if r.Report.DryRun || r.Report.Status != report.Skipped && !errors.As(err, &foreign) {
		r.complete(0)
		return nil
	}
	r.saveAlone(ctx)
	return nil
}

// saveAlone saves the report of a call that holds nothing, if the run began with it: that of another call is in the run's.
func (r *run) saveAlone(ctx context.Context) {
	if r.continues != nil {
		r.complete(0)
		return
	}
	r.complete(1)
	if err := r.store().Save(ctx, r.Report.Document()); err != nil {
		r.Fail(ctx, r.statePath(), "save report", err)
		r.complete(0)
	}
}

// reserve counts the planned actions as done before the first of them, for the call may be killed. So MAX_ACTIONS holds for all
// calls of a run, and for those at work at once; so do the limits on missing ids.
func (r *run) reserve(ctx context.Context, p *plan.Planner) error {
	all, judged := p.Lookups()
	alone := r.continues == nil // nobody counts but this call, which has been judged
	switch {
	case r.Report.DryRun, r.limits.Lifted, r.job.Task != nil, p.Size == 0 && (alone || len(all) == 0):
		return nil
	case alone:
		return r.reserveOf(ctx, p.Size, all, nil)
	}
	for {
		err := r.reserveOf(ctx, p.Size, all, judged)
		var limit *plan.TrippedError
		if !errors.As(err, &limit) || !p.DropTripped(limit) {
			return err
		}
		_, judged = p.Lookups()
	}
}

// stored is the state as this call left it, which nobody else has changed but where the calls of several ranges write to it all
// the time; nil there.
func (r *run) stored() *state.Known {
	if r.saved.Divided() {
		return nil
	}
	return &r.saved
}

// reserveOf reserves n actions. judged are the kinds of lookups by which the run does anything.
func (r *run) reserveOf(ctx context.Context, n int, all map[string]cleanup.Lookups, judged []string) error {
	left, err := r.store().Change(ctx, r.stored(), func(s state.State, _ time.Time) (state.State, map[string]any, error) {
		after, err := s.Reserve(r.Report.RunID, r.number(), n, all, func(spent int, looked map[string]cleanup.Lookups) error {
			limits := r.limits
			limits.Done = spent
			maps.DeleteFunc(looked, func(kind string, _ cleanup.Lookups) bool { return !slices.Contains(judged, kind) })
			return limits.Check(n, looked)
		})
		return after, nil, err
	})
	if err == nil {
		r.saved = left
	}
	return err
}

// release saves what the call did in the report of the run, and gives back what it acquired, all in one commit. What was lost
// meanwhile it leaves alone.
func (r *run) release(ctx context.Context) {
	if r.job.Task != nil || r.Report.DryRun {
		r.complete(0)
		return
	}
	var lost *state.LostError
	left, err := r.store().Change(ctx, r.stored(), func(s state.State, _ time.Time) (state.State, map[string]any, error) {
		lost = nil
		r.complete(2)
		if s.Released(r.Report.RunID, r.number()) { // an earlier attempt took effect and its answer was lost
			return s, nil, nil
		}
		after, err := r.giveBack(s)
		if err != nil {
			return s, nil, err
		}
		return after, after.Report().Document(), nil
	})
	var foreign *state.ForeignError
	switch {
	case err == nil:
		r.saved = left
		return
	case errors.As(err, &lost), errors.As(err, &foreign):
		how := " lost its lease to another run"
		if foreign != nil {
			how = " cannot give its lease back: " + foreign.Error()
		}
		r.Logger.WarnContext(ctx, r.job.Name+how+"; what it did stands, but its checkpoint is not saved")
		r.leased = false
		r.keepUndone(ctx)
		r.saveAlone(ctx)
	default:
		r.leased = false
		r.Fail(ctx, r.statePath(), "save report and release lease", err)
		r.complete(0)
	}
	r.Report.Continued = false
}

// keepUndone keeps the note that the run was taken back, by an undo to which it lost its lease.
func (r *run) keepUndone(ctx context.Context) {
	d, _, err := r.clients.documents.Reader().Get(ctx, collections.Runs+"/"+r.Report.RunID)
	if saved, notOurs := report.Of(d); err == nil && notOurs == nil {
		r.Report.Undone = saved.Undone
	}
}

func (r *run) giveBack(s state.State) (state.State, error) {
	if len(r.ranges) > 0 {
		return s.Split(r.Report, r.ranges, r.clock())
	}
	g := state.Release{Who: r.Report.RunID, Range: r.number(), Checkpoint: r.checkpoint, Through: r.through,
		Report: r.Report, Why: r.stays, Alone: r.decider.Approved != nil, Now: r.clock()}
	if r.continues != nil {
		g.Token = r.continues.Token
	}
	return s.Release(g)
}
