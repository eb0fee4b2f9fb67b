package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// listed is how many things of each kind are shown without --all.
const listed = 30

// did is what a run did, as its undo log says. docs/command.md documents it as JSON.
type did struct {
	Items      []done.Item  `json:"items"`
	ItemsTotal int          `json:"itemsTotal"`
	Writes     []done.Write `json:"writes"`
	WriteTotal int          `json:"writesTotal"`
}

// doneBy reads the undo log of a run of a job.
func (a *app) doneBy(ctx context.Context, job manifest.Entry, runID string, w done.Wanted) (log done.Log, err error) {
	var at far
	w.Progress = func(done, total int) { at.set("reading what it did", done, total) }
	defer a.progress(ctx, at.now)()
	err = a.on(ctx, job, func(p restore.Project) error {
		log, err = done.Of(ctx, p, runID, w)
		return err
	}, config.Firestore)
	return log, err
}

// showContents shows what was in the things that a run deleted or changed, or only in those that are named.
func (a *app) showContents(ctx context.Context, w done.Wanted, runID string, targets []string, job manifest.Entry) error {
	if w.Targets = targets; a.json || len(targets) > 0 {
		w.Most = 0
	}
	log, err := a.doneBy(ctx, job, runID, w)
	if errors.Is(err, restore.ErrNoLog) {
		return fmt.Errorf("%s: %w", runID, err)
	}
	if err != nil {
		return err
	}
	for _, target := range targets {
		if !slices.ContainsFunc(log.Things.First, func(t done.Thing) bool { return t.Target == target }) {
			return wrongUse("%s is not in the undo log of %s: see firesweep show --all %s", target, runID, runID)
		}
	}
	return a.show(map[string]any{"run": runID, "contents": log.Things.First}, func(p *printer) {
		p.Say(screen.Bold, 0, 2, "%s", runID)
		for _, t := range log.Things.First {
			p.thing(t)
		}
		p.more(log.Things.More(), "thing")
	}, false)
}

// thing prints what was in a thing.
func (p *printer) thing(t done.Thing) {
	p.Line("")
	p.Say(screen.Bold, 2, 2, "%s %s", t.What, t.Target)
	if t.Known != "" {
		p.Say("", 4, 2, "%s", t.Known)
	}
	for _, field := range t.Fields {
		switch {
		case field.Before == nil:
			p.Say("", 4, 2, "%s: added %s", field.Name, *field.After)
		case t.What == "changed" && field.Changed && field.After == nil:
			p.Say("", 4, 2, "%s: %s, removed", field.Name, *field.Before)
		case t.What == "changed" && field.Changed:
			p.Say("", 4, 2, "%s: %s, now %s", field.Name, *field.Before, *field.After)
		default:
			p.Say("", 4, 2, "%s: %s", field.Name, *field.Before)
		}
	}
}

// did prints what a run did.
func (p *printer) did(d *did, runID string) {
	var items, writes []screen.Row
	for _, item := range d.Items {
		items = append(items, screen.Row{Cells: []string{item.Action, item.Target}, Notes: []string{item.Reason}})
	}
	for _, w := range d.Writes {
		path := w.Path
		if w.Generation != "" {
			path += "#" + w.Generation
		}
		note := ""
		switch {
		case w.Sent:
			note = "sent: undo leaves it"
		case len(w.Fields) > 0:
			note = "fields: " + strings.Join(w.Fields, ", ")
		}
		writes = append(writes, screen.Row{Cells: []string{w.Op, path}, Notes: []string{note}})
	}
	p.Line("")
	p.Say(screen.Bold, 2, 0, "What it did, and why:")
	p.Table([]screen.Column{{Name: "ACTION", Most: p.Width * 2 / 5}, {Name: "TARGET", Path: true}}, items)
	p.more(d.ItemsTotal-len(items), "item")
	if len(writes) > 0 {
		p.Line("")
		p.Say(screen.Bold, 2, 0, "What it deleted or wrote for that:")
		p.Table([]screen.Column{{Name: "WRITE", Most: p.Width * 2 / 5}, {Name: "TARGET", Path: true}}, writes)
		p.more(d.WriteTotal-len(writes), "write")
	}
	p.Line("")
	p.Say("", 2, 2, "See what is still gone or changed, and would come back:")
	p.Command("firesweep undo %s", runID)
}
