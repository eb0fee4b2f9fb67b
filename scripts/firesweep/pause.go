package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/api/cloudscheduler/v1"
	"google.golang.org/api/cloudtasks/v2"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// States of a job of Cloud Scheduler and of a queue of Cloud Tasks.
const (
	enabled = "ENABLED" // a job
	running = "RUNNING" // a queue
	paused  = "PAUSED"
)

// switched is what became of one thing. docs/command.md documents it as JSON.
type switched struct {
	What  string `json:"what"` // job, queue or run
	Name  string `json:"name"`
	Did   string `json:"did"`             // empty if it failed
	Error string `json:"error,omitempty"` // why it failed
}

func (a *app) pauseCommand() *cobra.Command {
	return a.switchCommand(&cobra.Command{
		Use:   "pause [JOB...]",
		Short: "Pause jobs with their queues, and stop what is under way",
		Long: `Pause jobs, or with --all everything: Cloud Scheduler calls them no more, the
queues of their tasks send none, and a run that is under way is stopped, as
'firesweep stop' does. Whatever fails, the rest is done. Nothing is lost: the
next run does what is due then, and waiting tasks are sent after 'resume'.

The next 'terraform apply' resumes the jobs, unless your tfvars have
paused = ["all"], or the jobs' names.

It needs roles/cloudscheduler.admin, roles/cloudtasks.queueAdmin and
roles/datastore.user. Exit code 1 means that something could not be paused, or
that a run ended without a report.`,
		Example: `  firesweep pause --project my-project --location asia-northeast1 --all
  firesweep pause --location asia-northeast1 cleanupReports`,
	}, true)
}

func (a *app) resumeCommand() *cobra.Command {
	return a.switchCommand(&cobra.Command{
		Use:   "resume [JOB...]",
		Short: "Resume what was paused",
		Long: `Resume jobs and the queues of their tasks, or with --all everything, also what
was paused in another way than by 'firesweep pause'. Jobs run again at their
next time, and tasks that waited are sent at once.

It needs roles/cloudscheduler.admin and roles/cloudtasks.queueAdmin.`,
		Example: `  firesweep resume --project my-project --location asia-northeast1 --all
  firesweep resume --location asia-northeast1 cleanupReports`,
	}, false)
}

// switchCommand completes pause, or resume.
func (a *app) switchCommand(c *cobra.Command, pause bool) *cobra.Command {
	s := switching{app: a, pause: pause}
	location := locationFlag(c)
	c.Flags().StringVar(&s.tasks, "tasks-location", "", "the `REGION` of Cloud Tasks, if it is another")
	c.Flags().BoolVar(&s.all, "all", false, "all jobs and all queues of Firesweep")
	c.RunE = func(c *cobra.Command, names []string) error {
		project, err := a.project()
		switch {
		case s.all == (len(names) > 0):
			return wrongUse("name the jobs, or give --all")
		case *location == "" || strings.Contains(*location+s.tasks, "/"):
			return wrongUse("say where it is deployed: --location REGION, such as asia-northeast1")
		case err != nil:
			return err
		case a.getenv("FIRESTORE_EMULATOR_HOST") != "":
			return wrongUse("FIRESTORE_EMULATOR_HOST is set, and emulators have no Cloud Scheduler: unset it")
		}
		if s.jobs = a.scheduled(); !s.all { // else also what this application does not use
			if s.jobs, err = a.jobsNamed(names); err != nil {
				return err
			}
		}
		s.project, s.location, s.tasks = project, *location, cmp.Or(s.tasks, *location)
		s.do(c.Context())
		if c.Context().Err() != nil {
			return context.Cause(c.Context())
		}
		return a.show(map[string]any{"switched": s.done}, s.print, s.failed())
	}
	return c
}

// switching pauses or resumes.
type switching struct {
	*app
	pause, all bool
	jobs       []manifest.Entry
	project    string
	location   string // of the jobs
	tasks      string // the location of the queues
	done       []switched
}

// do does all of it, whatever fails: no more calls first, then no more tasks, and then what is under way.
func (s *switching) do(ctx context.Context) {
	s.switchJobs(ctx)
	s.switchQueues(ctx)
	for _, job := range s.jobs {
		if s.pause {
			s.stopRun(ctx, job)
		}
	}
}

// note records what became of a thing.
func (s *switching) note(what, name, did string, err error) {
	d := switched{What: what, Name: name, Did: did}
	if err != nil {
		d.Did, d.Error = "", apiError(err).Error()
	}
	s.done = append(s.done, d)
}

func (s *switching) failed() bool {
	return slices.ContainsFunc(s.done, func(d switched) bool { return d.Error != "" })
}

// turn switches one thing, unless it is as it is to be, by one of two requests, whose answers nobody needs.
func turn[T any](s *switching, what, name, state, on string, pause, resume func(...googleapi.CallOption) (T, error)) {
	switch {
	case s.pause && state == paused:
		s.note(what, name, "was paused already", nil)
	case !s.pause && state == on:
		s.note(what, name, "was not paused", nil)
	case s.pause:
		_, err := pause()
		s.note(what, name, "paused", err)
	default:
		_, err := resume()
		s.note(what, name, "resumed", err)
	}
}

