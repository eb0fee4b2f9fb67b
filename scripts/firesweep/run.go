package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

type runFlags struct {
	force    bool
	yes, all bool
	confirm  string                      // the project's id
	plan     string                      // a plan file
	approved map[string]*report.Approval // of it, by job
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [JOB...]",
		Short: "Show what jobs would delete now, ask, and do it",
		Long: `Plan your rules, or the jobs that you name, show the plan, ask, and do it, until
nothing is left.

Your credentials need roles/datastore.user, for files roles/storage.objectUser
on the bucket, and for accounts firebaseauth.users.get,
firebaseauth.users.delete and firebaseauth.configs.get. To start a deployed job:
gcloud scheduler jobs run JOB --project=PROJECT --location=REGION`,
		Example: `  firesweep run
  firesweep run --yes --confirm my-project cleanupDrafts    # in a script
  firesweep run --yes --plan plan.json`,
	}
	c.Flags().BoolVar(&f.force, "force", false, "lift the limits on numbers and shares for this run")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	c.Flags().StringVar(&f.confirm, "confirm", "", "run in `PROJECT` also what never ran there")
	c.Flags().BoolVar(&f.all, "all", false, "list the whole plan")
	c.Flags().StringVar(&f.plan, "plan", "", "do at most what this `FILE` says, which plan --out wrote")
	c.RunE = func(c *cobra.Command, names []string) error { return a.runJobs(c, f, names) }
	return c
}

// ran is the result of running a job. docs/command.md documents it as JSON.
type ran struct {
	Job    string         `json:"job"`
	Report *report.Report `json:"report,omitempty"`
	Error  string         `json:"error,omitempty"` // why there is no report, or why something is left
	more   bool           // the next run begins at once
	back   string         // what to say before the command that takes it back; empty: nothing does
	log    warnings       // of what stayed, such as a file of another bucket
}

func (r ran) well() bool {
	return r.Error == "" && (r.Report.Status == report.Completed || r.Report.Status == report.Partial)
}

func (a *app) runJobs(c *cobra.Command, f runFlags, names []string) error {
	ctx := c.Context()
	inFile, err := a.approve(ctx, &f, names)
	if err != nil {
		return err
	}
	jobs, err := a.toPlan(ctx, inFile, manifest.Entry.Uses)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if job.Worker != "" {
			return wrongUse("%s: %w: leave it out, and start it there: gcloud scheduler jobs run %s --location=REGION",
				job.Name, engine.ErrNeedsTasks, job.Name)
		}
	}
	if f.force && len(jobs) > 1 {
		return wrongUse("force one job at a time")
	}
	never, err := a.firstTime(ctx, jobs, f.confirm)
	if err != nil {
		return err
	}
	if never != "" && f.yes && !a.screen.in {
		return wrongUse("%s: give the project's id: --confirm %s", never, a.getenv("GOOGLE_CLOUD_PROJECT"))
	}
	asks := !f.yes || never != ""
	plans, err := a.planAll(ctx, jobs, a.aside(f.yes), f.all, engine.Options{Force: f.force, Versions: asks}, f.approved)
	if err != nil {
		return err
	}
	runs := []ran{}
	agreed, err := a.agreedToRun(c, f, plans, never, names)
	if agreed {
		if asks && f.plan == "" { // to what was shown, and to nothing else
			f.approved = approvals(plans)
		}
		runs, err = a.runAll(ctx, f, plans)
	}
	bad := slices.ContainsFunc(plans, func(p planned) bool { return !p.well() || p.Held != nil }) ||
		slices.ContainsFunc(runs, func(r ran) bool { return !r.well() })
	return cmp.Or(err, a.show(map[string]any{"plans": plans, "runs": runs}, shown, bad))
}

