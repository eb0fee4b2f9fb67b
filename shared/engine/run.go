// Package engine runs the jobs of cleanup over HTTP: a run acquires its job's lease, plans, checks the plan against the safety
// limits, applies it, and releases the lease with its report.
package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/apply"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/plan"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/usage"
)

// run is one call of the function.
type run struct {
	*tell.Teller // of the report and the log
	deadline
	request // what it was asked
	job     cleanup.Job
	config  config.Config
	hooks   Hooks
	decider *decide.Decider
	applier *apply.Applier
	clients *clients
	meter   *usage.Meter

	ownStop bool // the function has a time of its own to stop after, earlier than the timeout demands

	state      jobstate.Known // cleanupJobs/{job}, as it was when the run began
	checkpoint string         // to save for the next run
	cuts       []string       // of its listings of objects, likewise
	leaves     bool           // something may be left to do of what runs did
	unfinished bool           // something was left for lack of time
	released   bool           // it held its lease to the end, and gave it back
}

// stopMargin is the time before the timeout in which what is under way ends and the report is saved.
func stopMargin(timeout time.Duration) time.Duration { return min(30*time.Second, timeout/10) }

func newRunID(job string, at time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	return fmt.Sprintf("%s-%s-%s", job, at.UTC().Format("20060102T150405Z"), hex.EncodeToString(random[:]))
}

// execute runs the job and returns the report, which is complete and saved unless the report says why not.
func (r *run) execute(ctx context.Context) *report.Report {
	ctx = usage.NewContext(ctx, r.meter)
	r.canceled = func() bool { return ctx.Err() != nil }
	// What has been begun may end even if the caller is gone; nothing may outlive the function.
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout-stopMargin(r.timeout)/3)
	defer cancel()
	if earlier := r.perform(work); earlier != nil {
		return earlier
	}
	r.logEnd(ctx)
	return r.Report
}

// perform is a run from its first request to its last. It returns the report of an earlier run if that stands for this one.
func (r *run) perform(ctx context.Context) (earlier *report.Report) {
	if err := r.acquire(ctx); err != nil {
		return r.turnedAway(ctx, err)
	}
	r.logBegin(ctx)
	if r.unfinished = r.stop.ordered.Load(); !r.unfinished {
		if own := r.job.Lines; own != nil && !r.Report.DryRun {
			r.Wrote = map[string]int{}
			r.Logger.InfoContext(ctx, own.Begun)
			defer r.logOwnEnd(ctx, own)
		}
		options := plan.Options{ListAll: r.whole, Versions: r.Versions, Bytes: r.hooks.PlanBytes}
		p, err := plan.Make(ctx, r.decider, r.state.State, options)
		r.cuts, r.leaves = p.Cuts, p.Leaves
		before := r.state.Warned
		if r.Report.DryRun { // whoever previews sees all
			before = nil
		}
		r.TellWarnings(ctx, before)
		if r.Report.Stop(p.Tripped); err != nil {
			r.Fail(ctx, r.job.Name, "plan", err)
		} else {
			r.apply(ctx, p)
		}
	}
	r.release(ctx)
	return nil
}

// maxLate is how old a run's now may be before the log says so: retries go on for hours, not for a day.
const maxLate = 24 * time.Hour

func (r *run) logBegin(ctx context.Context) {
	if late := r.begun.Sub(r.Report.Now); late > maxLate {
		r.Logger.WarnContext(ctx, fmt.Sprintf("%s runs for %s, %.1f days ago: it judges by that time, so less may be due than now; "+
			"what it promises people counts from now", r.job.Name, r.Report.Now.Format(time.RFC3339), late.Hours()/24))
	}
}

// apply applies the plan, unless this is a preview, and sets where the next run begins.
func (r *run) apply(ctx context.Context, p *plan.Planner) {
	var undone []documents.Ref
	r.unfinished = p.OutOfTime
	if !r.Report.DryRun {
		if r.hooks.BeforeApply != nil {
			r.hooks.BeforeApply()
		}
		var begun int
		begun, undone = r.applier.Apply(ctx, p.Items)
		r.checkpoint = p.CheckpointBefore(begun)
		r.unfinished = r.unfinished || begun < len(p.Items)
		todos := runlog.TodosOf(r.job.Name)
		switch err := r.applier.Log.Close(ctx, r.applier.Documents); {
		case err != nil && r.job.Task != nil: // nobody but another call for this very task would look for it
			r.Fail(ctx, todos, "delete what is done", err)
		case err != nil: // nothing is left to do of it
			r.Logger.WarnContext(ctx, r.job.Name+" could not delete from "+todos+" what is done; the next run does: "+err.Error())
		}
	}
	if r.unfinished {
		return
	}
	r.checkpoint = ""
	if p.Next != nil {
		r.checkpoint = p.Next(undone)
	}
}

// complete sets what can only be known at the end. writes is how many documents are about to be written with the
// report in them, which its usage includes.
func (r *run) complete(writes int) {
	r.Report.Stopped = r.stop.ordered.Load() && r.unfinished
	switch {
	case r.Report.Status == report.Skipped, r.Report.Status == report.Aborted:
	case r.Report.Stopped: // also where something failed: Cloud Scheduler would try that again at once
		r.Report.Status = report.Partial
	case len(r.Report.Failures) > 0:
		r.Report.Status = report.Failed
	case r.unfinished && r.job.Task != nil:
		r.Report.Fail(r.job.Name, "do the task", cleanup.ErrOutOfTime)
		r.Report.Status = report.Failed
	case r.unfinished:
		r.Report.Status = report.Partial
	default:
		r.Report.Status = report.Completed
	}
	if r.Report.PartialRuns = 0; r.Report.Status == report.Partial && !r.Report.DryRun && !r.Report.Stopped {
		r.Report.PartialRuns = 1
		if last := r.state.Last; last != nil {
			r.Report.PartialRuns += last.PartialRuns
		}
	}
	r.Report.DurationMs = r.clock().Sub(r.begun).Milliseconds()
	r.Report.Usage = r.meter.Usage()
	r.Report.Usage.FirestoreWrites += int64(writes)
}

// known is what rules may know of the run.
func (r *run) known() cleanup.Run {
	// A run's now can lie far back: a retry keeps its schedule time, and so does a run that somebody repeats by hand. A promise
	// to people, such as "in a week", would already be half over when it is made.
	promise := r.Report.Now
	if r.Report.StartedAt.After(promise) {
		promise = r.Report.StartedAt
	}
	return cleanup.Run{
		Job: r.job.Name, ID: r.Report.RunID, Now: r.Report.Now, Started: r.Report.StartedAt,
		Promise: promise.UTC().Truncate(time.Microsecond), Config: r.config, Task: r.task,
	}
}
