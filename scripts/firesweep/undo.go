package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

func (a *app) undoCommand() *cobra.Command {
	var o restore.Options
	var where string // FIELD=VALUE
	var all bool
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
	c.Flags().BoolVar(&o.Apply, "apply", false, "do it; without this flag it is only shown")
	c.Flags().StringArrayVar(&o.Only, "only", nil, "only this `TARGET`, as it is listed; may be repeated")
	c.Flags().StringVar(&where, "where", "", "only documents that had `FIELD=VALUE`, and theirs")
	c.Flags().BoolVar(&o.Claims, "claims", false, "give accounts their custom claims back")
	c.Flags().BoolVar(&o.WithoutReport, "without-report", false, "take back a run that has no report")
	c.Flags().BoolVar(&all, "all", false, "list everything, not only the first of each kind")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) != 1 || !runIDPattern.MatchString(args[0]) && !shortIDPattern.MatchString(args[0]) {
			return wrongUse("name one run by its id, as firesweep runs and firesweep show print it")
		}
		runID := args[0]
		if shortIDPattern.MatchString(runID) {
			report, err := a.sought(c.Context(), runID)
			if err != nil {
				return err
			}
			runID = report.RunID
		}
		if where != "" {
			field, value, _ := strings.Cut(where, "=")
			if field == "" || value == "" {
				return wrongUse("--where is %q: it must be like userId=abc", where)
			}
			o.Where = &restore.Where{Field: field, Value: value}
		}
		return a.undo(c, o, runID, all)
	}
	return c
}

// taken is the result of taking a run back. docs/command.md documents it as JSON.
type taken struct {
	Run      string            `json:"run"`
	Applied  bool              `json:"applied"`
	Outcomes []restore.Outcome `json:"outcomes"`
	Warnings []string          `json:"warnings,omitempty"` // of what things lack that come back
	pinned   bool              // something of it is
}

func (a *app) undo(c *cobra.Command, o restore.Options, runID string, all bool) error {
	job, known := a.entryOfRun(runID)
	if !known {
		return wrongUse("no job or worker is called %q", strings.Split(runID, "-")[0])
	}
	uses := slices.DeleteFunc(job.Uses(), func(b config.Backend) bool { return b == config.Tasks }) // it hands nothing over
	t := taken{Run: runID, Applied: o.Apply, Outcomes: []restore.Outcome{}}
	what := map[bool]string{false: "looking at things", true: "taking back things"}[o.Apply]
	var at far
	o.By = who()
	o.Progress = func(done, total int) { at.set(what, done, total) }
	o.Warn = func(text string) { t.Warnings = append(t.Warnings, text) }
	if advice.Forgets(job.Name) {
		o.Warn("the run forgot a user, and undoing it brings that user back")
	}
	var forgot map[string]string
	stop := a.progress(c.Context(), at.now)
	err := a.on(c.Context(), job, func(p restore.Project) (err error) {
		if forgot, err = forgottenSince(c.Context(), p, runID); err != nil {
			return err
		}
		o.Elsewhere = func(f func(restore.Project) error) error {
			return a.eachDatabase(c.Context(), func(p restore.Project, _ string) error { return f(p) }, p.Config.Database)
		}
		err = p.Undo(c.Context(), runID, o, func(o restore.Outcome) error {
			t.Outcomes = append(t.Outcomes, o)
			return nil
		})
		all, unread := p.Pinned(c.Context())
		t.pinned = slices.ContainsFunc(all, func(one undo.Pinned) bool { return one.RunID == runID })
		return cmp.Or(err, unread)
	}, uses...)
	stop()
	if errors.Is(err, restore.ErrNotInLog) {
		return wrongUse("%w", err)
	}
	slices.SortStableFunc(t.Outcomes, func(x, y restore.Outcome) int {
		return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Target, y.Target))
	})
	t.warnOfForgotten(forgot)
	again := "firesweep undo --apply" + asGiven(c, "project", "rules", "only", "where", "claims", "without-report") + " " + runID
	said := a.show(t, func(p *printer) {
		if err == nil || len(t.Outcomes) > 0 {
			p.taken(t, all, again)
		}
	}, slices.ContainsFunc(t.Outcomes, func(o restore.Outcome) bool { return o.Step == undo.Conflict || o.Step == undo.Lost }))
	return cmp.Or(err, said)
}

