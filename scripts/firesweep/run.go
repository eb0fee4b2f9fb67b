package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// caller calls a job's function and returns its report.
type caller interface {
	call(ctx context.Context, job string, o order) (*report.Report, error)
}

type runFlags struct {
	served
	force, dryRun, yes bool
	lift               []string
	here, apply, log   bool
	confirm            string // the project's id
	location           *string
	plan               string              // a plan file
	approved           map[string]*jobPlan // of it, by job
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run JOB...",
		Short: "Run jobs now, or preview the deployed ones",
		Long: `Run jobs in this process (--here), or call the deployed functions.

--here needs nothing deployed: for a cron, a CI or a Kubernetes CronJob. It
plans, or with --apply runs, the jobs that you name or those of firesweep.json,
until they are done. Lease, limits, log and undo are those of deployed jobs, so
a project may have both. A job that never ran in the project asks for its id.
You need roles/datastore.user, for files roles/storage.objectUser on the bucket,
and for accounts firebaseauth.users.get, firebaseauth.users.delete and
firebaseauth.configs.get.

Otherwise it calls the deployed function of a job, and shows its report. They
accept calls from inside Google only, so a Cloud Scheduler job is made that
calls the function once, and deleted again. It needs the rights to create and
delete such jobs, to act as the account firesweep-scheduler, and to read logs.

A job that is deployed with dry_run only plans. With --dry-run any job only
plans; without names, all deployed jobs do. --force and --lift show the whole
plan first, and ask you. With --local the functions that 'go run ./emulator'
serves are called.

With --plan a run does at most what the file says, which 'firesweep plan --out'
wrote: each item only if it is still due, and still what it was. Without names,
it runs the jobs that are in the file.`,
		Example: `  firesweep run --here --apply --confirm my-project cleanupDrafts
  firesweep run --project my-project --location asia-northeast1 cleanupReports
  firesweep run --location asia-northeast1 --dry-run
  firesweep run --location asia-northeast1 --force cleanupReports
  firesweep run --location asia-northeast1 --plan plan.json
  firesweep run --local cleanupReports`,
	}
	f.location = locationFlag(c)
	f.flags(c, a.getenv)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only plan")
	c.Flags().BoolVar(&f.force, "force", false, "lift the limits on numbers and shares for this run")
	liftFlag(c, &f.lift)
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before a forced run")
	c.Flags().BoolVar(&f.here, "here", false, "run in this process, with your credentials")
	c.Flags().BoolVar(&f.apply, "apply", false, "with --here: do it, not only plan it")
	c.Flags().StringVar(&f.confirm, "confirm", "", "with --here: run in `PROJECT` also what never ran there")
	c.Flags().BoolVar(&f.log, "log", false, "with --here: write the log to standard error")
	c.Flags().StringVar(&f.plan, "plan", "", "do at most what this `FILE` says, which plan --out wrote")
	c.RunE = func(c *cobra.Command, names []string) error {
		if err := cmp.Or(f.check(c), checkLift(f.lift)); err != nil {
			return err
		}
		names, err := a.approve(&f, names)
		if err != nil {
			return err
		}
		if f.here {
			return a.runHere(c, f, names)
		}
		if f.apply || f.log || f.confirm != "" {
			return wrongUse("--apply, --confirm and --log need --here")
		}
		jobs, err := a.checkRun(f, names)
		if err != nil {
			return err
		}
		if f.local {
			if err := f.answers(c.Context()); err != nil {
				return err
			}
			return a.runAll(c.Context(), f, jobs, &f.served)
		}
		d, err := a.openDeployed(c.Context(), *f.location)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			if jobs, err = d.known(c.Context(), jobs); err != nil {
				return err
			}
		}
		return a.runAll(c.Context(), f, jobs, d)
	}
	return c
}

// checkRun returns the jobs to run. The error says which argument is wrong.
func (a *app) checkRun(f runFlags, names []string) ([]manifest.Entry, error) {
	switch {
	case f.local && *f.location != "":
		return nil, wrongUse("--local and --location contradict each other: leave one out")
	case !f.local && *f.location == "":
		return nil, wrongUse("say where it is deployed: --location REGION (or --here, or --local)")
	case strings.Contains(*f.location, "/"):
		return nil, wrongUse("--location is %q: it must be a region, such as asia-northeast1", *f.location)
	case len(names) == 0 && !f.dryRun:
		return nil, wrongUse("name the jobs to run; only --dry-run works without names")
	}
	jobs, err := a.jobsNamed(names)
	if err != nil {
		return nil, err
	}
	return jobs, f.checkLifted(jobs, a.screen)
}

