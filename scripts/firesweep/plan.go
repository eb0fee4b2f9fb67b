package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/prices"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/usage"
)

// planned is the result of planning a job. docs/command.md documents it as JSON.
type planned struct {
	Job      string         `json:"job"`
	Report   *report.Report `json:"report,omitempty"`
	Error    string         `json:"error,omitempty"`    // why there is no report
	Warnings []string       `json:"warnings,omitempty"` // such as documents that cannot be judged
	Doubts   []string       `json:"doubts,omitempty"`   // what the project's documents tell against one of your rules

	// Price is what a run would bill that carries out the plan, in US dollars, by the class of the database's location.
	Price map[string]float64 `json:"price,omitempty"`
	used  usage.Usage        // by that run

	// Index says that an index is missing: the address at which Firestore makes it, or as much of its message as says so.
	Index string `json:"index,omitempty"`
}

// well reports whether a run would carry out the plan.
func (p planned) well() bool {
	return p.Report != nil && (p.Report.Status == report.Completed || p.Report.Status == report.Partial)
}

// planFlags are the flags of plan.
type planFlags struct {
	served
	force, writes bool
	exitCode      bool // exit with 3 if something is due
	lift          []string
	at            string // --now
	out           string // the plan file to write
	next          string // the command that does what was planned; empty: none is named
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan [JOB...]",
		Short: "Show what jobs would do now, and why; writes nothing",
		Long: `Show what jobs would do now, and why: your rules in firesweep.json and those of
the nine jobs that its "enabled" names, or the jobs that you name. It works
before anything is deployed.

The jobs plan in this process with your own credentials: roles/datastore.viewer,
roles/storage.objectViewer for files and roles/firebaseauth.viewer for rules
about accounts. Nothing can be written: the connections refuse it. Reads are
billed as in a run. With --local the functions that 'go run ./emulator' serves
are called with {"dryRun":true}. With --exit-code, exit code 3 says that
something would be done.`,
		Example: `  firesweep plan
  firesweep plan --project my-project cleanupReports
  STORAGE_BUCKET=my-project.firebasestorage.app firesweep plan
  firesweep plan --now +7d cleanupReports    # what will be due in a week
  firesweep plan --out plan.json cleanupReports    # for run --plan
  firesweep plan --json | jq '.plans[].report.plan[].target'
  firesweep plan --local                     # of go run ./emulator --sample`,
	}
	f.flags(c, a.getenv)
	c.Flags().BoolVar(&f.force, "force", false, "show the whole plan even if it trips a safety limit")
	liftFlag(c, &f.lift)
	c.Flags().StringVar(&f.at, "now", "", "plan for `TIME`: 2026-01-31T15:00:00Z, +48h or -7d")
	c.Flags().BoolVar(&f.writes, "writes", false, "list what each action would write")
	c.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 3 if something would be done")
	c.Flags().StringVar(&f.out, "out", "", "write the plan to `FILE`, for 'firesweep run --plan'")
	c.RunE = func(c *cobra.Command, names []string) error { return a.plan(c, f, names) }
	return c
}

func (a *app) plan(c *cobra.Command, f planFlags, names []string) error {
	if err := f.check(c); err != nil {
		return err
	}
	if err := checkLift(f.lift); err != nil {
		return err
	}
	if f.out != "" && f.local {
		return wrongUse("--out needs a plan that this process makes: leave out --local, and set the variables that the emulator prints")
	}
	jobs, err := a.toPlan(names, f.local)
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
			if _, err := a.settings(job, readOf(job)...); err != nil {
				return err
			}
		}
		plan = func(ctx context.Context, job manifest.Entry, meter *usage.Meter) planned {
			o := engine.PlanOptions{Now: now, Force: f.force, Lift: f.lift, Meter: meter, Versions: f.out != ""}
			return a.planHere(ctx, job, o)
		}
	}
	needsTasks := func(job manifest.Entry) bool { return job.Worker != "" }
	a.here = !f.local && !a.nine && !slices.ContainsFunc(jobs, needsTasks)
	if a.here && f.at == "" {
		f.next = doHere(c, names)
	}
	return a.planAll(c.Context(), f, jobs, plan)
}

// doHere returns the command that does what was planned.
func doHere(c *cobra.Command, names []string) string {
	command := "firesweep run --here --apply" + asGiven(c, "project", "rules", "force", "lift", "plan")
	if out := c.Flags().Lookup("out"); out != nil && out.Changed {
		return command + " --plan " + screen.Quoted(out.Value.String())
	}
	return strings.Join(append([]string{command}, names...), " ")
}

// toPlan returns the jobs of these names, or those of the application if no name is given. Where it has none, the error says how to
// begin. anywhere says that there need not be an application.
func (a *app) toPlan(names []string, anywhere bool) ([]manifest.Entry, error) {
	if len(names) > 0 || anywhere {
		return a.toRun(names)
	}
	if a.rules == "" && len(a.Own) == 0 {
		return nil, wrongUse("there is no %s here or above: let firesweep init propose rules, write some as %s says, or name jobs",
			rulesName, rulesPage)
	}
	return a.toRun(nil)
}

// readOf returns the backends that planning a job opens: those that it reads.
func readOf(job manifest.Entry) []config.Backend {
	read := []config.Backend{config.Firestore}
	if len(job.Roles[config.Storage]) > 0 {
		read = append(read, config.Storage)
	}
	if job.Rule != nil && job.ReadsAccounts() {
		read = append(read, config.Auth)
	}
	return read
}

