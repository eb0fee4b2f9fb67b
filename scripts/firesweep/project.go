package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/firesweep/firesweep/scripts/screen"
)

// projectVariables name the project in the environment, as Google's libraries and the Firebase CLI's emulators set them.
var projectVariables = []string{"GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"}

var errNoProject = wrongUse("no project: give --project, or set GOOGLE_CLOUD_PROJECT, or run this where .firebaserc is")

// project returns the project's id.
func (a *app) project() (string, error) {
	if id := a.getenv("GOOGLE_CLOUD_PROJECT"); id != "" {
		return id, nil
	}
	return "", errNoProject
}

// inProject makes a project the environment's.
func (a *app) inProject(id string) {
	getenv := a.getenv
	a.getenv = func(name string) string {
		if name == "GOOGLE_CLOUD_PROJECT" {
			return id
		}
		return getenv(name)
	}
}

// chooseProject chooses the project as the Firebase CLI does, which does not look at the environment: so if the environment names
// another one than .firebaserc, nothing is chosen. Emulators may have any project.
func (a *app) chooseProject(flag string) error {
	rc, err := a.readRC()
	if err != nil {
		return err
	}
	said := ""
	for _, name := range projectVariables {
		said = cmp.Or(said, a.getenv(name))
	}
	ruled, why, err := rc.project()
	switch {
	case flag != "":
		a.inProject(cmp.Or(rc.Projects[flag], flag))
	case said != "" && ruled != "" && said != ruled && a.getenv("FIRESTORE_EMULATOR_HOST") == "":
		return wrongUse("the environment says %s, and %s: say which one: --project %s", said, why, ruled)
	case said != "":
		a.inProject(said)
	case err != nil:
		return err
	case ruled != "":
		a.inProject(ruled)
		fmt.Fprintf(a.errs, "firesweep: %s\n", screen.Plain(why))
	}
	return nil
}

// firebaseRC is what the Firebase CLI knows of an application's projects.
type firebaseRC struct {
	Projects map[string]string `json:"projects"` // by alias
	name     string            // of .firebaserc
	active   string            // what firebase use chose: an alias or a project; empty: nothing
}

// readRC reads .firebaserc beside firebase.json, and which of its projects is in use. Without .firebaserc, there is no project.
func (a *app) readRC() (rc firebaseRC, err error) {
	if a.folder == "" {
		return rc, nil
	}
	file := filepath.Join(a.folder, ".firebaserc")
	rc.name = a.short(file)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return rc, nil
	}
	if err == nil {
		text, err = hujson.Standardize(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &rc)
	}
	if err != nil {
		return rc, wrongUse("%s: %w", rc.name, errors.New(strings.TrimPrefix(err.Error(), "hujson: ")))
	}
	home := cmp.Or(a.getenv("XDG_CONFIG_HOME"), filepath.Join(a.getenv("HOME"), ".config"))
	var used struct {
		ActiveProjects map[string]string `json:"activeProjects"` // by folder
	}
	// Without it, or if a later version of the Firebase CLI writes another form, nothing is in use.
	if text, err := os.ReadFile(filepath.Join(home, "configstore", "firebase-tools.json")); err == nil {
		_ = json.Unmarshal(text, &used)
	}
	rc.active = used.ActiveProjects[a.folder]
	return rc, nil
}

// project returns the project that is in use, or else the only one, or else the default. why is a sentence about it.
func (rc firebaseRC) project() (id, why string, err error) {
	aliases := slices.Sorted(maps.Keys(rc.Projects))
	alias := "default"
	switch {
	case rc.active != "":
		id = cmp.Or(rc.Projects[rc.active], rc.active)
		return id, "firebase use says " + id, nil
	case len(aliases) == 1:
		alias = aliases[0]
	case len(aliases) > 1 && rc.Projects[alias] == "":
		return "", "", wrongUse("%s has several projects and no default: say which one: --project %s",
			rc.name, strings.Join(aliases, ", or --project "))
	}
	if id = rc.Projects[alias]; id == "" {
		return "", "", nil
	}
	return id, fmt.Sprintf("%s says %s (%s)", rc.name, id, alias), nil
}
