package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
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

// head prints which run a report is of, and how it ended.
func (p *printer) head(r *report.Report) {
	status := statusWords(r, false)
	if screen.Columns(r.Job+": "+status) > p.Width {
		p.Line(p.Style(screen.Bold, screen.Plain(r.Job)) + ":")
		p.Say(statusStyle(r.Status), 2, 0, "%s", status)
	} else {
		p.Line(p.Style(screen.Bold, screen.Plain(r.Job)) + ": " + p.Style(statusStyle(r.Status), status))
	}
	facts := []string{"database " + r.Database}
	if r.Bucket != "" {
		facts = append(facts, "bucket "+r.Bucket)
	}
	facts = append(facts, "now "+when(r.Now)+" UTC")
	if r.Status != report.Killed { // whose figures nobody knows
		facts = append(facts, fmt.Sprintf("%d scanned", r.Scanned),
			fmt.Sprintf("%d documents read", r.Usage.FirestoreReads), short(time.Duration(r.DurationMs)*time.Millisecond))
	}
	p.Say("", 2, 0, "%s", strings.Join(facts, ", "))
}

// failures prints what went wrong, and what to do about it.
func (p *printer) failures(r *report.Report) {
	for _, f := range r.Failures {
		p.Say(screen.Red, 2, 2, "%s %s: %s", f.Action, f.Target, f.Error)
		if do := p.typed(advice.On(f.Error)); do != "" {
			p.Say("", 4, 2, "-> %s", do)
		}
	}
	switch do, command := advice.Tripped(r); {
	case do == "":
	case r.Approved != nil: // it names a FILE in place of the one that nobody knows here
		p.Say("", 4, 2, "-> %s %s", p.typed(do), p.typed(command))
	default:
		p.Say("", 4, 2, "-> %s", p.typed(do))
		p.Command("%s", p.given.In(p.typed(command)))
	}
}

// report prints a report in full.
func (p *printer) report(r *report.Report) {
	p.head(r)
	p.Say("", 2, 0, "run %s, started %s UTC", r.RunID, when(r.StartedAt))
	if built := prefixed(", version ", r.Version) + prefixed(", revision ", r.Revision); built != "" { // early versions said none
		p.Say("", 2, 0, "%s", built[len(", "):])
	}
	p.Line("")
	switch {
	case r.Status == report.Killed:
		p.Line("  what was planned is not known")
	case len(r.Actions) == 0 && r.Status == report.Completed:
		p.Line("  nothing was due")
	case len(r.Actions) == 0: // it did not look, or not at all of it
		p.Line("  nothing was planned")
	default:
		var rows []screen.Row
		for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
			c := r.Actions[kind]
			rows = append(rows, screen.Row{Cells: cells(kind, c.Planned, c.Done, c.Changed, c.Failed)})
		}
		p.Table(append([]screen.Column{{Name: "ACTION", Path: true}}, screen.Numbers("PLANNED", "DONE", "CHANGED", "FAILED")...), rows)
		switch left := r.Left(); {
		case left == 0 || r.DryRun:
		case r.Status == report.Aborted:
			p.Say("", 2, 2, "%d planned actions were not done: a safety limit tripped, and nothing does them before somebody acts", left)
		default:
			p.Say("", 2, 2, "%d planned actions were left to the next run, or turned out to be kept", left)
			if begun := r.Totals().Begun; begun > 0 {
				p.Say("", 2, 2, "begun of these: %d, documents of which are changed or deleted; the next run does the rest, such as files", begun)
			}
		}
	}
	p.Line("")
	p.shards(r)
	p.Kept(r)
	p.failures(r)
	if r.Truncated && !r.DryRun {
		p.Say("", 2, 2, "there are more failures than are listed: see --log")
	}
	if u := r.Usage; r.Status != report.Killed {
		p.Say(screen.Faint, 2, 2, "billed at least: Firestore %d reads, %d writes, %d deletes; "+
			"Storage %d class A, %d class B, %d deletes; Authentication %d calls; %d tasks",
			u.FirestoreReads, u.FirestoreWrites, u.FirestoreDeletes,
			u.StorageClassA, u.StorageClassB, u.StorageDeletes, u.AuthCalls, u.Tasks)
	}
	p.Line("")
	p.undone(r.Undone)
	p.Say("", 2, 2, "%s", p.typed(advice.Next(r)))
}

// undone prints when a run was taken back.
func (p *printer) undone(u *report.Undone) {
	if u == nil {
		return
	}
	what := "It was taken back"
	if u.Partial {
		what = "A part of it was taken back"
	}
	p.Say(screen.Yellow, 2, 2, "%s at %s UTC%s: %s.", what, when(u.At), prefixed(" by ", u.By), plural(u.Things, "thing"))
}

// shards prints the state of a split run's shards.
func (p *printer) shards(r *report.Report) {
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
		rows[i] = screen.Row{Cells: cells(i, status, s.Runs, s.Scanned, s.Done)}
	}
	p.Table(slices.Insert(screen.Numbers("SHARD", "RUNS", "SCANNED", "DONE"), 1, screen.Column{Name: "STATUS"}), rows)
	p.Line("")
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
		rows[i] = screen.Row{Style: statusStyle(r.Status), Cells: slices.Concat(
			[]string{r.StartedAt.UTC().Format("2006-01-02 15:04"), statusWords(r, true)}, figures, []string{shortID(r.RunID)})}
		if t.Begun > 0 {
			rows[i].Notes = []string{fmt.Sprintf("%d begun, and the next run does the rest", t.Begun)}
		}
		if len(r.Failures) > 0 {
			first := r.Failures[0]
			note := fmt.Sprintf("%s %s: %s", first.Action, first.Target, first.Error)
			if more := len(r.Failures) - 1; more > 0 {
				note += fmt.Sprintf(" (and %d more)", more)
			}
			rows[i].Notes = append(rows[i].Notes, note)
		}
	}
	p.Table(slices.Concat([]screen.Column{{Name: "STARTED (UTC)"}, {Name: "STATUS", Most: 17}},
		screen.Numbers("PLANNED", "DONE", "FAILED", "TIME"), []screen.Column{{Name: "RUN"}}), rows)
}

// statusWords describes how a run ended and what was special about it, in a few words or in all.
func statusWords(r *report.Report, few bool) string {
	words := string(r.Status)
	for _, special := range []struct {
		is        bool
		few, full string
	}{
		{r.PartialRuns > 1, fmt.Sprintf(" (%d)", r.PartialRuns), fmt.Sprintf(" (%d in a row)", r.PartialRuns)},
		{r.Stopped, ", stopped", ", stopped"},
		{r.Continued, ", continues", ", continues at once"},
		{r.DryRun, ", plan", ", plan only"},
		{r.Force, ", forced", ", forced: without limits on numbers and shares"},
		{len(r.Lift) > 0, ", lifted", ", lifted: " + strings.Join(r.Lift, ", ")},
		{r.Undone != nil && r.Undone.Partial, ", partly undone", ""}, // else it has a line of its own
		{r.Undone != nil && !r.Undone.Partial, ", undone", ""},
	} {
		switch {
		case special.is && few:
			words += special.few
		case special.is:
			words += special.full
		}
	}
	return words
}

// shortID returns the last part of a run's id, by which show finds it.
func shortID(runID string) string { return runID[strings.LastIndexByte(runID, '-')+1:] }
