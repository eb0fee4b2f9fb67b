package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// statusStyle is the style of a run's status.
func statusStyle(s report.Status) string {
	switch s {
	case report.Failed, report.Aborted, report.Killed:
		return screen.Red
	case report.Partial, report.Skipped:
		return screen.Yellow
	default:
		return ""
	}
}

// head prints which run or plan a report is of, how it ended, and what it is about.
func (p *printer) head(r *report.Report) {
	p.Line(p.Style(screen.Bold, screen.Plain(r.Job)) + ": " + p.Style(statusStyle(r.Status), screen.Plain(statusWords(r))))
	p.Say(screen.Faint, 2, 2, "project %s, database %s%s", p.where, r.Database, prefixed(", bucket ", r.Bucket))
	facts := "now " + when(r.Now) + " UTC"
	if r.Status != report.Killed { // whose figures nobody knows
		facts += fmt.Sprintf(", %d scanned, %s, %s", r.Scanned, used(r.Usage), short(time.Duration(r.DurationMs)*time.Millisecond))
	}
	p.Say(screen.Faint, 2, 2, "%s", facts)
}

// report prints a report in full.
func (p *printer) report(r *report.Report) {
	p.head(r)
	built := prefixed(", version ", r.Version) + prefixed(", ", r.Revision) // early versions said none
	p.Say(screen.Faint, 2, 0, "run %s, started %s UTC%s", r.RunID, when(r.StartedAt), built)
	p.Line("")
	switch {
	case r.Status == report.Killed:
		p.Line("  what was planned is not known")
	case len(r.Actions) == 0 && r.Status == report.Completed:
		p.Line("  nothing was due")
	case len(r.Actions) == 0: // it did not look, or not at all of it
		p.Line("  nothing was planned")
	default:
		p.actions(r)
	}
	p.Kept(r)
	p.failures(r)
	if r.Truncated && !r.DryRun {
		p.Say("", 2, 2, "there are more failures than are listed; the log has them all")
	}
	p.undone(r.Undone)
	if next := p.next(r); next != "" {
		p.Say("", 2, 2, "%s", next)
	}
}

// actions prints what a run did of what it had planned. What did not happen is left out.
func (p *printer) actions(r *report.Report) {
	for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
		c, words := r.Actions[kind], ""
		for _, of := range []struct {
			n    int
			what string
		}{
			{c.Changed, "changed meanwhile, so it was kept"}, {c.Failed, "failed"}, {c.Begun, "begun: the next run does the rest"},
		} {
			if of.n > 0 {
				words += fmt.Sprintf("; %d %s", of.n, of.what)
			}
		}
		if r.DryRun {
			p.Say("", 2, 2, "%s: %d planned%s", kind, c.Planned, words)
		} else {
			p.Say("", 2, 2, "%s: %d of %d done%s", kind, c.Done, c.Planned, words)
		}
	}
	switch left := r.Left(); {
	case left == 0 || r.DryRun:
	case r.Status == report.Aborted:
		p.Say("", 2, 2, "%d were not done because of a safety limit, and nothing does them before somebody acts", left)
	default:
		p.Say("", 2, 2, "%d were left to the next run, or turned out to be kept", left)
	}
}

// undone prints when a run was taken back.
func (p *printer) undone(u *report.Undone) {
	if u != nil {
		p.Say(screen.Yellow, 2, 2, "%s%s: %s.", capital(backWords(u)), prefixed(" by ", u.By), plural(u.Things, "thing"))
	}
}

// backWords says when a run was taken back.
func backWords(u *report.Undone) string {
	if u.Partial {
		return "a part of it was brought back at " + when(u.At) + " UTC"
	}
	return "it was brought back at " + when(u.At) + " UTC"
}

// runs prints a table of reports.
func (p *printer) runs(reports []*report.Report) {
	rows := make([]screen.Row, len(reports))
	for i, r := range reports {
		t := r.Totals()
		figures := cells(t.Planned, t.Done, t.Failed, short(time.Duration(r.DurationMs)*time.Millisecond))
		if r.Status == report.Killed {
			figures = []string{"?", "?", "?", "?"}
		}
		rows[i] = screen.Row{Style: statusStyle(r.Status), Cells: slices.Concat([]string{r.StartedAt.UTC().Format("2006-01-02 15:04"),
			shortID(r.RunID)}, figures, []string{statusWords(r)})}
		if t.Begun > 0 {
			rows[i].Notes = []string{fmt.Sprintf("%d begun, and the next run does the rest", t.Begun)}
		}
		if len(r.Failures) > 0 {
			note := wrong(r, r.Failures[0])
			if more := len(r.Failures) - 1; more > 0 {
				note += fmt.Sprintf(" (and %d more)", more)
			}
			rows[i].Notes = append(rows[i].Notes, note)
		}
	}
	p.Table(slices.Concat(screen.Columns("STARTED (UTC)", "RUN"), screen.Numbers("PLANNED", "DONE", "FAILED", "TIME"),
		screen.Columns("STATUS")), rows)
}

// statusWords describes how a run ended, or what a plan found, and what was special about it.
func statusWords(r *report.Report) string {
	words := string(r.Status)
	switch planned := r.Totals().Planned; {
	case r.DryRun && r.Status == report.Completed && planned == 0:
		words = "nothing is due"
	case r.DryRun && r.Status == report.Completed:
		words = fmt.Sprintf("%d due", planned)
	case r.DryRun:
		words += ", plan"
	}
	for _, special := range []struct {
		is   bool
		word string
	}{
		{r.PartialRuns > 1, fmt.Sprintf(" (%d in a row)", r.PartialRuns)}, {r.Stopped, ", stopped"}, {r.Continued, ", continues"},
		{r.Force, ", forced"}, {len(r.Lift) > 0, ", lifted " + strings.Join(r.Lift, " ")},
		{r.Undone != nil && r.Undone.Partial, ", partly undone"}, {r.Undone != nil && !r.Undone.Partial, ", undone"},
	} {
		if special.is {
			words += special.word
		}
	}
	return words
}

// shortID returns the last part of a run's id, by which show finds it.
func shortID(runID string) string { return runID[strings.LastIndexByte(runID, '-')+1:] }
