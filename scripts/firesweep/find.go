package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// foundThing is something that a run deleted or changed. docs/command.md documents it as JSON.
type foundThing struct {
	Run    string `json:"run"`
	Target string `json:"target"`
	What   string `json:"what"` // "deleted", "changed" or "created"
	Reason string `json:"reason,omitempty"`
	// Undone says that the run was taken back since; nil if it was not, or if that is not known.
	Undone *report.Undone `json:"undone,omitempty"`
}

// runsOf shows the runs that deleted or changed something.
func (a *app) runsOf(ctx context.Context, f runsFlags) error {
	var from time.Time
	if f.since != "" {
		d, err := age(f.since)
		if err != nil {
			return wrongUse("--since is %q: it must be like 36h or 7d", f.since)
		}
		from = a.clock().Add(-d)
	}
	found, runs, err := a.find(ctx, strings.TrimSuffix(f.of, "/"), from)
	if err != nil {
		return err
	}
	return a.show(map[string]any{"searched": runs, "found": found}, func(p *printer) {
		p.found(found, runs, f.of, f.all)
	}, len(found) == 0)
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
			var rep *report.Report
			if job, known := a.entryOfRun(runID); known {
				rep, err = a.reportOf(ctx, job, runID)
				if err != nil && !errors.As(err, new(*noReportError)) { // it is under way
					return err
				}
			}
			if rep != nil && w.Bucket == "" { // the run may have found one by itself
				w.Bucket = rep.Bucket
			}
			log, err := done.Of(ctx, p, runID, w)
			if err != nil && !errors.Is(err, restore.ErrNoLog) { // it has just expired
				return err
			}
			for _, t := range log.Things {
				thing := foundThing{Run: runID, Target: t.Target, What: t.What, Reason: t.Reason}
				if rep != nil {
					thing.Undone = rep.Undone
				}
				found = append(found, thing)
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

// found prints what was found, or where else to look.
func (p *printer) found(found []foundThing, runs int, what string, all bool) {
	if len(found) == 0 {
		p.Say(screen.Yellow, 0, 2, "Nothing in the undo logs of %s is about %s. They are kept for UNDO_DAYS, seven unless set, and none "+
			"are with 0. Of older runs of deployed jobs, Cloud Logging has the names, for 30 days unless you keep it longer.",
			plural(runs, "run"), what)
		return
	}
	rows, back := []screen.Row{}, 0
	for _, t := range found {
		r := screen.Row{Cells: []string{t.What, shortID(t.Run), t.Target}, Notes: []string{t.Reason}}
		if t.Undone != nil {
			r.Notes = append(r.Notes, backWords(t.Undone))
			back++
		}
		rows = append(rows, r)
	}
	p.first(all, "thing", screen.Columns("WHAT", "RUN", "TARGET"), rows)
	p.Line("")
	run, target := shortID(found[0].Run), screen.Quoted(found[0].Target)
	if len(found) > 1 {
		target = "TARGET"
	}
	if slices.ContainsFunc(found, func(t foundThing) bool { return t.Run != found[0].Run }) {
		run = "RUN"
	}
	if back == len(found) {
		p.Say("", 2, 2, "See what was in it:")
	} else {
		p.Say("", 2, 2, "See what was in it, and bring it back:")
	}
	p.Command("firesweep show --contents%s %s %s", p.given, run, target)
	if back < len(found) {
		p.Command("firesweep undo%s --only %s %s", p.given, target, run)
	}
}
