package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// who returns who is at the terminal, for records; empty if that is not known.
func who() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	host, err := os.Hostname()
	if err != nil {
		return u.Username
	}
	return u.Username + "@" + host
}

// eachDatabase calls f with each database that functions work on, but some, and its name. Each has pins of its own.
func (a *app) eachDatabase(ctx context.Context, f func(p restore.Project, database string) error, seen ...string) error {
	for _, e := range a.All {
		c, err := a.settings(e, config.Firestore)
		if err != nil {
			return err
		}
		if slices.Contains(seen, c.Database) {
			continue
		}
		seen = append(seen, c.Database)
		if err := a.on(ctx, e, func(p restore.Project) error { return f(p, c.Database) }, config.Firestore); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) pinCommand() *cobra.Command {
	var because string
	var apply bool
	c := &cobra.Command{
		Use:   "pin TARGET...",
		Short: "Make every job keep something",
		Long: `Show what would be pinned; with --apply, pin it. Every job keeps what is pinned,
and what belongs to it, until 'firesweep release'.

TARGET is a document's path, which also pins what lies below it;
gs://bucket/name of an object, or gs://bucket/folder/ for all in a folder;
or 'account UID'.

A run that is under way may not know of it: it counts from the next run on.
It needs the role roles/datastore.user.`,
		Example: `  firesweep pin --because "legal hold 4711" users/abc
  firesweep pin --apply --because "legal hold 4711" users/abc 'account abc'`,
	}
	c.Flags().StringVar(&because, "because", "", "why, as `TEXT` for those who come after you")
	c.Flags().BoolVar(&apply, "apply", false, "do it; without this flag it is only shown")
	c.RunE = func(c *cobra.Command, targets []string) error {
		if len(targets) == 0 || strings.TrimSpace(because) == "" {
			return wrongUse("give what to pin, and --because with the reason")
		}
		for _, target := range targets {
			if err := undo.CheckTarget(target); err != nil {
				return wrongUse("%w", err)
			}
		}
		p := a.printer()
		if !apply {
			for _, target := range targets {
				p.Say("", 0, 2, "would be pinned: %s", target)
			}
			p.Say("", 0, 2, "Nothing was changed. Do it:")
			p.Command("firesweep pin --apply%s --because %s %s", p.given, quoted(because), quoted(targets...))
			return nil
		}
		var databases, underWay []string
		err := a.eachDatabase(c.Context(), func(project restore.Project, database string) error {
			databases = append(databases, database)
			runs, err := project.Pin(c.Context(), because, who(), targets...)
			underWay = append(underWay, runs...)
			return err
		})
		if err != nil {
			return err
		}
		p.Say("", 0, 2, "Pinned in the database %s: every job there keeps %s from its next run on, until you release it:",
			strings.Join(databases, ", "), plural(len(targets), "target"))
		p.Command("firesweep release%s %s", p.given, quoted(targets...))
		for _, run := range underWay {
			p.Say(yellow, 0, 2, "%s is under way and may not know it: wait for its end, or tell it to stop with firesweep stop.",
				run)
		}
		return nil
	}
	return c
}

func (a *app) pinnedCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "pinned",
		Short: "List what every job keeps, since when, by whom and why",
		Long: `List what every job keeps: what came back by undoing a run, and what was pinned
with 'firesweep pin'.

It needs the role roles/datastore.viewer.`,
		Example: "  firesweep pinned --project my-project\n  firesweep pinned --all --json",
		Args:    cobra.NoArgs,
	}
	c.Flags().BoolVar(&all, "all", false, "list everything, not only the first items")
	c.RunE = func(c *cobra.Command, _ []string) error {
		list := []pinnedItem{}
		err := a.eachDatabase(c.Context(), func(project restore.Project, database string) error {
			found, err := project.Pinned(c.Context())
			for _, one := range found {
				with := map[string][]string{}
				for _, text := range one.With {
					something, target := undo.CutWith(text)
					with[target] = append(with[target], something)
				}
				for _, target := range one.Targets {
					list = append(list, pinnedItem{target, one.Why, one.By, one.At.UTC(), one.RunID, database, with[target]})
				}
			}
			return err
		})
		if err != nil {
			return err
		}
		slices.SortStableFunc(list, func(x, y pinnedItem) int { return y.At.Compare(x.At) })
		return a.show(map[string]any{"pinned": list}, func(p *printer) { p.pinned(list, all) }, false)
	}
	return c
}

