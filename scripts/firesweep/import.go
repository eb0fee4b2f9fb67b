package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/joho/godotenv"
	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/version"
)

const importExample = `  firesweep import delete-user-data delete-user-data.env > firesweep.json`

func (a *app) importCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "import",
		Short:   "Turn the settings of another tool into rules",
		Example: importExample,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "delete-user-data FILE",
		Short: "Turn those of Firebase's extension into rules",
		Long: `Turn the settings of Firebase's extension delete-user-data, which ends on
31 March 2027, into rules. FILE is the extension's environment, usually
extensions/delete-user-data.env beside firebase.json.

The rules go to standard output, what cannot be said as a rule to standard
error, with exit code 1. The extension acts when an account is deleted; a rule
looks each night for data whose account is gone, so it finds what the extension
missed, and also what never had an account: see what 'firesweep plan' shows.`,
		Example: importExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one file: the extension's environment")
			}
			return nil
		},
		// It needs no rules: a shell that writes its output to firesweep.json has emptied that file.
		PersistentPreRun: func(*cobra.Command, []string) { a.begun = true },
		RunE:             func(_ *cobra.Command, args []string) error { return a.importUserData(args[0]) },
	})
	return c
}

func (a *app) importUserData(file string) error {
	env, err := godotenv.Read(a.within(file))
	if err != nil {
		return wrongUse("%s: %.150s", file, err) // it quotes the rest of the file
	}
	rules, left := fromUserData(env)
	if len(rules) == 0 && len(left) == 0 {
		return wrongUse("%s sets none of FIRESTORE_PATHS, STORAGE_PATHS and RTDB_PATHS: is it the extension's file?", file)
	}
	if err := encode(a.out, map[string]any{"rules": rules}); err != nil {
		return err
	}
	for _, text := range left {
		fmt.Fprintf(a.errs, "firesweep: not a rule: %s\n", screen.Plain(text))
	}
	if len(left) > 0 {
		return errSaid
	}
	return nil
}

// importedRule is a rule in the order in which somebody would write it.
type importedRule struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Schedule    string           `json:"schedule"`
	Collection  string           `json:"collection"`
	Where       []map[string]any `json:"where,omitempty"`
	Age         map[string]any   `json:"age"`
	Gone        []map[string]any `json:"gone"`
	With        []map[string]any `json:"with,omitempty"`
}

// uidHole is what the extension replaces by the account's id, bound what a rule's path calls it, and ownID a document of that id.
const (
	uidHole = "{UID}"
	bound   = "{uid}"
	ownID   = "{id}"
)

// fromUserData turns the extension's parameters into rules. left says what none of them does, and what to do about it.
func fromUserData(env map[string]string) (rules []importedRule, left []string) {
	var taken []string
	add := func(r importedRule, why string) {
		if why != "" {
			left = append(left, why)
			return
		}
		r.Name = newName("Gone "+r.Collection, taken)
		taken = append(taken, strings.ToLower(r.Name))
		r.Description = "Deletes from " + r.Collection + " what belongs to an account that is gone"
		r.Schedule = "30 3 * * *"
		rules = append(rules, r)
	}
	recursive := env["FIRESTORE_DELETE_MODE"] == "recursive"
	for _, path := range pathsOf(env["FIRESTORE_PATHS"]) {
		add(ruleOfPath(path, recursive))
	}
	for _, path := range pathsOf(env["STORAGE_PATHS"]) {
		folder, why := folderOf(path)
		owner := slices.IndexFunc(rules, func(r importedRule) bool { return r.Gone[0]["account"] == ownID })
		switch {
		case why != "":
			left = append(left, why)
		case owner < 0:
			left = append(left, "STORAGE_PATHS: "+path+": files go along with a document whose id is the account's, and "+
				"FIRESTORE_PATHS names none. Write a rule for such a collection, with "+`"with": [{"objects": "`+folder+`"}]`)
		default:
			rules[owner].With = append(rules[owner].With, map[string]any{"objects": folder})
		}
	}
	for _, path := range pathsOf(env["RTDB_PATHS"]) {
		left = append(left, "RTDB_PATHS: "+path+" is in the Realtime Database, which Firesweep does not read. Delete it in a function "+
			"that runs when an account is deleted")
	}
	if on := strings.ToLower(env["ENABLE_AUTO_DISCOVERY"]); on == "yes" || on == "true" {
		fields := env["AUTO_DISCOVERY_SEARCH_FIELDS"]
		if fields == "" {
			fields = "id,uid,userId"
		}
		field, _, _ := strings.Cut(fields, ",")
		left = append(left, "ENABLE_AUTO_DISCOVERY: it reads every collection for documents that name the account in "+fields+
			". Write a rule for each collection that has such documents: "+
			`{"collection": "posts", "age": {"by": "updateTime", "days": 1}, "gone": [{"account": "{`+strings.TrimSpace(field)+`}"}]}`)
	}
	if id := env["FIRESTORE_DATABASE_ID"]; id != "" && id != "(default)" {
		left = append(left, "FIRESTORE_DATABASE_ID: run the rules on that database, with FIRESTORE_DATABASE="+id)
	}
	if env["SEARCH_FUNCTION"] != "" {
		left = append(left, "SEARCH_FUNCTION: it names documents by code. Write a rule for each collection that it searches, or a job "+
			"in Go: "+version.Page("docs/adding-a-job.md"))
	}
	return rules, left
}

