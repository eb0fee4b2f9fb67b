package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/logging"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/usage"
)

// planTime bounds a plan of [Function.Plan]. No platform ends it, so that it may take as long as it takes.
const planTime = 7 * 24 * time.Hour

// A Watch is given what tells how far a plan or a run is, before that begins. It may be asked at any time.
type Watch func(progress func() report.Progress)

func (w Watch) begin(r *run) {
	if w != nil {
		w(r.Progress)
	}
}

// PlanOptions say how [Function.Plan] plans.
type PlanOptions struct {
	Now   time.Time // the plan's now, past or future; zero is the clock's
	Force bool      // no safety limit on numbers and shares holds
	// Versions says that the plan is to be approved: [report.Planned] has versions. What has none yet takes a read.
	Versions bool
	Plan     *report.Approval // what a run would be restricted to; nil: to nothing
	Watch    Watch            // nil: nobody waits
}

// Plan plans a job in the caller's process, with the caller's credentials, and returns the whole plan in the report. It only
// reads: it takes no lease and saves no report, nothing of Cloud Tasks is opened, nor of Authentication unless the job looks at accounts, and
// the connections refuse whatever writes. So it needs no more than the right to read, and the settings of what it reads. The error is
// a [*config.Error] or says why a client cannot be opened; whatever goes wrong later is in the report.
func (f *Function) Plan(ctx context.Context, o PlanOptions) (*report.Report, error) {
	uses := slices.DeleteFunc(slices.Clone(f.Uses), func(b config.Backend) bool {
		return b != config.Firestore && b != config.Storage && (b != config.Auth || !f.Job.Accounts)
	})
	cfg, err := config.Load(config.Previewing(config.For(f.Job.Name, f.Getenv)), f.Job.Settings, uses...)
	if err != nil {
		return nil, err
	}
	reading := f.forOperator()
	reading.Timeout, reading.StopAfter, reading.Uses = planTime, 0, uses
	reading.Hooks.Dial = slices.Concat(documents.ReadOnly(), f.Hooks.Dial)
	reading.Hooks.Transport, reading.Hooks.Accounts = after(f.Hooks.Transport, objects.ReadOnly), after(f.Hooks.Accounts, accounts.ReadOnly)
	wall, dryRun := f.Clock(), true
	if o.Now.IsZero() {
		o.Now = wall
	}
	asked := request{dryRun: &dryRun, force: o.Force, approved: o.Plan}
	if err := o.Plan.Check(f.Binding(cfg), f.Clock()); err != nil {
		return nil, err
	}
	c, err := reading.open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.close()
	r := reading.newRun(c, cfg, logging.New(f.Log), wall, o.Now.UTC().Truncate(time.Microsecond), asked)
	r.options.ListAll, r.options.Versions = true, o.Versions
	o.Watch.begin(r)
	r.canceled = func() bool { return ctx.Err() != nil }
	ctx = usage.NewContext(ctx, r.meter)
	r.perform(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("plan %s: %w", f.Job.Name, context.Cause(ctx))
	}
	return r.Report, nil
}

// after returns a hook that wraps what another one, which may be nil, returns.
func after[T any](hook, wrap func(T) T) func(T) T {
	return func(base T) T {
		if hook != nil {
			base = hook(base)
		}
		return wrap(base)
	}
}
