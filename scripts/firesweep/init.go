package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

type initFlags struct{ yes, write bool }

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init",
		Short: "Look at a project, and propose rules for what could be deleted",
		Long: fmt.Sprintf(`Look at a part of each collection, at files and at accounts, and propose at most
%d rules, the surest first: for what lies below documents that do not exist,
files of nobody, what has expired or was marked as deleted, and the like.

It says first what it reads at most, and asks. Nothing is written to the
project: the connections refuse it. Then it asks whether to write the rules into
a new firesweep.json. If there is one already, it prints them as JSON to paste.

--yes reads without asking, and only shows the rules; --write writes them. Your
own credentials need roles/datastore.viewer, roles/storage.objectViewer and
roles/firebaseauth.viewer; what may not be read is left out, except for
documents.`, look.MostProposals),
		Example: `  firesweep init --project my-project
  firesweep init --yes                        # only shows rules
  firesweep init --yes --write                # writes them
  firesweep init --yes --json | jq '.proposals[].rule'`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&f.yes, "yes", false, "read without asking, and ask nothing about the rules")
	c.Flags().BoolVar(&f.write, "write", false, "write the rules into a new firesweep.json without asking")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.init(c, f) }
	return c
}

func (a *app) init(c *cobra.Command, f initFlags) error {
	_, err := os.Stat(a.within(a.rules))
	exists := !errors.Is(err, fs.ErrNotExist)
	switch {
	case f.write && exists:
		return wrongUse("%s is there already, and init changes nothing in it: "+
			"without --write it prints the rules, to paste into the list %s", a.rules, look.ListKey)
	case !f.yes && (!a.screen.in || a.json):
		return wrongUse("it reads up to %d documents of the project, and asks first; "+
			"where nobody can be asked, add --yes", look.Reads)
	}
	cfg, uses, err := a.initSettings()
	if err != nil {
		return err
	}
	p := a.aside()
	p.Say("", 0, 0, "This looks at the project %s, database %s, and writes nothing to it. It reads at most %d documents, "+
		"lists files in at most %d requests, and looks up accounts, which is free.",
		cfg.Project, cfg.Database, look.Reads, look.FilePages+len(bucketSuffixes))
	if !f.yes && !a.agrees("Go on?") {
		return errors.New("nothing was read: the answer was not yes")
	}
	if a.chosen != "" {
		if err := a.chooseBucket(cfg.Project); err != nil {
			fmt.Fprintf(a.errs, "firesweep: this looks for files in the bucket %s: %s\n", a.chosen, plain(err.Error()))
		}
		cfg.Bucket = a.chosen
	}
	ctx := c.Context()
	stop := a.progress(ctx, doing("looking at "+cfg.Project))
	found, err := a.look(ctx, cfg, uses)
	stop()
	if err != nil {
		return err
	}
	if a.json {
		err = encode(a.out, found)
	} else {
		p.places(found)
		p.proposals(found)
	}
	switch given := asGiven(c, "project", "rules"); {
	case err != nil || len(found.Proposals) == 0:
		return err
	case exists:
		p.Say("", 0, 0, "%s is there already, and init changes nothing in it. To paste into its list %s:", a.rules, look.ListKey)
		for _, one := range found.Proposals {
			p.Line(string(one.Rule) + ",")
		}
	case !f.write && (f.yes || !a.agrees(fmt.Sprintf("Write them into %s?", a.rules))):
		p.Say("", 0, 0, "Nothing was written. To write these rules into %s:", a.rules)
		p.Command("firesweep init%s --yes --write", given)
	default:
		if err := a.writeNew(look.File(found.Proposals...)); err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
		p.Say("", 0, 0, "%s was written. Nothing is deleted yet. What the rules would delete, one by one, and why:", a.rules)
		p.Command("firesweep plan%s", given)
	}
	return nil
}

// agrees asks a question that is answered by yes or no. No answer is a no.
func (a *app) agrees(question string) bool {
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(a.ask(question+" (y/N) ")))
}