func pathsOf(paths string) (all []string) {
	for path := range strings.SplitSeq(paths, ",") {
		if path = strings.Trim(strings.TrimSpace(path), "/"); path != "" {
			all = append(all, path)
		}
	}
	return all
}

// ruleOfPath turns a path of documents into a rule, or says why there is none.
func ruleOfPath(path string, recursive bool) (r importedRule, why string) {
	collection, id := strings.Split(path, "/"), ""
	if why := wholeUID("FIRESTORE_PATHS", path, collection); why != "" {
		return r, why
	}
	owner, last := bound, len(collection)-1
	ofDocument := len(collection)%2 == 0
	if ofDocument {
		collection, id, last = collection[:last], collection[last], last-1
	}
	switch {
	case collection[last] == uidHole:
		return r, "FIRESTORE_PATHS: " + path + ": a collection that is called like an account cannot be queried. Move it below a " +
			"document of that name"
	case !ofDocument && !recursive:
		return r, "FIRESTORE_PATHS: " + path + " is a collection, which the extension deletes in the mode recursive only: so far it " +
			"has deleted nothing of it"
	case id == uidHole && slices.Contains(collection, uidHole):
		return r, "FIRESTORE_PATHS: " + path + " names the account twice, and no rule compares an id with another. Leave it to the " +
			"path that is above it"
	case id == uidHole:
		owner = ownID
	case ofDocument:
		r.Where = []map[string]any{{"field": "{id}", "==": id}}
	}
	r.Collection = strings.ReplaceAll(strings.Join(collection, "/"), uidHole, bound)
	r.Age = map[string]any{"by": "updateTime", "days": 1}
	r.Gone = []map[string]any{{"account": owner}}
	if recursive {
		r.With = []map[string]any{{"subcollection": "**"}}
	}
	return r, ""
}

// folderOf turns a path of objects into a folder that goes along with a document, or says why it cannot.
func folderOf(path string) (folder, why string) {
	bucket, name, _ := strings.Cut(path, "/")
	segments := strings.Split(name, "/")
	if bucket != "{DEFAULT}" {
		return "", "STORAGE_PATHS: " + path + " is in another bucket than the default one. Deploy the rule for it " +
			"with STORAGE_BUCKET=" + bucket
	}
	if why := wholeUID("STORAGE_PATHS", path, segments); why != "" {
		return "", why
	}
	if last := segments[len(segments)-1]; strings.Contains(last, ".") {
		return "", "STORAGE_PATHS: " + path + " is a file, and only whole folders go along with a document. Name the " +
			"folder, if all of it is the account's, or a field that holds the file's address: " + `"with": [{"objects": "FOLDER/**", "field": "FIELD"}]`
	}
	return strings.ReplaceAll(name, uidHole, ownID) + "/**", ""
}

// wholeUID says why a path cannot be a rule: no segment, or only a part of one, is the account's id.
func wholeUID(parameter, path string, segments []string) string {
	switch {
	case !strings.Contains(path, uidHole):
		return parameter + ": " + path + " names no account: the extension deletes it whenever any account is deleted. Leave it out"
	case slices.ContainsFunc(segments, func(s string) bool { return s != uidHole && strings.Contains(s, uidHole) }):
		return parameter + ": " + path + ": the account's id is a part of a name. A rule needs it alone between slashes"
	default:
		return ""
	}
}
