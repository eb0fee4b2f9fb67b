package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/manifest"
)

var (
	runIDPattern   = regexp.MustCompile(`^[A-Za-z0-9]+-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`)
	shortIDPattern = regexp.MustCompile(`^[0-9a-f]{8}$`)
)

const idTime = "20060102T150405Z" // as a run's id has the time of its beginning

// shownRun is a run as it is shown. docs/command.md documents it as JSON.
type shownRun struct {
	*report.Report                // nil: none is saved
	Did            *did           `json:"did,omitempty"`  // nil: nothing is kept of it
	Held           *jobstate.Hold `json:"held,omitempty"` // the job is now; nil: nobody holds it
}

// did is what a run did, by its undo log: the items that it judged first, and perhaps only the first of all.
type did struct {
	Things []undo.Thing `json:"things"`
	Total  int          `json:"total"`
}

func (a *app) showCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "show RUN [TARGET...]",
		Short: "Show one run in full, what failed, and what to do about it",
		Long: `Show what a run did and why, what it kept, and what failed; with TARGETs, show
what was in these documents and accounts.

RUN is a run's id, the last part of that, or a job's name for its last run. Your
credentials need roles/datastore.viewer.`,
		Example: `  firesweep show 5f3a9c01
  firesweep show --all cleanupReports
  firesweep show 5f3a9c01 posts/abc`,
	}
	c.Flags().BoolVar(&all, "all", false, "list everything that the run did, not only the first items")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return wrongUse("name one run: its id, the last part of that, or a job's name")
		}
		return a.showRun(c.Context(), all, args[0], args[1:])
	}
	return c
}

func (a *app) showRun(ctx context.Context, all bool, name string, targets []string) error {
	seen, err := a.sought(ctx, name)
	if err != nil {
		return err
	}
	rep, job := seen.report, a.entryOfRun(seen.runID)
	sum := a.sum(ctx, seen.runID, rep)
	if len(targets) > 0 {
		return a.showContents(ctx, job, seen.runID, sum, targets)
	}
	run := shownRun{Report: rep}
	if rep == nil || didSomething(rep) {
		sum.Names = true
		things, kept, unread := a.thingsOf(ctx, job, seen.runID, sum)
		if unread != nil {
			return unread
		}
		last := map[bool]int{true: 1} // what is no item
		slices.SortStableFunc(things, func(x, y undo.Thing) int { return last[x.Action == ""] - last[y.Action == ""] })
		if kept {
			run.Did = &did{firstOf(things, all), len(things)}
		}
	}
	if rep == nil && run.Did == nil {
		return errors.New(seen.why)
	}
	record, err := a.record(ctx, job)
	if err != nil {
		return err
	}
	run.Held = record.Held
	return a.show(run, func(p *printer) {
		p.run(run, seen)
		if byHand := rep != nil && strings.HasPrefix(rep.Revision, byHand); !byHand && !p.emulated {
			p.Say("", 2, 2, "See each line that a deployed function logged:")
			p.Command("gcloud logging read 'labels.runId=\"%s\"' --project=%s --order=asc --format='value(timestamp,jsonPayload.message)'",
				seen.runID, p.where)
		}
	}, rep != nil && wentWrong(rep.Status))
}

// run prints a run's report and what it did; either may be missing.
func (p *printer) run(run shownRun, of seen) {
	if run.Report != nil {
		p.report(run.Report)
	} else {
		p.Say(bold, 0, 2, "%s", of.runID)
		p.Say(yellow, 2, 2, "%s", capital(of.why))
	}
	if run.Held != nil {
		p.Say(yellow, 2, 2, "The job is %s.", p.heldWords(*run.Held))
	}
	switch {
	case run.Did != nil:
		p.did(run.Did)
		if run.Report == nil || run.Undone == nil || run.Undone.Partial {
			p.Line("")
			p.Say("", 2, 2, "See what would come back, and bring it back:")
			p.Type("undo", of.runID)
		}
	case changed(run.Report):
		p.Line("")
		p.Say("", 2, 2, "The undo log has nothing of this run (UNDO_DAYS).")
	}
}

// didSomething reports whether a run may have deleted or changed something.
func didSomething(r *report.Report) bool {
	return r.Status != report.Skipped && (r.Status != report.Aborted || r.Done() > 0)
}

// seen is a run that was looked for.
type seen struct {
	runID  string
	report *report.Report // nil: it has none
	why    string         // it has none: it is under way, or saved none, or that has expired
}

// sought looks for a run by its id, the last part of that, or its job, and says that it is looked for.
func (a *app) sought(ctx context.Context, name string) (seen, error) {
	defer a.progress(ctx, "looking for the run").stop()
	if shortIDPattern.MatchString(name) {
		return a.soughtShort(ctx, name)
	}
	if runIDPattern.MatchString(name) {
		return a.reportOf(ctx, a.entryOfRun(name), name)
	}
	jobs, err := a.jobsNamed([]string{name})
	if err != nil {
		former, _ := a.former(ctx) // of what cannot be read, nobody knows any
		if !slices.ContainsFunc(former, func(f heldJob) bool { return f.Job == name }) {
			return seen{}, wrongUse("%q is no run: name one by its id or the last part of that, as %s lists them, or a job for its "+
				"last run", name, a.cmd("runs"))
		}
		jobs = []manifest.Entry{{Name: name}}
	}
	record, err := a.record(ctx, jobs[0])
	last := cmp.Or(record.Killed(a.clock()), record.Last)
	switch {
	case err != nil:
		return seen{}, err
	case last == nil:
		return seen{}, fmt.Errorf("no run of %s is saved: see %s", jobs[0].Name, a.cmd("runs"))
	}
	return seen{runID: last.RunID, report: last}, nil
}

