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

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/flow"
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
	return r.report.RunID
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

func (r *run) recordPath() string { return state.Path(r.job.Name) }

func (r *run) store() state.Store {
	return state.Store{Writer: r.clients.documents.Writer(nil), Config: r.config, Job: r.job.Name}
}

// acquire takes what the call works on, and learns where to begin.
func (r *run) acquire(ctx context.Context) error {
	switch {
	case r.job.Task != nil:
		r.share(1)
		return nil
	case r.report.DryRun:
		r.share(1)
		s, _, err := r.store().Read(ctx)
		if err != nil {
			return &stepError{r.recordPath(), "read the checkpoint", err}
		}
		r.checkpoint = s.NextBegins()
		return nil
	}
	var before State
	var overtaken *Report
	known, err := r.store().Change(ctx, nil, func(s State, _ time.Time) (State, map[string]any, error) {
		now := r.clock()
		length := r.timeout + state.Margin
		ask := state.Ask{Who: r.report.RunID, Task: r.continues, Now: now, For: length, Longest: length}
		if r.continues == nil {
			begin := r.report.Begun()
			ask.Begin, ask.Alone = &begin, r.config.ContinueFor == 0
			ask.Retry = r.scheduled && !r.report.Force && len(r.report.Lift) == 0
		}
		after, err := s.Acquire(ask)
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
		return &stepError{r.recordPath(), "take lease", err}
	}
	r.leased = true
	r.from(known)
	if overtaken != nil && overtaken.Status == Killed {
		r.log.WarnContext(ctx, fmt.Sprintf("%s found that run %s was killed, and continues from there: "+
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
	if r.continues != nil { // what a task says decides nothing
		r.report.Now, r.report.Force, r.report.Lift = s.Begun.Now, s.Begun.Force, s.Begun.Lift
		r.limits.Lifted, r.limits.Lift = s.Begun.Force, s.Begun.Lift
		r.report.Part = &report.Part{Of: s.Run, Number: i, Shards: len(s.Ranges)}
		r.share(len(s.Ranges))
		labels := []slog.Attr{slog.String("callId", r.report.RunID)}
		if s.Divided() {
			labels = []slog.Attr{slog.String("shard", strconv.Itoa(i)), slog.String("shardRunId", r.report.RunID)}
		}
		r.log = r.logTo.With(logging.Labels(append(r.labels(), labels...)...))
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
	r.records = r.clients.documents.Writer(writes) // which does not tell what it writes: the log is about what is the user's
	r.documents = r.records
	r.documents.Written = r.wroteDocuments
	if r.clients.objects != nil {
		r.objects = r.clients.objects.Writer(newStoragePace(calls))
		r.objects.Written = r.deletedObject
	}
}

// A stepError says which step of the run failed.
type stepError struct {
	target, step string
	err          error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// turnedAway ends a call that could not acquire what it was to work on. It returns the report of an earlier run if that was
// aborted for the same schedule time, for planning again would cost as much and end the same way, or stopped, for it stays so.
func (r *run) turnedAway(ctx context.Context, err error) (earlier *Report) {
	var (
		leased    *state.LeasedError
		ended     *state.EndedError
		overtaken *state.OvertakenError
		foreign   *state.ForeignError
		step      *stepError
	)
	switch {
	case errors.As(err, &ended):
		how, wayOut := "aborted", `lift the safety limit as that run's report says, or wait for the next scheduled time`
		if ended.Report.Stopped {
			how, wayOut = "stopped", "the next scheduled run continues, and so does a run by hand"
		}
		r.log.InfoContext(ctx, fmt.Sprintf("%s is not planned again: run %s was %s for the same schedule time, "+
			"and this is a retry of it; %s", r.job.Name, ended.Report.RunID, how, wayOut), slog.String(how, ended.Report.RunID))
		return ended.Report
	case errors.As(err, &leased):
		r.report.Status = Skipped
		r.log.InfoContext(ctx, r.job.Name+" skipped: "+leased.Error())
		r.handOutAgain(ctx, leased)
	case errors.As(err, &overtaken):
		r.report.Status = Skipped
		r.log.InfoContext(ctx, r.job.Name+" skipped: "+overtaken.Error())
	case errors.As(err, &step):
		r.failed(ctx, step.target, step.step, step.err)
	}
	if r.report.DryRun || r.report.Status != Skipped && !errors.As(err, &foreign) { // Firestore does not answer
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
	if err := r.store().Save(ctx, r.report.Document()); err != nil {
		r.failed(ctx, r.recordPath(), "save report", err)
		r.complete(0)
	}
}

// reserve counts the planned actions as done before the first of them, for the call may be killed. So MAX_ACTIONS holds for all
// calls of a run, and for those at work at once; so do the limits on missing ids.
func (r *run) reserve(ctx context.Context, p *Planner) error {
	all, judged := p.lookups()
	alone := r.continues == nil // nobody counts but this call, which has been judged
	switch {
	case r.report.DryRun, r.limits.Lifted, r.job.Task != nil, p.planned == 0 && (alone || len(all) == 0):
		return nil
	case alone:
		// What is deleted first is saved for undo meanwhile. Whoever deletes it gets the error of that.
		reserve := func() error { return r.reserveOf(ctx, p.planned, all, nil) }
		return flow.All(reserve, func() error { return r.saveFirst(ctx, p.actions) })[0]
	}
	for {
		err := r.reserveOf(ctx, p.planned, all, judged)
		var limit *LimitError
		if !errors.As(err, &limit) || limit.actions || len(p.sections) == 1 {
			return err
		}
		for i, kind := range limit.kinds { // of all calls together
			for _, s := range p.sections {
				if _, has := s.lookups[kind]; has && !s.dropped {
					p.trip(s, limit.Tripped[i:i+1])
				}
			}
		}
		_, judged = p.lookups()
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
func (r *run) reserveOf(ctx context.Context, n int, all map[string]Lookups, judged []string) error {
	left, err := r.store().Change(ctx, r.stored(), func(s State, _ time.Time) (State, map[string]any, error) {
		after, err := s.Reserve(r.report.RunID, r.number(), n, all, func(spent int, looked map[string]Lookups) error {
			limits := r.limits
			limits.Done = spent
			maps.DeleteFunc(looked, func(kind string, _ Lookups) bool { return !slices.Contains(judged, kind) })
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
	if r.job.Task != nil || r.report.DryRun {
		r.complete(0)
		return
	}
	var lost *state.LostError
	left, err := r.store().Change(ctx, r.stored(), func(s State, _ time.Time) (State, map[string]any, error) {
		lost = nil
		r.complete(2)
		if s.Released(r.report.RunID, r.number()) { // an earlier attempt took effect and its answer was lost
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
		r.log.WarnContext(ctx, r.job.Name+" lost its lease to another run; what it did stands, but its checkpoint is not saved")
		r.leased = false
		r.saveAlone(ctx)
	default:
		r.leased = false
		r.failed(ctx, r.recordPath(), "save report and release lease", err)
		r.complete(0)
	}
	r.report.Continued = false
}

func (r *run) giveBack(s State) (State, error) {
	if len(r.ranges) > 0 {
		return s.Split(r.report, r.ranges, r.clock())
	}
	g := state.Release{Who: r.report.RunID, Range: r.number(), Position: r.checkpoint, Through: r.through,
		Report: r.report, Why: r.stays, Now: r.clock()}
	if r.continues != nil {
		g.Token = r.continues.Token
	}
	return s.Release(g)
}
