package main

import (
	"fmt"
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

// head prints which run a report is of, and how it ended.
func (p *printer) head(r *report.Report) {
	status := string(r.Status)
	if r.PartialRuns > 1 {
		status += fmt.Sprintf(" (%d in a row)", r.PartialRuns)
	}
	if r.Stopped {
		status += ", stopped"
	}
	if r.Continued {
		status += ", continues at once"
	}
	if r.DryRun {
		status += ", plan only"
	}
	if r.Force {
		status += ", forced: without limits on numbers and shares"
	}
	if len(r.Lift) > 0 {
		status += ", lifted: " + strings.Join(r.Lift, ", ")
	}
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
		if do := p.advice(r.Job, f.Error); do != "" {
			p.Say("", 4, 2, "-> %s", do)
		}
	}
}