// forgottenSince returns the other runs that forgot users since a run began and were not taken back, by their jobs: each user has
// one.
func forgottenSince(ctx context.Context, p restore.Project, runID string) (map[string]string, error) {
	found, err := p.DB.First(ctx, documents.Query{
		Collection: collections.Runs, OrderBy: []string{firestore.DocumentID}, From: []any{"forget"}, Until: []any{"forgeu"},
	}, "", maxRunsInAWindow)
	if err != nil {
		return nil, fmt.Errorf("look who was forgotten since: %w", err)
	}
	since, _ := began(runID)
	by := map[string]string{}
	for _, d := range found {
		r, err := report.Of(d)
		undone := r.Undone != nil && !r.Undone.Partial
		if err == nil && advice.Forgets(r.Job) && !r.DryRun && r.RunID != runID && r.StartedAt.After(since) && !undone {
			by[r.Job] = r.RunID
		}
	}
	return by, nil
}

// warnOfForgotten warns of runs that forgot users, by their jobs, and names the users as far as targets do.
func (t *taken) warnOfForgotten(forgot map[string]string) {
	if len(forgot) == 0 {
		return
	}
	text := "users were forgotten since, by " + strings.Join(slices.Sorted(maps.Values(forgot)), ", ") +
		": release what comes back of them, and forget them again"
	var uids []string
	for _, o := range t.Outcomes {
		for uid := range strings.FieldsFuncSeq(o.Target, func(r rune) bool { return r == '/' || r == ' ' }) {
			if forgot["forget"+digest.Of(uid)] != "" && !slices.Contains(uids, uid) {
				uids = append(uids, uid)
			}
		}
	}
	t.Warnings = append(t.Warnings, text+prefixed(": ", strings.Join(uids, ", ")))
}

// taken prints what came back, or would. again is the command that does it.
func (p *printer) taken(t taken, all bool, again string) {
	p.Say(screen.Bold, 0, 2, "%s", t.Run)
	var rows []screen.Row
	hidden, back, of := 0, 0, map[undo.Step]int{}
	for _, o := range t.Outcomes {
		r := screen.Row{Cells: []string{advice.Undone(o.Step), o.Target}}
		if o.Step == undo.Conflict || o.Step == undo.Lost {
			r.Style, r.Notes = screen.Yellow, []string{o.Why}
		}
		if o.Note != "" {
			r.Notes = append(r.Notes, o.Note)
		}
		if o.Step.Back() {
			back++
		}
		if of[o.Step]++; of[o.Step] > listed && !all && o.Note == "" { // what an account may do is always shown
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
	case back == 0 && t.pinned:
		p.Say("", 2, 2, "There is nothing to bring back. Every job keeps what came back before until you release it:")
		p.Command("firesweep release%s --run %s", p.given, t.Run)
	case back == 0:
		p.Say("", 2, 2, "There is nothing to bring back.")
	case t.Applied:
		p.Say("", 2, 2, "%s taken back. Every job keeps what came back until you release it:", plural(back, "thing"))
		p.Command("firesweep release%s --run %s", p.given, t.Run)
	default:
		p.Say("", 2, 2, "%s would be taken back; nothing was changed. Do it:", plural(back, "thing"))
		p.Command("%s", again)
	}
	for _, text := range t.Warnings {
		p.Say(screen.Yellow, 2, 2, "Warning: %s.", text)
	}
	if n := of[undo.Conflict]; n > 0 {
		p.Say(screen.Yellow, 2, 2, "%s: left as they are; look at them by hand.", plural(n, "conflict"))
	}
	if n := of[undo.Lost]; n > 0 {
		p.Say(screen.Yellow, 2, 2, "%s cannot be brought back.", plural(n, "thing"))
	}
}

// foundThing is something that a run deleted or changed. docs/command.md documents it as JSON.
type foundThing struct {
	Run    string `json:"run"`
	Target string `json:"target"`
	What   string `json:"what"` // "deleted", "changed" or "created"
	Reason string `json:"reason,omitempty"`
}

func (a *app) findCommand() *cobra.Command {
	var since string
	var all bool
	c := &cobra.Command{
		Use:   "find PATH|UID",
		Short: "Find the runs that deleted or changed something",
		Long: `Find the runs that deleted or changed a document, an object or an account, what
lies below it, and whatever belongs to it: a document of which a field held the
text, or that has it in its path. It reads every entry of the undo logs, which
bills a read for each, and needs the role roles/datastore.viewer.`,
		Example: `  firesweep find --project my-project posts/abc
  firesweep find --since 2d uid-of-somebody
  firesweep find gs://my-bucket/posts/u1/a.png`,
	}
	c.Flags().StringVar(&since, "since", "", "only runs that began within this `AGE`, such as 36h or 7d")
	c.Flags().BoolVar(&all, "all", false, "list everything, not only the first things")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return wrongUse("name one document's path, object, account or id")
		}
		var from time.Time
		if since != "" {
			d, err := age(since)
			if err != nil {
				return wrongUse("--since is %q: it must be like 36h or 7d", since)
			}
			from = a.clock().Add(-d)
		}
		found, runs, err := a.find(c.Context(), strings.TrimSuffix(args[0], "/"), from)
		if err != nil {
			return err
		}
		return a.show(map[string]any{"searched": runs, "found": found}, func(p *printer) {
			p.found(found, runs, args[0], all)
		}, len(found) == 0)
	}
	return c
}

