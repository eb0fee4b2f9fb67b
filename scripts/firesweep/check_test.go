package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

type checks struct{ Checks []checked }

// rulesFile writes a list of rules and returns where it is.
func rulesFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rules.json")
	write(t, name, text)
	return name
}

// TestCheckTheExamples: all is said of each, and all can be read on any screen.
func TestCheckTheExamples(t *testing.T) {
	t.Parallel()
	blocks, err := sampledata.ExampleTexts("../../docs/examples")
	ok(t, err)
	o := newOperator(t)
	rules := rulesFile(t, `{"rules":[`+strings.Join(blocks, ",")+`]}`)
	got := parsed[checks](t, o.well(t, "check", "--rules", rules, "--json")).Checks
	want(t, "checks", len(blocks), len(got))
	for _, c := range got {
		type told struct {
			Declared, Does, Roles bool
		}
		want(t, c.Job, told{true, true, true}, told{
			c.Declared, c.Does != "", len(c.Roles) > 0,
		})
		note := map[string]string{"cleanupUnusedPictures": "any other is deleted",
			"cleanupOrphanedAvatars": "something else there is deleted"}[c.Job]
		if (c.Note != "") != (note != "") || !strings.Contains(c.Note, note) {
			t.Errorf("%s: %s", c.Job, c.Note)
		}
	}
	for _, width := range []int{leastWidth, defaultWidth, 200} {
		o.screen.width = width
		text := o.well(t, "check", "--rules", rules)
		wantNarrow(t, regexp.MustCompile("\n    fire.*").ReplaceAllString(text, ""), width) // but commands
		for _, c := range got {
			wantParts(t, text, c.Job+"\n")
		}
	}
}

// TestNotes: what else to know of a rule, which is not wrong.
func TestNotes(t *testing.T) {
	t.Parallel()
	const group = `collectionGroup: this also finds the top-level users; for those below others only, write "collection": "parents/{parent}/users"`
	for rule, note := range map[string]string{
		`"timeZone":"Europe/Berlin","collection":"users","age":"any","gone":[{"document":"teams/{team}"}]`:            "",
		`"timeZone":"Europe/Athens","collection":"users","age":"any","gone":[{"document":"teams/{team}"}]`:            "Europe/Athens has no 03:30 on 2026-03-29, so nothing runs that night: choose another time, or UTC",
		`"collectionGroup":"users","age":"any","gone":[{"document":"{parent}"},{"document":"teams/{list[]}/x/{id}"}]`: group,
		`"collectionGroup":"users","age":"any","unless":[{"field":"hold","==":true}]`:                                 group,
		`"collection":"chats/{chat}/users","age":"any","unless":[{"document":"chats/{chat}"}]`:                        "",
		`"collection":"users","age":"any","where":[{"field":"n","==":1},{"field":"email","==":null}]`:                 `where[1]: == null does not find a missing field: for both, write {"is": "not set"}`,
	} {
		o := newOperator(t)
		o.env["FIRESTORE_DATABASE"] = "app"
		rules := rulesFile(t, `{"rules":[{"name":"cleanupThings","schedule":"30 3 * * *",`+rule+`}]}`)
		want(t, rule, note, parsed[checks](t, o.well(t, "check", "--rules", rules, "--json")).Checks[0].Note)
	}
}