// agreedToRun reports whether jobs are to run: because --yes says so, or because something is due and somebody agrees. The
// error says that nobody did. never says which jobs never ran here, to which --yes does not agree.
func (a *app) agreedToRun(c *cobra.Command, f runFlags, plans []planned, never string, names []string) (bool, error) {
	due, id := 0, a.getenv("GOOGLE_CLOUD_PROJECT")
	for _, p := range plans {
		if p.well() {
			due += p.due()
		}
	}
	if f.force && !plans[0].well() || due == 0 && !f.yes { // with --yes a job runs, so that its record says so
		return false, nil
	}
	switch {
	case never != "":
		return a.agree(false, c, append(names, "--confirm "+id), never+". Type the project's id to run: ", id)
	case f.force:
		return a.agree(f.yes, c, names, "Run it like this, without its safety limits? Type yes: ", "yes")
	}
	return a.agree(f.yes, c, names, "Do this to "+plural(due, "item")+" in "+a.printer().where)
}

// agree asks somebody at a terminal, unless yes says that they agree already, and reports whether the answer is one that agrees:
// yes, unless others are given. The error says that nothing was changed, and where nobody can be asked, the command with these
// arguments that asks nobody.
func (a *app) agree(yes bool, c *cobra.Command, args []string, question string, answers ...string) (bool, error) {
	if len(answers) == 0 {
		question, answers = question+"? (y/N) ", []string{"y", "yes"}
	}
	switch {
	case yes:
		return true, nil
	case !a.screen.in:
		p := a.printer()
		p.to = a.errs
		p.Say("", 0, 0, "firesweep: nothing was changed, because nobody can be asked. Do it:")
		var given []string
		c.Flags().Visit(func(f *pflag.Flag) { given = append(given, f.Name) })
		p.given = asGiven(c, given...)
		p.Type(c.Name(), append(args, "--yes")...)
		return false, saidError(exitWrongUse)
	case !slices.Contains(answers, strings.ToLower(a.ask(question))):
		return false, wrongUse("nothing was changed: the answer was not %s", answers[len(answers)-1])
	}
	return true, nil
}

// ask asks a question on standard error and returns the answer; "" if there is none.
func (a *app) ask(question string) string {
	if a.answers == nil {
		a.answers = bufio.NewReader(a.in)
	}
	fmt.Fprint(a.errs, question)
	answer, err := a.answers.ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(a.errs)
	}
	return strings.TrimSpace(answer)
}

// runAll runs the jobs that were planned one after the other. The error says that it was interrupted.
func (a *app) runAll(ctx context.Context, f runFlags, plans []planned) (runs []ran, err error) {
	for _, p := range plans {
		if !f.yes && (!p.well() || p.due() == 0) { // nobody has agreed to anything of it
			continue
		}
		job := a.All[slices.IndexFunc(a.All, func(e manifest.Entry) bool { return e.Name == p.Job })]
		at := a.progress(ctx, "running "+job.Name)
		err := a.runOne(ctx, f, job, at.watch(), func(r ran) {
			if runs = append(runs, r); !a.json {
				a.printer().ran(p, r, f.all)
			}
		})
		at.stop()
		if ctx.Err() != nil {
			return runs, cmp.Or(err, context.Cause(ctx))
		}
	}
	return runs, nil
}

// runOne runs a job, run after run until nothing is left, and tells of each. The error is in the last one's result, too.
func (a *app) runOne(ctx context.Context, f runFlags, job manifest.Entry, watch engine.Watch, tell func(ran)) error {
	r := ran{Job: job.Name, log: warnings{stayed: true}}
	function, err := a.function(job, &r.log)
	switch cfg, wrong := a.settings(ctx, job, config.Firestore); {
	case wrong != nil || cfg.UndoDays == 0:
	case job.Roles[config.Storage] != nil:
		r.back = "Take it back, its files if the bucket keeps what is deleted (firesweep doctor):"
	default:
		r.back = "Take it back:"
	}
	if err == nil {
		o := engine.Options{Force: f.force, Approved: f.approved[job.Name], By: byHand + who(), Watch: watch}
		err = function.Run(ctx, o, func(rep *report.Report, more bool) {
			if r.Report = rep; more {
				tell(ran{Job: job.Name, Report: rep, more: true, back: r.back})
			}
		})
	}
	if err == nil && ctx.Err() == nil && r.Report.Status == report.Partial && !r.Report.Stopped {
		err = errors.New("it ended before all was done: run it again")
	}
	if err != nil {
		r.Error = err.Error()
	}
	tell(r)
	return err
}

