package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/manifest"
)

// TestFromUserData: each path of the extension becomes a rule that deletes no more than the extension does, or a sentence that says
// what to do.
func TestFromUserData(t *testing.T) {
	t.Parallel()
	const age, uid = `"age":{"by":"updateTime","days":1},`, `"gone":[{"account":"{uid}"}]`
	for name, c := range map[string]struct {
		env  map[string]string
		want string // a rule without its first three keys, or a part of a sentence
	}{
		"shallow": {map[string]string{"FIRESTORE_PATHS": " /users/{UID}/ "},
			`"collection":"users",` + age + `"gone":[{"account":"{id}"}]`},
		"recursive": {map[string]string{"FIRESTORE_PATHS": "users/{UID}", "FIRESTORE_DELETE_MODE": "recursive"},
			`"collection":"users",` + age + `"gone":[{"account":"{id}"}],"with":[{"subcollection":"**"}]`},
		"below a document": {map[string]string{"FIRESTORE_PATHS": "apps/prod/users/{UID}"},
			`"collection":"apps/prod/users",` + age + `"gone":[{"account":"{id}"}]`},
		"a named document": {map[string]string{"FIRESTORE_PATHS": "users/{UID}/private/settings"},
			`"collection":"users/{uid}/private","where":[{"==":"settings","field":"{id}"}],` + age + uid},
		"a collection": {map[string]string{"FIRESTORE_PATHS": "users/{UID}/notes", "FIRESTORE_DELETE_MODE": "recursive"},
			`"collection":"users/{uid}/notes",` + age + uid + `,"with":[{"subcollection":"**"}]`},
		"a collection, shallow":  {map[string]string{"FIRESTORE_PATHS": "users/{UID}/notes"}, "so far it has deleted nothing"},
		"the account's id twice": {map[string]string{"FIRESTORE_PATHS": "users/{UID}/settings/{UID}"}, "names the account twice"},
		"a collection of an id":  {map[string]string{"FIRESTORE_PATHS": "data/all/{UID}/one"}, "cannot be queried"},
		"no account":             {map[string]string{"FIRESTORE_PATHS": "docs/shared"}, "names no account"},
		"a part of an id":        {map[string]string{"FIRESTORE_PATHS": "users/u-{UID}"}, "alone between slashes"},
		"a folder": {map[string]string{"FIRESTORE_PATHS": "users/{UID}", "STORAGE_PATHS": "{DEFAULT}/media/{UID}"},
			`"collection":"users",` + age + `"gone":[{"account":"{id}"}],"with":[{"objects":"media/{id}/**"}]`},
		"folders of subcollections": {map[string]string{"FIRESTORE_PATHS": "users/{UID}", "FIRESTORE_DELETE_MODE": "recursive",
			"STORAGE_PATHS": "{DEFAULT}/{UID},{DEFAULT}/a/{UID}/b"},
			`"collection":"users",` + age + `"gone":[{"account":"{id}"}],"with":[{"subcollection":"**"},{"objects":"{id}/**"},{"objects":"a/{id}/b/**"}]`},
		"a folder of nobody":      {map[string]string{"STORAGE_PATHS": "{DEFAULT}/media/{UID}"}, `"with": [{"objects": "media/{id}/**"}]`},
		"another database":        {map[string]string{"FIRESTORE_DATABASE_ID": "eu"}, "FIRESTORE_DATABASE=eu"},
		"the default database":    {map[string]string{"FIRESTORE_DATABASE_ID": "(default)"}, ""},
		"a file in a folder":      {map[string]string{"STORAGE_PATHS": "{DEFAULT}/media/{UID}/a.png"}, "is a file"},
		"a file":                  {map[string]string{"STORAGE_PATHS": "{DEFAULT}/a/{UID}.png"}, "alone between slashes"},
		"a part of a file":        {map[string]string{"STORAGE_PATHS": "{DEFAULT}/{UID}-pic.png"}, "alone between slashes"},
		"all files":               {map[string]string{"STORAGE_PATHS": "{DEFAULT}/shared"}, "names no account"},
		"another bucket":          {map[string]string{"STORAGE_PATHS": "logs/{UID}"}, "STORAGE_BUCKET=logs"},
		"the Realtime Database":   {map[string]string{"RTDB_PATHS": "users/{UID}"}, "Realtime Database"},
		"discovery":               {map[string]string{"ENABLE_AUTO_DISCOVERY": "yes", "AUTO_DISCOVERY_SEARCH_FIELDS": "owner,by"}, `"{owner}"`},
		"discovery by its fields": {map[string]string{"ENABLE_AUTO_DISCOVERY": "true"}, "id,uid,userId"},
		"discovery by code":       {map[string]string{"SEARCH_FUNCTION": "https://example.com"}, "docs/adding-a-job.md"},
		"no discovery":            {map[string]string{"ENABLE_AUTO_DISCOVERY": "no"}, ""},
	} {
		rules, left := fromUserData(c.env)
		got := strings.Join(left, "\n")
		for _, r := range rules {
			r.Name, r.Description, r.Schedule = "", "", ""
			text, err := json.Marshal(r)
			ok(t, err)
			list := `{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *",` + strings.TrimPrefix(string(text), `{"name":"","description":"","schedule":"",`) + `]}`
			if _, err := manifest.Parse(manifest.File{Name: "firesweep.json", Text: []byte(list)}); err != nil {
				t.Errorf("%s: the rule is refused: %v", name, err)
			}
			got += strings.TrimPrefix(string(text), `{"name":"","description":"","schedule":"",`)
		}
		if sentence := len(rules) == 0; sentence && !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		} else if !sentence && got != c.want+"}" {
			t.Errorf("%s:\n%s, want\n%s}", name, got, c.want)
		}
	}
}