func TestCheckForPeople(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.now = time.Now().UTC().Truncate(time.Second)
	o.inApp(t, map[string]string{"firebase.json": "{}"})
	rules := rulesFile(t, `{"rules":[
		{"name":"cleanupStaleDrafts","schedule":"0~59 4 * * *","timeZone":"Europe/Berlin","collection":"drafts",
			"where":[{"field":"state","==":"open"},{"field":"published","is":"not true"}],"unless":[{"document":"holds/{id}"}],
			"age":{"field":"updatedAt","days":90},"with":[{"objects":"drafts/**","field":"coverUrl"}]},
		{"name":"cleanupDevices","schedule":"0 4 * * *","collection":"users/{user}/devices","age":{"field":"seenAt","days":400}},
		{"name":"cleanupExports","schedule":"0 3 1 * *","objects":"exports/{uid}/**","gone":[{"document":"users/{uid}"}],"age":{"months":2}}]}`)
	want(t, "what is said", `cleanupStaleDrafts
  Deletes documents of drafts whose state is open, whose published is not true
  and whose updatedAt is more than 90 days ago, unless holds/{id} exists; with
  each, also the objects drafts/** that coverUrl refers to.

  runs      0~59 4 * * * Europe/Berlin
  reads     each document that is old enough, in every run: no index
            knows which of them are due; every document of drafts, once in a run
            that deletes: another may refer to the same
  clients   can make this rule delete, if your security rules let them
            write state, published, updatedAt, coverUrl of drafts
  roles     roles/datastore.user, firesweepObjectCleaner
  indexes   drafts: state ASCENDING, updatedAt ASCENDING (COLLECTION)

The indexes, to add to the Firebase CLI's firestore.indexes.json:
    firesweep check --rules `+rules+` --indexes
    firebase deploy --only firestore:indexes
`, o.well(t, "check", "--rules", rules, "cleanupStaleDrafts"))
	wantParts(t, oneLine(o.well(t, "check", "--rules", rules, "cleanupDevices")),
		"indexes devices: seenAt ASCENDING (COLLECTION_GROUP), which Terraform does not make: https://")
	wantNone(t, o.well(t, "check", "--rules", rules, "cleanupExports"), "for the Firebase CLI")

	c := parsed[checks](t, o.well(t, "check", "--rules", rulesFile(t, `{"rules":[{"name":"cleanupGuests","schedule":"0 5 * * *",
		"accounts":"anonymous","age":{"by":"lastActive","days":30},"unless":[{"document":"users/{uid}"}]}]}`), "--json")).Checks[0]
	want(t, "judged by", map[string][]string(nil), c.Judged)
	want(t, "reads",
		"all accounts, a thousand a call, which is free; and a document for 30 of those that are old enough",
		c.Reads)

	c = parsed[checks](t, o.well(t, "check", "--rules", rules, "cleanupExports", "--json")).Checks[0]
	want(t, "schedule", "0 3 1 * * UTC", c.Schedule+" "+c.TimeZone)
}

// TestCheckOfWhatIsBuiltIn: a job is shown if it is enabled or asked for.
func TestCheckOfWhatIsBuiltIn(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	wantParts(t, oneLine(o.well(t, "check")), "There is no rule of yours in functions/rules.json yet: firesweep init proposes some")
	text := o.well(t, append([]string{"check"}, jobNames()...)...)
	wantParts(t, text, jobNames()...)
	got := parsed[checks](t, o.well(t, "check", "--json", "checkGhostCircles", "cleanupReports")).Checks
	want(t, "declared", []bool{false, true}, []bool{got[0].Declared, got[1].Declared})
	o.inApp(t, map[string]string{"firesweep.json": `{"rules":[],"enabled":["cleanupReports"]}`})
	wantParts(t, o.well(t, "check"), "cleanupReports\n", "0 0 * * * Asia/Tokyo")
}

// TestCheckOfAWrongList: all of it is said, and nothing else.
func TestCheckOfAWrongList(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	for _, tt := range []struct {
		text string
		want []string // a line each
	}{
		{`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","timezone":"UTC","colection":"things","age":{"field":"a b","days":"9"}},{"name":"cleanupMore","schedule":"0 4 * * *","collection":"more"}]}`, []string{
			`rules[0], cleanupThings: there is no key "timezone"`, `rules[0], cleanupThings: there is no key "colection"`,
			"rules[0], cleanupThings: age.days: it must be a whole number, not a string",
			"rules[1], cleanupMore: age: it is missing: write",
		}},
		{"{\n  \"functions\": [\n  ],,\n}", []string{"rules.json: line 3, column 5: it is not JSON: invalid character ','"}},
	} {
		rules := rulesFile(t, tt.text)
		for _, command := range []string{"check", "check --write", "check --indexes"} {
			errs := o.refuses(t, exitWrongUse, plural(len(tt.want), "problem")+"; see "+rulesPage,
				append(strings.Fields(command), "--rules", rules)...)
			if _, err := os.Stat(manifest.LockName(rules)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: there is a lock file of wrong rules: %v", tt.text, err)
			}
			want(t, "lines", len(tt.want)+1, strings.Count(errs, "\n"))
			for _, line := range tt.want {
				if !regexp.MustCompile(`(?m)^firesweep: .*` + regexp.QuoteMeta(line)).MatchString(errs) {
					t.Errorf("no line says %q:\n%s", line, errs)
				}
			}
		}
	}
	o.refuses(t, exitWrongUse, "declares nothing", "check", "--rules", rulesFile(t, `{"rules":[]}`))
}

