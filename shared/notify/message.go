// Package notify tells people of runs that ended: it decides from saved reports what is to be said, and posts it to a webhook.
package notify

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// Message is what is posted to an address that is not a known service's. It holds neither ids of what a run worked on nor the
// texts of errors, which may name them: the place where people talk is no place for personal data.
type Message struct {
	Text    string `json:"text"` // lines for people
	Project string `json:"project"`
	Job     string `json:"job"`
	Runs    []Run  `json:"runs"` // one, or in a summary those of the week, the oldest first
	rest    string // the command that shows what was cut off the text
}

// Run is what a message says of one run.
type Run struct {
	RunID      string                   `json:"runId"`
	Status     report.Status            `json:"status"`
	DryRun     bool                     `json:"dryRun"`
	StartedAt  time.Time                `json:"startedAt"`
	DurationMs int64                    `json:"durationMs"`
	Scanned    int                      `json:"scanned"`
	Actions    map[string]report.Counts `json:"actions"`
	Kept       map[string]int           `json:"kept"`
	Problems   []string                 `json:"problems"`            // the safety limits that tripped, and the steps that failed
	Show       string                   `json:"show"`                // the command that shows all of it
	Undo       string                   `json:"undo,omitempty"`      // the command that takes it back; none if nothing is to be
	UndoUntil  *time.Time               `json:"undoUntil,omitempty"` // as long as that is possible
}

// limits finds the names of safety limits, and of the protections that are lifted by name, in what a report says of them.
var limits = regexp.MustCompile(`\bMAX_[A-Z_]+\b|\b(?:empty|older|unwritten):[A-Za-z0-9_.-]+`)

// of returns what a message says of a project's run, whose job can take runs back for so many days.
func of(project string, r *report.Report, undoDays int) Run {
	run := Run{
		RunID: r.RunID, Status: r.Status, DryRun: r.DryRun, StartedAt: r.StartedAt, DurationMs: r.DurationMs, Scanned: r.Scanned,
		Actions: r.Actions, Kept: r.Kept, Problems: []string{}, Show: command("show", project, r.RunID),
	}
	for _, f := range r.Failures {
		problems := []string{f.Action + " failed"}
		if f.Action == report.CheckLimits {
			if problems = limits.FindAllString(f.Error, -1); len(problems) == 0 {
				problems = []string{"a safety limit"}
			}
		}
		for _, problem := range problems {
			if !slices.Contains(run.Problems, problem) {
				run.Problems = append(run.Problems, problem)
			}
		}
	}
	// What a killed run did is only in its undo log.
	if undoDays > 0 && !r.DryRun && (r.Done() > 0 || r.Status == report.Killed) {
		until := r.StartedAt.AddDate(0, 0, undoDays)
		run.Undo, run.UndoUntil = command("undo", project, r.RunID), &until
	}
	return run
}

// command returns a command that is about the project in any folder; about a rule of your own, in one with its list.
func command(verb, project, of string) string {
	return "firesweep " + verb + " --project " + project + " " + of
}

// ofRun returns the message of one run.
func ofRun(project string, r *report.Report, undoDays int) *Message {
	run := of(project, r, undoDays)
	head := fmt.Sprintf("%s in %s: %s", r.Job, project, r.Status)
	if r.DryRun {
		head += " (preview: nothing was changed)"
	}
	lines := []string{head}
	lines = append(lines, run.lines()...)
	return &Message{Text: strings.Join(lines, "\n"), Project: project, Job: r.Job, Runs: []Run{run}, rest: run.Show}
}

// lines say a run, what matters most first.
func (r Run) lines() (lines []string) {
	if len(r.Problems) > 0 {
		word := "Failed"
		if r.Status == report.Aborted {
			word = "Tripped"
		}
		lines = append(lines, word+": "+strings.Join(r.Problems, ", "))
	}
	if r.Status == report.Killed {
		lines = append(lines, "It ended without a report; its undo log knows what it did.")
	}
	if done := counted(r.Actions, r.DryRun); done != "" {
		lines = append(lines, done)
	}
	if r.Undo != "" {
		lines = append(lines, "Undo until "+r.UndoUntil.UTC().Format(minute)+": "+r.Undo)
	}
	lines = append(lines, "Details: "+r.Show)
	if kept := kept(r.Kept); kept != "" {
		lines = append(lines, kept)
	}
	return lines
}

// minute is how messages write times, which are UTC.
const minute = "2006-01-02 15:04 UTC"

// counted says what became of actions; empty if there were none.
func counted(actions map[string]report.Counts, preview bool) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(actions)) {
		c := actions[kind]
		if c == (report.Counts{}) {
			continue
		}
		if preview {
			parts = append(parts, fmt.Sprintf("%s %d", kind, c.Planned))
			continue
		}
		part := fmt.Sprintf("%s %d of %d", kind, c.Done, c.Planned)
		if c.Changed > 0 {
			part += fmt.Sprintf(" (%d changed meanwhile)", c.Changed)
		}
		if c.Failed > 0 {
			part += fmt.Sprintf(" (%d failed)", c.Failed)
		}
		if c.Begun > 0 {
			part += fmt.Sprintf(" (%d begun)", c.Begun)
		}
		parts = append(parts, part)
	}
	switch {
	case len(parts) == 0:
		return ""
	case preview:
		return "Would do: " + strings.Join(parts, ", ")
	}
	return "Done: " + strings.Join(parts, ", ")
}

// kept says how much was kept and why, the most frequent reason first; empty if nothing was.
func kept(reasons map[string]int) string {
	sum := 0
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, reason := range names {
		if reasons[reason] > 0 {
			sum += reasons[reason]
			parts = append(parts, fmt.Sprintf("%s %d", reason, reasons[reason]))
		}
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("Kept: %d (%s)", sum, strings.Join(parts, ", "))
}

// ofWeek returns the summary of runs of one job, the oldest first; at least one.
func ofWeek(project string, runs []*report.Report, undoDays int) *Message {
	last := runs[len(runs)-1]
	sum := report.Report{}
	statuses := map[string]int{}
	m := &Message{Project: project, Job: last.Job, rest: command("runs", project, last.Job)}
	var each []string
	for _, r := range runs {
		sum.Add(r)
		statuses[string(r.Status)]++
		run := of(project, r, undoDays)
		m.Runs = append(m.Runs, run)
		line := fmt.Sprintf("%s %s, %d done", r.StartedAt.UTC().Format(minute), r.Status, r.Done())
		if len(run.Problems) > 0 {
			line += "; " + strings.Join(run.Problems, ", ")
		}
		if run.Undo != "" {
			line += "; until " + run.UndoUntil.UTC().Format(minute) + ": " + run.Undo
		}
		each = append(each, line)
	}
	var how []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		how = append(how, fmt.Sprintf("%d %s", statuses[status], status))
	}
	to := last.StartedAt.UTC().Format(time.DateOnly)
	lines := []string{fmt.Sprintf("%s in %s, week to %s: %s", last.Job, project, to, strings.Join(how, ", "))}
	if done := counted(sum.Actions, false); done != "" {
		lines = append(lines, done)
	}
	if kept := kept(last.Kept); kept != "" { // those of every run would be the same items again and again
		lines = append(lines, "By the last run: "+kept)
	}
	slices.Reverse(each) // so that the latest is not cut
	m.Text = strings.Join(append(lines, each...), "\n")
	return m
}