// checkLifted refuses a forced run of several jobs, and one that nobody can be asked about.
func (f *runFlags) checkLifted(jobs []manifest.Entry, s streams) error {
	switch {
	case f.lifts() && len(jobs) > 1:
		return wrongUse("force one job at a time")
	case f.lifts() && !f.yes && !s.in:
		return wrongUse("a forced run asks first, and standard input is not a terminal: use --yes")
	}
	return nil
}

// lifts reports whether the run is a real one without some of its safety limits.
func (f *runFlags) lifts() bool { return !f.dryRun && (f.force || len(f.lift) > 0) }

// known returns those of the jobs that Cloud Scheduler knows.
func (d *deployed) known(ctx context.Context, jobs []manifest.Entry) ([]manifest.Entry, error) {
	there, err := d.there(ctx)
	if err != nil {
		return nil, err
	}
	jobs = slices.DeleteFunc(jobs, func(job manifest.Entry) bool { return there[job.Name] == nil })
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no job is deployed in %s", d.parent)
	}
	return jobs, nil
}

// ran is the result of running a job. docs/command.md documents it as JSON.
type ran struct {
	Job    string         `json:"job"`
	Report *report.Report `json:"report,omitempty"`
	Error  string         `json:"error,omitempty"` // why there is no report, or what must be done by hand

	FellAway []report.Planned `json:"fellAway,omitempty"` // items of the plan file that were not done
}

// runAll runs jobs one after the other.
func (a *app) runAll(ctx context.Context, f runFlags, jobs []manifest.Entry, c caller) error {
	failed := false
	all := make([]ran, 0, len(jobs))
	for _, job := range jobs {
		r := ran{Job: job.Name}
		stop := func() {}
		if (f.local || f.here) && (!f.lifts() || f.yes) { // otherwise a question is asked meanwhile
			stop = a.progress(ctx, doing(job.Name+" is under way"))
		}
		rep, err := a.runOne(ctx, f, job, c)
		stop()
		if r.Report, r.FellAway = rep, f.approved[job.Name].fellAway(rep); err != nil {
			r.Error = err.Error()
		}
		if ctx.Err() != nil {
			if rep != nil { // it ended in order
				shown := func(*printer) { a.printRan(job, r, f.local) }
				if unsaid := a.show(map[string]any{"runs": append(all, r)}, shown, false); unsaid != nil {
					return unsaid
				}
			}
			return cmp.Or(err, context.Cause(ctx))
		}
		failed = failed || err != nil || rep.Status != report.Completed && rep.Status != report.Partial
		if all = append(all, r); !a.json {
			a.printRan(job, r, f.local)
		}
	}
	return a.show(map[string]any{"runs": all}, shown, failed)
}

// runOne runs a job. It shows the plan of a forced run and asks before it runs.
func (a *app) runOne(ctx context.Context, f runFlags, job manifest.Entry, c caller) (*report.Report, error) {
	o := order{DryRun: f.dryRun, Force: f.force, Lift: f.lift, Plan: f.approved[job.Name].approval()}
	if !f.lifts() {
		return c.call(ctx, job.Name, o)
	}
	preview := o
	preview.DryRun = true
	plan, err := c.call(ctx, job.Name, preview)
	if err != nil {
		return nil, fmt.Errorf("nothing was run, because the plan could not be shown: %w", err)
	}
	a.aside().planned(plannedOf(job, plan, nil, nil), false)
	if plan.Status != report.Completed && plan.Status != report.Partial {
		return nil, fmt.Errorf("nothing was run, because the plan is %s", plan.Status)
	}
	if !f.yes {
		question := fmt.Sprintf("Run it like this, without its safety limits? %s. Type yes: ", plural(plan.Totals().Planned, "action"))
		if !strings.EqualFold(a.ask(question), "yes") {
			return nil, errors.New("nothing was run: the answer was not yes")
		}
	}
	return c.call(ctx, job.Name, o)
}