// writeNew writes the file of rules, which must not exist.
func (a *app) writeNew(text string) error {
	file, err := os.OpenFile(a.within(a.rules), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// initSettings returns the settings, and what is looked at: with emulators, only those backends that are emulated.
func (a *app) initSettings() (cfg config.Config, uses []config.Backend, err error) {
	project, err := a.project()
	if err != nil {
		return cfg, nil, err
	}
	onEmulators := a.getenv("FIRESTORE_EMULATOR_HOST") != ""
	uses = []config.Backend{config.Firestore}
	if !onEmulators || a.getenv("STORAGE_EMULATOR_HOST")+a.getenv("FIREBASE_STORAGE_EMULATOR_HOST") != "" {
		uses = append(uses, config.Storage)
	}
	if !onEmulators || a.getenv("FIREBASE_AUTH_EMULATOR_HOST") != "" {
		uses = append(uses, config.Auth)
	}
	if a.getenv("STORAGE_BUCKET") == "" && slices.Contains(uses, config.Storage) {
		a.chosen = project + bucketSuffixes[0] // until somebody has agreed to a look for it
		a.setenv("STORAGE_BUCKET", a.chosen)
	}
	cfg, err = config.Load(config.Previewing(a.getenv), nil, uses...)
	if err != nil {
		return cfg, nil, usageError{err}
	}
	return cfg, uses, nil
}

// look looks at the project by connections that only read.
func (a *app) look(ctx context.Context, cfg config.Config, uses []config.Backend) (found *look.Findings, err error) {
	l := look.Project{Reads: look.Reads, Now: a.clock(), Rules: a.List}
	if l.Documents, err = documents.Open(ctx, databaseOf(cfg), documents.ReadOnly()...); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Documents.Close()) }()
	if slices.Contains(uses, config.Storage) {
		l.Bucket, err = objects.Open(ctx, objects.Bucket{Name: cfg.Bucket, EmulatorHost: cfg.Emulators.Storage}, objects.ReadOnly)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, l.Bucket.Close()) }()
	}
	if slices.Contains(uses, config.Auth) {
		client, err := accounts.Open(ctx, cfg.Project, true, accounts.ReadOnly)
		if err != nil {
			return nil, err
		}
		reader := client.Writer().Reader
		l.Accounts = &reader
	}
	return look.Look(ctx, l)
}

// places prints what a project holds.
func (p *printer) places(found *look.Findings) {
	p.Line("")
	table := tabwriter.NewWriter(p.to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PLACE\tCOUNT\tFIELD\tHOLDS")
	for _, one := range found.Places {
		place, count := one.Path, one.Count
		if _, name, isBelow := strings.Cut(place, "}/"); isBelow {
			place = "  " + name // it comes after the one that it lies below
		}
		for i := range max(1, len(one.Facts)) {
			var fact look.Fact
			if i < len(one.Facts) {
				fact = one.Facts[i]
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", plain(place), count, plain(fact.Field), plain(fact.Holds))
			place, count = "", ""
		}
	}
	_ = table.Flush() // the writer below keeps its error
	p.Line("")
	for _, text := range found.Unseen {
		p.Say(yellow, 0, 2, "not looked at: %s", text)
	}
	p.Say("", 0, 0, "Read: %s. Nothing was written to the project.", plural(found.Reads, "document"))
	p.Line("")
}

// proposals prints the rules.
func (p *printer) proposals(found *look.Findings) {
	if len(found.Proposals) == 0 {
		p.Say("", 0, 0, "No rule is proposed: nothing was found that surely nobody needs and that has no rule yet. "+
			"%s has rules to start from.", rulesPage)
	}
	for i, one := range found.Proposals {
		p.Say(bold, 0, 0, "%d. %s", i+1, one.Name)
		p.Say("", 3, 0, "%s.", capital(one.Does))
		later := ""
		if one.Orphans > one.Due {
			later = fmt.Sprintf(", and %d after %d days", one.Orphans, look.GraceDays)
		}
		p.Say("", 3, 0, "Because %s. Due now: %d of %d %s that were looked at%s.", one.Why, one.Due, one.Looked, one.Things, later)
		if one.Index {
			p.Say("", 3, 0, "It needs an index that Firestore does not make by itself: firesweep check names it.")
		}
		if 2*one.Due > one.Looked {
			p.Say(red, 3, 0, "THIS DELETES MORE THAN HALF OF THESE %s: READ ITS PLAN BEFORE IT RUNS.", strings.ToUpper(one.Things))
		}
		p.Line("")
	}
	if found.More > 0 {
		p.Say("", 0, 0, "%d more may be proposed: run init again when these are in the file.", found.More)
		p.Line("")
	}
}
