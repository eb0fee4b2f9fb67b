package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/logging"
)

// RunOptions say how [Function.Run] runs.
type RunOptions struct {
	Force bool     // no safety limit on numbers and shares holds
	Lift  []string // protections lifted by name, as [CheckLift] takes them
	By    string   // who runs it, in place of the report's revision
	// Plan restricts the run to what somebody approved; nil: to nothing. Such a run does not continue.
	Plan *report.Approval
}

// ErrNeedsTasks says that a job hands work to a worker, which only Cloud Tasks calls.
var ErrNeedsTasks = errors.New("it hands work to its worker through Cloud Tasks, so it only runs deployed")

// deployedOnly are the settings of what only a deployed function does.
var deployedOnly = []string{"CONTINUE_FOR", "CONTINUE_QUEUE", "CONTINUE_URL", "SHARDS"}

// Run runs the job in the caller's process, with the caller's credentials, and returns the report of the whole run. What a deployed
// function hands to Cloud Tasks when it is out of time, this process does itself until nothing is left. All else is as deployed:
// lease, limits, undo log and saved report. If ctx is canceled the run ends in order, partial. The error is [ErrNeedsTasks], a
// [*config.Error], or says why a client cannot be opened or that the engine panicked; whatever goes wrong later is in the report.
func (f *Function) Run(ctx context.Context, o RunOptions) (whole *report.Report, err error) {
	if slices.Contains(f.Uses, config.Tasks) || f.Job.Task != nil {
		return nil, fmt.Errorf("%s: %w", f.Job.Name, ErrNeedsTasks)
	}
	getenv := func(name string) string {
		switch {
		case slices.Contains(deployedOnly, name):
			return ""
		case name == "DRY_RUN":
			return cmp.Or(config.For(f.Job.Name, f.Getenv)(name), "false")
		}
		return config.For(f.Job.Name, f.Getenv)(name)
	}
	cfg, err := config.Load(getenv, f.Job.Settings, f.Uses...)
	if err != nil {
		return nil, err
	}
	if cfg.DryRun {
		return nil, &config.Error{Problems: []string{"DRY_RUN is true, so nothing runs: unset it"}}
	}
	cfg.ContinueFor = planTime
	var left []state.Task
	here := &Function{Job: f.Job, Timeout: f.Timeout, StopAfter: f.StopAfter, Uses: f.Uses, Clock: f.Clock, Log: f.Log, Hooks: f.Hooks,
		forOperator: true, continueHere: func(t state.Task) { left = append(left, t) }}
	here.Getenv = func(name string) string {
		if name == "K_REVISION" {
			return o.By
		}
		return f.Getenv(name)
	}
	c, err := here.open(context.WithoutCancel(ctx), cfg)
	if err != nil {
		return nil, err
	}
	defer c.close()
	defer guard.Recover(&err)

	dryRun, now := false, f.Clock().UTC().Truncate(time.Microsecond)
	req := request{dryRun: &dryRun, force: o.Force, lift: o.Lift, plan: o.Plan}
	if err := o.Plan.Check(f.Binding(cfg), f.Clock()); err != nil {
		return nil, err
	}
	for {
		r := here.newRun(c, cfg, logging.New(f.Log), f.Clock(), now, req)
		rep := r.execute(ctx)
		switch {
		case r.leased && r.saved.Run == r.id() && (whole != nil || len(left) > 0):
			whole = r.saved.Report()
		case whole == nil:
			whole = rep
		}
		if len(left) == 0 {
			return whole, nil
		}
		req = request{dryRun: &dryRun, continues: &left[0]}
		left = left[1:]
	}
}