// TestImportedNames: rules of the same collection have names of their own, which the checks take.
func TestImportedNames(t *testing.T) {
	t.Parallel()
	rules, _ := fromUserData(map[string]string{"FIRESTORE_PATHS": "users/{UID}, users/{UID}/private/settings,users/{UID}/private/keys, " +
		"organisations/europe/subsidiaries/{UID}"})
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
	}
	want := "cleanupGoneUsers cleanupGoneUsersPrivate cleanupGoneUsersPrivate2 cleanupGoneEuropeSubsidiaries"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestImport: the rules are a list that the command reads, and what is no rule is said.
func TestImport(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	env := func(text string) string {
		file := filepath.Join(t.TempDir(), "delete-user-data.env")
		write(t, file, text)
		return file
	}
	all := "# the extension's\nFIRESTORE_PATHS=users/{UID},admins/{UID}\nFIRESTORE_DELETE_MODE=recursive\nSTORAGE_PATHS=\"{DEFAULT}/media/{UID}\"\n"
	rules := rulesFile(t, o.well(t, "import", "delete-user-data", env(all)))
	said := o.well(t, "check", "--no-plan", "--rules", rules)
	wantParts(t, said, "cleanupGoneUsers", "all documents below it", "the objects", "media/{id}/**",
		"cleanupGoneAdmins", "account {id} exists")

	o.dir = t.TempDir()
	write(t, filepath.Join(o.dir, "firesweep.json"), "") // as a shell leaves it
	out, errs := o.ends(t, exitFailed, "import", "delete-user-data", env(all+"RTDB_PATHS=people/{UID}\n"))
	wantParts(t, out, "cleanupGoneAdmins")
	wantParts(t, errs, "firesweep: not a rule: RTDB_PATHS: people/{UID} is in the Realtime Database")
	o.refuses(t, exitWrongUse, "sets none of FIRESTORE_PATHS", "import", "delete-user-data", env("LOCATION=europe-west1\n"))
	o.refuses(t, exitWrongUse, "name one file", "import", "delete-user-data")
	long := env(`{ "a": "` + strings.Repeat("secret ", 100) + `" }`)
	want(t, "what is quoted", true, len(o.refuses(t, exitWrongUse, "unexpected character", "import", "delete-user-data", long)) < 300)
	o.refuses(t, exitWrongUse, "no such file", "import", "delete-user-data", filepath.Join(t.TempDir(), "none.env"))
}