// find looks through the undo logs of runs that began since a time, the latest first. It returns how many it looked through.
func (a *app) find(ctx context.Context, what string, from time.Time) (found []foundThing, runs int, err error) {
	found = []foundThing{}
	defer a.progress(ctx, doing("looking through the undo logs"))()
	only := func(r undo.Record) bool { return concerns(r, what) }
	err = a.eachDatabase(ctx, func(p restore.Project, _ string) error {
		logged, err := p.Logged(ctx)
		if err != nil {
			return err
		}
		for _, runID := range logged {
			if began, ok := began(runID); ok && began.Before(from) {
				continue
			}
			runs++
			w := done.Wanted{Bucket: a.bucketOf(runID), Only: only}
			if job, known := a.entryOfRun(runID); known && w.Bucket == "" { // the run may have found one by itself
				rep, err := a.reportOf(ctx, job, runID)
				switch {
				case rep != nil:
					w.Bucket = rep.Bucket
				case err != nil && !errors.As(err, new(*noReportError)): // it is under way
					return err
				}
			}
			log, err := done.Of(ctx, p, runID, w)
			if err != nil && !errors.Is(err, restore.ErrNoLog) { // it has just expired
				return err
			}
			for _, t := range log.Things {
				found = append(found, foundThing{runID, t.Target, t.What, t.Reason})
			}
		}
		return nil
	})
	return found, runs, err
}

// began returns when a run began, by its id.
func began(runID string) (time.Time, bool) {
	_, begin, _ := strings.Cut(runID, "-")
	begin, _, _ = strings.Cut(begin, "-")
	at, err := time.Parse(idTime, begin)
	return at, err == nil
}

// concerns reports whether a record is of something, of what is below it, or of what belongs to it.
func concerns(r undo.Record, what string) bool {
	if name, isObject := strings.CutPrefix(what, "gs://"); isObject {
		_, name, _ = strings.Cut(name, "/")
		return r.Object != nil && under(r.Object.Name, name)
	}
	switch {
	case r.Write != nil:
		if under(r.Write.Path, what) || slices.Contains(strings.Split(r.Write.Path, "/"), what) {
			return true
		}
		for _, v := range r.Write.Before {
			if undo.Is(v, what) {
				return true
			}
		}
	case r.Object != nil:
		return under(r.Object.Name, what) || slices.Contains(strings.Split(r.Object.Name, "/"), what)
	case r.Account != nil:
		known, err := accounts.Parse(r.Account.Data)
		return r.Account.UID == strings.TrimPrefix(what, "account ") || err == nil && (known.Email == what || known.PhoneNumber == what)
	}
	return false
}

// under reports whether a name is another, or below it.
func under(name, other string) bool { return name == other || strings.HasPrefix(name, other+"/") }

func (p *printer) found(found []foundThing, runs int, what string, all bool) {
	if len(found) == 0 {
		p.Say(screen.Yellow, 0, 2, "Nothing in the undo logs of %s concerns %s. They are kept for UNDO_DAYS, seven unless set, "+
			"and none are with 0. Of older runs, Cloud Logging has the names, for 30 days unless you keep it longer: "+
			"firesweep show --log RUN.", plural(runs, "run"), what)
		return
	}
	var rows []screen.Row
	for _, t := range found {
		rows = append(rows, screen.Row{Cells: []string{t.What, t.Target}, Notes: []string{t.Run, t.Reason}})
	}
	p.first(all, "thing", []screen.Column{{Name: "WHAT"}, {Name: "TARGET", Path: true}}, rows)
	p.Line("")
	p.Say("", 2, 2, "See what was in it, and bring it back:")
	run, target := "RUN", "TARGET"
	if len(found) == 1 {
		run, target = found[0].Run, screen.Quoted(found[0].Target)
	}
	p.Command("firesweep show --contents%s %s %s", p.given, run, target)
	p.Command("firesweep undo%s --only %s %s", p.given, target, run)
}