const things = `{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":9}}]}`

// TestCheckWrite: the lock file is written beside the list, only if it changes. Terraform deploys what it says, so one that is there
// must be what was written, but for line ends.
func TestCheckWrite(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	rules := rulesFile(t, things)
	lock := manifest.LockName(rules)
	o.well(t, "check", "--rules", rules) // none is needed where nothing is deployed
	written, err := functions.Lock(manifest.File{Name: "rules.json", Text: []byte(things)})
	ok(t, err)
	right := string(written)
	for _, said := range []string{" was written. Commit it with " + rules, " is up to date: nothing was written."} {
		wantParts(t, oneLine(o.well(t, "check", "--write", "--rules", rules)), lock+said)
		want(t, "the lock file", right, read(t, lock))
	}
	write(t, lock, strings.ReplaceAll(right, "\n", "\r\n"))
	o.well(t, "check", "--rules", rules)
	changed := func(old, now string) string { return strings.Replace(right, old, now, 1) }
	for name, text := range map[string]string{
		"a role": changed("roles/datastore.user", "roles/owner"), "one more": changed(`"functions": {`, `"functions": { "cleanupMore": {},`),
		"a space": right + " ", "no JSON": "<<<<<<< HEAD", "nothing": "", "its version": changed(version.Lock, "0.0.1/1"),
		"its rules": regexp.MustCompile(`"rules": "\w+"`).ReplaceAllString(right, `"rules": "0"`),
	} {
		if text == right {
			t.Errorf("%s: nothing is changed", name)
		}
		write(t, lock, text)
		for _, args := range [][]string{{}, {"--json"}, {"cleanupThings"}} {
			out, errs := o.ends(t, exitWrongUse, append([]string{"check", "--rules", rules}, args...)...)
			wantParts(t, out, "cleanupThings")
			why := "the rules were changed since"
			if !strings.Contains(text, version.Lock) {
				why = "it is not of this version of Firesweep"
			}
			wantParts(t, errs, lock+" does not fit "+rules+": "+why, "write it anew with firesweep check --rules "+rules+" --write\n")
		}
	}
	o.well(t, "check", "--indexes", "--rules", rules) // which is for a file
	for _, args := range []string{"cleanupThings", "--indexes", "--json"} {
		o.refuses(t, exitWrongUse, "--write writes the lock file", append([]string{"check", "--write", "--rules", rules}, args)...)
	}
	o.well(t, "check", "--write", "--rules", rules)
	want(t, "the lock file", right, read(t, lock))
	o.well(t, "check", "--write", "--rules", rulesFile(t, `{"rules":[]}`)) // as upstream's own list is
	ok(t, errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700)))
	o.refuses(t, exitFailed, lock, "check", "--write", "--rules", rules)
	o.inApp(t, map[string]string{"firebase.json": "{}"})
	o.refuses(t, exitWrongUse, "there is no firesweep.json here or above", "check", "--write")
}

// TestIndexesOfThisRepository: firestore.indexes.json is what the command writes.
func TestIndexesOfThisRepository(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	want(t, "firestore.indexes.json; write it: go run ./scripts/firesweep check --indexes > firestore.indexes.json",
		o.well(t, "check", "--indexes"), read(t, "../../firestore.indexes.json"))
}

