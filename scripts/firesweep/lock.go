package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

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
