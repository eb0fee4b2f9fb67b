package sweep

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/logging"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/usage"
)

// run is one run of a job.
type run struct {
	job    Job
	task   map[string]string // a worker's
	config config.Config
	log    *slog.Logger
	clock  func() time.Time
	hooks  Hooks
	belts  Belts

	objects media.Reader
	journal journal
	writers Writers
	meter   *usage.Meter

	timeout   time.Duration
	planUntil time.Time // when planning must end, so that there is time to apply
	stopAt    time.Time // when no more work may be begun
	canceled  func() bool

	mu       sync.Mutex // guards what follows while actions are being applied
	report   *Report
	failures int
	figures  map[string]int        // sums of [Change.Tally]
	sizes    map[string]*groupSize // by rule

	position   string // to save for the next run
	unfinished bool   // something was left for lack of time

	closing func(Ending) string // the line that the job announced for the run's end, nil if none
}

// stopMargin is the time kept free before the timeout for what is under way to end and for the report to be saved.
func stopMargin(timeout time.Duration) time.Duration { return min(30*time.Second, timeout/10) }

func newRunID(job string, at time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	return fmt.Sprintf("%s-%s-%s", job, at.UTC().Format("20060102T150405Z"), hex.EncodeToString(random[:]))
}

// execute runs the job and returns its report, which is complete and saved unless the report says why not.
func (r *run) execute(ctx context.Context) *Report {
	ctx = usage.NewContext(ctx, r.meter)
	r.canceled = func() bool { return ctx.Err() != nil }
	// What has been begun may end even if the caller is gone; nothing may outlive the function.
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout-stopMargin(r.timeout)/3)
	defer cancel()

	r.log.InfoContext(ctx, r.job.Name+" started", slog.Bool("dryRun", r.report.DryRun),
		slog.Bool("force", r.belts.Lifted), slog.Time("now", r.report.Now))
	switch {
	case r.job.Task != nil:
		r.sweep(work)
		r.complete(0)
	case r.report.DryRun:
		r.preview(work)
	default:
		r.underLease(work)
	}
	r.close(ctx)
	r.logSummary(ctx)
	return r.report
}

// preview plans from where the next run would begin, and writes nothing.
func (r *run) preview(ctx context.Context) {
	l := r.lease()
	doc, _, err := r.writers.Documents.Get(ctx, l.path())
	if err == nil {
		r.position, err = positionOf(doc)
	}
	if err != nil {
		r.failed(ctx, l.path(), "read position", err)
	} else {
		r.sweep(ctx)
	}
	r.complete(0)
}

func (r *run) underLease(ctx context.Context) {
	l := r.lease()
	position, err := l.take(ctx, r.timeout+leaseMargin)
	var held *heldError
	switch {
	case errors.As(err, &held):
		r.report.Status = Skipped
		r.log.InfoContext(ctx, r.job.Name+" skipped: "+held.Error())
	case err != nil:
		r.failed(ctx, l.path(), "take lease", err)
		r.complete(0)
		return
	default:
		r.position = position
		r.sweep(ctx)
	}
	stillHeld, err := l.finish(ctx, r.position, r.complete)
	switch {
	case err != nil:
		r.failed(ctx, l.path(), "save report and release lease", err)
		r.complete(0)
	case !stillHeld && r.report.Status != Skipped:
		r.log.WarnContext(ctx, r.job.Name+" lost its lease to another run; what it did stands, its position is not saved")
	}
}

func (r *run) lease() lease {
	return lease{writer: r.writers.Documents, job: r.job.Name, runID: r.report.RunID, clock: r.clock}
}

// sweep plans and, unless this is a preview, applies.
func (r *run) sweep(ctx context.Context) {
	p := r.planner(r.position)
	err := r.plan(ctx, p)
	if errors.Is(err, documents.ErrCursor) && r.position != "" {
		r.log.WarnContext(ctx, r.job.Name+" cannot use the saved position and begins at the beginning: "+err.Error())
		r.reset()
		p = r.planner("")
		err = r.plan(ctx, p)
	}
	outOfTime := errors.Is(err, ErrOutOfTime)
	if err == nil || outOfTime {
		err = r.belts.Check(p.planned, p.lookups)
	}
	var belt *BeltError
	switch {
	case errors.As(err, &belt):
		r.report.Status = Aborted
		r.report.fail(r.job.Name, "check belts", belt)
		return
	case err != nil:
		r.failed(ctx, r.job.Name, "plan", err)
		return
	case !r.report.DryRun:
		outOfTime = errors.Is(r.applyWindow(ctx, p), ErrOutOfTime) || outOfTime
	}
	r.unfinished = outOfTime
	if err := r.forget(ctx); err != nil { // nothing is left to do of what they hold
		r.log.WarnContext(ctx, r.job.Name+" could not delete entries of its journal, the next run does: "+err.Error())
	}
	if !outOfTime {
		r.position = ""
		if p.next != nil {
			r.position = p.next()
		}
	}
}

