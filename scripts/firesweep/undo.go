package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

type undoFlags struct {
	restore.Options
	where    string // FIELD=VALUE
	yes, all bool
}

func (a *app) undoCommand() *cobra.Command {
	var f undoFlags
	c := &cobra.Command{
		Use:   "undo RUN",
		Short: "Show what a run deleted or changed, ask, and bring it back",
		Long: `Show what a run deleted or changed, ask, and bring back what nobody has changed
since.

RUN is a run's id, the last part of that, or a job's name for its last run.
Every job that could delete the same again is held: correct the rule or the
data, then 'firesweep resume'. With --only or --where the jobs run on, but keep
what came back.

Your credentials need roles/datastore.user; for files storage.buckets.get and
storage.objects.restore, create, get and list; for accounts
firebaseauth.users.create and get.`,
		Example: `  firesweep undo 5f3a9c01
  firesweep undo --yes cleanupReports
  firesweep undo --only reports/abc --only reports/def 5f3a9c01`,
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	c.Flags().StringArrayVar(&f.Only, "only", nil, "only this `TARGET`, as it is listed; may be repeated")
	c.Flags().StringVar(&f.where, "where", "", "only documents that had `FIELD=VALUE`, and theirs")
	c.Flags().BoolVar(&f.Claims, "claims", false, "give accounts their custom claims back")
	c.Flags().BoolVar(&f.WithoutReport, "without-report", false, "take back a run that has no report")
	c.Flags().BoolVar(&f.all, "all", false, "list everything, not only the first of each kind")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return wrongUse("name one run, as %s lists them, or a job for its last run", a.cmd("runs"))
		}
		runID := args[0]
		if !runIDPattern.MatchString(runID) {
			found, err := a.sought(c.Context(), runID)
			if err == nil && found.report == nil {
				err = errors.New(found.why)
			}
			if err != nil {
				return err
			}
			runID = found.runID
		}
		if f.where != "" {
			field, value, _ := strings.Cut(f.where, "=")
			if field == "" || value == "" {
				return wrongUse("--where is %q: it must be like userId=abc", f.where)
			}
			f.Where = &restore.Where{Field: field, Value: value}
		}
		return a.undo(c, f, runID)
	}
	return c
}

// taken is the result of taking a run back. docs/command.md documents it as JSON.
type taken struct {
	Run      string            `json:"run"`
	Applied  bool              `json:"applied"`
	Outcomes []restore.Outcome `json:"outcomes"`
	Warnings []string          `json:"warnings,omitempty"` // of what things lack that come back
	Held     []string          `json:"held,omitempty"`     // the jobs that it holds
	Keep     int               `json:"keep,omitempty"`     // how many things it has jobs keep

	unknown []string // of those that it holds, which are not in these rules
}

// steps returns how many outcomes have one of these steps.
func (t taken) steps(of ...undo.Step) (n int) {
	for _, o := range t.Outcomes {
		if slices.Contains(of, o.Step) {
			n++
		}
	}
	return n
}

// back returns how many things come back.
func (t taken) back() int { return t.steps(undo.Recreate, undo.Revert, undo.Replace, undo.Remove) }

func (a *app) undo(c *cobra.Command, f undoFlags, runID string) error {
	job := a.entryOfRun(runID)
	if !a.knows(job.Name) {
		return wrongUse("%s ran it, and %s: give the file of then: %s", job.Name, noRule, a.cmd("undo", runID, ofThen))
	}
	p := a.aside(f.yes)
	var t taken
	var err error
	if !f.yes {
		if t, err = a.takeBack(c.Context(), job, f.Options, runID); err != nil && len(t.Outcomes) == 0 {
			return err
		}
		p.taken(t, f.all)
		f.Apply = err == nil && t.back() > 0
		if f.Apply {
			f.Apply, err = a.agree(false, c, []string{runID}, "Bring back "+plural(t.back(), "thing")+" in "+p.where)
		}
	}
	if f.Apply = f.Apply || f.yes; f.Apply {
		before := t
		if t, err = a.takeBack(c.Context(), job, f.Options, runID); err != nil && len(t.Outcomes) == 0 {
			return err
		}
		if f.yes || !slices.Equal(before.Outcomes, t.Outcomes) { // or else they have been shown
			p.taken(t, f.all)
		}
		if t.back() > 0 {
			p.Say("", 2, 2, "%s came back.", plural(t.back(), "thing"))
			p.heldBy(t)
		}
	}
	return cmp.Or(err, a.show(t, shown, t.steps(undo.Conflict, undo.Lost) > 0))
}

