package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/prices"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/usage"
)

// planned is the result of planning a job. docs/command.md documents it as JSON.
type planned struct {
	Job      string         `json:"job"`
	Report   *engine.Report `json:"report,omitempty"`
	Error    string         `json:"error,omitempty"`    // why there is no report
	Warnings []string       `json:"warnings,omitempty"` // such as documents that cannot be judged

	// Price is what a run would bill that carries out the plan, in US dollars, by the class of the database's location.
	Price map[string]float64 `json:"price,omitempty"`
}

// well reports whether a run would carry out the plan.
func (p planned) well() bool {
	return p.Report != nil && (p.Report.Status == engine.Completed || p.Report.Status == engine.Partial)
}

// planFlags are the flags of plan.
type planFlags struct {
	served
	force, writes, json bool
	lift                []string
	at                  string // --now
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan [JOB...]",
		Short: "Show what jobs would do now, and why; writes nothing",
		Long: `Show what jobs would do now, and why: all jobs, or only those that are named. It
works before anything is deployed.

The jobs plan in this process with your own credentials: roles/datastore.viewer,
roles/storage.objectViewer for files and roles/firebaseauth.viewer for rules
about accounts. Nothing can be written: the connections refuse it. Reads are
billed as in a run. With --local the functions that 'go run ./emulator' serves
are called with {"dryRun":true}.`,
		Example: `  firesweep plan --project my-project cleanupReports
  STORAGE_BUCKET=my-project.firebasestorage.app firesweep plan
  firesweep plan --now +7d cleanupReports    # what will be due in a week
  firesweep plan --json | jq '.plans[].report.plan[].target'
  firesweep plan --local                     # of go run ./emulator --sample`,
		ValidArgsFunction: completeJobs,
	}
	getenv := a.projectFlag(c)
	f.flags(c, a.getenv)
	c.Flags().BoolVar(&f.force, "force", false, "show the whole plan even if it trips a safety limit")
	liftFlag(c, &f.lift)
	c.Flags().StringVar(&f.at, "now", "", "plan for `TIME`: 2026-01-31T15:00:00Z, +48h or -7d")
	c.Flags().BoolVar(&f.writes, "writes", false, "list what each action would write")
	c.Flags().BoolVar(&f.json, "json", false, "write JSON, as docs/command.md says")
	c.RunE = func(c *cobra.Command, names []string) error { return a.plan(c, f, getenv, names) }
	return c
}

func (a *app) plan(c *cobra.Command, f planFlags, getenv func(string) string, names []string) error {
	if err := f.check(c); err != nil {
		return err
	}
	if err := checkLift(f.lift); err != nil {
		return err
	}
	jobs, err := jobsNamed(names)
	if err != nil {
		return err
	}
	now, err := moment("now", f.at, a.clock())
	if err != nil {
		return err
	}
	f.now = now
	if f.local {
		if err := f.answers(c.Context()); err != nil {
			return err
		}
	}
	plan := func(ctx context.Context, job manifest.Entry, _ *usage.Meter) planned {
		report, err := f.call(ctx, job.Name, order{DryRun: true, Force: f.force, Lift: f.lift})
		return plannedOf(job, report, err, nil)
	}
	if !f.local {
		// All settings are checked before any job plans: a wrong one is wrong use, and nothing was begun.
		for _, job := range jobs {
			if _, err := settings(job, getenv, readOf(job)...); err != nil {
				return err
			}
		}
		plan = func(ctx context.Context, job manifest.Entry, meter *usage.Meter) planned {
			return a.planHere(ctx, job, getenv, engine.PlanOptions{Now: now, Force: f.force, Lift: f.lift, Meter: meter})
		}
	}
	return a.planAll(c.Context(), f, jobs, getenv, plan)
}

// readOf returns the backends that planning a job opens: those that it reads.
func readOf(job manifest.Entry) []config.Backend {
	read := []config.Backend{config.Firestore}
	if len(job.Roles[config.Storage]) > 0 {
		read = append(read, config.Storage)
	}
	if job.Rule != nil && job.Rule.ReadsAccounts() {
		read = append(read, config.Auth)
	}
	return read
}

// planHere plans in this process.
func (a *app) planHere(ctx context.Context, job manifest.Entry, getenv func(string) string, o engine.PlanOptions) planned {
	var log warnings
	f := functions.New(functions.Registered()[job.Name])
	f.Getenv, f.Clock, f.Log = getenv, a.clock, &log
	report, err := f.Plan(ctx, o)
	return plannedOf(job, report, err, log.lines())
}

func plannedOf(job manifest.Entry, report *engine.Report, err error, warnings []string) planned {
	p := planned{Job: job.Name, Report: report, Warnings: warnings}
	if err != nil {
		p.Error = err.Error()
	}
	if report != nil {
		p.Price = map[string]float64{}
		for _, l := range prices.Lists {
			p.Price[l.Name] = l.Of(expected(report))
		}
	}
	return p
}

// planning is the progress of a plan.
type planning struct {
	text     string
	meter    usage.Meter
	expected atomic.Int64 // reads of the job's last run; 0: not known
}

// now compares what the plan has read with the reads of the job's last run.
func (p *planning) now() stage {
	u, text := p.meter.Usage(), p.text
	if u.FirestoreReads > 0 {
		text += ": " + plural(int(u.FirestoreReads), "document") + " read"
	}
	if pages := u.StorageClassA + u.StorageClassB; pages > 0 {
		text += ", " + plural(int(pages), "request") + " to Storage"
	}
	return stage{text, u.FirestoreReads, p.expected.Load()}
}

// planAll plans jobs one after the other. It shows each plan as soon as it is made, or, as JSON, all at the end.
func (a *app) planAll(ctx context.Context, f planFlags, jobs []manifest.Entry, getenv func(string) string,
	plan func(context.Context, manifest.Entry, *usage.Meter) planned,
) error {
	failed := false
	all := make([]planned, 0, len(jobs))
	for i, job := range jobs {
		at := planning{text: fmt.Sprintf("%s (%d of %d)", job.Name, i+1, len(jobs))}
		stop := a.progress(ctx, at.now, func(ctx context.Context) {
			if !f.local { // what functions elsewhere read is not known here
				at.expected.Store(readsOfLastRun(ctx, job, getenv))
			}
		})
		p := plan(ctx, job, &at.meter)
		stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		failed = failed || !p.well()
		if all = append(all, p); !f.json {
			a.printer().planned(p, f.writes)
		}
	}
	return a.show(f.json, map[string]any{"plans": all}, shown, failed)
}

// planned prints a plan for people.
func (p *printer) planned(planned planned, writes bool) {
	if planned.Report == nil {
		p.Line(p.Style(screen.Bold, planned.Job) + ": " + p.Style(screen.Red, "no report"))
		p.Say(screen.Red, 2, 0, "%s", planned.Error)
		if do := advice.On(planned.Job, planned.Error); do != "" {
			p.Say("", 4, 2, "-> %s", do)
		}
		p.Line("")
		return
	}
	r := planned.Report
	p.head(r)
	p.Line("")
	p.Plan(r, writes)
	if len(r.Plan) > 0 {
		p.Say("", 2, 2, "a run would bill %s", prices.About(expected(r)))
	}
	p.Kept(r)
	p.failures(r)
	for _, warning := range planned.Warnings {
		p.Say(screen.Yellow, 2, 2, "%s", warning)
	}
	p.Line("")
}
