package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/harmless"
)

// wentWrong reports whether a run of this status needs somebody to look at it.
func wentWrong(s report.Status) bool {
	return s == report.Failed || s == report.Aborted || s == report.Killed
}

// statusStyle is the style of a run's status.
func statusStyle(s report.Status) string {
	switch {
	case wentWrong(s):
		return red
	case s == report.Partial || s == report.Skipped:
		return yellow
	}
	return ""
}

// title prints how a run or a plan ended.
func (p *printer) title(r *report.Report) {
	p.Line(p.Style(bold, harmless.Text(r.Job)) + ": " + p.Style(statusStyle(r.Status), harmless.Text(statusWords(r))))
}

// head prints which run or plan a report is of, how it ended, and what it is about.
func (p *printer) head(r *report.Report) {
	p.title(r)
	p.Say(faint, 2, 2, "project %s, database %s%s", p.where, r.Database, prefixed(", bucket ", r.Bucket))
	facts := "now " + when(r.Now) + " UTC"
	if r.Status != report.Killed { // whose figures nobody knows
		facts += fmt.Sprintf(", %d scanned, %s, %s", r.Scanned, used(r.Usage), short(time.Duration(r.DurationMs)*time.Millisecond))
	}
	p.Say(faint, 2, 2, "%s", facts)
}

// report prints a report in full.
func (p *printer) report(r *report.Report) {
	p.head(r)
	built := prefixed(", version ", r.Version) + prefixed(", ", r.Revision)
	p.Say(faint, 2, 0, "run %s, started %s UTC%s", r.RunID, when(r.StartedAt), built)
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
	p.kept(r)
	p.failures(r)
	if r.Truncated {
		p.Say("", 2, 2, "there are more failures than are listed; the log has them all")
	}
	if u := r.Undone; u != nil {
		p.Say(yellow, 2, 2, "%s%s.", capital(backWords(u)), prefixed(" by ", u.By))
	}
	p.next(r)
}

// plan prints what a plan does: the first items of each kind, or all.
func (p *printer) plan(r *report.Report, all bool) {
	for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
		items := slices.DeleteFunc(slices.Clone(r.Plan), func(i report.Planned) bool { return i.Action != kind })
		n, same, shown := r.Actions[kind].Planned, sameReason(items), firstOf(items, all)
		stay := (&report.Report{Plan: items}).Stay()
		p.Line("")
		p.Say(bold, 2, 2, "%s: %d%s%s", kind, n-stay, prefixed(", because ", same), moreKept(stay))
		for _, item := range shown {
			p.Line("    " + harmless.Text(item.Target))
			note := with(item)
			if item.Reason != same {
				note = item.Reason + prefixed("; ", note)
			}
			if note != "" {
				p.Say(faint, 6, 2, "%s", note)
			}
		}
		switch {
		case len(shown) < len(items):
			p.Say("", 4, 2, "and %d more: use --all", n-len(shown))
		case len(items) < n:
			p.Say("", 4, 2, "and %d more, which are not listed", n-len(items))
		}
	}
}

// sameReason returns the reason that all of several items have, to be said once; "" if there is none.
func sameReason(items []report.Planned) string {
	if len(items) < 2 || slices.ContainsFunc(items, func(i report.Planned) bool { return i.Reason != items[0].Reason }) {
		return ""
	}
	return items[0].Reason
}

// with says what a plan deletes and changes along with an item; "" if nothing.
func with(item report.Planned) string {
	of := map[string][]string{} // by verb, such as "2 documents of posts"
	for _, what := range mostFirst(item.With) {
		verb, kind, _ := strings.Cut(what, " ")
		says := plural(item.With[what], kind)
		if verb == "keep" {
			says = fmt.Sprintf("%d of what belongs to it: %s", item.With[what], kind)
		}
		if kind == "account" || kind == "folder of files" { // nobody looked whether there is one
			says = strings.Replace(says, "1 ", "its ", 1) + " (if there is any)"
		}
		of[verb] = append(of[verb], says)
	}
	var words []string
	for _, verb := range [][2]string{{"delete", "with "}, {"write", "writes "}, {"queue", "queues "}, {"keep", "keeps "}} {
		if all := of[verb[0]]; all != nil {
			words = append(words, verb[1]+strings.Join(all, ", "))
		}
	}
	switch {
	case item.More && len(words) == 0:
		words = append(words, "with more, which a run finds")
	case item.More:
		words = append(words, "and more")
	}
	if item.Kept != "" {
		words = append(words, "but is kept: "+item.Kept)
	}
	return strings.Join(words, ", ")
}

