package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/undo"
	"github.com/firesweep/firesweep/shared/undo/restore"
)

type undoFlags struct {
	apply, json bool
	only        []string
}

func (a *app) undoCommand() *cobra.Command {
	var f undoFlags
	c := &cobra.Command{
		Use:   "undo RUN",
		Short: "Take back what a run deleted or changed",
		Long: `Show what undoing a run would bring back; with --apply, bring it back.

It needs the run's undo log, which is kept for seven days unless UNDO_DAYS
(Terraform: undo_days) of its job says otherwise. A deleted document comes back
as it was, if none is there now. A changed field gets its old value, if it still
holds what the run wrote. A document that the run created is deleted, if nobody
has changed it. Objects come back from the bucket's soft delete, accounts
without their passwords. What somebody has changed since is left as it is and
listed as a conflict. What was sent stays sent. Repeating it changes nothing
more.

RUN is a run's id, or the last part of that as 'firesweep runs' shows it. For a
worker's run, give the whole id.

What came back is held: the job keeps it until 'firesweep release'.
It works with your credentials, which need to write documents, and to restore
objects and create accounts if the job deletes some.`,
		Example: `  firesweep undo --project my-project 5f3a9c01
  firesweep undo --apply cleanupReports-20260110T150000Z-5f3a9c01
  firesweep undo --apply --only reports/abc --only reports/def 5f3a9c01`,
	}
	getenv := a.projectFlag(c)
	c.Flags().BoolVar(&f.apply, "apply", false, "do it; without this flag it is only shown")
	c.Flags().StringArrayVar(&f.only, "only", nil, "only this `TARGET`, as it is listed; may be repeated")
	c.Flags().BoolVar(&f.json, "json", false, "write JSON, as docs/command.md says")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) != 1 || !runIDPattern.MatchString(args[0]) && !shortIDPattern.MatchString(args[0]) {
			return wrongUse("name one run by its id, as firesweep runs and firesweep show print it")
		}
		runID, err := a.wholeID(c.Context(), args[0], getenv)
		if err != nil {
			return err
		}
		return a.undo(c.Context(), f, runID, getenv)
	}
	return c
}

// wholeID returns the id of a run that is given by its id or by the last part of that.
func (a *app) wholeID(ctx context.Context, name string, getenv func(string) string) (string, error) {
	if runIDPattern.MatchString(name) {
		return name, nil
	}
	s := newStore(getenv)
	defer s.close()
	defer a.progress(ctx, func(time.Duration) string { return "looking for the run" })()
	report, err := s.find(ctx, name, a.clock())
	if err != nil {
		return "", err
	}
	return report.RunID, nil
}

// open opens the backends of the job or worker of this name.
func (a *app) open(ctx context.Context, name string, getenv func(string) string) (restore.Project, func() error, error) {
	all := functions.All()
	i := slices.IndexFunc(all, func(e manifest.Entry) bool { return e.Name == name })
	if i < 0 {
		return restore.Project{}, nil, wrongUse("no job or worker is called %q", name)
	}
	e := all[i]
	c, err := settings(e, getenv, e.Uses()...)
	if err != nil {
		return restore.Project{}, nil, err
	}
	return restore.Open(ctx, c, e.Uses(), a.clock)
}

// taken is the result of taking a run back. docs/command.md documents it as JSON.
type taken struct {
	Run      string      `json:"run"`
	Applied  bool        `json:"applied"`
	Outcomes []takenBack `json:"outcomes"`
}

type takenBack struct {
	Target string    `json:"target"`
	Step   undo.Step `json:"step"` // empty: there is nothing to do
	Why    string    `json:"why,omitempty"`
}

