package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // where the machine has no time zones

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// The states of a job.
const (
	stateFine     = "fine"
	stateUnderWay = "under way"
	stateFailed   = string(report.Failed) // the last run did; likewise the next two
	stateAborted  = string(report.Aborted)
	stateKilled   = string(report.Killed)
	stateBroken   = "cannot run"
	stateMissing  = "did not run in time"
	stateNever    = "never ran"
)

// standing is the state of a job with its last runs. docs/command.md documents it as JSON.
type standing struct {
	Job      string           `json:"job"`
	Schedule string           `json:"schedule"`
	TimeZone string           `json:"timeZone"`
	State    string           `json:"state"`
	Detail   string           `json:"detail,omitempty"` // describes the state in a sentence
	Runs     []*report.Report `json:"runs"`             // newest first
	Held     *jobstate.Hold   `json:"held,omitempty"`   // nil: nobody holds the job
}

// bad reports whether somebody should look at the job.
func (s standing) bad() bool {
	return s.State != stateFine && s.State != stateUnderWay && s.State != stateNever
}

// last returns when the job's last known run started.
func (s standing) last() time.Time {
	if len(s.Runs) == 0 {
		return time.Time{}
	}
	return s.Runs[0].StartedAt
}

type runsFlags struct {
	limit int
	of    string // a path, an object, an account or an id: only the runs that deleted or changed it
	all   bool
}

func (a *app) runsCommand() *cobra.Command {
	var f runsFlags
	c := &cobra.Command{
		Use:   "runs [JOB...]",
		Short: "Show what ran, what is under way, and what did not run in time",
		Long: `Show the state of each job and its last runs, or with --of the runs that deleted
or changed something.

Your credentials need roles/datastore.viewer. --of reads each entry of the undo
logs, which bills a read for each.`,
		Example: `  firesweep runs
  firesweep runs --limit 50 cleanupReports
  firesweep runs --of posts/abc    # or a uid, or gs://my-bucket/posts/a.png`,
	}
	c.Flags().IntVar(&f.limit, "limit", 5, "show the last `N` runs of each job")
	c.Flags().StringVar(&f.of, "of", "", "the runs that changed `TARGET`: a path, a uid, an id")
	c.Flags().BoolVar(&f.all, "all", false, "with --of: list everything, not only the first things")
	c.RunE = func(c *cobra.Command, names []string) error {
		switch {
		case f.limit < 1 || f.limit > 1000:
			return wrongUse("--limit is %d: it must be a whole number from 1 to 1000", f.limit)
		case f.of == "" && f.all:
			return wrongUse("--all needs --of")
		case f.of != "" && len(names) > 0:
			return wrongUse("--of looks through the runs of all jobs: leave out %s", strings.Join(names, " "))
		case f.of != "":
			return a.runsOf(c.Context(), f.of, f.all)
		}
		jobs, err := a.jobsNamed(names)
		if err != nil {
			return err
		}
		return a.runs(c.Context(), f, jobs, len(names) > 0)
	}
	return c
}

// runs shows the saved runs. named says that the jobs were named in the arguments.
func (a *app) runs(ctx context.Context, f runsFlags, jobs []manifest.Entry, named bool) error {
	at := a.progress(ctx, "reading the runs")
	defer at.stop()
	all := make([]standing, len(jobs))
	for i, job := range jobs {
		at.set("reading the runs of %s (%d of %d)", job.Name, i+1, len(jobs))
		record, err := a.record(ctx, job)
		if err != nil {
			return err
		}
		if all[i], err = a.standing(ctx, job, record, f.limit); err != nil {
			return err
		}
	}
	slices.SortStableFunc(all, func(a, b standing) int { return b.last().Compare(a.last()) })
	former, err := a.former(ctx)
	if err != nil {
		return err
	}
	return a.show(map[string]any{"jobs": all}, func(p *printer) {
		p.standings(all, named)
		for _, f := range former {
			last := cmp.Or(f.record.Killed(f.record.Now), f.record.Last)
			if last != nil && a.clock().Sub(last.StartedAt) < report.RunRetention {
				p.Say("", 0, 2, "%s ran at %s UTC, and %s: %s", f.Job, when(last.StartedAt), noRule, p.cmd("show", shortID(last.RunID)))
			}
		}
	}, slices.ContainsFunc(all, standing.bad))
}