// mostFirst returns what was counted, the largest number first.
func mostFirst(counted map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counted), func(a, b string) int {
		return cmp.Or(counted[b]-counted[a], strings.Compare(a, b))
	})
}

// kept prints how many items are kept and why, and what is doubtful about that.
func (p *printer) kept(r *report.Report) {
	for _, reason := range mostFirst(r.Kept) {
		p.Say("", 2, 2, "kept %d: %s", r.Kept[reason], reason)
	}
	for _, collection := range r.NotCounted {
		p.Say(yellow, 2, 2, "not counted: %s; what is kept there is incomplete", collection)
	}
	for _, warning := range r.Warnings {
		stops := func(f report.Failure) bool { return f.Limit != nil && slices.Contains(f.Limit.Unfound, warning) }
		if slices.ContainsFunc(r.Failures, stops) {
			continue // it is said with what stopped the run
		}
		p.Say(yellow, 2, 2, "warning: %s", warning)
	}
}

// actions prints what a run did of what it had planned. What did not happen is left out.
func (p *printer) actions(r *report.Report) {
	for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
		c := r.Actions[kind]
		words := fmt.Sprintf("%s: %d of %d done", kind, c.Done, c.Planned)
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
		p.Say("", 2, 2, "%s", words)
	}
}

// stopsOnce reports whether a run failed by what stops no other run.
func stopsOnce(f report.Failure) bool { return f.Limit != nil && len(f.Limit.Unfound) > 0 }

// backWords says when a run was taken back.
func backWords(u *report.Undone) string {
	what := "the run"
	if u.Partial {
		what = "a part of the run"
	}
	return what + " was brought back at " + when(u.At) + " UTC"
}

// runs prints a table of reports.
func (p *printer) runs(reports []*report.Report) {
	var rows []tableRow
	for _, r := range reports {
		t := r.Totals()
		row := tableRow{Style: statusStyle(r.Status), Cells: []string{r.StartedAt.UTC().Format("2006-01-02 15:04"), shortID(r.RunID),
			fmt.Sprint(t.Planned), fmt.Sprint(t.Done), fmt.Sprint(t.Failed), short(time.Duration(r.DurationMs) * time.Millisecond),
			statusWords(r)}}
		if r.Status == report.Killed {
			copy(row.Cells[2:], []string{"?", "?", "?", "?"})
		}
		if t.Begun > 0 {
			row.Notes = []string{fmt.Sprintf("%d begun, and the next run does the rest", t.Begun)}
		}
		if len(r.Failures) > 0 {
			note := wrong(r, r.Failures[0])
			if more := len(r.Failures) - 1; more > 0 {
				note += fmt.Sprintf(" (and %d more)", more)
			}
			row.Notes = append(row.Notes, note)
		}
		rows = append(rows, row)
	}
	p.Table(rows, "STARTED (UTC)", "RUN", "PLANNED", "DONE", "FAILED", "TIME", "STATUS")
}

// moreKept says how many items are kept though they are due.
func moreKept(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more kept", n)
}

// statusWords describes how a run ended, or what a plan found, and what was special about it.
func statusWords(r *report.Report) string {
	words := string(r.Status)
	stay := r.Stay()
	switch planned := r.Totals().Planned - stay; {
	case r.DryRun && r.Status == report.Completed && planned+stay == 0:
		words = "nothing is due"
	case r.DryRun && r.Status == report.Completed:
		words = fmt.Sprintf("%d due%s", planned, moreKept(stay))
	case r.DryRun && r.Status == report.Aborted:
		words = fmt.Sprintf("%d due, but a safety limit stops it%s", planned, moreKept(stay))
	case r.DryRun:
		words = "the plan " + words
	}
	for _, special := range []struct {
		is   bool
		word string
	}{
		{r.PartialRuns > 1, fmt.Sprintf(" (%d in a row)", r.PartialRuns)}, {r.Stopped, ", stopped"},
		{r.Force, ", forced"},
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