// printRan prints the result of a run for people. The functions on this machine know their project, and the command does not.
func (a *app) printRan(job manifest.Entry, r ran, local bool) {
	p := a.printer()
	switch {
	case r.Report == nil || r.Report.DryRun:
		plan := plannedOf(job, r.Report, nil, nil)
		plan.Error = r.Error
		p.planned(plan, false)
	default:
		p.report(r.Report)
		p.fellAway(r.Report.Approved, r.FellAway)
		if did := r.Report.Totals(); did.Done+did.Begun > 0 && !local {
			p.Say("", 2, 2, "See what taking it back would do:")
			p.Command("firesweep undo%s %s", p.given, r.Report.RunID)
		}
		p.Line("")
	}
	if r.Report != nil && r.Error != "" {
		p.Say(screen.Red, 2, 2, "%s", r.Error)
	}
}

// defaultURL is where `go run ./emulator` serves the functions.
const defaultURL = "http://127.0.0.1:8081"

// served calls functions directly: those that `go run ./emulator` serves.
type served struct {
	local bool
	url   string
	now   time.Time // of the runs, which functions on emulators accept; zero: the clock's
}

// urlVariable holds the URL, as the emulator exports it.
const urlVariable = "FIRESWEEP_URL"

func (s *served) flags(c *cobra.Command, getenv func(string) string) {
	c.Flags().BoolVar(&s.local, "local", false, "ask the functions that 'go run ./emulator' serves")
	c.Flags().StringVar(&s.url, "url", cmp.Or(getenv(urlVariable), defaultURL), "their `URL`")
}

// liftFlag adds the flag for what is lifted by name.
func liftFlag(c *cobra.Command, lift *[]string) {
	c.Flags().StringSliceVar(lift, "lift", nil, "lift the protection of this `NAME`, e.g. empty:tasks")
}

// checkLift refuses what cannot be lifted, and the words of the pages for what is to be named.
func checkLift(lift []string) error {
	for _, name := range lift {
		if err := engine.CheckLift(name); err != nil {
			return wrongUse("--lift: %s", err)
		}
		if _, of, _ := strings.Cut(name, ":"); of == "COLLECTION" || of == "COLLECTION.FIELD" {
			return wrongUse("--lift: %q: name the collection in place of COLLECTION", name)
		}
	}
	return nil
}

// check refuses flags that contradict each other.
func (s *served) check(c *cobra.Command) error {
	if c.Flags().Changed("url") && !s.local {
		return wrongUse("--url needs --local")
	}
	if s.local && c.Flags().Changed("project") {
		return wrongUse("--local asks the functions on this machine, which have their own project: leave out --project")
	}
	u, err := url.Parse(s.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return wrongUse("--url, or %s, is %q: it must be like %s", urlVariable, s.url, defaultURL)
	}
	return nil
}

// answers returns an error where nobody serves the functions: one for all jobs.
func (s *served) answers(ctx context.Context) error {
	u, _ := url.Parse(s.url) // it was checked
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), u.Scheme) // a service's name stands for its port
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("nobody answers at %s: %w: start the functions with: go run ./emulator --sample; "+
			"if they are elsewhere, set --url or %s, as that prints it", s.url, err, urlVariable)
	}
	return connection.Close()
}

// order is what a function is asked to do.
type order struct {
	DryRun bool     `json:"dryRun,omitempty"` // false: the deployment decides, and may only plan
	Force  bool     `json:"force,omitempty"`
	Lift   []string `json:"lift,omitempty"`

	Plan *report.Approval `json:"plan,omitempty"` // the run is restricted to it; nil: to none
}

// body is the order as a request has it.
func (o order) body() []byte {
	body, _ := json.Marshal(o) // its times were read as JSON
	return body
}

// maxAnswer is the most of an answer that is read, in bytes: a report's lists are bounded.
const maxAnswer = 64 << 20

// call calls a job and returns its report.
func (s *served) call(ctx context.Context, job string, o order) (*report.Report, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.url, "/")+"/"+job, bytes.NewReader(o.body()))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", job, err)
	}
	r.Header.Set("Content-Type", "application/json")
	if !s.now.IsZero() {
		r.Header.Set("X-CloudScheduler-ScheduleTime", s.now.Format(time.RFC3339Nano))
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", job, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", job, err)
	}
	var answer struct {
		report.Report
		Error *struct{ Message string }
	}
	switch err := json.Unmarshal(text, &answer); {
	case err == nil && answer.Error != nil:
		return nil, fmt.Errorf("%s did not run: %s", job, answer.Error.Message)
	case err != nil || answer.RunID == "":
		return nil, fmt.Errorf("%s answered %d at %s, and no report: is --url where the functions are?",
			job, response.StatusCode, r.URL)
	}
	return &answer.Report, nil
}
