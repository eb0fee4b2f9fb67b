package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

// lookEvery is how often stop checks whether the run has ended.
const lookEvery = time.Second

func (a *app) stopCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "stop JOB",
		Short: "Stop a run that is under way",
		Long: `Stop the run of a job that is under way. Within seconds the run starts nothing
more, finishes what it has begun and saves its report, which is shown. The job
itself is not paused: 'firesweep pause' does that, and stops the run as well.

Interrupting this command does not withdraw the order. It needs the role
roles/datastore.user. Exit code 1 means that no run is under way, or that it
ended without a report.`,
		Example: `  firesweep stop --project my-project cleanupReports
  firesweep stop --json cleanupReports | jq .report.status`,
	}
	c.RunE = func(c *cobra.Command, names []string) error {
		if len(names) != 1 {
			return wrongUse("name one job")
		}
		if e, ok := a.entryOfRun(names[0] + "-"); ok && e.Trigger == manifest.Tasks {
			return wrongUse("%s is a worker. Many of its runs may be under way, each for a moment. "+
				"Pause its queue instead: gcloud tasks queues pause %s --location=REGION", e.Name, e.Name)
		}
		jobs, err := a.jobsNamed(names)
		if err != nil {
			return err
		}
		return a.stop(c.Context(), jobs[0])
	}
	return c
}

// stopped is the result of stopping a run. docs/command.md documents it as JSON.
type stopped struct {
	Job    string         `json:"job"`
	RunID  string         `json:"run"`
	Report *report.Report `json:"report,omitempty"`
	Kept   bool           `json:"kept"` // the run has an undo log
}

func (a *app) stop(ctx context.Context, job manifest.Entry) error {
	record, err := a.goodRecord(ctx, job)
	switch {
	case err != nil:
		return err
	case record.byUndo() && a.clock().Before(record.Until):
		return fmt.Errorf("no run of %s is under way, but somebody is taking one back (%s): "+
			"interrupt that firesweep undo where it runs", job.Name, record.Holder)
	case record.Run() == "":
		return notUnderWay(job.Name, record.Last)
	}
	err = a.tellToStop(ctx, job, record.Holder)
	switch {
	case errors.Is(err, jobstate.ErrNotUnderWay): // it has ended meanwhile
		return notUnderWay(job.Name, nil)
	case err != nil:
		return err
	case !a.clock().Before(record.Until):
		return fmt.Errorf("run %s of %s is dead: its lease ended at %s UTC, and it saved no report. "+
			"The next run continues from there", record.Holder, job.Name, when(record.Until))
	}
	a.aside().Say("", 0, 2, "Run %s has been told to stop. Within seconds it starts nothing more.", record.Holder)
	st := stopped{Job: job.Name, RunID: record.Holder}
	if st.Report, err = a.awaitEnd(ctx, job, record); err != nil {
		return err
	}
	_, db, err := a.reader(ctx, job)
	if err == nil {
		st.Kept, err = db.Empty(ctx, runlog.DoneOf(st.RunID))
		st.Kept = !st.Kept
	}
	if err != nil {
		return err
	}
	return a.show(st, func(p *printer) { p.stopped(st) }, st.Report == nil)
}

// notUnderWay returns the error for a job without a run to stop. last is the report of its last run, nil if it is not known.
func notUnderWay(job string, last *report.Report) error {
	if last == nil {
		return fmt.Errorf("no run of %s is under way: see firesweep runs %s", job, job)
	}
	return fmt.Errorf("no run of %s is under way. The last one, %s, started at %s UTC and ended %s",
		job, last.RunID, when(last.StartedAt), last.Status)
}

// tellToStop tells the run to stop, if it has not ended.
func (a *app) tellToStop(ctx context.Context, job manifest.Entry, runID string) error {
	err := a.on(ctx, job, func(p restore.Project) error {
		return jobstate.Stop(ctx, p.DB, p.Config, job.Name, runID)
	}, config.Firestore)
	if err != nil {
		return fmt.Errorf("tell %s to stop: %w", runID, err)
	}
	return nil
}

// answersWithin is how long a run takes to end that was told to stop: it looks every five seconds, and ends what it has begun.
const answersWithin = 30 * time.Second

// awaitEnd waits until a run has released its lease, and returns its report. If the lease expires before, there is none.
func (a *app) awaitEnd(ctx context.Context, job manifest.Entry, record record) (*report.Report, error) {
	runID, until := record.Holder, record.Until
	defer a.progress(ctx, a.waiting("the run to end", until))()
	begun, guessed := a.clock(), false
	for {
		if !guessed && a.clock().Sub(begun) >= answersWithin {
			guessed = true
			p := a.printer()
			p.to = a.errs
			p.Say("", 0, 2, "Run %s has not ended within %s. It may have been killed: then it does nothing any more, and its "+
				"lease ends at %s UTC. Interrupting this command withdraws nothing.", runID, answersWithin, when(until))
		}
		switch record, err := a.record(ctx, job); {
		case err != nil:
			return nil, fmt.Errorf("wait for %s, which is told to stop: %w", runID, err)
		case record.Err != nil:
			return nil, record.Err
		case record.Holder == runID:
			until = record.Until
		default:
			rep, err := a.reportOf(ctx, job, runID)
			if err != nil || rep == nil || rep.Status == report.Killed {
				return nil, err
			}
			return rep, nil
		}
		if !a.clock().Before(until) {
			return nil, nil
		}
		if err := a.sleep(ctx, lookEvery); err != nil {
			return nil, fmt.Errorf("%s stops nevertheless: see firesweep show %s: %w", runID, runID, err)
		}
	}
}

// stopped prints the result of stopping a run.
func (p *printer) stopped(st stopped) {
	if st.Report == nil {
		p.Say(red, 0, 2, "Run %s ended without a report: it was killed. The next run continues from there.", st.RunID)
	} else {
		p.Line("")
		p.report(st.Report)
	}
	if st.Kept {
		p.Say("", 2, 2, "See what taking it back would do:")
		p.Command("firesweep undo%s %s", p.given, st.RunID)
	} else {
		p.Say("", 2, 2, "There is nothing to take back: the run changed nothing, or the job's UNDO_DAYS is 0: %s",
			version.Page("docs/operations.md#restoring-what-was-deleted"))
	}
	p.Say("", 2, 2, "%s runs again at its next time, unless you pause it:", st.Job)
	p.Command("firesweep pause%s --location REGION %s", p.given, st.Job)
}
