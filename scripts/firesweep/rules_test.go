package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// drafts is an application's list: a rule with a comment and commas after the last elements, as the Firebase CLI allows them.
const drafts = `{
  // The editor's drafts.
  "rules": [
    {
      "name": "cleanupDrafts", "schedule": "0 4 * * *", /* at night */
      "collection": "drafts", "age": { "field": "editedAt", "days": 90, },
    },
  ],
}
`

// inApp puts files into a new folder, and the operator there. An empty text makes a folder.
func (o *operator) inApp(t *testing.T, files map[string]string) {
	t.Helper()
	o.dir = t.TempDir()
	for name, text := range files {
		name = filepath.Join(o.dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if err == nil && text == "" {
			err = os.MkdirAll(name, 0o700)
		} else if err == nil {
			err = os.WriteFile(name, []byte(text), 0o600)
		}
		ok(t, err)
	}
}

// TestRulesBesideTheApplication: they are found from any folder below, and from none above or beside.
func TestRulesBesideTheApplication(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Set(t, "drafts/old", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	o.Set(t, "drafts/young", map[string]any{"editedAt": now})
	o.inApp(t, map[string]string{"app/firesweep.json": drafts, "app/firebase.json": "{}", "app/src/deep": "", "app/mobile/firebase.json": "{}"})
	top := o.dir
	for folder, found := range map[string]bool{
		"app": true, "app/src/deep": true,
		".": false, "app/mobile": false, // another application
	} {
		o.dir = filepath.Join(top, folder)
		if !found {
			o.refuses(t, exitWrongUse, "no job is called", "plan", "cleanupDrafts")
			continue
		}
		out := o.well(t, "plan", "cleanupDrafts")
		wantParts(t, out, "drafts/old")
		wantNone(t, out, "drafts/young")
	}
	// --rules goes before what is found, for every command, from any folder.
	o.dir = top
	wantParts(t, o.well(t, "plan", "--rules", "app/firesweep.json", "cleanupDrafts"), "drafts/old")
	wantParts(t, o.well(t, "runs", "--rules", "app/firesweep.json"), "cleanupDrafts")
	o.well(t, "doctor", "--rules", "app/firesweep.json", "cleanupDrafts")
	o.refuses(t, exitWrongUse, "none.json: no such file", "runs", "--rules", "none.json")
	// A run of a rule that only this application has is known by its id.
	o.refuses(t, exitFailed, "cleanupDrafts-20260110T150000Z-12345678", "show", "--rules", "app/firesweep.json",
		"cleanupDrafts-20260110T150000Z-12345678")
}

// TestRulesWithProblems: the file and the line are named as an editor opens them, and nothing is begun.
func TestRulesWithProblems(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.inApp(t, map[string]string{"sub/x": "x", "firesweep.json": strings.Replace(drafts, `"days": 90`, `"days": "90"`, 1)})
	for _, command := range []string{"plan", "check", "runs", "run", "check --indexes", "doctor"} {
		o.refuses(t, exitWrongUse, "firesweep: firesweep.json:6: rules[0], cleanupDrafts: age.days: it must be a whole number",
			strings.Fields(command)...)
	}
	o.dir = filepath.Join(o.dir, "sub")
	o.refuses(t, exitWrongUse, "firesweep: ../firesweep.json:6: ", "plan")
	o.well(t, "--help") // which is about no rules
	for text, says := range map[string]string{
		`{"rules": [}`: "firesweep.json: line 1, column 12: it is not JSON: invalid character '}'",
		"{\n\"enabled\": [\"cleanupNothing\"]\n}": `firesweep.json:2: enabled[0]: "cleanupNothing" is none of Firesweep's own jobs`,
		"{\n\"enabled\": \"cleanupReports\"\n}":   "firesweep.json:2: enabled: it must be a list, not a string",
		"{\n\"functions\": []}":                   `firesweep.json:2: there is no key "functions"; the keys are $schema, rules, enabled`,
		"":                                        "firesweep.json: it is empty: write { \"rules\": [ … ] }",
	} {
		o.inApp(t, map[string]string{"firesweep.json": text + " "})
		o.refuses(t, exitWrongUse, says, "plan")
	}
}

// TestProject: the flag, the environment and .firebaserc, and no guess where they contradict each other.
func TestProject(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Set(t, "drafts/old", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	const google, emulator = "GOOGLE_CLOUD_PROJECT", "FIRESTORE_EMULATOR_HOST"
	rc := func(text string) map[string]string {
		files := map[string]string{"app/firesweep.json": drafts, "app/firebase.json": "{}"}
		if text != "" {
			files["app/.firebaserc"] = strings.ReplaceAll(text, "ID", o.ID)
		}
		return files
	}
	active := func(folder, project string) string { return `{"activeProjects":{"` + folder + `":"` + project + `"}}` }
	for _, tt := range []struct {
		name, rc, environment, active, flag string
		said                                string // on standard error; empty: nothing
		refused                             string
		linked                              bool // the folder is reached by a symbolic link
	}{
		{name: "the only one", rc: `{"projects":{"staging":"ID"}}`},
		{name: "the default", rc: `{"projects":{"default":"ID","prod":"other"}}`},
		{name: "in use", rc: `{"projects":{"default":"other","staging":"ID"}}`, active: "staging"},
		{name: "in use, without .firebaserc", active: "ID"},
		{name: "in use, and not the environment's", active: "ID", environment: "another", refused: "the environment says another, and firebase use says ID"},
		{name: "in use, by a link", rc: `{"projects":{"default":"other","staging":"ID"}}`, active: "staging", linked: true},
		{name: "comments", rc: "{ // mine\n\"projects\":{\"default\":\"ID\",}}"},
		{name: "alias", rc: `{"projects":{"default":"other","staging":"ID"}}`, flag: "staging"},
		{name: "flag before all", rc: `{"projects":{"default":"other"}}`, environment: "another", flag: "ID"},
		{name: "environment", rc: `{"projects":{}}`, environment: "ID"},
		{name: "emulators", rc: `{"projects":{"default":"other"}}`, environment: "ID"},
		{name: "no default", rc: `{"projects":{"a":"ID","b":"other"}}`, refused: ".firebaserc has several projects and no default: " +
			"say which one: --project a, or --project b"},
		{name: "none", rc: `{}`, refused: "no project: give --project"},
		{name: "broken", rc: "{\n\"projects\":}", refused: ".firebaserc: line 2, column 12: invalid character '}'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := *o
			o.inApp(t, rc(tt.rc))
			home := o.dir
			o.dir = filepath.Join(home, "app")
			ok(t, os.MkdirAll(filepath.Join(home, ".config/configstore"), 0o700))
			write(t, filepath.Join(home, ".config/configstore/firebase-tools.json"), active(o.dir, strings.ReplaceAll(tt.active, "ID", o.ID)))
			if tt.linked {
				ok(t, os.Symlink(o.dir, filepath.Join(home, "link")))
				o.dir = filepath.Join(home, "link")
			}
			o.env = map[string]string{"HOME": home, google: strings.ReplaceAll(tt.environment, "ID", o.ID), emulator: o.env[emulator]}
			o.env["USERPROFILE"] = "/mnt/c/Users/me" // as WSL may have it
			if tt.refused != "" && tt.environment != "" {
				delete(o.env, emulator)
			}
			args := []string{"plan", "cleanupDrafts"}
			if tt.flag != "" {
				args = append(args, "--project", strings.ReplaceAll(tt.flag, "ID", o.ID))
			}
			if tt.refused != "" {
				o.refuses(t, exitWrongUse, strings.ReplaceAll(tt.refused, "ID", o.ID), args...)
				return
			}
			out, errs := o.ends(t, exitFine, args...)
			wantParts(t, out, "drafts/old", "project "+o.ID+" on emulators")
			want(t, "standard error", "", errs)
		})
	}
	o.inApp(t, rc(`{"projects":{"default":"ID","my-app":"ID"}}`))
	o.dir = filepath.Join(o.dir, "app")
	o.env = map[string]string{"CI": "true"}
	o.refuses(t, exitWrongUse, "--project my-app may be a project's id, and .firebaserc takes it for an alias of "+o.ID, "plan", "--project", "my-app")
	o.env = map[string]string{google: "another"}
	o.refuses(t, exitWrongUse, "the environment says another, and .firebaserc says "+o.ID+" (default): say which one: --project "+o.ID, "plan")
}
