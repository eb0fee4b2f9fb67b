package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/logging"
	"github.com/firesweep/firesweep/shared/usage"
)

// Options say how [Function.Plan] plans and [Function.Run] runs, in the process and with the credentials of whoever calls them.
type Options struct {
	Force    bool             // no safety limit on numbers and shares holds
	Approved *report.Approval // the plan to which the runs are restricted; nil: to none
	Watch    Watch            // is given each run; nil: nobody waits
	// Of a plan: its now, past or future, zero is the clock's; and whether it is to be approved, so that [report.Planned] has
	// versions. What has none yet takes a read.
	Now      time.Time
	Versions bool
	By       string // of a run: who runs it, in place of the report's revision
}

// A Watch is given what tells how far a plan or a run is, before that begins. It may be asked at any time.
type Watch func(progress func() report.Progress)

// planTime bounds a plan of [Function.Plan]. No platform ends it, so that it may take as long as it takes.
const planTime = 7 * 24 * time.Hour

// Preview is a plan, and what it is of.
type Preview struct {
	*report.Report                // with the whole plan
	Binding        report.Binding // what a run that is restricted to the plan must be for
	State          jobstate.State // of the job when planning began
}

// Plan plans a job. It only reads: it takes no lease and saves no report, nothing of
// Cloud Tasks is opened, nor of Authentication unless the job looks at accounts, and the connections refuse whatever writes. So
// it needs no more than the right to read, and the settings of what it reads. The error is a [*config.Error] or says why a
// client cannot be opened; whatever goes wrong later is in the report.
func (f *Function) Plan(ctx context.Context, o Options) (Preview, error) {
	reading := f.forOperator()
	reading.Uses = slices.DeleteFunc(slices.Clone(f.Uses), func(b config.Backend) bool {
		return b != config.Firestore && b != config.Storage && (b != config.Auth || !f.Job.Accounts)
	})
	reading.Timeout, reading.StopAfter = planTime, 0
	reading.Hooks.Hooks = f.Hooks.ReadOnly()
	cfg, c, err := reading.begin(ctx, o, config.Previewing(config.For(f.Job.Name, f.Getenv)))
	if err != nil {
		return Preview{}, err
	}
	defer c.close()
	r := reading.operated(c, cfg, o, true)
	r.canceled = func() bool { return ctx.Err() != nil }
	ctx = usage.NewContext(ctx, r.meter)
	r.perform(ctx)
	if ctx.Err() != nil {
		return Preview{}, fmt.Errorf("plan %s: %w", f.Job.Name, context.Cause(ctx))
	}
	return Preview{Report: r.Report, Binding: f.Binding(cfg), State: r.state.State}, nil
}

// ErrNeedsTasks says that a job hands work to a worker, which only Cloud Tasks calls.
var ErrNeedsTasks = errors.New("it hands work to its worker through Cloud Tasks, so it only runs deployed")

// Run runs the job, run after run until nothing is left. It calls ended with the report of each, and with whether another one
// follows: none does after a run that was stopped or canceled, or got nowhere. All is as deployed: lease, limits, undo log and
// saved report. If ctx is canceled the run ends in order, partial. The error is [ErrNeedsTasks], a [*config.Error], or says why
// a client cannot be opened or that the engine panicked; whatever goes wrong later is in the report.
func (f *Function) Run(ctx context.Context, o Options, ended func(rep *report.Report, more bool)) (err error) {
	if slices.Contains(f.Uses, config.Tasks) || f.Job.Task != nil {
		return fmt.Errorf("%s: %w", f.Job.Name, ErrNeedsTasks)
	}
	here := f.forOperator()
	cfg, c, err := here.begin(context.WithoutCancel(ctx), o, func(name string) string {
		value := config.For(f.Job.Name, f.Getenv)(name)
		if name == "DRY_RUN" {
			return cmp.Or(value, "false")
		}
		return value
	})
	if err != nil {
		return err
	}
	defer c.close()
	if cfg.DryRun {
		return &config.Error{Problems: []string{"DRY_RUN is true, so nothing runs: unset it"}}
	}
	defer guard.Recover(&err)
	for {
		r := here.operated(c, cfg, o, false)
		rep := r.execute(ctx)
		more := r.mayBeFollowed()
		if ended(rep, more); !more {
			return nil
		}
	}
}

// begin reads the configuration from variables, checks whether the approved plan is for it, and opens clients.
func (f *Function) begin(ctx context.Context, o Options, getenv func(string) string) (cfg config.Config, c *clients, err error) {
	if cfg, err = config.Load(getenv, f.Job.Settings, f.Uses...); err != nil {
		return cfg, nil, err
	}
	if err = o.Approved.Check(f.Binding(cfg), f.Clock()); err != nil {
		return cfg, nil, err
	}
	c, err = f.open(ctx, cfg)
	return cfg, c, err
}

// operated returns a run for whoever calls the command, and has it watched.
func (f *Function) operated(c *clients, cfg config.Config, o Options, dryRun bool) *run {
	wall := f.Clock()
	now := wall
	if !o.Now.IsZero() {
		now = o.Now
	}
	req := request{Options: o, dryRun: &dryRun, whole: dryRun}
	r := f.newRun(c, cfg, logging.New(f.Log), wall, now.UTC().Truncate(time.Microsecond), req)
	if o.Watch != nil {
		o.Watch(r.Progress)
	}
	return r
}

// mayBeFollowed reports whether another run should do at once what the run had no time for: not if that got nowhere.
func (r *run) mayBeFollowed() bool {
	gotOn := r.checkpoint != r.state.Begins() || r.Report.Done() > 0
	ended := r.Report.Status == report.Partial || r.Report.Status == report.Failed
	return r.unfinished && r.released && ended && gotOn && !r.Report.Stopped && !r.canceled()
}
