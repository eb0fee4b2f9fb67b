package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/logging"
)

// RunOptions say how [Function.Run] runs.
type RunOptions struct {
	Force bool   // no safety limit on numbers and shares holds
	By    string // who runs it, in place of the report's revision
	// Plan restricts the run to what somebody approved; nil: to nothing. Such a run is followed by no other.
	Plan  *report.Approval
	Watch Watch // is given each of the runs; nil: nobody waits
}

// ErrNeedsTasks says that a job hands work to a worker, which only Cloud Tasks calls.
var ErrNeedsTasks = errors.New("it hands work to its worker through Cloud Tasks, so it only runs deployed")

// Run runs the job in the caller's process, with the caller's credentials, run after run until nothing is left. It calls ended with
// the report of each, and with whether another one follows: none does after a run that was stopped or canceled, is restricted to a
// plan, or got nowhere. All is as deployed: lease, limits, undo log and saved report. If ctx is canceled the run ends in order,
// partial. The error is [ErrNeedsTasks], a [*config.Error], or says why a client cannot be opened or that the engine panicked;
// whatever goes wrong later is in the report.
func (f *Function) Run(ctx context.Context, o RunOptions, ended func(rep *report.Report, more bool)) (err error) {
	if slices.Contains(f.Uses, config.Tasks) || f.Job.Task != nil {
		return fmt.Errorf("%s: %w", f.Job.Name, ErrNeedsTasks)
	}
	getenv := func(name string) string {
		value := config.For(f.Job.Name, f.Getenv)(name)
		if name == "DRY_RUN" {
			return cmp.Or(value, "false")
		}
		return value
	}
	cfg, err := config.Load(getenv, f.Job.Settings, f.Uses...)
	if err != nil {
		return err
	}
	if cfg.DryRun {
		return &config.Error{Problems: []string{"DRY_RUN is true, so nothing runs: unset it"}}
	}
	here := f.forOperator()
	c, err := here.open(context.WithoutCancel(ctx), cfg)
	if err != nil {
		return err
	}
	defer c.close()
	defer guard.Recover(&err)
	if err := o.Plan.Check(f.Binding(cfg), f.Clock()); err != nil {
		return err
	}
	dryRun := false
	for {
		wall := f.Clock()
		r := here.newRun(c, cfg, logging.New(f.Log), wall, wall.UTC().Truncate(time.Microsecond),
			request{dryRun: &dryRun, force: o.Force, approved: o.Plan})
		r.Report.Revision = o.By
		o.Watch.begin(r)
		rep := r.execute(ctx)
		more := r.mayBeFollowed()
		if ended(rep, more); !more {
			return nil
		}
	}
}

// mayBeFollowed reports whether another run should do at once what the run had no time for: not if that was restricted to a plan, or
// got nowhere.
func (r *run) mayBeFollowed() bool {
	gotOn := r.checkpoint != r.state.Begins() || r.Report.Done() > 0
	ended := r.Report.Status == report.Partial || r.Report.Status == report.Failed
	return r.unfinished && r.released && ended && gotOn && !r.Report.Stopped && !r.canceled() && r.decider.Approved == nil
}