// TestIndexes: they are all that jobs and their workers need, each once, and nothing else is written.
func TestIndexes(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	const activity = `{"name":"cleanupActivity","schedule":"0 4 * * *","collectionGroup":"activity","age":{"field":"at","days":30}}`
	const idle = `{"name":"cleanupIdle","schedule":"0 4 * * *","collectionGroup":"activity","where":[{"field":"at","is":"set"},
		{"field":"kind","==":"idle"}],"age":{"field":"seen","days":30}}`
	rules := rulesFile(t, `{"rules":[`+activity+","+idle+`],"enabled":["cleanupBannedUsers","cleanupPlaceholderUsers"]}`)
	words := func(args ...string) (all []string) {
		file := parsed[indexFile](t, o.well(t, append([]string{"check", "--indexes", "--rules", rules}, args...)...))
		for _, i := range file.Indexes {
			all = append(all, indexWords(i))
		}
		for _, f := range file.FieldOverrides {
			text := f.CollectionGroup + "." + f.FieldPath
			for _, i := range f.Indexes {
				text += " " + i.Order + i.ArrayConfig + " (" + i.QueryScope + ")"
			}
			if f.TTL {
				text += " TTL"
			}
			all = append(all, text)
		}
		return all
	}
	const at = "activity.at ASCENDING (COLLECTION) DESCENDING (COLLECTION) CONTAINS (COLLECTION) ASCENDING (COLLECTION_GROUP)"
	records := []string{"cleanupRuns.expireAt TTL", "cleanupUndo.*", "cleanupUndo.expireAt TTL"}
	want(t, "of one", append([]string{at}, records...), words("cleanupActivity"))
	all := words()
	wantParts(t, strings.Join(all, "\n"), at, "users: banStatus ASCENDING", "activity: kind ASCENDING")
	o.env["PLACEHOLDER_REFERENCES"] = "posts.userId,group:remarks.author.id,group:activity.at"
	with := words()
	want(t, "of where users are referred to", []string{
		"activity.at ASCENDING (COLLECTION) DESCENDING (COLLECTION) CONTAINS (COLLECTION) ASCENDING (COLLECTION_GROUP) CONTAINS (COLLECTION_GROUP)",
		"remarks.author.id ASCENDING (COLLECTION) DESCENDING (COLLECTION) CONTAINS (COLLECTION) ASCENDING (COLLECTION_GROUP) CONTAINS (COLLECTION_GROUP)",
	}, slices.DeleteFunc(slices.Clone(with), func(text string) bool { return slices.Contains(all, text) }))
	if said := func(all []string) bool { return strings.Contains(strings.Join(all, "\n"), "notes.author.id") }; !said(all) || said(with) {
		t.Error("the group of the default is not named, or is although another list is set")
	}
	o.env["PLACEHOLDER_REFERENCES"] = "group:notes"
	o.refuses(t, exitWrongUse, "PLACEHOLDER_REFERENCES: ", "check", "--indexes", "--rules", rules)
	o.refuses(t, exitWrongUse, "no job is called", "check", "--indexes", "deletePlaceholderUser")
}

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
	for _, tt := range []struct {
		name, rc, environment, flag string
		refused                     string
	}{
		{name: "the only one", rc: `{"projects":{"staging":"ID"}}`},
		{name: "two names of the only one", rc: `{"projects":{"default":"ID","prod":"ID"}}`},
		{name: "several", rc: `{"projects":{"default":"ID","b":"other"}}`, refused: ".firebaserc has several projects: " +
			"say which one: --project b, or --project default"},
		{name: "several, and one is the environment's", rc: `{"projects":{"a":"ID","b":"other"}}`, environment: "ID",
			refused: ".firebaserc has several projects"},
		{name: "comments", rc: "{ // mine\n\"projects\":{\"default\":\"ID\",}}"},
		{name: "alias", rc: `{"projects":{"default":"other","staging":"ID"}}`, flag: "staging"},
		{name: "flag before all", rc: `{"projects":{"default":"other"}}`, environment: "another", flag: "ID"},
		{name: "environment", rc: `{"projects":{}}`, environment: "ID"},
		{name: "emulators", rc: `{"projects":{"default":"other","b":"another"}}`, environment: "ID"},
		{name: "none", rc: `{}`, refused: "no project: give --project"},
		{name: "broken", rc: "{\n\"projects\":}", refused: ".firebaserc: line 2, column 12: invalid character '}'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := *o
			o.inApp(t, rc(tt.rc))
			o.dir = filepath.Join(o.dir, "app")
			o.env = map[string]string{google: strings.ReplaceAll(tt.environment, "ID", o.ID), emulator: o.env[emulator]}
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
	o.refuses(t, exitWrongUse, "the environment says another, and .firebaserc says "+o.ID+": say which one: --project "+o.ID, "plan")
}
