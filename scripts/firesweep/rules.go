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

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/firesweep/look"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

// rulesName is the file beside firebase.json in which an application declares its rules.
const rulesName = "firesweep.json"

// rulesPage says what a rule can say.
var rulesPage = version.Page("docs/rules.md")

// application is where the files of an application are, and what they say.
type application struct {
	functions.List
	text   []byte // of the list of rules, or of one that is to be made
	rules  string // the list of rules; empty: none was found, and the program's own holds
	folder string // the one of firebase.json or else of the rules; empty: none
	nine   bool   // it uses all nine jobs: it is Firesweep's own repository, or no list was found
}

// scheduled returns all jobs, without workers.
func (a *application) scheduled() []manifest.Entry {
	return slices.DeleteFunc(slices.Clone(a.All), func(e manifest.Entry) bool { return e.Trigger != manifest.Schedule })
}

// used returns the jobs that the application uses: its own rules, and those of the nine that it enables.
func (a *application) used() []manifest.Entry {
	return slices.DeleteFunc(a.scheduled(), func(e manifest.Entry) bool { return !a.nine && !e.Used })
}

// locate looks for the application's files from a folder upwards: until there is a firebase.json, and no further than home. In
// Firesweep's own repository the rules are those that Terraform deploys.
func (a *application) locate(at, home string) {
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(at, name))
		return err == nil // what cannot be looked at is not there
	}
	for {
		switch {
		case a.rules != "":
		case there(rulesName):
			a.rules, a.folder = filepath.Join(at, rulesName), at
		case there("functions/manifest.json") && there("functions/rules.json"):
			a.rules, a.nine = filepath.Join(at, "functions", "rules.json"), true
		}
		if there("firebase.json") {
			a.folder = at
			return
		}
		up := filepath.Dir(at)
		if up == at || at == home {
			return
		}
		at = up
	}
}

// load reads the rules of --rules, or those that are found, once. It prints all problems. What creates the file needs none.
func (a *app) load(creates bool) error {
	if a.Jobs != nil {
		return nil
	}
	home, _ := os.UserHomeDir() // "" if it is not known
	a.locate(a.dir, home)
	if a.rules = a.short(a.rules); a.rulesFlag != "" {
		a.rules, a.nine = a.rulesFlag, false
	}
	if a.rules == "" && creates {
		a.rules = a.short(filepath.Join(cmp.Or(a.folder, a.dir), rulesName))
	}
	file := functions.Rules()
	if a.rules == "" {
		a.nine = true
	} else {
		text, err := os.ReadFile(a.within(a.rules))
		switch {
		case creates && errors.Is(err, fs.ErrNotExist):
			text = []byte(look.File())
		case err != nil && a.rulesFlag != "":
			return wrongUse("--rules: %w", err)
		case err != nil:
			return wrongUse("%w", err)
		}
		file = manifest.File{Name: a.rules, Text: text}
	}
	a.text = file.Text
	list, err := functions.With(file)
	if err != nil {
		return a.wrongList(err)
	}
	a.List = list
	return nil
}

// short returns a file's name as seen from the working directory; "" for none.
func (a *app) short(name string) string {
	if relative, err := filepath.Rel(a.dir, name); err == nil && name != "" {
		return relative
	}
	return name
}

// within returns a file's name as seen from the process's folder.
func (a *app) within(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.dir, name)
}

// declares refuses a list without anything in it.
func (a *application) declares() error {
	if a.rules != "" && !a.nine && len(a.used()) == 0 {
		return wrongUse("%s declares nothing: its list of rules is empty", a.rules)
	}
	return nil
}

// wrongList prints each problem of a list on a line.
func (a *app) wrongList(err error) error {
	lines := strings.Split(err.Error(), "\n")
	for _, line := range lines {
		fmt.Fprintf(a.errs, "firesweep: %s\n", harmless.Text(line))
	}
	fmt.Fprintf(a.errs, "%s; see %s\n", plural(len(lines), "problem"), rulesPage)
	return saidError(exitWrongUse)
}

// projectVariables name the project in the environment, as Google's libraries and the Firebase CLI's emulators set them.
var projectVariables = []string{"GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"}

// project returns the project's id.
func (a *app) project() (string, error) {
	if id := a.getenv("GOOGLE_CLOUD_PROJECT"); id != "" {
		return id, nil
	}
	return "", wrongUse("no project: give --project, or set GOOGLE_CLOUD_PROJECT, or run this where .firebaserc is")
}

// setenv sets a variable of the environment that the command sees.
func (a *app) setenv(variable, value string) { a.getenv = overlaid(a.getenv, variable, value) }

// overlaid returns an environment in which a variable has a value.
func overlaid(getenv func(string) string, variable, value string) func(string) string {
	return func(name string) string {
		if name == variable {
			return value
		}
		return getenv(name)
	}
}

// chooseProject chooses the project of the flag, or the one that the environment and .firebaserc have. If these differ, or if
// .firebaserc has several, nothing is chosen: the Firebase CLI, which does not look at the environment, may work on another one.
// On emulators it is the environment's: nothing real is there.
func (a *app) chooseProject(flag string) error {
	rc, err := a.readRC()
	if err != nil {
		return err
	}
	said := ""
	for _, name := range projectVariables {
		said = cmp.Or(said, a.getenv(name))
	}
	ruled, err := rc.project()
	alias := rc.Projects[flag]
	switch onEmulators := a.getenv("FIRESTORE_EMULATOR_HOST") != ""; {
	// Where nobody looks, another project must not be taken for the one that is asked for.
	case alias != "" && alias != flag && strings.Contains(flag, "-") && a.getenv("CI") != "":
		return wrongUse("--project %s may be a project's id, and %s takes it for an alias of %s: give the id that you mean",
			flag, rc.name, alias)
	case flag != "":
		said = cmp.Or(alias, flag)
	case said != "" && onEmulators:
	case err != nil:
		return err
	case said != "" && ruled != "" && said != ruled:
		return wrongUse("the environment says %s, and %s says %s: say which one: --project %s", said, rc.name, ruled, ruled)
	}
	a.setenv("GOOGLE_CLOUD_PROJECT", cmp.Or(said, ruled))
	return nil
}

// firebaseRC is what the Firebase CLI knows of an application's projects.
type firebaseRC struct {
	Projects map[string]string `json:"projects"` // by alias
	name     string            // of .firebaserc
}

// readRC reads .firebaserc, if there is one.
func (a *app) readRC() (rc firebaseRC, err error) {
	rc.name = a.short(filepath.Join(a.folder, ".firebaserc"))
	return rc, a.readJSON(".firebaserc", &rc)
}

// readJSON reads a file of the Firebase CLI, which may have comments, from the application's folder, if it is there.
func (a *app) readJSON(name string, to any) error {
	if a.folder == "" {
		return nil
	}
	file := filepath.Join(a.folder, name)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		text, err = hujson.Standardize(text)
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return wrongUse("%s: %w", a.short(file), errors.New(strings.TrimPrefix(err.Error(), "hujson: ")))
	}
	return nil
}

// project returns the only project; "" if there is none. Of several, nobody but the Firebase CLI knows which one is in use.
func (rc firebaseRC) project() (string, error) {
	ids := slices.Compact(slices.Sorted(maps.Values(rc.Projects)))
	if len(ids) > 1 {
		return "", wrongUse("%s has several projects: say which one: --project %s", rc.name,
			strings.Join(slices.Sorted(maps.Keys(rc.Projects)), ", or --project "))
	}
	return strings.Join(ids, ""), nil
}