func (s *switching) switchJobs(ctx context.Context) {
	jobs, there, err := s.deployedJobs(ctx, s.project, s.location)
	if err != nil {
		s.note("job", "Cloud Scheduler", "", err)
		return
	}
	found := false
	for _, job := range s.jobs {
		own := there[job.Name]
		switch {
		case own != nil:
			found = true
			turn(s, "job", job.Name, own.State, enabled, jobs.Pause(own.Name, &cloudscheduler.PauseJobRequest{}).Context(ctx).Do,
				jobs.Resume(own.Name, &cloudscheduler.ResumeJobRequest{}).Context(ctx).Do)
		case !s.all:
			//nolint:staticcheck // a name
			none := fmt.Errorf("Cloud Scheduler has no such job in %s: is it deployed there? See --location", s.location)
			s.note("job", job.Name, "", none)
		}
	}
	if s.all && !found {
		s.note("job", "Cloud Scheduler", "", fmt.Errorf("no job is deployed in %s: see --location", s.location))
	}
}

func (s *switching) switchQueues(ctx context.Context) {
	service, err := cloudtasks.NewService(ctx, s.google(ctx, "cloudtasks", s.project)...)
	if err != nil {
		s.note("queue", "Cloud Tasks", "", err)
		return
	}
	queues, found := service.Projects.Locations.Queues, false
	err = queues.List("projects/"+s.project+"/locations/"+s.tasks).Pages(ctx, func(page *cloudtasks.ListQueuesResponse) error {
		for _, q := range page.Queues {
			if name := path.Base(q.Name); s.owns(name) {
				found = true
				turn(s, "queue", name, q.State, running, queues.Pause(q.Name, &cloudtasks.PauseQueueRequest{}).Context(ctx).Do,
					queues.Resume(q.Name, &cloudtasks.ResumeQueueRequest{}).Context(ctx).Do)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		s.note("queue", "Cloud Tasks", "", fmt.Errorf("list the queues in %s: %w", s.tasks, apiError(err)))
	case !found:
		s.note("queue", "Cloud Tasks", "none in "+s.tasks+": if tasks_region is another one, say --tasks-location", nil)
	}
}

// queuePrefix begins the names of the queues that are not called like a worker.
const queuePrefix = "firesweep-"

// owns reports whether a queue is one of those to switch: terraform/tasks.tf names it after a worker or a job, before or after
// what says what it is for. A queue that names none is for all jobs.
func (s *switching) owns(queue string) bool {
	words := strings.Split(queue, "-")
	for _, e := range s.All {
		if slices.Contains(words, e.Name) {
			return s.all || slices.ContainsFunc(s.jobs, func(job manifest.Entry) bool {
				return e.Name == job.Name || e.Name == job.Worker
			})
		}
	}
	return s.all && strings.HasPrefix(queue, queuePrefix)
}

// stopRun stops the run of a job that is under way, if one is, and waits for its end.
func (s *switching) stopRun(ctx context.Context, job manifest.Entry) {
	record, err := s.goodRecord(ctx, job)
	held := s.clock().Before(record.Until)
	switch {
	case err != nil:
		s.note("run", job.Name, "", err)
		return
	case held && record.byUndo():
		s.note("run", record.Holder, "goes on: somebody is taking a run back", nil)
		return
	case record.Run() == "":
		return
	}
	var report *report.Report
	if err = s.tellToStop(ctx, job, record.Holder); errors.Is(err, jobstate.ErrNotUnderWay) { // it has ended meanwhile
		err = nil
	}
	if held && err == nil {
		report, err = s.awaitEnd(ctx, job, record)
	}
	switch {
	case err != nil:
		s.note("run", record.Holder, "", err)
	case !held:
		s.note("run", record.Holder, "is dead: its lease has ended", nil)
	case report == nil:
		s.note("run", record.Holder, "", errors.New("it ended without a report: it was killed"))
	default:
		s.note("run", record.Holder, "ended "+statusWords(report), nil)
	}
}

func (s *switching) print(p *printer) {
	var rows []tableRow
	for _, d := range s.done {
		r := tableRow{Cells: []string{d.What, d.Name, d.Did}}
		if d.Error != "" {
			r.Style, r.Notes, r.Cells[2] = red, []string{d.Error}, "FAILED"
		}
		rows = append(rows, r)
	}
	p.Table(rows, "WHAT", "NAME", "NOW")
	p.Line("")
	if !s.pause {
		p.Say("", 0, 2, "The next terraform apply pauses again what paused in your tfvars names.")
		return
	}
	names, variable := "--all", "all" // as the command, and as Terraform is told
	if !s.all {
		var list []string
		for _, job := range s.jobs {
			list = append(list, job.Name)
		}
		names, variable = strings.Join(list, " "), strings.Join(list, `", "`)
	}
	p.Say("", 0, 2, `The next terraform apply resumes the jobs, unless your tfvars say paused = ["%s"]. Later:`, variable)
	where := s.location
	if s.tasks != s.location {
		where += " --tasks-location " + s.tasks
	}
	if s.rulesFlag != "" { // the project is named even if it was not given: later it may be another one here
		where += " --rules " + quoted(s.rulesFlag)
	}
	p.Command("firesweep resume --project %s --location %s %s", s.project, where, names)
}
