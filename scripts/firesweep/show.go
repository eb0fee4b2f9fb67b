package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

var (
	runIDPattern   = regexp.MustCompile(`^[A-Za-z0-9]+-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`)
	shortIDPattern = regexp.MustCompile(`^[0-9a-f]{8}$`)
)

type showFlags struct {
	all, json, contents bool
	log                 logFlags
}

// shownRun is a run as it is shown. docs/command.md documents it as JSON.
type shownRun struct {
	*engine.Report      // nil: none is saved
	Did            *did `json:"did,omitempty"` // nil: nothing is kept of it
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
	getenv := a.projectFlag(c)
	c.Flags().BoolVar(&f.all, "all", false, "list everything that the run did, not only the first items")
	c.Flags().BoolVar(&f.json, "json", false, "write JSON, as docs/command.md says")
	c.Flags().BoolVar(&f.contents, "contents", false, "show what was in the documents and accounts")
	f.log.flags(c)
	c.ValidArgsFunction = a.completeJobs
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
			if _, err := a.jobsNamed(args[:1]); err != nil {
				return wrongUse("%q is neither a run's id as firesweep runs shows it nor a job's name", name)
			}
		}
		if f.log.log && runIDPattern.MatchString(name) { // a preview is only in the log
			return a.showLog(c.Context(), f, name, getenv)
		}
		return a.showRun(c.Context(), f, name, args[1:], getenv)
	}
	return c
}

func (a *app) showRun(ctx context.Context, f showFlags, name string, targets []string, getenv func(string) string) error {
	s := a.newStore(getenv)
	defer s.close()
	stop := a.progress(ctx, doing("looking for the run"))
	report, err := s.find(ctx, name, a.clock())
	stop()
	var none *noReportError
	if err != nil && !errors.As(err, &none) {
		return err
	}
	if none != nil {
		name = none.runID
	}
	job, _ := a.entryOfRun(name)
	run, runID, bucket := shownRun{Report: report}, name, config.For(job.Name, getenv)("STORAGE_BUCKET")
	if report != nil {
		runID, bucket = report.RunID, report.Bucket
		job, _ = a.entryOfRun(runID)
	}
	if f.log.log {
		return a.showLog(ctx, f, runID, getenv)
	}
	if f.contents {
		return a.showContents(ctx, f, runID, targets, job, bucket, getenv)
	}
	if report == nil || didSomething(report) && !report.DryRun {
		w := done.Wanted{Bucket: bucket, Most: listed}
		if f.all {
			w.Most = 0
		}
		switch log, unread := a.doneBy(ctx, job, runID, getenv, w); {
		case unread == nil:
			run.Did = &did{log.Items.First, log.Items.Total, log.Writes.First, log.Writes.Total}
		case !errors.Is(unread, restore.ErrNoLog):
			return unread
		}
	}
	if report == nil && run.Did == nil {
		return err
	}
	return a.show(f.json, run, func(p *printer) { p.run(run, runID, none) }, report != nil && wentWrong(report.Status))
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
	case totals(run.Report).Done > 0:
		p.Line("")
		p.Say("", 2, 2, "The undo log has nothing of this run (UNDO_DAYS). The log names what it deleted or changed:")
		p.Command("firesweep show --log %s", runID)
	}
}

// wentWrong reports whether a run of this status needs somebody to look at it.
func wentWrong(s engine.Status) bool {
	return s == engine.Failed || s == engine.Aborted || s == engine.Killed
}

