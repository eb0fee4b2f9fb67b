package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
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
	limits Limits

	documents documents.Writer
	records   documents.Writer // for the run's own records, of which the log does not tell
	objects   objects.Writer   // of no use in a function that does not use Storage
	accounts  accounts.Writer  // of no use in a function that does not use Authentication
	tasks     tasks.Writer     // of no use in a function that does not use Cloud Tasks
	next      tasks.Writer     // of no use in one that does not continue by itself
	gathered  gathered
	runlog    *runlog.Log // what its commits leave
	ahead     together    // what the window deletes first, if that was saved for undo already
	pins      undo.Pins   // what every job keeps
	meter     *usage.Meter

	scheduled    bool             // Cloud Scheduler said which time the run is for
	continues    *state.Task      // what the call continues; nil: it begins a run
	url          string           // the function's own
	continueHere func(state.Task) // in place of Cloud Tasks; nil: Cloud Tasks continues the run
	timeout      time.Duration
	listsAll     bool      // a preview lists its plan whole
	ownStop      bool      // the function has a time of its own to stop after, earlier than the timeout demands
	begun        time.Time // by the clock, with its monotonic reading
	planUntil    time.Time // when planning must end, so that there is time to apply
	stopAt       time.Time // when no more work may be begun
	canceled     func() bool
	stop         stop

	mu       sync.Mutex // guards what follows while actions are being applied
	report   *Report
	failures int
	figures  map[string]int        // sums of [Change.Tally]
	sizes    map[string]*groupSize // by rule
	undone   []documents.Ref       // items that something became of, but not what was planned

	beganAt    string   // the checkpoint that the call began at
	checkpoint string   // to save for the next run
	unfinished bool     // something was left for lack of time
	through    bool     // all that there was to plan was planned and applied
	tripped    []string // safety limits, of the run or of sections

	clients *clients
	logTo   *slog.Logger // without the run's labels
	saved   state.Known  // cleanupJobs/{job}, as this call left it last
	leased  bool         // it holds what it acquired, until it releases that
	bounds  Range        // what it goes through
	ranges  []Range      // that it hands out; none: it does all itself
	stays   string       // why what was left is not continued at once, if somebody should know

	closing func(Ending) string // the line that the job announced for the run's end, nil if none
}

// stopMargin is the time before the timeout in which what is under way ends and the report is saved.
func stopMargin(timeout time.Duration) time.Duration { return min(30*time.Second, timeout/10) }

func newRunID(job string, at time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	return fmt.Sprintf("%s-%s-%s", job, at.UTC().Format("20060102T150405Z"), hex.EncodeToString(random[:]))
}

// execute runs the job and returns the call's report, which is complete and saved unless the report says why not.
func (r *run) execute(ctx context.Context) *Report {
	ctx = usage.NewContext(ctx, r.meter)
	r.canceled = func() bool { return ctx.Err() != nil }
	// What has been begun may end even if the caller is gone; nothing may outlive the function.
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout-stopMargin(r.timeout)/3)
	defer cancel()
	if earlier := r.perform(work); earlier != nil {
		return earlier
	}
	r.close(ctx)
	r.logEnd(ctx)
	return r.report
}

// perform is a call from its first request to its last. It returns the report of an earlier run if that stands for this one.
func (r *run) perform(ctx context.Context) (earlier *Report) {
	if err := r.acquire(ctx); err != nil {
		return r.turnedAway(ctx, err)
	}
	r.logBegin(ctx)
	r.split(ctx)
	if r.mayPlan() {
		p, err := r.plan(ctx)
		if err == nil {
			err = r.check(ctx, p)
		}
		if err == nil {
			err = r.reserve(ctx, p)
		}
		if r.mayApply(ctx, err) {
			r.applyAll(ctx, p)
		}
	}
	r.release(ctx)
	r.continueInTasks(ctx)
	return nil
}

// maxLate is how old a run's now may be before the log says so: retries go on for hours, not for a day.
const maxLate = 24 * time.Hour

