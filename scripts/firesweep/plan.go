package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/declared/gaps"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
)

// planned is the result of planning a job. docs/command.md documents it as JSON.
type planned struct {
	Job      string         `json:"job"`
	Report   *report.Report `json:"report,omitempty"`
	Error    string         `json:"error,omitempty"`    // why there is no report
	Warnings []string       `json:"warnings,omitempty"` // such as documents that cannot be judged
	Doubts   []string       `json:"doubts,omitempty"`   // what the project's documents tell against one of your rules
	Held     *jobstate.Hold `json:"held,omitempty"`     // a run does nothing; nil: nobody holds the job

	binding report.Binding // what the plan is for

	err  error  // as Error
	does string // what a rule does that changes documents, in words
}

// well reports whether a run would carry out the plan.
func (p planned) well() bool {
	return p.Report != nil && (p.Report.Status == report.Completed || p.Report.Status == report.Partial)
}

// due returns how many items a run would do something about.
func (p planned) due() int {
	if p.Report == nil || p.Held != nil {
		return 0
	}
	return p.Report.Totals().Planned - p.Report.Stay()
}

// planFlags are the flags of plan.
type planFlags struct {
	force bool
	all   bool
	out   string // the plan file to write
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan [JOB...]",
		Short: "Show what jobs would delete now, and why; writes nothing",
		Long: `Show what your rules, or the jobs that you name, would delete now, and why;
nothing is written: the connections allow no writes.

Your credentials need roles/datastore.viewer, for files
roles/storage.objectViewer, and for accounts roles/firebaseauth.viewer. Reads
are billed as in a run.`,
		Example: `  firesweep plan
  firesweep plan --project my-project cleanupReports
  firesweep plan --out plan.json cleanupReports    # for run --plan`,
	}
	c.Flags().BoolVar(&f.force, "force", false, "show the whole plan even if it trips a safety limit")
	c.Flags().BoolVar(&f.all, "all", false, "list everything, not only the first items of each kind")
	c.Flags().StringVar(&f.out, "out", "", "write the plan to `FILE`, for 'firesweep run --plan'")
	c.RunE = func(c *cobra.Command, names []string) error { return a.plan(c, f, names) }
	return c
}

func (a *app) plan(c *cobra.Command, f planFlags, names []string) error {
	jobs, err := a.toPlan(c.Context(), names, readOf)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(f.out)); f.out != "" && err != nil {
		return wrongUse("--out: %w", err)
	}
	p := a.aside(true)
	plans, err := a.planAll(c.Context(), jobs, p, f.all, engine.Options{Force: f.force, Versions: f.out != ""}, nil)
	if err != nil {
		return err
	}
	bad := slices.ContainsFunc(plans, func(p planned) bool { return !p.well() })
	found := slices.ContainsFunc(plans, func(p planned) bool { return p.due() > 0 })
	var unwritten error
	if f.out != "" {
		unwritten = writePlan(f.out, plans)
	}
	anything := func(p planned) bool { return p.Report == nil || p.Report.Scanned > 0 || len(p.Report.Kept) > 0 }
	if !slices.ContainsFunc(plans, anything) {
		p.Say(yellow, 0, 2, "No rule found anything in the project %s: is it the right one?", p.where)
	}
	needsTasks := func(job manifest.Entry) bool { return job.Worker != "" }
	if found && !bad && unwritten == nil && !slices.ContainsFunc(jobs, needsTasks) {
		p.Say("", 0, 2, "Nothing was changed. Do it:")
		does := slices.Clone(names)
		if f.out != "" {
			does = []string{"--plan", quoted(f.out)}
		}
		p.Type("run", append(does, strings.Fields(asGiven(c, "force"))...)...)
	}
	return errors.Join(a.show(map[string]any{"plans": plans}, shown, bad && unwritten == nil), unwritten)
}