// takeBack takes a run back, or looks what that would do.
func (a *app) takeBack(ctx context.Context, job manifest.Entry, o restore.Options, runID string) (taken, error) {
	uses := slices.DeleteFunc(job.Uses(), func(b config.Backend) bool { return b == config.Tasks }) // it hands nothing over
	t := taken{Run: runID, Applied: o.Apply, Outcomes: []restore.Outcome{}}
	what := map[bool]string{false: "looking at things", true: "taking back things"}[o.Apply]
	at := a.progress(ctx, what)
	o.By = who()
	o.Progress = func(done, total int) { at.set("%s (%d of %d)", what, done, total) }
	err := a.on(ctx, job, func(p restore.Project) error {
		o.Elsewhere = func(f func(restore.Project) error) error {
			return a.eachDatabase(ctx, func(e manifest.Entry) error { return a.on(ctx, e, f, config.Firestore) }, p.Config.Database)
		}
		err := p.Undo(ctx, runID, o, func(o restore.Outcome) error {
			t.Outcomes = append(t.Outcomes, o)
			return nil
		})
		return err
	}, uses...)
	at.stop()
	isFile := func(o restore.Outcome) bool {
		return strings.HasPrefix(o.Target, report.ObjectPrefix) && o.Step == undo.Recreate
	}
	if slices.ContainsFunc(t.Outcomes, isFile) {
		t.Warnings = []string{"files come back with the bucket's default access, not with access lists of their own"}
	}
	if h, unread := a.holding(ctx, true, nil); unread != nil {
		err = cmp.Or(err, unread)
	} else {
		t.heldNow(h, a.knows)
	}
	switch rep, unread := a.reportOf(ctx, job, runID); {
	case errors.Is(err, restore.ErrNotInLog):
		err = usageError{err}
	case errors.Is(err, restore.ErrNoLog) && unread == nil && rep.report == nil:
		err = fmt.Errorf("no run with the id %s is known: %s lists those of 90 days", runID, a.cmd("runs"))
	case errors.Is(err, restore.ErrNoLog) && unread == nil && rep.report.Status != report.Killed && !changed(rep.report):
		err = fmt.Errorf("%s changed nothing, so there is nothing to bring back", runID)
		runs, unread := a.newest(ctx, job, 24*time.Hour, 100, nil) // of not too many
		if i := slices.IndexFunc(runs, changed); unread == nil && i >= 0 {
			err = fmt.Errorf("%w; the last run that did: %s", err, a.cmd("undo", shortID(runs[i].RunID)))
		}
	case err == nil && unread == nil && rep.report != nil && rep.report.Status != report.Completed:
		later, unread := a.between(ctx, job, rep.report.StartedAt.Add(time.Second), a.clock().Add(time.Hour))
		err = unread
		finished := func(r *report.Report) bool { return r.Actions[report.Finish].Done > 0 }
		if i := slices.IndexFunc(later, finished); i >= 0 {
			t.Warnings = append(t.Warnings, fmt.Sprintf("%s did what this run may have left to do, such as files and accounts: %s brings "+
				"that back", later[i].RunID, a.cmd("undo", shortID(later[i].RunID))))
		}
	}
	slices.SortStableFunc(t.Outcomes, func(x, y restore.Outcome) int {
		return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Target, y.Target))
	})
	return t, err
}

// changed reports whether a run deleted or changed something.
func changed(r *report.Report) bool { return r.Done()+r.Totals().Begun > 0 }

// taken prints what comes back, or came back.
func (p *printer) taken(t taken, all bool) {
	p.Say(bold, 0, 2, "%s", t.Run)
	p.Say(faint, 2, 2, "project %s", p.where)
	var rows []tableRow
	of := map[undo.Step]int{}
	for _, o := range t.Outcomes {
		r := tableRow{Cells: []string{undone[o.Step], o.Target}}
		if o.Step == undo.Conflict || o.Step == undo.Lost {
			r.Style, r.Notes = yellow, []string{o.Why}
		}
		r.Notes = append(r.Notes, o.Note)
		if of[o.Step]++; of[o.Step] <= listed || all || o.Note != "" { // what an account may do is always shown
			rows = append(rows, r)
		}
	}
	if len(rows) > 0 {
		p.Table(rows, "WHAT", "TARGET")
		p.more(len(t.Outcomes)-len(rows), "thing")
	}
	for _, text := range t.Warnings {
		p.Say(yellow, 2, 2, "Warning: %s.", text)
	}
	if n := t.steps(undo.Conflict); n > 0 {
		p.Say(yellow, 2, 2, "%s: left as they are. What they were: %s", plural(n, "conflict"), p.cmd("show", shortID(t.Run), "TARGET"))
	}
	if n := t.steps(undo.Lost); n > 0 {
		p.Say(yellow, 2, 2, "%s cannot be brought back.", plural(n, "thing"))
	}
	if t.back() == 0 {
		p.Say("", 2, 2, "There is nothing to bring back.")
		p.heldBy(t)
	}
}

// heldNow notes what of what is held and kept is by the undo of this run.
func (t *taken) heldNow(h holding, known func(job string) bool) {
	for _, j := range h.Jobs {
		if j.RunID != t.Run || j.Record != j.Job || slices.Contains(t.Held, j.Job) {
			continue
		}
		t.Held = append(t.Held, j.Job)
		if !jobstate.ForAll(j.Job) && !known(j.Job) {
			t.unknown = append(t.unknown, j.Job)
		}
	}
	for _, k := range h.Keep {
		if k.RunID == t.Run {
			t.Keep++
		}
	}
}

// heldBy says what jobs do not do until they are resumed, and how that is said to them.
func (p *printer) heldBy(t taken) {
	if len(t.Held) > 0 {
		could := slices.DeleteFunc(slices.Clone(t.Held), func(job string) bool {
			return job == jobstate.NewJobs || slices.Contains(t.unknown, job)
		})
		unknown := prefixed("; because they are not in your file of rules, and nobody knows what they delete: ",
			strings.Join(t.unknown, ", "))
		p.Say("", 2, 2, "Held, because they could delete it again: %s%s, and every job that is new (%s). "+
			"Correct the rule or the data, then:", strings.Join(could, ", "), unknown, jobstate.NewJobs)
		p.Type("resume", t.Held...)
	}
	if t.Keep > 0 {
		p.Say("", 2, 2, "On the keep list, which no job deletes: %s. Let the jobs judge them again:", plural(t.Keep, "item"))
		p.Type("resume", "--keep", t.Run)
	}
}