func (r *run) logBegin(ctx context.Context) {
	r.log.InfoContext(ctx, r.job.Name+" started", slog.Bool("dryRun", r.report.DryRun), slog.Bool("force", r.report.Force),
		slog.String("lift", strings.Join(r.report.Lift, ",")),
		slog.Time("now", r.report.Now), slog.String("database", r.report.Database), slog.String("bucket", r.report.Bucket),
		slog.String("revision", r.report.Revision), slog.String("version", r.report.Version))
	if r.config.MaxMissingPercent == 100 {
		r.log.WarnContext(ctx, r.job.Name+" has no limit on missing documents, because MAX_MISSING_PERCENT is 100: a database that lost most of them "+
			"would empty the bucket (Terraform: safety_limits.max_missing_percent)")
	}
	if late := r.begun.Sub(r.report.Now); late > maxLate {
		r.log.WarnContext(ctx, fmt.Sprintf("%s runs for %s, %.1f days ago: it judges by that time, so less may be due than now; "+
			"what it promises people counts from now", r.job.Name, r.report.Now.Format(time.RFC3339), late.Hours()/24))
	}
}

// mayPlan reports whether there is anything to plan. If not, something is left.
func (r *run) mayPlan() bool {
	r.unfinished = len(r.ranges) > 0 || r.stop.told.Load()
	return !r.unfinished && r.failures == 0
}

// plan plans. A checkpoint that is of no use is not used.
func (r *run) plan(ctx context.Context) (*Planner, error) {
	p, err := r.planFrom(ctx, r.checkpoint)
	if errors.Is(err, documents.ErrCursor) && r.checkpoint != "" {
		r.log.WarnContext(ctx, r.job.Name+" cannot use the saved checkpoint and starts from the beginning: "+err.Error())
		r.reset()
		p, err = r.planFrom(ctx, r.bounds.Begin)
	}
	if p.outOfTime = errors.Is(err, ErrOutOfTime); p.outOfTime {
		return p, nil
	}
	return p, err
}

// planFrom has the job plan from a checkpoint on; its panic is the run's failure, not the process's.
func (r *run) planFrom(ctx context.Context, checkpoint string) (p *Planner, err error) {
	begun := r.begin(ctx, checkpoint)
	p = begun.planner
	defer guard.Recover(&err)
	defer p.awaitCounts()
	defer begun.stop()
	if err = begun.plan(); p.tripped != nil {
		return p, p.tripped
	}
	return p, err
}

// check drops the sections of the plan that trip a safety limit. It returns a [*LimitError] if none of the plan may be applied.
func (r *run) check(ctx context.Context, p *Planner) error {
	if err := p.judge(ctx); err != nil {
		return err
	}
	return r.limits.Check(p.planned, nil)
}

// mayApply reports whether the plan is to be applied. It says in the report why not, and which safety limits tripped.
func (r *run) mayApply(ctx context.Context, err error) bool {
	var limit *LimitError
	if errors.As(err, &limit) {
		r.tripped = append(r.tripped, limit.Error())
	}
	if len(r.tripped) > 0 {
		r.abort()
	}
	if err != nil && limit == nil {
		r.failed(ctx, r.job.Name, "plan", err)
	}
	return err == nil
}

// applyAll applies the plan, unless this is a preview. Then the call is through, unless it is out of time.
func (r *run) applyAll(ctx context.Context, p *Planner) {
	outOfTime := p.outOfTime
	if !r.report.DryRun {
		outOfTime = errors.Is(r.applyWindow(ctx, p), ErrOutOfTime) || outOfTime
		err := r.runlog.Close(ctx, r.records)
		switch {
		case err != nil && r.job.Task != nil: // nobody but another call for this very task would look for it
			r.failed(ctx, runlog.TodosOf(r.job.Name), "delete what is done", err)
		case err != nil: // nothing is left to do of it
			r.log.WarnContext(ctx, r.job.Name+" could not delete from "+runlog.TodosOf(r.job.Name)+" what is done; the next run does: "+err.Error())
		}
	}
	r.unfinished = outOfTime
	if !outOfTime {
		r.through = true
		r.checkpoint = ""
		if p.next != nil {
			r.checkpoint = p.next(r.undone)
		}
	}
}

// abort says in the report which safety limits tripped, before all else that went wrong.
func (r *run) abort() {
	r.report.Status = Aborted
	var limits []Failure
	for _, text := range r.tripped {
		limits = append(limits, Failure{Target: r.job.Name, Action: report.CheckLimits, Error: clip(text, report.MaxLimitText)})
	}
	r.report.Failures = append(limits, r.report.Failures...)
}

