package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/shared/sweep"
)

// statusStyle is the style of a run's status.
func statusStyle(s sweep.Status) string {
	switch s {
	case sweep.Failed, sweep.Aborted:
		return red
	case sweep.Partial, sweep.Skipped:
		return yellow
	default:
		return ""
	}
}

// head says which run a report is of and how it ended.
func (p *printer) head(r *sweep.Report) {
	status := string(r.Status)
	if r.PartialRuns > 1 {
		status += fmt.Sprintf(" (%d in a row)", r.PartialRuns)
	}
	if r.Stopped {
		status += ", stopped"
	}
	if r.Continued {
		status += ", goes on at once"
	}
	if r.DryRun {
		status += ", plan only"
	}
	if r.Force {
		status += ", forced: no safety limit holds it"
	}
	if columns(r.Job+": "+status) > p.width {
		p.line(p.style(bold, plain(r.Job)) + ":")
		p.say(statusStyle(r.Status), 2, 0, "%s", status)
	} else {
		p.line(p.style(bold, plain(r.Job)) + ": " + p.style(statusStyle(r.Status), status))
	}
	facts := []string{"database " + r.Database}
	if r.Bucket != "" {
		facts = append(facts, "bucket "+r.Bucket)
	}
	facts = append(facts, "now "+when(r.Now)+" UTC", fmt.Sprintf("%d scanned", r.Scanned),
		fmt.Sprintf("%d documents read", r.Usage.FirestoreReads), short(time.Duration(r.DurationMs)*time.Millisecond))
	p.say("", 2, 0, "%s", strings.Join(facts, ", "))
}

// plan prints the actions of a plan, and how many there are.
func (p *printer) plan(r *sweep.Report, writes bool) {
	if len(r.Plan) == 0 {
		p.line("  nothing to do")
	}
	unknown := false
	rows := make([]row, len(r.Plan))
	for i, planned := range r.Plan {
		rows[i] = row{cells: []string{planned.Action, planned.Target, writesOf(planned)}, notes: []string{planned.Reason}}
		unknown = unknown || planned.Writes == nil
		if !writes {
			continue
		}
		if rows[i].paths = planned.Writes; planned.More {
			rows[i].paths = append(slices.Clone(planned.Writes), "and more")
		}
	}
	if len(rows) > 0 {
		p.table([]column{{name: "ACTION", most: p.width / 3}, {name: "TARGET", path: true}, {name: "WRITES", right: true}}, rows)
	}
	var counts []string
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
		total += r.Actions[kind].Planned
		counts = append(counts, fmt.Sprintf("%d %s", r.Actions[kind].Planned, kind))
	}
	if len(counts) > 0 {
		p.line("")
		p.say("", 2, 2, "planned: %s", strings.Join(counts, ", "))
	}
	if total > len(r.Plan) {
		p.say("", 2, 2, "the list above has the first %d of %d", len(r.Plan), total)
	}
	if unknown {
		p.say(faint, 2, 2, "writes ?: worked out for the first 100 actions only")
	}
}

// writesOf says how many writes an action comes to: "3", "30+" where there are more, "?" where nobody has looked.
func writesOf(planned sweep.Planned) string {
	switch {
	case planned.Writes == nil && !planned.More:
		return "?"
	case planned.More:
		return fmt.Sprintf("%d+", len(planned.Writes))
	default:
		return fmt.Sprint(len(planned.Writes))
	}
}

// kept prints what is kept and why, the most first.
func (p *printer) kept(r *sweep.Report) {
	reasons := slices.SortedFunc(maps.Keys(r.Kept), func(a, b string) int {
		if r.Kept[a] != r.Kept[b] {
			return r.Kept[b] - r.Kept[a]
		}
		return strings.Compare(a, b)
	})
	for _, reason := range reasons {
		p.say("", 2, 2, "kept %d: %s", r.Kept[reason], reason)
	}
	for _, collection := range r.NotCounted {
		p.say(yellow, 2, 2, "not counted: %s; what is kept there is incomplete", collection)
	}
}

// failures prints what went wrong, and what to do about it.
func (p *printer) failures(r *sweep.Report) {
	for _, f := range r.Failures {
		p.say(red, 2, 2, "%s %s: %s", f.Action, f.Target, f.Error)
		if do := advice.On(r.Job, f.Error); do != "" {
			p.say("", 4, 2, "-> %s", do)
		}
	}
}
