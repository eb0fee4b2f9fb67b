package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

var (
	runIDPattern   = regexp.MustCompile(`^[A-Za-z0-9]+-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`)
	shortIDPattern = regexp.MustCompile(`^[0-9a-f]{8}$`)
)

const idTime = "20060102T150405Z" // as a run's id has the time of its beginning

type showFlags struct {
	all, contents bool
	log           logFlags
}

// shownRun is a run as it is shown. docs/command.md documents it as JSON.
type shownRun struct {
	*report.Report           // nil: none is saved
	Did            *done.Log `json:"did,omitempty"` // nil: nothing is kept of it
}

func (a *app) showCommand() *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:   "show RUN [TARGET...]",
		Short: "Show one run in full, what failed, and what to do about it",
		Long: `Show the report of one run in full: what was planned, done and kept, what failed
and what to do about it, and by its undo log what it deleted or changed and why.
RUN is a run's id, the last part of that as 'firesweep runs' shows it, or a
job's name for its last run. With --log every line that the run logged is shown,
with --contents what was in things, of those that TARGETs name or of the first
30.

It needs the role roles/datastore.viewer; with --log, roles/logging.viewer.
Exit code 1 means that the run failed, was aborted or was killed, or that there
is no such run.`,
		Example: `  firesweep show --project my-project 5f3a9c01
  firesweep show --all cleanupReports
  firesweep show --contents 5f3a9c01 posts/abc
  firesweep show --log cleanupReports-20260110T150000Z-5f3a9c01`,
	}
	c.Flags().BoolVar(&f.all, "all", false, "list everything that the run did, not only the first items")
	c.Flags().BoolVar(&f.contents, "contents", false, "show what was in the documents and accounts")
	f.log.flags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) > 1 && !f.contents {
			return wrongUse("name one run: its id, the last part of that, or a job's name; with --contents also targets of it")
		}
		if f.contents && f.log.log {
			return wrongUse("--contents and --log do not go together: the log has names only")
		}
		if err := f.log.check(c); err != nil {
			return err
		}
		name := args[0]
		if !runIDPattern.MatchString(name) && !shortIDPattern.MatchString(name) {
			jobs, err := a.jobsNamed(args[:1])
			if err != nil {
				return wrongUse("%q is neither a run's id as firesweep runs shows it nor a job's name", name)
			}
			name = jobs[0].Name // whose service an alert writes in lower case
		}
		if f.log.log && runIDPattern.MatchString(name) { // a preview is only in the log
			return a.showLog(c.Context(), f.log, name)
		}
		return a.showRun(c.Context(), f, name, args[1:])
	}
	return c
}

func (a *app) showRun(ctx context.Context, f showFlags, name string, targets []string) error {
	report, err := a.sought(ctx, name)
	var none *noReportError
	if err != nil && !errors.As(err, &none) {
		return err
	}
	w, runID := done.Wanted{Most: listed}, ""
	if report != nil {
		runID, w.Bucket = report.RunID, report.Bucket
	} else {
		runID, w.Bucket = none.runID, a.bucketOf(none.runID)
	}
	job, _ := a.entryOfRun(runID)
	if f.all {
		w.Most = 0
	}
	switch {
	case f.log.log:
		return a.showLog(ctx, f.log, runID)
	case f.contents:
		return a.showContents(ctx, w, runID, targets, job)
	}
	run := shownRun{Report: report}
	if report == nil || didSomething(report) && !report.DryRun {
		var unread error
		if run.Did, unread = a.doneBy(ctx, job, runID, w); unread != nil {
			return unread
		}
	}
	if report == nil && run.Did == nil {
		return err
	}
	return a.show(run, func(p *printer) { p.run(run, runID, none) }, report != nil && wentWrong(report.Status))
}

// run prints a run's report and what it did; either may be missing, and none says why there is no report.
func (p *printer) run(run shownRun, runID string, none *noReportError) {
	if run.Report != nil {
		p.report(run.Report)
	} else {
		p.Say(screen.Bold, 0, 2, "%s", runID)
		why := "There is no report of it: it is a worker's, or it is older than 90 days."
		if none.record.Holder != "" {
			why = none.Error()
		}
		p.Say(screen.Yellow, 2, 2, "%s", why)
	}
	switch {
	case run.Did != nil:
		p.did(run.Did, runID)
	case run.Done()+run.Totals().Begun > 0:
		p.Line("")
		p.Say("", 2, 2, "The undo log has nothing of this run (UNDO_DAYS). The log names what it deleted or changed:")
		p.Command("firesweep show --log%s %s", p.given, runID)
	}
}

// wentWrong reports whether a run of this status needs somebody to look at it.
func wentWrong(s report.Status) bool {
	return s == report.Failed || s == report.Aborted || s == report.Killed
}

// didSomething reports whether a run may have deleted or changed something.
func didSomething(r *report.Report) bool {
	return r.Status != report.Skipped && (r.Status != report.Aborted || r.Done() > 0)
}

// A noReportError says that a run has saved no report, or that it has expired.
type noReportError struct {
	job, runID string
	record     record // of its job, where the run is under way; else zero
}

func (e *noReportError) Error() string {
	if e.record.Holder != "" {
		return underWay(e.job, e.record)
	}
	return fmt.Sprintf("there is no report of %s: reports are kept for 90 days, and those of previews are in the log only (--log)",
		e.runID)
}