// applyWindow applies what has been planned and empties the window. It returns [ErrOutOfTime] if some of it was left.
// In either case the run's checkpoint is the one to continue from.
func (r *run) applyWindow(ctx context.Context, p *Planner) error {
	if r.hooks.BeforeApply != nil {
		r.hooks.BeforeApply()
	}
	unfinished := r.apply(ctx, p.actions)
	r.checkpoint = p.checkpointBefore(unfinished)
	if unfinished < len(p.actions) {
		return ErrOutOfTime
	}
	clear(p.actions) // they hold documents
	p.originals = 0
	p.checkpoint, p.actions, p.checkpoints, p.section.first = r.checkpoint, p.actions[:0], p.checkpoints[:0], 0
	r.planUntil = r.clock().Add(r.stopAt.Sub(r.clock()) / 2) // for the next window
	return nil
}

func (r *run) planner(checkpoint string) *Planner {
	whole := newSection(Section{}, 0)
	return &Planner{
		sections: []*section{whole}, section: whole,

		Job:        r.job.Name,
		Now:        r.report.Now,
		Config:     r.config,
		Documents:  r.documents.Reader,
		Objects:    r.objects.Reader,
		Accounts:   r.accounts.Reader,
		Task:       r.task,
		Log:        r.log,
		run:        r,
		checkpoint: checkpoint,
		invalid:    map[string]int{},
		pending:    map[documents.Ref]bool{},
	}
}

// reset forgets what an abandoned plan reported.
func (r *run) reset() {
	r.report.Scanned, r.report.Actions, r.report.Kept, r.report.Plan = 0, map[string]Counts{}, map[string]int{}, nil
	r.report.NotCounted, r.report.Warnings, r.tripped = nil, nil, nil
}

// complete sets what can only be known at the end. writes is how many documents are about to be written with the
// report in them, which its usage includes.
func (r *run) complete(writes int) {
	r.report.Stopped = r.stop.told.Load() && r.unfinished
	switch {
	case r.report.Status == Skipped, r.report.Status == Aborted:
	case r.report.Stopped: // also where something failed: Cloud Scheduler would try that again at once
		r.report.Status = Partial
	case r.failures > 0:
		r.report.Status = Failed
	case r.unfinished && r.job.Task != nil:
		r.report.Fail(r.job.Name, "do the task", ErrOutOfTime)
		r.report.Status = Failed
	case r.unfinished:
		r.report.Status = Partial
	default:
		r.report.Status = Completed
	}
	if r.report.Status == Partial || r.report.Status == Failed {
		r.report.Continued, r.stays = r.willContinue()
	}
	if r.report.PartialRuns = 0; r.report.Status == Partial && !r.report.DryRun && !r.report.Stopped {
		r.report.PartialRuns = r.saved.Begun.PartialRuns + 1
	}
	r.report.DurationMs = r.clock().Sub(r.begun).Milliseconds()
	r.report.Usage = r.meter.Usage()
	r.report.Usage.FirestoreWrites += int64(writes)
	if r.report.Continued && r.continueHere == nil {
		r.report.Usage.Tasks += int64(max(1, len(r.ranges))) // which are handed over when the report is saved
	}
}

// timeIsUp reports whether nothing more may be begun.
func (r *run) timeIsUp() bool {
	return r.canceled() || !r.clock().Before(r.stopAt) || r.toldToStop()
}

// checkTime returns [ErrOutOfTime] when no further step should be begun.
func (r *run) checkTime() error {
	if r.timeIsUp() {
		return ErrOutOfTime
	}
	return nil
}

// planningTimeIsUp is earlier than [run.timeIsUp], for planning that took all the time would leave none to apply what was planned,
// run after run.
func (r *run) planningTimeIsUp() bool {
	if r.report.DryRun {
		return r.timeIsUp()
	}
	return r.canceled() || !r.clock().Before(r.planUntil) || r.toldToStop()
}

// known is what rules may know of the run.
func (r *run) known() Run {
	return Run{
		Job: r.job.Name, ID: r.id(), Now: r.report.Now, Started: r.report.StartedAt,
		Promise: promiseFrom(r.report.Now, r.report.StartedAt), Config: r.config, Task: r.task,
	}
}

// keep counts something that turned out, while the plan was being applied, to be kept.
func (r *run) keep(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Kept[reason]++
}