// lateAfter returns how long after the start of a job's last run the next one counts as missing. That is two periods, but at
// most an hour more than one, and the time that a run takes. The alert "no success" allows as much.
func lateAfter(e manifest.Entry, period time.Duration) time.Duration {
	return min(2*period, period+time.Hour) + time.Duration(e.TimeoutSeconds)*time.Second
}

// untilNext returns how long after a time a job runs again: one night a year has no 02:30, and a run is missing in all others.
func untilNext(e manifest.Entry, last time.Time) time.Duration {
	runs := 1
	if strings.Contains(e.Schedule, "~") { // Terraform chooses when, so it is the longest time of more than a week
		runs = 8
	}
	return longest(e, last, runs)
}

// chosenOnce is a value that Terraform chooses once for a project, such as 0~59. It does not matter for how often a job runs.
var chosenOnce = regexp.MustCompile(`(\d+)~\d+`)

// deployed returns a job with the schedule and time zone by which Cloud Scheduler calls it, such as "0 3 * * * UTC", where
// Terraform sets others than its list. The job stays as it is if that is no schedule.
func deployed(e manifest.Entry, called string) manifest.Entry {
	at := strings.LastIndexByte(called, ' ')
	if at < 0 {
		return e
	}
	if _, err := cron.ParseStandard("CRON_TZ=" + called[at+1:] + " " + called[:at]); err == nil {
		e.Schedule, e.TimeZone = called[:at], called[at+1:]
	}
	return e
}

// scheduleOf returns when a job runs. What the lists let a job have, the library reads.
func scheduleOf(e manifest.Entry) cron.Schedule {
	schedule, err := cron.ParseStandard("CRON_TZ=" + e.TimeZone + " " + chosenOnce.ReplaceAllString(e.Schedule, "$1"))
	if err != nil {
		panic(fmt.Sprintf("read the schedule of %s: %v", e.Name, err))
	}
	return schedule
}

// longest returns the longest time that passes from a moment to the first of some runs of a job, and from each to the next.
func longest(e manifest.Entry, from time.Time, runs int) (longest time.Duration) {
	schedule := scheduleOf(e)
	for range runs {
		at := schedule.Next(from)
		longest, from = max(longest, at.Sub(from)), at
	}
	return longest
}

// skipped returns a time of the year after a moment, as a clock on the wall would show it, that does not come, because clocks are
// put forward then; ok is false if all come, or if the job runs at every hour.
func skipped(e manifest.Entry, from time.Time) (at time.Time, ok bool) {
	zone, err := time.LoadLocation(e.TimeZone)
	if err != nil || strings.Contains(strings.Fields(e.Schedule)[1], "*") {
		return at, false
	}
	e.TimeZone = "UTC" // which has all times
	schedule := scheduleOf(e)
	for at = schedule.Next(from); at.Before(from.AddDate(1, 0, 0)); at = schedule.Next(at) {
		there := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, zone)
		if there.Hour() != at.Hour() {
			return at, true
		}
	}
	return at, false
}