// applyWindow applies what has been planned and empties the window. It returns [ErrOutOfTime] if some of it was left.
// In either case the run's position is the one to go on from.
func (r *run) applyWindow(ctx context.Context, p *Planner) error {
	if r.hooks.BeforeApply != nil {
		r.hooks.BeforeApply()
	}
	unfinished := r.apply(ctx, p.actions)
	r.position = p.positionBefore(unfinished)
	if unfinished < len(p.actions) {
		return ErrOutOfTime
	}
	p.position, p.actions, p.marks = r.position, p.actions[:0], p.marks[:0]
	return nil
}

func (r *run) planner(position string) *Planner {
	return &Planner{
		Job:       r.job.Name,
		Now:       r.report.Now,
		Config:    r.config,
		Documents: r.writers.Documents.Reader,
		Objects:   r.objects,
		Task:      r.task,
		Log:       r.log,
		run:       r,
		position:  position,
		lookups:   map[string]Lookups{},
		doubts:    map[string]int{},
	}
}

// plan calls the job; its panic is the run's failure, not the process's.
func (r *run) plan(ctx context.Context, p *Planner) (err error) {
	defer recoverTo(&err)
	if len(r.job.Rules) > 0 {
		err = r.planReplay(ctx, p)
	}
	if err == nil {
		err = r.job.Plan(ctx, p)
	}
	if p.tripped != nil {
		return p.tripped
	}
	return err
}

// reset forgets what an abandoned plan reported.
func (r *run) reset() {
	r.report.Scanned, r.report.Actions, r.report.Kept, r.report.Plan = 0, map[string]Counts{}, map[string]int{}, nil
}

// complete sets what can only be known at the end. writes is how many documents are about to be written with the
// report in them, which its usage includes.
func (r *run) complete(writes int) *Report {
	switch {
	case r.report.Status == Skipped, r.report.Status == Aborted:
	case r.failures > 0:
		r.report.Status = Failed
	case r.unfinished && r.job.Task != nil:
		r.report.fail(r.job.Name, "do the task", ErrOutOfTime)
		r.report.Status = Failed
	case r.unfinished:
		r.report.Status = Partial
	default:
		r.report.Status = Completed
	}
	r.report.DurationMs = r.clock().Sub(r.report.StartedAt).Milliseconds()
	r.report.Usage = r.meter.Usage()
	r.report.Usage.FirestoreWrites += int64(writes)
	return r.report
}

func (r *run) logSummary(ctx context.Context) {
	message := r.report.summary()
	attributes := []any{slog.Any("report", r.report.forLog())}
	switch r.report.Status {
	case Failed, Aborted:
		if len(r.report.Failures) > 0 {
			message += "; " + r.report.Failures[0].Action + ": " + r.report.Failures[0].Error
		}
		r.log.ErrorContext(ctx, message, append(attributes, logging.Reported())...)
	default:
		r.log.InfoContext(ctx, message, attributes...)
	}
}

func (r *run) timeIsUp() bool { return r.canceled() || !r.clock().Before(r.stopAt) }

// planningTimeIsUp is earlier than [run.timeIsUp] for a plan that is made whole before any of it is applied: planning
// that took all the time would leave none to apply, run after run.
func (r *run) planningTimeIsUp() bool {
	if r.report.DryRun || r.belts.Lifted {
		return r.timeIsUp()
	}
	return r.canceled() || !r.clock().Before(r.planUntil)
}

// recoverTo turns a panic into an error that holds the stack.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// known is what rules may know of the run.
func (r *run) known() Run {
	return Run{Job: r.job.Name, ID: r.report.RunID, Now: r.report.Now, Promise: r.report.Now, Config: r.config}
}
