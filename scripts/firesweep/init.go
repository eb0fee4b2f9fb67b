package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
)

func (a *app) initCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Look at a project, and propose rules for what could be deleted",
		Long: `Look at a part of each collection, at files and at accounts, and propose rules
for what could be deleted; nothing is written to the project.

Your credentials need roles/datastore.viewer, and for files and accounts
roles/storage.objectViewer and roles/firebaseauth.viewer.`,
		Example: `  firesweep init
  firesweep init --project my-project
  firesweep init --yes --json | jq '.proposals[].rule'    # writes no file`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.init(c, yes) }
	return c
}

func (a *app) init(c *cobra.Command, yes bool) error {
	cfg, err := a.settings(c.Context(), manifest.Entry{Name: "init"}, config.Firestore)
	if err != nil {
		return err
	}
	p := a.aside(yes)
	p.Say("", 0, 0, "This looks at the project %s, database %s, and writes nothing to it. It reads at most %d documents, "+
		"lists files in at most %d requests, and looks up accounts, which is free.",
		p.where, cfg.Database, look.Reads, look.FilePages+len(bucketSuffixes))
	if agreed, err := a.agree(yes, c, nil, "Go on"); !agreed {
		return err
	}
	looking := a.progress(c.Context(), "looking at "+cfg.Project)
	found, err := a.look(c.Context(), cfg)
	looking.stop()
	if err != nil {
		return err
	}
	if a.json {
		return encode(a.out, found)
	}
	p.findings(found)
	_, err = os.Stat(a.within(a.rules))
	switch {
	case len(found.Proposals) == 0:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		p.Say("", 0, 0, "%s is there already, and init changes nothing in it. To paste into its list rules:", a.rules)
		for _, one := range found.Proposals {
			p.Line(string(one.Rule) + ",")
		}
		return nil
	}
	if agreed, err := a.agree(yes, c, nil, "Write them into "+a.rules); !agreed {
		return err
	}
	file, err := os.OpenFile(a.within(a.rules), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	_, err = file.WriteString(look.File(found.Proposals...))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	p.Say("", 0, 0, "%s was written. Nothing is deleted yet. What the rules would delete, one by one, and why:", a.rules)
	p.Type("plan")
	return nil
}

// look looks at the project by connections that only read. With an emulator of Firestore, it asks only what is emulated.
func (a *app) look(ctx context.Context, cfg config.Config) (found *look.Findings, err error) {
	uses, on := []config.Backend{config.Firestore}, cfg.Emulators
	if on.Firestore == "" || on.Auth != "" {
		uses = append(uses, config.Auth)
	}
	var noBucket error
	if on.Firestore == "" || on.Storage != "" {
		var withBucket config.Config
		if withBucket, noBucket = a.settings(ctx, manifest.Entry{Name: "init"}, config.Firestore, config.Storage); noBucket == nil {
			cfg, uses = withBucket, append(uses, config.Storage)
		}
	}
	o, err := a.opened(ctx, cfg, uses...)
	if err != nil {
		return nil, err
	}
	l := look.Project{DB: o.Documents.Reader(), Reads: look.Reads, Now: a.clock(), Rules: a.List}
	if o.Objects != nil {
		l.Bucket = new(o.Objects.Reader())
	}
	if o.Accounts != nil {
		l.Accounts = new(o.Accounts.Writer().Reader)
	}
	if found, err = look.Look(ctx, l); noBucket != nil && err == nil {
		found.Unseen = append(found.Unseen, "files: "+noBucket.Error())
	}
	return found, err
}

// findings prints what was looked at, and the rules that are proposed.
func (p *printer) findings(found *look.Findings) {
	looked := "No document and no file was found: is it the right project?"
	if len(found.Looked) > 0 {
		looked = "Looked at a part of: " + strings.Join(found.Looked, ", ") + "."
	}
	p.Line("")
	p.Say("", 0, 0, "%s That cost %s. Nothing was written to the project.", looked, plural(found.Reads, "read"))
	for _, text := range found.Unseen {
		p.Say(yellow, 0, 2, "not looked at: %s", text)
	}
	p.Line("")
	for i, one := range found.Proposals {
		p.Say(bold, 0, 0, "%d. %s", i+1, one.Name)
		p.Say("", 3, 0, "%s.", capital(one.Does))
		p.Say("", 3, 0, "Because %s. Due now: %d of %d that were looked at.", one.Why, one.Due, one.Looked)
		p.Line("")
	}
	p.Say("", 0, 0, "%s: init proposes rules for what is marked as deleted, has expired, was read, or belongs to a document that "+
		"does not exist. Rules for anything else, to start from: %s", plural(len(found.Proposals), "proposal"), rulesPage)
	p.Line("")
}
