package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// thingContents is what was in something that a run deleted or changed. docs/command.md documents it as JSON.
type thingContents struct {
	Target string       `json:"target"`
	What   string       `json:"what"`              // "deleted", "changed" or "created"
	Fields []undo.Field `json:"fields,omitempty"`  // of a document, before and after the run
	Known  string       `json:"account,omitempty"` // of an account: what there was to know of it, as JSON
}

// showContents shows what was in the things that a run deleted or changed, or only in those that are named.
func (a *app) showContents(ctx context.Context, f showFlags, runID string, targets []string, job manifest.Entry, bucket string,
	getenv func(string) string) error {
	cfg, err := settings(job, getenv, config.Firestore)
	if err != nil {
		return err
	}
	p, closeAll, err := a.hooks.Open(ctx, cfg, []config.Backend{config.Firestore}, a.clock)
	if err != nil {
		return err
	}
	defer func() { _ = closeAll() }() // all has been read
	most := listed
	if f.all || f.json {
		most = -1
	}
	all, more := []thingContents{}, 0
	writes := map[string][]undo.Write{}
	named := map[string]bool{}
	add := func(t thingContents) {
		named[t.Target] = true
		if len(all) == most {
			more++
			return
		}
		all = append(all, t)
	}
	wanted := func(target string) bool { return len(targets) == 0 || slices.Contains(targets, target) }
	var paths []string
	shown := map[string]bool{}
	err = p.Contents(ctx, runID, func(_, _ int, records []undo.Record) error {
		for _, r := range records {
			switch {
			case r.Write != nil && wanted(r.Write.Path):
				path := r.Write.Path
				if !named[path] && len(paths) == most {
					more++
				} else if !named[path] {
					paths, shown[path] = append(paths, path), true
				}
				if named[path] = true; shown[path] {
					writes[path] = append(writes[path], *r.Write)
				}
			case r.Object != nil && wanted("gs://"+bucket+"/"+r.Object.Name):
				add(thingContents{Target: "gs://" + bucket + "/" + r.Object.Name, What: "deleted"})
			case r.Account != nil && wanted("account "+r.Account.UID):
				add(thingContents{Target: "account " + r.Account.UID, What: "deleted", Known: r.Account.Data})
			}
		}
		return nil
	})
	if errors.Is(err, restore.ErrNoLog) {
		return fmt.Errorf("%s: %w", runID, err)
	}
	if err != nil {
		return err
	}
	var documents []thingContents
	for _, path := range paths {
		for _, c := range undo.Net(writes[path]) {
			documents = append(documents, thingContents{Target: path, What: c.What(), Fields: c.Fields()})
		}
	}
	all = append(documents, all...)
	for _, target := range targets {
		if !named[target] {
			return wrongUse("%s is not in the undo log of %s: see firesweep show --all %s", target, runID, runID)
		}
	}
	if f.json {
		return a.writeJSON(map[string]any{"run": runID, "contents": all})
	}
	out := a.printer()
	out.Say(screen.Bold, 0, 2, "%s", runID)
	for _, t := range all {
		out.Line("")
		out.Say(screen.Bold, 2, 2, "%s %s", t.What, t.Target)
		if t.Known != "" {
			out.Say("", 4, 2, "%s", t.Known)
		}
		for _, field := range t.Fields {
			switch {
			case field.Before == nil:
				out.Say("", 4, 2, "%s: added %s", field.Name, *field.After)
			case t.What == "changed" && field.Changed && field.After == nil:
				out.Say("", 4, 2, "%s: %s, removed", field.Name, *field.Before)
			case t.What == "changed" && field.Changed:
				out.Say("", 4, 2, "%s: %s, now %s", field.Name, *field.Before, *field.After)
			default:
				out.Say("", 4, 2, "%s: %s", field.Name, *field.Before)
			}
		}
	}
	out.more(more, "thing")
	return nil
}