// sought returns the report of a run by its id, its short id, or its job, and shows that it is looked for.
func (a *app) sought(ctx context.Context, name string) (*report.Report, error) {
	defer a.progress(ctx, doing("looking for the run"))()
	if i := slices.IndexFunc(a.scheduled(), func(e manifest.Entry) bool { return e.Name == name }); i >= 0 {
		record, err := a.record(ctx, a.scheduled()[i])
		if killed := record.Killed(a.clock()); killed != nil {
			return killed, err
		}
		if err == nil && record.Last == nil {
			err = fmt.Errorf("no run of %s is saved: see firesweep runs", name)
		}
		return record.Last, err
	}
	if job, ok := a.entryOfRun(name); ok {
		rep, err := a.reportOf(ctx, job, name)
		if err == nil && rep == nil {
			err = &noReportError{job: job.Name, runID: name}
		}
		return rep, err
	}
	if shortIDPattern.MatchString(name) {
		return a.soughtShort(ctx, name)
	}
	return nil, wrongUse("%s is not a run of a job: see firesweep runs", name)
}

// soughtShort looks for a run by the last part of its id, in the newest runs first.
func (a *app) soughtShort(ctx context.Context, short string) (*report.Report, error) {
	now, isIt := a.clock(), func(runID string) bool { return strings.HasSuffix(runID, "-"+short) }
	for _, job := range a.scheduled() {
		if rep, err := a.unsaved(ctx, job, isIt); rep != nil || err != nil {
			return rep, err
		}
	}
	oldest, until := now.Add(-report.RunRetention), now.Add(time.Hour)
	for window := 24 * time.Hour; until.After(oldest); window *= 4 {
		from := until.Add(-window)
		for _, job := range a.scheduled() {
			reports, err := a.between(ctx, job, from, until)
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(reports, func(r *report.Report) bool { return isIt(r.RunID) }); i >= 0 {
				return reports[i], nil
			}
		}
		until = from
	}
	return nil, fmt.Errorf("no run whose id ends with %s is saved: reports are kept for 90 days, and those of previews are "+
		"in the log only", short)
}

// listed is how many things of each kind are shown without --all.
const listed = 30

// doneBy reads the undo log of a run of a job; nil if it has none.
func (a *app) doneBy(ctx context.Context, job manifest.Entry, runID string, w done.Wanted) (*done.Log, error) {
	var log done.Log
	var at far
	w.Progress = func(done, total int) { at.set("reading what it did", done, total) }
	defer a.progress(ctx, at.now)()
	err := a.on(ctx, job, func(p restore.Project) (err error) {
		log, err = done.Of(ctx, p, runID, w)
		return err
	}, config.Firestore)
	switch {
	case errors.Is(err, restore.ErrNoLog):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &log, nil
}

// showContents shows what was in the things that a run deleted or changed, or only in those that are named.
func (a *app) showContents(ctx context.Context, w done.Wanted, runID string, targets []string, job manifest.Entry) error {
	if w.Targets = targets; a.json || len(targets) > 0 {
		w.Most = 0
	}
	log, err := a.doneBy(ctx, job, runID, w)
	switch {
	case err != nil:
		return err
	case log == nil:
		return fmt.Errorf("%s: %w", runID, restore.ErrNoLog)
	}
	for _, target := range targets {
		if !slices.ContainsFunc(log.Things, func(t done.Thing) bool { return t.Target == target }) {
			return wrongUse("%s is not in the undo log of %s: see firesweep show --all %s", target, runID, runID)
		}
	}
	return a.show(map[string]any{"run": runID, "contents": log.Things}, func(p *printer) {
		p.Say(screen.Bold, 0, 2, "%s", runID)
		for _, t := range log.Things {
			printThing(&p.Printer, t)
		}
		p.more(log.ThingsTotal-len(log.Things), "thing")
	}, false)
}

// printThing prints what was in a thing, as it was.
func printThing(p *screen.Printer, t done.Thing) {
	p.Line("")
	p.Say(screen.Bold, 2, 2, "%s %s", t.What, t.Target)
	if t.Known != "" {
		p.Say("", 4, 2, "%s", t.Known)
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
func (p *printer) did(d *done.Log, runID string) {
	var items, writes []screen.Row
	for _, item := range d.Items {
		items = append(items, screen.Row{Cells: []string{item.Action, item.Target}, Notes: []string{item.Reason}})
	}
	for _, w := range d.Writes {
		path := w.Path
		if w.Generation != "" {
			path += "#" + w.Generation
		}
		note := ""
		switch {
		case w.Sent:
			note = "sent: undo leaves it"
		case len(w.Fields) > 0:
			note = "fields: " + strings.Join(w.Fields, ", ")
		}
		writes = append(writes, screen.Row{Cells: []string{w.Op, path}, Notes: []string{note}})
	}
	p.Line("")
	p.Say(screen.Bold, 2, 0, "What it did, and why:")
	p.Table([]screen.Column{{Name: "ACTION", Most: p.Width * 2 / 5}, {Name: "TARGET", Path: true}}, items)
	p.more(d.ItemsTotal-len(items), "item")
	if len(writes) > 0 {
		p.Line("")
		p.Say(screen.Bold, 2, 0, "What it deleted or wrote for that:")
		p.Table([]screen.Column{{Name: "WRITE", Most: p.Width * 2 / 5}, {Name: "TARGET", Path: true}}, writes)
		p.more(d.WritesTotal-len(writes), "write")
	}
	p.Line("")
	p.Say("", 2, 2, "See what is still gone or changed, and would come back:")
	p.Command("firesweep undo%s %s", p.given, runID)
}
