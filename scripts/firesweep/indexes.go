package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/placeholderusers/places"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
)

type indexesFlags struct {
	write, check string // files
}

func (a *app) indexesCommand() *cobra.Command {
	var f indexesFlags
	c := &cobra.Command{
		Use:   "indexes [JOB...]",
		Short: "Write the indexes that jobs need as the Firebase CLI deploys them",
		Long: `Write firestore.indexes.json for the Firebase CLI: the composite indexes, the
fields with other than the automatic indexes, and the TTL policies that all jobs
need, or only the jobs that are named, with their workers.

Without flags, it goes to standard output. --write adds what FILE lacks and
leaves everything else as it is; a contradiction is an error. --check only says
what FILE lacks, with exit code 1.`,
		Example: `  firesweep indexes cleanupStaleDrafts
  firesweep indexes --write ../my-app/firestore.indexes.json
  firesweep indexes --check ../my-app/firestore.indexes.json`,
	}
	c.Flags().StringVar(&f.write, "write", "", "add to `FILE` what it lacks")
	c.Flags().StringVar(&f.check, "check", "", "say what `FILE` lacks, and write nothing")
	c.RunE = func(_ *cobra.Command, names []string) error { return a.indexes(f, names) }
	return c
}

func (a *app) indexes(f indexesFlags, names []string) error {
	if f.write != "" && f.check != "" {
		return wrongUse("--write and --check contradict each other")
	}
	jobs, err := a.jobsNamed(names)
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(slices.Clone(a.All), func(e manifest.Entry) bool {
		return !slices.ContainsFunc(jobs, func(job manifest.Entry) bool { return job.Name == e.Name || job.Worker == e.Name })
	})
	if all, err = a.withGroups(all); err != nil {
		return err
	}
	ours, err := needed(all)
	if err != nil {
		return err
	}
	if f.write == "" && f.check == "" {
		return encode(a.out, ours)
	}
	return a.mergeIndexes(f, ours)
}

// withGroups adds to functions the indexes of the collection groups that PLACEHOLDER_REFERENCES names: where users are referred
// to is a setting, so no list has them.
func (a *app) withGroups(all []manifest.Entry) ([]manifest.Entry, error) {
	all = slices.Clone(all)
	for i, e := range all {
		text := config.For(e.Name, a.getenv)("PLACEHOLDER_REFERENCES")
		if e.Package != "placeholderusers" || text == "" {
			continue
		}
		listed, err := places.Parse(text)
		if err != nil {
			return nil, wrongUse("PLACEHOLDER_REFERENCES: %w", err)
		}
		for _, place := range listed {
			if place.Group {
				all[i].FieldOverrides = append(slices.Clone(all[i].FieldOverrides), manifest.FieldOverride{
					CollectionGroup: place.Collection, FieldPath: place.Field, Indexes: append(manifest.AutomaticIndexes(),
						manifest.OverrideIndex{QueryScope: "COLLECTION_GROUP", Order: "ASCENDING"},
						manifest.OverrideIndex{QueryScope: "COLLECTION_GROUP", ArrayConfig: "CONTAINS"}),
				})
			}
		}
	}
	return all, nil
}

// noIndexes is the text of a file without indexes.
const noIndexes = "{\n  \"indexes\": [],\n  \"fieldOverrides\": []\n}\n"

// mergeIndexes adds to a file what it lacks, or only says so.
func (a *app) mergeIndexes(f indexesFlags, ours indexFile) error {
	name, flag, mode := f.write, "--write", fs.FileMode(0o644)
	if f.check != "" {
		name, flag = f.check, "--check"
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && f.write != "" {
		text, err = []byte(noIndexes), nil
	} else if info, statErr := os.Stat(name); statErr == nil {
		mode = info.Mode().Perm()
	}
	if err != nil {
		return wrongUse("%s: %w", flag, err)
	}
	merged, lacks, err := merge(name, text, ours)
	if err != nil {
		return contradicts(name, err)
	}
	p := a.printer()
	switch {
	case len(lacks) == 0 && f.check != "":
		p.Say("", 0, 2, "%s has all that is needed.", name)
		return nil
	case len(lacks) == 0:
		p.Say("", 0, 2, "%s has all that is needed: nothing was written.", name)
		return nil
	case f.check != "":
		p.each(screen.Red, "lacks: ", lacks)
		p.Say("", 0, 0, "Add it:")
		p.Command("firesweep indexes%s --write %s", p.given.Rules, screen.Quoted(name))
		return errSaid
	}
	if err := os.WriteFile(name, merged, mode); err != nil {
		return err
	}
	p.each("", "added: ", lacks)
	p.Say("", 0, 0, "%s was written. Deploy it:", name)
	p.Command("firebase deploy --only firestore:indexes")
	return nil
}

// each prints texts, each on lines of its own, and an empty line.
func (p *printer) each(style, what string, texts []string) {
	for _, text := range texts {
		p.Say(style, 0, 2, "%s%s", what, text)
	}
	p.Line("")
}

// contradicts returns the error for a file that contradicts what is needed.
func contradicts(name string, err error) error {
	var usage usageError
	if errors.As(err, &usage) {
		return err
	}
	return fmt.Errorf("%s contradicts what is needed, and nothing was written: %s. "+
		"Change that entry in the file, or let the job use another database", name, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// writeLock writes the lock file beside a list of rules, if the list has no problem.
func (a *app) writeLock(f checkFlags, names []string) error {
	if len(names) > 0 || f.all || a.json || f.project != "" {
		return wrongUse("--write writes the lock file of all rules of a list and nothing else: " +
			"leave out the jobs, --all, --json and --project")
	}
	list := a.rules
	if list == "" {
		return wrongUse("there is no %s here or above: name your list with --rules", rulesName)
	}
	text, err := os.ReadFile(a.within(list))
	if err != nil {
		return err
	}
	lock, err := functions.Lock(manifest.File{Name: list, Text: text})
	if err != nil {
		return a.wrongList(err)
	}
	name, p := manifest.LockName(list), a.printer()
	switch old, err := os.ReadFile(a.within(name)); {
	case err == nil && bytes.Equal(old, lock):
		p.Say("", 0, 2, "%s is up to date: nothing was written.", name)
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.WriteFile(a.within(name), lock,
		0o644); err != nil { //nolint:gosec // like the list beside it, it is for all who read the repository
		return err
	}
	p.Say("", 0, 2, "%s was written. Commit it with %s; Terraform deploys what it says.", name, list)
	return nil
}