// soughtShort looks for a run by the last part of its id, in the newest runs first.
func (a *app) soughtShort(ctx context.Context, short string) (found seen, err error) {
	isIt := func(runID string) bool { return strings.HasSuffix(runID, "-"+short) }
	jobs := a.scheduled()
	former, err := a.former(ctx)
	if err != nil {
		return found, err
	}
	for _, f := range former {
		jobs = append(jobs, manifest.Entry{Name: f.Job})
	}
	for _, job := range jobs {
		if found, err = a.unsaved(ctx, job, isIt); found.runID != "" || err != nil {
			return found, err
		}
	}
	err = a.backwards(24*time.Hour, func(from, until time.Time) (bool, error) {
		for _, job := range jobs {
			reports, err := a.between(ctx, job, from, until)
			if err != nil {
				return false, err
			}
			if i := slices.IndexFunc(reports, func(r *report.Report) bool { return isIt(r.RunID) }); i >= 0 {
				found = seen{runID: reports[i].RunID, report: reports[i]}
				return true, nil
			}
		}
		return false, nil
	})
	if err == nil && found.runID == "" {
		err = fmt.Errorf("no run whose id ends with %s is saved: reports are kept for 90 days; see %s", short, a.cmd("runs"))
	}
	return found, err
}

// showContents shows what was in things that a run deleted or changed.
func (a *app) showContents(ctx context.Context, job manifest.Entry, runID string, sum undo.Sum, targets []string) error {
	sum.Of = func(r undo.Record) bool { return slices.Contains(targets, r.Target(sum.Bucket)) }
	all, _, err := a.thingsOf(ctx, job, runID, sum)
	if err != nil {
		return err
	}
	for _, target := range targets {
		if !slices.ContainsFunc(all, func(t undo.Thing) bool { return t.Target == target }) {
			return wrongUse("%s is not in the undo log of %s: see firesweep show --all %s", target, runID, runID)
		}
	}
	return a.show(map[string]any{"run": runID, "contents": all}, func(p *printer) {
		p.Say(bold, 0, 2, "%s", runID)
		for _, t := range all {
			p.thing(t)
		}
	}, false)
}

// thing prints what was in a thing, as it was.
func (p *printer) thing(t undo.Thing) {
	p.Line("")
	p.Say(bold, 2, 2, "%s %s", t.What, t.Target)
	if t.Account != "" {
		p.Say("", 4, 2, "%s", t.Account)
	}
	for _, field := range t.Fields {
		switch {
		case field.Before == nil:
			p.Say("", 4, 2, "%s: added %s", field.Name, *field.After)
		case t.What == "changed" && field.Changed && field.After == nil:
			p.Say("", 4, 2, "%s: %s, removed", field.Name, *field.Before)
		case t.What == "changed" && field.Changed:
			p.Say("", 4, 2, "%s: %s, now %s", field.Name, *field.Before, *field.After)
		default:
			p.Say("", 4, 2, "%s: %s", field.Name, *field.Before)
		}
	}
}

// did prints what a run did.
func (p *printer) did(d *did) {
	var rows []tableRow
	for _, t := range d.Things {
		var names []string
		for _, field := range t.Fields {
			names = append(names, field.Name)
		}
		unsure := map[bool]string{true: t.What}[t.What == undo.Unsure && t.Action != ""]
		row := tableRow{Cells: []string{cmp.Or(t.Action, t.What), t.Target},
			Notes: []string{t.Reason, unsure, prefixed("fields: ", strings.Join(names, ", "))}}
		if t.Sent {
			row.Notes = []string{"sent: undo leaves it"}
		}
		rows = append(rows, row)
	}
	p.Line("")
	p.Say(bold, 2, 0, "What it did, and why:")
	p.Table(rows, "WHAT", "TARGET")
	p.more(d.Total-len(d.Things), "thing")
}

// thingsOf returns what a run of a job did. kept is false if the run has no log.
func (a *app) thingsOf(ctx context.Context, job manifest.Entry, runID string, sum undo.Sum) (
	things []undo.Thing, kept bool, err error,
) {
	at := a.progress(ctx, "reading what "+runID+" did")
	defer at.stop()
	p, err := a.reading(ctx, job)
	if err != nil {
		return nil, false, err
	}
	return p.Things(ctx, runID, sum, at.reading(runID))
}

// reading says how much of what a run did is read.
func (p *progress) reading(runID string) func(done, total int) {
	return func(done, total int) { p.set("reading what %s did (%d of %d)", runID, done, total) }
}

// sum returns what adds up what a run did, of which there may be a report.
func (a *app) sum(ctx context.Context, runID string, rep *report.Report) undo.Sum {
	if rep != nil {
		return undo.Sum{Bucket: rep.Bucket, Killed: rep.Status == report.Killed}
	}
	job := a.entryOfRun(runID)
	cfg, _ := a.settings(ctx, job, readOf(job)...) // where the bucket is not known, objects are shown without it
	return undo.Sum{Bucket: cfg.Bucket, Killed: job.Trigger != manifest.Tasks}
}
