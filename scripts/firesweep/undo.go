package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

type undoFlags struct {
	apply, json, all, claims, withoutReport bool

	only  []string
	where string // FIELD=VALUE
}

// options returns what is to be taken back.
func (f undoFlags) options() (restore.Options, error) {
	o := restore.Options{Apply: f.apply, Only: f.only, Claims: f.claims, WithoutReport: f.withoutReport, By: who()}
	if f.where == "" {
		return o, nil
	}
	field, value, found := strings.Cut(f.where, "=")
	if !found || field == "" || value == "" {
		return o, wrongUse("--where is %q: it must be like userId=abc", f.where)
	}
	o.Where = &restore.Where{Field: field, Value: value}
	return o, nil
}

// again returns the command that does what was shown, with all that was given.
func (f undoFlags) again(c *cobra.Command, runID string) string {
	text := "firesweep undo --apply" + projectArg(c)
	for _, only := range f.only {
		text += " --only " + shellQuote(only)
	}
	if f.where != "" {
		text += " --where " + shellQuote(f.where)
	}
	if f.claims {
		text += " --claims"
	}
	if f.withoutReport {
		text += " --without-report"
	}
	return text + " " + runID
}

func (a *app) undoCommand() *cobra.Command {
	var f undoFlags
	c := &cobra.Command{
		Use:   "undo RUN",
		Short: "Take back what a run deleted or changed",
		Long: `Show what undoing a run would bring back; with --apply, bring it back. It needs
the run's undo log, which is kept for UNDO_DAYS. What somebody has changed since
is left as it is and listed as a conflict: then the exit code is 1. What was
sent stays sent. Repeating it changes nothing more.

RUN is a run's id, or the last part of that as 'firesweep runs' shows it. Custom
claims may make an account an administrator. For a worker's run, give the whole
id and --without-report: its log might be forged.

What came back is pinned: every job keeps it until 'firesweep release'. While a
run of any job is under way, undo is refused. It works with your credentials,
which need to write documents, and to restore objects and create accounts if the
job deletes some.`,
		Example: `  firesweep undo --project my-project 5f3a9c01
  firesweep undo --apply cleanupReports-20260110T150000Z-5f3a9c01
  firesweep undo --apply --only reports/abc --only reports/def 5f3a9c01
  firesweep undo --where userId=abc 5f3a9c01`,
	}
	getenv := a.projectFlag(c)
	c.Flags().BoolVar(&f.apply, "apply", false, "do it; without this flag it is only shown")
	c.Flags().StringArrayVar(&f.only, "only", nil, "only this `TARGET`, as it is listed; may be repeated")
	c.Flags().StringVar(&f.where, "where", "", "only documents that had `FIELD=VALUE`, and theirs")
	c.Flags().BoolVar(&f.claims, "claims", false, "give accounts their custom claims back")
	c.Flags().BoolVar(&f.withoutReport, "without-report", false, "take back a run that has no report")
	c.Flags().BoolVar(&f.all, "all", false, "list everything, not only the first of each kind")
	c.Flags().BoolVar(&f.json, "json", false, "write JSON, as docs/command.md says")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) != 1 || !runIDPattern.MatchString(args[0]) && !shortIDPattern.MatchString(args[0]) {
			return wrongUse("name one run by its id, as firesweep runs and firesweep show print it")
		}
		runID, err := a.wholeID(c.Context(), args[0], getenv)
		if err != nil {
			return err
		}
		return a.undo(c, f, runID, getenv)
	}
	return c
}

// wholeID returns the id of a run that is given by its id or by the last part of that.
func (a *app) wholeID(ctx context.Context, name string, getenv func(string) string) (string, error) {
	if runIDPattern.MatchString(name) {
		return name, nil
	}
	s := a.newStore(getenv)
	defer s.close()
	defer a.progress(ctx, doing("looking for the run"))()
	report, err := s.find(ctx, name, a.clock())
	if err != nil {
		return "", err
	}
	return report.RunID, nil
}

// taken is the result of taking a run back. docs/command.md documents it as JSON.
type taken struct {
	Run      string      `json:"run"`
	Applied  bool        `json:"applied"`
	Outcomes []takenBack `json:"outcomes"`
	Warnings []string    `json:"warnings,omitempty"` // of what things lack that come back
}

