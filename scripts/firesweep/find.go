package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// foundThing is something that a run deleted or changed. docs/command.md documents it as JSON.
type foundThing struct {
	Run    string `json:"run"`
	Target string `json:"target"`
	What   string `json:"what"` // as [undo.Thing] has it
	Reason string `json:"reason,omitempty"`
	// Undone says that the run was taken back since; nil if it was not, or if that is not known.
	Undone *report.Undone `json:"undone,omitempty"`
}

// runsOf shows the runs that deleted or changed something, the latest first, by their undo logs.
func (a *app) runsOf(ctx context.Context, what string, all bool) error {
	found, runs := []foundThing{}, 0
	at := a.progress(ctx, "reading the undo logs")
	err := a.eachDatabase(ctx, func(on manifest.Entry) error {
		p, err := a.reading(ctx, on)
		if err != nil {
			return err
		}
		logged, err := p.Logged(ctx)
		for _, runID := range logged {
			var things []foundThing
			if things, err = a.find(ctx, p, runID, strings.TrimSuffix(what, "/"), at); err != nil {
				return err
			}
			found = append(found, things...)
		}
		runs += len(logged)
		return err
	})
	at.stop()
	if err != nil {
		return err
	}
	var then []string
	if len(found) > 0 && a.Jobs[a.entryOfRun(found[0].Run).Name].Name == "" {
		then = []string{ofThen}
	}
	return a.show(map[string]any{"searched": runs, "found": found}, func(p *printer) { p.found(found, runs, what, all, then...) },
		len(found) == 0)
}

// find returns what a run did that concerns something.
func (a *app) find(ctx context.Context, p restore.Project, runID, what string, at *progress) (found []foundThing, err error) {
	doc, saved, err := p.DB.Get(ctx, "cleanupRuns/"+runID)
	if err != nil {
		return nil, err
	}
	var rep *report.Report
	var undone *report.Undone
	if saved {
		if rep, err = report.Of(doc); err != nil {
			return nil, err
		}
		undone = rep.Undone
	}
	sum := a.sum(ctx, runID, rep)
	sum.Names, sum.Of = true, func(r undo.Record) bool { return concerns(r, what) }
	things, _, err := p.Things(ctx, runID, sum, at.reading(runID)) // without a log, it has just expired
	for _, t := range things {
		found = append(found, foundThing{runID, t.Target, t.What, t.Reason, undone})
	}
	return found, err
}

// concerns reports whether a record is of something, of what is below it, or of what belongs to it.
func concerns(r undo.Record, what string) bool {
	if name, isObject := strings.CutPrefix(what, "gs://"); isObject {
		_, name, _ = strings.Cut(name, "/")
		return r.Object != nil && under(r.Object.Name, name)
	}
	is := func(name string) bool { return under(name, what) || slices.Contains(strings.Split(name, "/"), what) }
	switch {
	case r.Write != nil:
		has := func(v *firestorepb.Value) bool { return undo.Is(v, what) }
		return is(r.Write.Path) || slices.ContainsFunc(slices.Collect(maps.Values(r.Write.Before)), has)
	case r.Object != nil:
		return is(r.Object.Name)
	case r.Account != nil:
		known, err := accounts.Parse(r.Account.Data)
		return r.Account.UID == strings.TrimPrefix(what, "account ") || err == nil && (known.Email == what || known.PhoneNumber == what)
	}
	return false
}

// under reports whether a name is another, or below it.
func under(name, other string) bool { return name == other || strings.HasPrefix(name, other+"/") }

// found prints what was found, or where else to look. then is what an undo needs besides.
func (p *printer) found(found []foundThing, runs int, what string, all bool, then ...string) {
	if len(found) == 0 {
		p.Say(yellow, 0, 2, "Nothing in the undo logs of %s is about %s. They are kept for UNDO_DAYS, seven unless set, and none "+
			"are with 0. Of older runs of deployed jobs, Cloud Logging has the names, for 30 days unless you keep it longer.",
			plural(runs, "run"), what)
		return
	}
	run, target := shortID(found[0].Run), quoted(found[0].Target)
	back := "" // how to bring it back, unless all is back
	var rows []tableRow
	for _, t := range found {
		r := tableRow{Cells: []string{t.What, shortID(t.Run), t.Target}, Notes: []string{t.Reason}}
		if t.Undone != nil {
			r.Notes = append(r.Notes, backWords(t.Undone))
		}
		if t.Undone == nil || t.Undone.Partial {
			back = ", and bring it back"
		}
		if rows = append(rows, r); shortID(t.Run) != run {
			run = "RUN"
		}
	}
	if len(found) > 1 {
		target = "TARGET"
	}
	p.Table(firstOf(rows, all), "WHAT", "RUN", "TARGET")
	p.more(len(rows)-len(firstOf(rows, all)), "thing")
	p.Line("")
	p.Say("", 2, 2, "See what was in it%s:", back)
	p.Type("show", run, target)
	if back != "" {
		p.Type("undo", append([]string{"--only", target, run}, then...)...)
	}
}