// pinned prints what is pinned.
func (p *printer) pinned(list []pinnedItem, all bool) {
	if len(list) == 0 {
		p.Say("", 0, 2, "Nothing is pinned.")
		return
	}
	var rows []tableRow
	for _, one := range list {
		note := one.Why + prefixed(" ", one.Run) + prefixed(", by ", one.By)
		if len(one.With) > 0 {
			note += ", and " + plural(len(one.With), "thing") + " with it"
		}
		rows = append(rows, tableRow{Cells: []string{when(one.At), one.Target}, Notes: []string{note}})
	}
	p.first(all, "target", rows, "SINCE (UTC)", "TARGET")
	p.Line("")
	p.Say("", 2, 2, "Let the jobs judge it again:")
	p.Command("firesweep release%s TARGET", p.given)
}

// pinnedItem is something that every job keeps. docs/command.md documents it as JSON.
type pinnedItem struct {
	Target   string    `json:"target"`
	Why      string    `json:"why"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	Run      string    `json:"run,omitempty"` // that was taken back
	Database string    `json:"database"`
	With     []string  `json:"with,omitempty"` // what is pinned and released with it
}

func (a *app) releaseCommand() *cobra.Command {
	var all bool
	var runID string
	c := &cobra.Command{
		Use:   "release TARGET...",
		Short: "Let the jobs delete again what was pinned",
		Long: `Let the jobs judge again what is pinned: what came back by undoing a run, and
what was pinned with 'firesweep pin'. From their next run on they delete what is
still due. What was pinned with a target is released with it.

TARGET is a target as 'firesweep pinned' lists it.
It needs the role roles/datastore.user.`,
		Example: `  firesweep release --project my-project reports/abc reports/def
  firesweep release --run cleanupReports-20260110T150000Z-5f3a9c01
  firesweep release --all`,
	}
	c.Flags().BoolVar(&all, "all", false, "release everything that is pinned, by whomever")
	c.Flags().StringVar(&runID, "run", "", "release what undoing `RUN` pinned")
	c.RunE = func(c *cobra.Command, targets []string) error {
		ways := map[bool]int{}
		ways[all]++
		ways[runID != ""]++
		ways[len(targets) > 0]++
		if ways[true] != 1 || runID != "" && !runIDPattern.MatchString(runID) {
			return wrongUse("give targets as firesweep pinned lists them, or --run with a run's whole id, or --all")
		}
		notPinned := slices.Clone(targets)
		stop := a.progress(c.Context(), doing("releasing"))
		err := a.eachDatabase(c.Context(), func(p restore.Project, _ string) error {
			not, err := p.Release(c.Context(), runID, targets...)
			notPinned = slices.DeleteFunc(notPinned, func(target string) bool { return !slices.Contains(not, target) })
			return err
		})
		stop()
		if err != nil {
			return err
		}
		for _, target := range notPinned {
			fmt.Fprintf(a.errs, "firesweep: %s is not pinned: see firesweep pinned%s\n", plain(target), a.given)
		}
		if len(notPinned) > 0 {
			return errSaid
		}
		a.printer().Say("", 0, 2, "Released: the jobs judge it again from their next run on.")
		return nil
	}
	return c
}

// asGiven returns those of some flags that were given, as they were, for a command that repeats them. --force=false says nothing.
func asGiven(c *cobra.Command, names ...string) (text string) {
	for _, name := range names {
		f := c.Flags().Lookup(name)
		if f == nil || !f.Changed || f.Value.Type() == "bool" && f.Value.String() == "false" {
			continue
		}
		values := []string{f.Value.String()}
		if several, ok := f.Value.(interface{ GetSlice() []string }); ok {
			values = several.GetSlice()
		}
		for _, value := range values {
			if text += " --" + name; f.Value.Type() != "bool" {
				text += " " + quoted(value)
			}
		}
	}
	return text
}