func (a *app) undo(ctx context.Context, f undoFlags, runID string, getenv func(string) string) error {
	job, _, _ := strings.Cut(runID, "-")
	p, closeAll, err := a.open(ctx, job, getenv)
	if err != nil {
		return err
	}
	defer func() { _ = closeAll() }() // what was written is written
	t := taken{Run: runID, Applied: f.apply, Outcomes: []takenBack{}}
	what := map[bool]string{false: "looking at", true: "taking back"}[f.apply]
	var far share
	var things atomic.Int64
	stop := a.progress(ctx, func(passed time.Duration) string {
		return what + " " + plural(int(things.Load()), "thing") + far.estimate(passed)
	})
	err = p.Undo(ctx, runID, restore.Options{Apply: f.apply, Only: f.only, Progress: far.set}, func(o restore.Outcome) error {
		things.Add(1)
		t.Outcomes = append(t.Outcomes, takenBack{Target: o.Target, Step: o.Step, Why: o.Why})
		return nil
	})
	stop()
	slices.SortStableFunc(t.Outcomes, func(x, y takenBack) int {
		return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Target, y.Target))
	})
	switch {
	case f.json:
		if written := a.writeJSON(t); err == nil {
			err = written
		}
	case err == nil || len(t.Outcomes) > 0:
		a.printTaken(t, job)
	}
	return err
}

func (a *app) printTaken(t taken, job string) {
	p := a.printer()
	p.Say(screen.Bold, 0, 2, "%s", t.Run)
	var rows []screen.Row
	back, conflicts := 0, 0
	for _, o := range t.Outcomes {
		r := screen.Row{Cells: []string{advice.Undone(o.Step), o.Target}}
		switch o.Step {
		case undo.Conflict:
			conflicts++
			r.Style, r.Notes = screen.Yellow, []string{o.Why}
		case undo.Recreate, undo.Revert, undo.Replace, undo.Remove:
			back++
		case undo.Nothing, undo.Stays:
		}
		rows = append(rows, r)
	}
	p.Table([]screen.Column{{Name: "WHAT"}, {Name: "TARGET", Path: true}}, rows)
	p.Line("")
	switch {
	case back == 0:
		p.Say("", 2, 2, "There is nothing to bring back.")
	case t.Applied:
		p.Say("", 2, 2, "%s taken back. The job keeps what came back until you release it:", plural(back, "thing"))
		p.Command("firesweep release --all %s", job)
	default:
		p.Say("", 2, 2, "%s would be taken back; nothing was changed. Do it:", plural(back, "thing"))
		p.Command("firesweep undo --apply %s", t.Run)
	}
	if conflicts > 0 {
		p.Say(screen.Yellow, 2, 2, "%s: left as they are; look at them by hand.", plural(conflicts, "conflict"))
	}
}

func (a *app) releaseCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "release JOB ITEM...",
		Short: "Let a job delete again what came back by undoing a run",
		Long: `Lift the hold that undoing a run put on what came back. The job judges it again
from its next run on, and deletes it if it is still due.

ITEM is a target as the job's plan names it: a document's path,
gs://bucket/name of an object, or 'account UID'.`,
		Example: `  firesweep release --project my-project cleanupReports reports/abc reports/def
  firesweep release --all cleanupReports`,
		ValidArgsFunction: completeJobs,
	}
	getenv := a.projectFlag(c)
	c.Flags().BoolVar(&all, "all", false, "release all that is held of the job")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 || all == (len(args) > 1) {
			return wrongUse("give a job and its items, or --all")
		}
		p, closeAll, err := a.open(c.Context(), args[0], getenv)
		if err != nil {
			return err
		}
		defer func() { _ = closeAll() }() // what was written is written
		stop := a.progress(c.Context(), func(time.Duration) string { return "releasing" })
		notHeld, err := p.Release(c.Context(), args[0], args[1:]...)
		stop()
		if err != nil {
			return err
		}
		for _, item := range notHeld {
			fmt.Fprintf(a.errs, "firesweep: %s is not held by %s: look at the targets of firesweep undo\n", screen.Plain(item), args[0])
		}
		if len(notHeld) > 0 {
			return errSaid
		}
		a.printer().Say("", 0, 2, "Released: %s judges it again from its next run on.", args[0])
		return nil
	}
	return c
}
