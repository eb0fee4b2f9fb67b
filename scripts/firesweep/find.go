package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

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
			p.found(found, runs, args[0], all, projectArg(c))
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
			log, err := done.Of(ctx, p, runID, done.Wanted{Bucket: a.bucketOf(runID), Only: only})
			if err != nil && !errors.Is(err, restore.ErrNoLog) { // it has just expired
				return err
			}
			for _, t := range log.Things.First {
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
		return r.Object != nil && (under(r.Object.Name, name) || r.Object.Folder && strings.HasPrefix(name, r.Object.Name))
	}
	switch {
	case r.Write != nil:
		if under(r.Write.Path, what) || slices.Contains(strings.Split(r.Write.Path, "/"), what) {
			return true
		}
		for _, v := range r.Write.Before {
			if restore.Is(v, what) {
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

func (p *printer) found(found []foundThing, runs int, what string, all bool, project string) {
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
	p.Command("firesweep show --contents%s RUN TARGET", project)
	p.Command("firesweep undo%s --only TARGET RUN", project)
}