type takenBack struct {
	Target string    `json:"target"`
	Step   undo.Step `json:"step"` // empty: there is nothing to do
	Why    string    `json:"why,omitempty"`
	Note   string    `json:"note,omitempty"` // of an account: its verified address and its claims
}

func (a *app) undo(c *cobra.Command, f undoFlags, runID string, getenv func(string) string) error {
	ctx := c.Context()
	o, err := f.options()
	if err != nil {
		return err
	}
	job, known := a.entryOfRun(runID)
	if !known {
		return wrongUse("no job or worker is called %q", strings.Split(runID, "-")[0])
	}
	uses := slices.DeleteFunc(job.Uses(), func(b config.Backend) bool { return b == config.Tasks }) // it hands nothing over
	t := taken{Run: runID, Applied: f.apply, Outcomes: []takenBack{}}
	what := map[bool]string{false: "looking at", true: "taking back"}[f.apply]
	var at far
	o.Progress = func(done, total int) { at.set(what+" things", done, total) }
	stop := a.progress(ctx, at.now)
	o.Warn = func(text string) { t.Warnings = append(t.Warnings, text) }
	if advice.Forgets(job.Name) {
		o.Warn("the run forgot a user, and undoing it brings that user back")
	}
	err = a.on(ctx, job, getenv, func(p restore.Project) error {
		return p.Undo(ctx, runID, o, func(o restore.Outcome) error {
			t.Outcomes = append(t.Outcomes, takenBack{Target: o.Target, Step: o.Step, Why: o.Why, Note: o.Note})
			return nil
		})
	}, uses...)
	stop()
	slices.SortStableFunc(t.Outcomes, func(x, y takenBack) int {
		return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Target, y.Target))
	})
	left := slices.ContainsFunc(t.Outcomes, func(o takenBack) bool { return o.Step == undo.Conflict || o.Step == undo.Lost })
	switch {
	case errors.Is(err, restore.ErrNotInLog):
		return wrongUse("%w", err)
	case f.json:
		if written := a.writeJSON(t); err == nil {
			err = written
		}
	case err == nil || len(t.Outcomes) > 0:
		a.printTaken(t, f, f.again(c, t.Run))
	}
	if err == nil && left {
		return errSaid
	}
	return err
}

// printTaken prints what came back, or would. again is the command that does it.
func (a *app) printTaken(t taken, f undoFlags, again string) {
	p := a.printer()
	p.Say(screen.Bold, 0, 2, "%s", t.Run)
	var rows []screen.Row
	back, conflicts, lost, hidden := 0, 0, 0, 0
	of := map[undo.Step]int{}
	for _, o := range t.Outcomes {
		r := screen.Row{Cells: []string{advice.Undone(o.Step), o.Target}}
		switch o.Step {
		case undo.Conflict:
			conflicts++
			r.Style, r.Notes = screen.Yellow, []string{o.Why}
		case undo.Lost:
			lost++
			r.Style, r.Notes = screen.Yellow, []string{o.Why}
		case undo.Recreate, undo.Revert, undo.Replace, undo.Remove:
			back++
		case undo.Nothing, undo.Stays:
		}
		if o.Note != "" {
			r.Notes = append(r.Notes, o.Note)
		}
		if of[o.Step]++; of[o.Step] > listed && !f.all && o.Note == "" { // what an account may do is always shown
			hidden++
			continue
		}
		rows = append(rows, r)
	}
	if len(rows) > 0 {
		p.Table([]screen.Column{{Name: "WHAT"}, {Name: "TARGET", Path: true}}, rows)
		p.more(hidden, "thing")
		p.Line("")
	}
	switch {
	case back == 0:
		p.Say("", 2, 2, "There is nothing to bring back.")
	case t.Applied:
		p.Say("", 2, 2, "%s taken back. Every job keeps what came back until you release it:", plural(back, "thing"))
		p.Command("firesweep release --run %s", t.Run)
	default:
		p.Say("", 2, 2, "%s would be taken back; nothing was changed. Do it:", plural(back, "thing"))
		p.Command("%s", again)
	}
	for _, text := range t.Warnings {
		p.Say(screen.Yellow, 2, 2, "Warning: %s.", text)
	}
	if conflicts > 0 {
		p.Say(screen.Yellow, 2, 2, "%s: left as they are; look at them by hand.", plural(conflicts, "conflict"))
	}
	if lost > 0 {
		p.Say(screen.Yellow, 2, 2, "%s cannot be brought back.", plural(lost, "thing"))
	}
}