// didSomething reports whether a run may have deleted or changed something.
func didSomething(r *engine.Report) bool {
	return r.Status != engine.Skipped && (r.Status != engine.Aborted || totals(r).Done > 0)
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

// noReport returns why a run has no report.
func (s *store) noReport(ctx context.Context, job manifest.Entry, runID string, now time.Time) error {
	leased, err := s.record(ctx, job)
	if err != nil {
		return err
	}
	if leased.Holder != runID || !now.Before(leased.Until) {
		leased = record{}
	}
	return &noReportError{job.Name, runID, leased}
}

// find returns the report of a run by its id, its short id, or its job.
func (s *store) find(ctx context.Context, name string, now time.Time) (*engine.Report, error) {
	jobs := s.scheduled()
	for _, job := range jobs {
		if name != job.Name {
			continue
		}
		record, err := s.record(ctx, job)
		if killed := record.Killed(now); killed != nil {
			return killed, err
		}
		if err == nil && record.Last == nil {
			err = fmt.Errorf("no run of %s is saved: see firesweep runs", name)
		}
		return record.Last, err
	}
	if job, ok := s.entryOfRun(name); ok {
		report, found, err := s.run(ctx, job, name, now)
		if err == nil && !found {
			err = s.noReport(ctx, job, name, now)
		}
		return report, err
	}
	if shortIDPattern.MatchString(name) {
		return s.findShort(ctx, jobs, name, now)
	}
	return nil, wrongUse("%s is not a run of a job: see firesweep runs", name)
}

// findShort looks for a run by the last part of its id, in the newest runs first.
func (s *store) findShort(ctx context.Context, jobs []manifest.Entry, short string, now time.Time) (*engine.Report, error) {
	isIt := func(runID string) bool { return strings.HasSuffix(runID, "-"+short) }
	for _, job := range jobs { // what has no report yet
		record, err := s.record(ctx, job)
		if err != nil {
			return nil, err
		}
		if killed := record.Killed(now); killed != nil && isIt(killed.RunID) {
			return killed, nil
		}
		if isIt(record.Holder) && now.Before(record.Until) && !strings.HasPrefix(record.Holder, undo.HolderPrefix) {
			return nil, &noReportError{job.Name, record.Holder, record}
		}
	}
	oldest, until := now.Add(-engine.RunRetention), now.Add(time.Hour)
	for window := 24 * time.Hour; until.After(oldest); window *= 4 {
		from := until.Add(-window)
		for _, job := range jobs {
			reports, err := s.between(ctx, job, from, until)
			if err != nil {
				return nil, err
			}
			for _, report := range reports {
				if isIt(report.RunID) {
					return report, nil
				}
			}
		}
		until = from
	}
	return nil, fmt.Errorf("no run whose id ends with %s is saved: "+
		"reports are kept for 90 days, and those of previews are in the log only", short)
}

// report prints a report in full.
func (p *printer) report(r *engine.Report) {
	p.head(r)
	p.Say("", 2, 0, "run %s, started %s UTC", r.RunID, when(r.StartedAt))
	var built []string
	if r.Version != "" { // reports of early versions have none
		built = append(built, "version "+r.Version)
	}
	if r.Revision != "" {
		built = append(built, "revision "+r.Revision)
	}
	if len(built) > 0 {
		p.Say("", 2, 0, "%s", strings.Join(built, ", "))
	}
	p.Line("")
	switch {
	case r.Status == engine.Killed:
		p.Line("  what was planned is not known")
	case len(r.Actions) == 0:
		p.Line("  nothing was due")
	default:
		var rows []screen.Row
		left := 0
		for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
			c := r.Actions[kind]
			left += max(0, c.Planned-c.Done-c.Changed-c.Failed)
			rows = append(rows, screen.Row{Cells: []string{
				kind, fmt.Sprint(c.Planned), fmt.Sprint(c.Done), fmt.Sprint(c.Changed), fmt.Sprint(c.Failed)}})
		}
		p.Table([]screen.Column{{Name: "ACTION", Path: true}, {Name: "PLANNED", Right: true}, {Name: "DONE", Right: true},
			{Name: "CHANGED", Right: true}, {Name: "FAILED", Right: true}}, rows)
		switch {
		case left == 0 || r.DryRun:
		case r.Status == engine.Aborted:
			p.Say("", 2, 2, "%d planned actions were not done: a safety limit tripped, and nothing does them before somebody acts", left)
		default:
			p.Say("", 2, 2, "%d planned actions were left to the next run, or turned out to be kept", left)
		}
	}
	p.Line("")
	p.shards(r)
	p.Kept(r)
	p.failures(r)
	if r.Truncated && !r.DryRun {
		p.Say("", 2, 2, "there are more failures than are listed: see --log")
	}
	if u := r.Usage; r.Status != engine.Killed {
		p.Say(screen.Faint, 2, 2, "billed at least: Firestore %d reads, %d writes, %d deletes; "+
			"Storage %d class A, %d class B, %d deletes; Authentication %d calls; %d tasks",
			u.FirestoreReads, u.FirestoreWrites, u.FirestoreDeletes,
			u.StorageClassA, u.StorageClassB, u.StorageDeletes, u.AuthCalls, u.Tasks)
	}
	p.Line("")
	p.undone(r.Undone)
	p.Say("", 2, 2, "%s", advice.Next(r))
}

// undone prints when a run was taken back.
func (p *printer) undone(u *engine.Undone) {
	if u == nil {
		return
	}
	by, what := "", "It was taken back"
	if u.By != "" {
		by = " by " + u.By
	}
	if u.Partial {
		what = "A part of it was taken back"
	}
	p.Say(screen.Yellow, 2, 2, "%s at %s UTC%s: %s.", what, when(u.At), by, plural(u.Things, "thing"))
}

// shards prints the state of a split run's shards.
func (p *printer) shards(r *engine.Report) {
	if len(r.Shards) == 0 {
		return
	}
	rows := make([]screen.Row, len(r.Shards))
	for i, s := range r.Shards {
		status := string(s.Status)
		switch {
		case s.Runs == 0:
			status = "not ended yet"
		case s.Left:
			status += ", some is left"
		case !s.Through:
			status += ", continues"
		}
		rows[i] = screen.Row{Cells: []string{fmt.Sprint(i), status, fmt.Sprint(s.Runs), fmt.Sprint(s.Scanned), fmt.Sprint(s.Done)}}
	}
	p.Table([]screen.Column{
		{Name: "SHARD", Right: true}, {Name: "STATUS"}, {Name: "RUNS", Right: true}, {Name: "SCANNED", Right: true},
		{Name: "DONE", Right: true}}, rows)
	p.Line("")
}