// standing reads a job's last runs, and tells its state by them and its record.
func (a *app) standing(ctx context.Context, job manifest.Entry, record jobstate.Record, limit int) (st standing, err error) {
	now := a.clock()
	job = deployed(job, record.Schedule)
	st = standing{Job: job.Name, Schedule: job.Schedule, TimeZone: job.TimeZone, State: stateFine, Held: record.Held}
	if st.Runs, err = a.newest(ctx, job, longest(job, now, 2), limit, record.Killed(now)); err != nil {
		return st, err
	}
	last := st.last()
	if record.Last != nil && record.Last.StartedAt.After(last) {
		last = record.Last.StartedAt
	}
	switch late := last.Add(lateAfter(job, untilNext(job, last))); {
	case record.Err != nil:
		st.State, st.Detail = stateBroken, "No run can begin: "+record.Err.Error()
	case record.Holder != "" && now.Before(record.Until):
		st.State, st.Detail = stateUnderWay, a.underWay(job.Name, record.State)
	case jobstate.ByUndo(record.Holder):
		st.State, st.Detail = stateKilled, fmt.Sprintf("Taking a run back (%s) was interrupted: do it again.", record.Holder)
	case record.Holder != "":
		st.State, st.Detail = stateKilled, fmt.Sprintf("Run %s ended without a report: it was killed, or was out of memory or time. "+
			"The next run continues from there.", record.Holder)
	case last.IsZero():
		st.State, st.Detail = stateNever, "It is not deployed, is paused, only plans, or its first time has not come."
	case now.After(late):
		st.State, st.Detail = stateMissing, fmt.Sprintf("The last run started at %s UTC, %s ago; its schedule is %s. "+
			"Check whether it is paused or only plans.", when(last), short(now.Sub(last)), job.Schedule+" "+job.TimeZone)
	default:
		st.byLastRun(record.Last)
	}
	return st, nil
}

// byLastRun sets the state by how the last run ended, which is last if all that are shown were skipped.
func (s *standing) byLastRun(last *report.Report) {
	if i := slices.IndexFunc(s.Runs, func(r *report.Report) bool { return r.Status != report.Skipped }); i >= 0 {
		last = s.Runs[i]
	}
	if last == nil || !wentWrong(last.Status) {
		return
	}
	s.State, s.Detail = string(last.Status), "See firesweep show "+shortID(last.RunID)+"."
	if len(last.Failures) > 0 {
		s.Detail = strings.TrimSuffix(wrong(last, last.Failures[0]), ".") + ". " + s.Detail
	}
}

// underWay describes what holds a job's lease.
func (a *app) underWay(job string, s jobstate.State) string {
	switch until := when(s.Until); {
	case jobstate.ByUndo(s.Holder):
		return fmt.Sprintf("Somebody is taking a run back (%s), so no run can begin. "+
			"That ends at %s UTC at the latest, unless it is renewed.", s.Holder, until)
	case s.IsStopping():
		return fmt.Sprintf("Run %s is under way, and was told to stop. Its lease ends at %s UTC at the latest.", s.Holder, until)
	default:
		return fmt.Sprintf("Run %s is under way. Its lease ends at %s UTC at the latest. Stop it: %s",
			s.Holder, until, a.cmd("hold", job, "--stop"))
	}
}

// standings prints the states of jobs. Those that never ran are only listed, unless they were named.
func (p *printer) standings(all []standing, named bool) {
	var never []string
	for _, s := range all {
		if s.State == stateNever && !named && s.Held == nil {
			never = append(never, s.Job)
			continue
		}
		p.standing(s)
	}
	if len(never) > 0 {
		p.Say("", 0, 2, "No run is saved for: %s", strings.Join(never, ", "))
	}
}

// standing prints the state of a job and its runs. What went wrong in a run is said below that.
func (p *printer) standing(s standing) {
	p.Line(p.Style(bold, s.Job) + " (" + s.Schedule + " " + s.TimeZone + ")")
	if s.Held != nil {
		p.Say(yellow, 2, 2, "%s", p.heldWords(*s.Held))
	}
	switch s.State {
	case stateFine:
	case stateUnderWay:
		p.Say("", 2, 2, "%s: %s", s.State, s.Detail)
	case stateFailed, stateAborted:
		p.Say(yellow, 2, 2, "%s: %s", s.State, p.cmd("show", s.Job))
	default:
		p.Say(yellow, 2, 2, "%s: %s", s.State, s.Detail)
	}
	if len(s.Runs) > 0 {
		p.runs(s.Runs)
	}
	p.Line("")
}