// toPlan returns the jobs of these names, or those of the application if no name is given. Where it has none, the error says
// how to begin. All settings are checked before any job plans: a wrong one is wrong use.
func (a *app) toPlan(
	ctx context.Context, names []string, uses func(manifest.Entry) []config.Backend,
) ([]manifest.Entry, error) {
	if len(names) == 0 && a.rules == "" && len(a.Own) == 0 {
		return nil, wrongUse("there is no %s here or above: let firesweep init propose rules, write some as %s says, or name jobs",
			rulesName, rulesPage)
	}
	jobs, err := a.jobsNamed(names)
	for _, job := range jobs {
		if err == nil {
			_, err = a.settings(ctx, job, uses(job)...)
		}
	}
	return jobs, err
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

// planAll plans jobs one after the other, by what was approved of each, and prints each plan as soon as it is made.
func (a *app) planAll(ctx context.Context, jobs []manifest.Entry, p *printer, all bool, o engine.Options,
	approved map[string]*report.Approval,
) ([]planned, error) {
	plans := make([]planned, 0, len(jobs))
	for i, job := range jobs {
		at := a.progress(ctx, fmt.Sprintf("planning %s (%d of %d)", job.Name, i+1, len(jobs)))
		o.Approved, o.Watch = approved[job.Name], at.watch()
		one := a.planHere(ctx, job, o)
		at.stop()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		plans = append(plans, one)
		p.planned(one, all, a.remedy(ctx, one.err))
	}
	left, err := a.halfDone(ctx)
	for _, f := range left {
		p.Say(yellow, 0, 2, "%s left items half done, and %s: finish them with the file of then:", f.Job, noRule)
		p.Type("run", f.Job, ofThen)
	}
	if slices.ContainsFunc(plans, func(p planned) bool { return !p.well() }) {
		err = nil // it is what a plan has said
	}
	return plans, err
}

// planHere plans in this process.
func (a *app) planHere(ctx context.Context, job manifest.Entry, o engine.Options) planned {
	var log warnings
	f, err := a.function(job, &log)
	p := planned{Job: job.Name, err: err}
	if job.Rule != nil && !job.Deletes() {
		p.does = job.Words()
	}
	if err == nil {
		var made engine.Preview
		made, p.err = f.Plan(ctx, o)
		p.Report, p.binding, p.Held = made.Report, made.Binding, made.State.Held
		if made.State.Leased(a.clock()) != "" {
			p.Warnings = append(p.Warnings, "a run does nothing yet: "+a.underWay(job.Name, made.State))
		}
	}
	if p.err != nil {
		p.Error = p.err.Error()
	}
	p.Doubts = a.doubts(ctx, job, p.Report)
	if cfg, err := a.settings(ctx, job, config.Firestore); err == nil && cfg.UndoDays == 0 {
		p.Warnings = append(p.Warnings, "UNDO_DAYS is 0: what a run deletes cannot be brought back")
	}
	p.Warnings = append(p.Warnings, log.said...)
	return p
}

// planned prints a plan for people, and what to do about an error.
func (p *printer) planned(planned planned, all bool, remedy string) {
	defer p.Line("")
	defer func() {
		for _, text := range planned.Doubts {
			p.Say(yellow, 2, 2, "doubtful: %s", text)
		}
	}()
	r := planned.Report
	if r == nil {
		p.Line(p.Style(bold, planned.Job) + ": " + p.Style(red, "no plan"))
		p.Say(red, 2, 2, "%s", planned.Error)
		p.remedy(remedy)
		return
	}
	p.head(r)
	if planned.does != "" {
		p.Say("", 2, 2, "it %s", planned.does)
	}
	stopped := r.Status == report.Aborted
	if stopped { // before what it would do
		p.failures(r)
	}
	p.plan(r, all)
	if len(r.Plan) > 0 && len(r.Kept)+len(r.NotCounted)+len(r.Warnings)+len(r.Failures)+len(planned.Warnings) > 0 {
		p.Line("")
	}
	p.kept(r)
	if !stopped {
		p.failures(r)
	}
	p.warnings(planned.Warnings, all)
}

// warnings prints the first warnings of a plan or a run, or all.
func (p *printer) warnings(all []string, whole bool) {
	said := firstOf(all, whole)
	for _, warning := range said {
		p.Say(yellow, 2, 2, "%s", warning)
	}
	p.more(len(all)-len(said), "warning")
}

// warnings is the log of a plan or a run, of which it keeps what warns of a single thing, or only of what stayed though the
// document that led there is deleted: sums, and what failed, are in the report.
type warnings struct {
	said   []string
	stayed bool
}

// Write implements io.Writer. Each call is one line, as slog writes them, one after the other.
func (w *warnings) Write(line []byte) (int, error) {
	var one struct {
		Severity, Message string
		Target            string   // one thing
		Targets           []string // several that are kept for one reason
		Document          string   // which is deleted, and from which something stayed
	}
	err := json.Unmarshal(line, &one)
	if isSingle := one.Target != "" || len(one.Targets) > 0; err == nil && one.Severity == "WARNING" && isSingle {
		if !w.stayed || one.Document != "" {
			w.said = append(w.said, one.Message)
		}
	}
	return len(line), nil
}

// doubts returns what the project's documents tell against one of the application's own rules. planned is the report of its plan;
// nil if there is none. They fail no plan: what could not be read, a doubt says, unless the plan has said so.
func (a *app) doubts(ctx context.Context, job manifest.Entry, planned *report.Report) []string {
	if job.Rule == nil || !job.Own || ctx.Err() != nil || planned == nil || planned.Status == report.Failed {
		return nil
	}
	p, err := a.reading(ctx, job)
	if err != nil {
		return []string{err.Error()}
	}
	var targets []string
	for _, item := range planned.Plan {
		targets = append(targets, strings.TrimPrefix(item.Target, report.AccountPrefix))
	}
	var beside []rule.Rule
	for _, own := range a.Own {
		if own.Rule != nil {
			beside = append(beside, *own.Rule)
		}
	}
	var list gaps.Listing // nil: there is no bucket to look at
	if _, o, err := a.openedFor(ctx, job, config.Firestore, config.Storage); err == nil {
		list = o.Objects.Reader().Names
	}
	return doubts.Of(ctx, p.DB.Reader, list, *job.Rule, beside, targets, planned.Warnings...)
}