// byHand begins what a report has in place of a revision if the command ran it.
const byHand = "firesweep run by "

// ran prints the result of a run for people, without what its plan has said.
func (p *printer) ran(plan planned, r ran, all bool) {
	defer p.Line("")
	rep := r.Report
	if rep == nil {
		p.Line(p.Style(bold, r.Job) + ": " + p.Style(red, "did not run"))
		p.Say(red, 2, 2, "%s", r.Error)
		return
	}
	p.title(rep)
	p.actions(rep)
	if planned := plan.Report; planned != nil {
		more := *rep
		more.Kept = maps.Clone(rep.Kept)
		maps.DeleteFunc(more.Kept, func(reason string, n int) bool { return planned.Kept[reason] == n })
		known := func(warning string) bool { return slices.Contains(planned.Warnings, warning) }
		more.Warnings = slices.DeleteFunc(slices.Clone(rep.Warnings), known)
		p.kept(&more)
		p.warnings(r.log.said, all)
		p.failures(rep, planned.Failures...)
	}
	t := rep.Totals()
	if rep.Approved > t.Done {
		p.Say("", 2, 2, "of %s in the approved plan, %d done", plural(rep.Approved, "item"), t.Done)
	}
	if r.more {
		p.Say("", 2, 2, "It ran out of time. The next run begins now, and continues from there.")
	} else {
		p.next(rep)
	}
	if r.Error != "" {
		p.Say(red, 2, 2, "%s", r.Error)
	}
	if t.Done+t.Begun > 0 && r.back != "" {
		p.Say("", 2, 2, "%s", r.back)
		p.Type("undo", shortID(rep.RunID))
	}
}

// firstTime makes sure that somebody means this project, database and bucket: it says which jobs never ran there, unless the
// project's id is given. What has run is known from the jobs' own records. A bucket that nobody named must be that of the last
// run.
func (a *app) firstTime(ctx context.Context, jobs []manifest.Entry, given string) (string, error) {
	project, err := a.project()
	if err != nil {
		return "", err
	}
	if given != "" && given != project {
		return "", wrongUse("--confirm is %q, and the project is %s", given, project)
	}
	var never, databases []string
	for _, job := range jobs {
		cfg, err := a.settings(ctx, job, job.Uses()...)
		if err != nil {
			return "", err
		}
		record, err := a.record(ctx, job)
		if err = cmp.Or(err, record.Err); err != nil {
			return "", err
		}
		name, was, ran := job.Name, "", false // the bucket of the last run; empty: it had none
		for _, r := range []*report.Report{record.Last, record.Begun} {
			if r != nil {
				was, ran = cmp.Or(r.Bucket, was), true
			}
		}
		if job.Roles[config.Storage] != nil {
			name += " (on the bucket " + cfg.Bucket + ")"
			if was != "" && was != cfg.Bucket && cfg.Bucket == a.chosen {
				return "", wrongUse("the last run of %s worked on the bucket %s, and not on %s: set STORAGE_BUCKET to the one that you mean",
					job.Name, was, cfg.Bucket)
			}
			ran = ran && (was == "" || was == cfg.Bucket)
		}
		if !ran {
			never, databases = append(never, name), append(databases, cfg.Database)
		}
	}
	if len(never) == 0 || given != "" {
		return "", nil
	}
	slices.Sort(databases)
	return fmt.Sprintf("%s never ran in %s, database %s", strings.Join(never, ", "), project,
		strings.Join(slices.Compact(databases), ", ")), nil
}