// function returns a job's function that works in this process.
func (a *app) function(job manifest.Entry, log io.Writer) (*engine.Function, error) {
	f, err := a.New(job, a.getenv)
	if err == nil {
		f.Clock, f.Log, f.Hooks = a.clock, log, a.running
	}
	return f, err
}

// planHere plans in this process.
func (a *app) planHere(ctx context.Context, job manifest.Entry, o engine.PlanOptions) planned {
	var log warnings
	f, err := a.function(job, &log)
	if err != nil {
		return plannedOf(job, nil, err, nil)
	}
	report, err := f.Plan(ctx, o)
	p := plannedOf(job, report, err, log.lines())
	p.Doubts = a.doubts(ctx, job, report)
	return p
}

func plannedOf(job manifest.Entry, rep *report.Report, err error, warnings []string) planned {
	p := planned{Job: job.Name, Report: rep, Warnings: warnings}
	if err != nil {
		p.Error = err.Error()
	}
	p.Index = missingIndex(p.Error)
	if rep != nil {
		for _, f := range rep.Failures {
			p.Index = cmp.Or(p.Index, missingIndex(f.Error))
		}
		p.used, p.Price = expected(job, rep), map[string]float64{}
		for _, l := range prices.Lists {
			p.Price[l.Name] = l.Of(p.used)
		}
	}
	return p
}

var (
	needsIndex   = regexp.MustCompile(`requires an? ([A-Z_]+ )?index.*`)
	indexAddress = regexp.MustCompile(`https://console\.\S+`)
)

// missingIndex returns the address at which Firestore makes the index that an error asks for, or else what the error says of it; ""
// if it asks for none.
func missingIndex(text string) string {
	says := needsIndex.FindString(text)
	return cmp.Or(indexAddress.FindString(says), says)
}

// printIndexes says of all plans together which lack an index, and what makes these.
func (p *printer) printIndexes(all []planned) {
	lack := slices.DeleteFunc(slices.Clone(all), func(p planned) bool { return p.Index == "" })
	if len(lack) == 0 {
		return
	}
	p.Say(screen.Red, 0, 2, "%s failed for want of an index, and the rest is planned. Make all indexes that jobs need, and wait until "+
		"they are built:", plural(len(lack), "plan"))
	p.Command("firesweep check%s --indexes > firestore.indexes.json", p.given.Rules)
	p.Command("firebase deploy%s --only firestore:indexes", p.given.Project)
	p.Say("", 0, 2, "Or one by one:")
	for _, one := range lack {
		p.Say("", 2, 4, "%s: %s", one.Job, one.Index)
	}
	p.Line("")
}

// planning is the progress of a plan.
type planning struct {
	text     string
	meter    usage.Meter
	expected int64 // reads of the job's last run; 0: not known
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
	return stage{text, u.FirestoreReads, p.expected}
}

// planAll plans jobs one after the other. It shows each plan as soon as it is made, or, as JSON, all at the end.
func (a *app) planAll(ctx context.Context, f planFlags, jobs []manifest.Entry,
	plan func(context.Context, manifest.Entry, *usage.Meter) planned,
) error {
	failed, found := false, false
	all := make([]planned, 0, len(jobs))
	for i, job := range jobs {
		at := planning{text: fmt.Sprintf("%s (%d of %d)", job.Name, i+1, len(jobs))}
		if a.screen.errs && !f.local { // what functions elsewhere read is not known here
			at.expected = a.readsOfLastRun(ctx, job)
		}
		stop := a.progress(ctx, at.now)
		p := plan(ctx, job, &at.meter)
		stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		failed = failed || !p.well()
		found = found || p.Report != nil && len(p.Report.Plan) > 0
		if all = append(all, p); !a.json {
			a.printer().planned(p, f.writes)
		}
	}
	if !a.json {
		a.printer().printIndexes(all)
	}
	var unwritten error
	if f.out != "" {
		unwritten = writePlan(f.out, all)
	}
	if found && !failed && unwritten == nil && !a.json && f.next != "" {
		p := a.printer()
		p.Say("", 0, 2, "Nothing was changed. Do it:")
		p.Command("%s", f.next)
	}
	err := a.show(map[string]any{"plans": all}, shown, failed && unwritten == nil)
	if err == nil && unwritten == nil && found && f.exitCode {
		err = saidError(exitFound)
	}
	return errors.Join(err, unwritten)
}

// planned prints a plan for people.
func (p *printer) planned(planned planned, writes bool) {
	if planned.Report == nil {
		p.Line(p.Style(screen.Bold, planned.Job) + ": " + p.Style(screen.Red, "no report"))
		p.Say(screen.Red, 2, 0, "%s", planned.Error)
		if do := p.typed(advice.On(planned.Job, planned.Error)); do != "" {
			p.Say("", 4, 2, "-> %s", do)
		}
		p.doubts(planned.Doubts)
		p.Line("")
		return
	}
	r := planned.Report
	p.head(r)
	p.Line("")
	p.Plan(r, writes)
	if len(r.Plan) > 0 {
		p.Say("", 2, 2, "a run would bill %s", prices.About(planned.used))
	}
	p.Kept(r)
	p.failures(r)
	for _, warning := range planned.Warnings {
		said := func(f report.Failure) bool { return strings.Contains(warning, f.Error) }
		if slices.ContainsFunc(r.Failures, said) {
			continue
		}
		p.Say(screen.Yellow, 2, 2, "%s", warning)
	}
	p.doubts(planned.Doubts)
	p.Line("")
}
