package declared_test

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestDoubts: what the first documents tell against a rule is said with its key, and nothing of a rule that fits them.
func TestDoubts(t *testing.T) {
	t.Parallel()
	all := array{fields{"subcollection": "**"}}
	for name, tt := range map[string]struct {
		more  fields
		users int      // of 30 authors, so many exist
		due   []string // what the plan deletes
		want  []string
	}{
		"all": {fields{"age": fields{"field": "at", "days": 30}, "unless": array{fields{"document": "users/{author}"}}}, 28, nil, []string{
			`age: at is a number of milliseconds since 1970 in 28 of 30 and a date and time of ISO 8601 in 1 of 30: write "as": "milliseconds"`,
			"unless[0]: 28 of 30 are kept because users/{author} exists: did you mean gone?",
			`with: comments below 1 of 20 documents would stay: add {"subcollection": "comments"}, or "**" for all that is below`,
		}},
		"none": {fields{"age": fields{"field": "seen", "as": "seconds", "days": 30}, "unless": array{fields{"document": "users/{author}"}},
			"with": array{fields{"subcollection": "comments"}}}, 27, nil, nil},
		"a few of another form": {fields{"age": fields{"field": "at", "as": "milliseconds", "days": 30}, "with": all}, 27, nil, []string{
			"age: at is a date and time of ISO 8601 in 1 of 30 and a timestamp in 1 of 30, and the rule keeps these"}},
		"seconds that are declared as milliseconds": {fields{"age": fields{"field": "seen", "as": "milliseconds", "days": 30}, "with": all}, 27, nil,
			[]string{`age: seen is a number of seconds since 1970 in 30 of 30: write "as": "seconds"`}},
		"a timestamp that is declared as text": {fields{"age": fields{"field": "made", "as": "text", "days": 30}, "with": all}, 27, nil,
			[]string{`age: made is a timestamp in 30 of 30: leave "as" out`}},
		"texts that are no times": {fields{"age": fields{"field": "author", "as": "text", "days": 30}, "with": all}, 27, nil,
			[]string{"age: author is no time that can be read in 30 of 30, and the rule keeps these"}},
		"what a document says": {fields{"age": "any", "unless": array{fields{"document": "users/{author}", "where": array{fields{"field": "plan", "==": "PRO"}}}}, "with": all}, 30, nil,
			[]string{"unless[0].where[0]: plan is missing in all of 30: is that its name?"}},
		"a form of within": {fields{"age": "any", "unless": array{fields{"collection": "drafts", "field": "team", "within": fields{"field": "seen", "days": 30}}}, "with": all}, 30, nil,
			[]string{`unless[0].within: seen is a number of seconds since 1970 in 20 of 20: write "as": "seconds"`,
				"unless[0]: none of the 10 values of drafts.team looked at refers to a document of drafts: is it the right field?"}},
		"a mark of the application's": {fields{"age": fields{"field": "seen", "as": "seconds", "days": 30}, "with": array{fields{"subcollection": "comments"}},
			"warn": fields{"days": 7, "field": "author"}}, 27, nil, []string{"warn.field: 30 of 30 have author already: unless this rule wrote it, give the mark a field of its own"}},
		"fields of what goes along": {fields{"age": "any", "with": array{fields{"subcollection": "comments", "with": array{fields{"document": "users/{of}"}}}}}, 5, nil, []string{
			"with[0].with[0]: no document of drafts/{id}/comments has of, so nothing is deleted along by it: is that its name?"}},
		"a date and a text for what fields hold": {fields{"age": fields{"field": "never", "days": 0, "optional": true}, "with": all, "warn": fields{"days": 7, "field": "w",
			"create": "mail", "data": fields{"to": array{"author"}, "message": fields{"state": "{id}"}}}}, 30, nil, []string{
			"never is null, or missing, in all documents of drafts: did nobody set it yet?",
			`warn.data: to[] would be the text "author": for what the field holds, write {author}`}},
		"a text for a value": {fields{"age": "any", "where": array{fields{"field": "open", "==": "true"}}, "with": all}, 30, nil, []string{
			`where[0]: there is no document of drafts whose open is "true"; the documents looked at have true`}},
		"names": {fields{"age": fields{"field": "att", "days": 30}, "where": array{fields{"field": "stat", "==": "open"}}, "with": all}, 30, nil,
			[]string{"no document of drafts has stat: is it state?", "no document of drafts has att: is it at?"}},
		"a condition that keeps nothing": {fields{"age": "any", "unless": array{fields{"field": "stat", "==": "open"}, fields{"field": "state", "==": "open"}}, "with": all}, 30, nil,
			[]string{"unless[0]: no document of drafts has stat, so it keeps nothing: is it state?"}},
		"a hole": {fields{"age": "any", "gone": array{fields{"document": "users/{userId}"}}, "with": all}, 30, nil,
			[]string{"no document of drafts has userId: is that its name?"}},
		"no braces": {fields{"collection": "drafts/draft/comments", "age": "any"}, 30, nil, []string{
			"the collection drafts/draft/comments has no document: is it drafts/{draft}/comments?"}},
		"another collection": {fields{"collection": "draft", "age": "any"}, 30, nil, []string{"the collection draft has no document: is it drafts?"}},
		"a value": {fields{"age": "any", "where": array{fields{"field": "state", "==": "Open"}}, "with": all}, 30, nil,
			[]string{"where[0]: there is no document of drafts whose state is Open; the documents looked at have closed and open"}},
		"values that are to be kept": {fields{"age": "any", "where": array{fields{"field": "state", "not-in": array{"Open", "closed"}}},
			"unless": array{fields{"field": "state", "==": "Closed"}, fields{"field": "state", "in": array{"open", "new"}}}, "with": all}, 30, nil, []string{
			`where[0]: no document of drafts has state "Open", which the rule keeps; the documents looked at have closed and open`,
			`unless[0]: no document of drafts has state "Closed", which the rule keeps; the documents looked at have closed and open`,
			`unless[1]: no document of drafts has state "new", which the rule keeps; the documents looked at have closed and open`}},
		"values": {fields{"age": "any", "where": array{fields{"field": "state", "in": array{"Open", "closed"}}, fields{"field": "author", "==": "u99"}}, "with": all}, 30, nil,
			[]string{"where[1]: there is no document of drafts whose author is u99"}},
		"what is related": {fields{"age": "any", "with": array{fields{"subcollection": "comments"}}, "gone": array{
			fields{"collection": "users", "field": "of", "where": array{fields{"field": "x", "==": "true"}, fields{"field": "x", "==": false}}}},
			"unless": array{fields{"subcollection": "comments", "within": fields{"field": "at", "days": 1}}, fields{"collection": "none", "field": "of"}}}, 5, nil, []string{
			"gone[0]: no document of users has of, so a run does nothing: is that its name?",
			"unless[0]: no document of drafts/{id}/comments has at, so a run does nothing: is that its name?",
			"unless[1]: the collection none has no document, so a run does nothing: is that its name? If it is, put any document into it",
			"gone[0].where[0]: x is of another type in all of 5, which have true: write one of these"}},
		"everything below":           {fields{"age": "any", "with": all}, 30, nil, nil},
		"below what is only changed": {fields{"age": "any", "where": array{fields{"field": "state", "==": "open"}}, "set": fields{"state": "closed"}}, 30, nil, nil},
		"misspelt in with": {fields{"age": "any", "with": array{fields{"collection": "coments", "field": "of"}, fields{"collection": "users", "field": "off"},
			fields{"subcollection": "**"}}}, 5, nil, []string{
			"with[0]: the collection coments has no document, so nothing is deleted along by it: is that its name?",
			"with[1]: no document of users has off, so nothing is deleted along by it: is that its name?"}},
	} {
		t.Run(name, func(t *testing.T) {
			rule := with(fields{"collection": "drafts"}, tt.more)
			f := start(t, rule)
			f.SetMany(t, 30, func(i int) (string, fields) {
				at := any(old.UnixMilli())
				switch i {
				case 7:
					at = old
				case 8:
					at = "2026-01-31"
				}
				return fmt.Sprintf("drafts/d%02d", i), fields{"at": at, "seen": old.Unix(), "made": old, "author": fmt.Sprintf("u%02d", i),
					"state": []string{"open", "closed"}[i%2], "team": fmt.Sprintf("t%d", i/2), "never": nil, "open": true, "cover": "covers/a.jpg"}
			})
			f.SetMany(t, tt.users, func(i int) (string, fields) { return fmt.Sprintf("users/u%02d", i), fields{"x": true} })
			f.Set(t, "drafts/d00/comments/c", fields{"x": true})
			f.Set(t, "teams/t99", fields{"x": true})
			enginetest.Want(t, "doubts", tt.want, doubts.Of(t.Context(), reader(t, f), nil, *entry(t, rule).Rule, nil, nil))
		})
	}
}

// TestDoubtsOfTextsThatAreNoTimes: a query finds them among later times, so that a run takes them to be not due.
func TestDoubtsOfTextsThatAreNoTimes(t *testing.T) {
	rule := fields{"collection": "drafts", "age": fields{"field": "at", "as": "text", "days": 30}}
	f := start(t, rule)
	for i, at := range []string{"31/12/2019", "2020-01-31", "2020-02-28", "2020-03-31"} {
		f.Set(t, fmt.Sprintf("drafts/d%d", i), fields{"at": at})
	}
	enginetest.Want(t, "doubts", []string{"age: at is no time that can be read in 1 of 4, and the rule keeps these"},
		doubts.Of(t.Context(), reader(t, f), nil, *entry(t, rule).Rule, nil, nil))
}

// reader returns a reader of a function's database.
func reader(t *testing.T, f *enginetest.Function) documents.Reader {
	t.Helper()
	client, err := documents.Open(t.Context(), documents.Database{Project: f.ID, ID: "(default)", EmulatorHost: f.Env["FIRESTORE_EMULATOR_HOST"]})
	ok(t, err)
	t.Cleanup(func() { _ = client.Close() }) // it was only read
	return client.Reader()
}

// TestDoubtsOfReferences: who refers to the rule's documents is named, unless the rule knows it; so are addresses in place of uids.
func TestDoubtsOfReferences(t *testing.T) {
	rule := fields{"collection": "patients", "age": "any", "gone": array{fields{"account": "{email}"}},
		"unless": array{fields{"collection": "invoices", "field": "patient"}}}
	f := start(t, rule)
	f.Set(t, "patients/anna-2020", fields{"email": "anna@example.com"})
	f.Set(t, "invoices/i", fields{"patient": "anna-2020"})
	f.Set(t, "visits/v", fields{"of": "anna-2020", "notes": "anna-2020 came", "room": "r1"})
	f.Set(t, "plans/p", fields{"people": array{fields{"who": f.Firestore(t).Doc("patients/anna-2020")}}, "x": 1})
	f.Set(t, "teams/t", fields{"lead": "/patients/anna-2020"})
	f.Set(t, "others/o", fields{"lead": "doctors/anna-2020", "ref": f.Firestore(t).Doc("doctors/anna-2020")})
	refer := "documents of %[1]s refer to documents of patients by %[2]s, and would refer to nothing without them: to keep such patients, " +
		`add {"collection": %[1]q, "field": %[2]q} to "unless"; to delete the %[1]s with them, add it to "with"`
	enginetest.Want(t, "doubts", []string{"gone[0]: email holds what is no id, such as an address or several ids, in 1 of 1, and these find no account: name the field that holds its uid",
		"documents of plans refer to documents of patients by people[].who, and would refer to nothing without them: no relation finds ids in maps of a list: have another list hold their ids",
		fmt.Sprintf(refer, "teams", "lead"), fmt.Sprintf(refer, "visits", "of")},
		doubts.Of(t.Context(), reader(t, f), nil, *entry(t, rule).Rule, nil, nil))
}

// TestDoubtsOfMany: of a collection that is larger than what is looked at, a query tells what nobody has. A field or a value that a
// later document has is no doubt, nor is one of a collection group, of which no index tells.
func TestDoubtsOfMany(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule fields
		want []string
	}{
		"a collection": {fields{"collection": "drafts", "where": array{fields{"field": "rare", "==": "x"}, fields{"field": "state", "in": array{"c", "d"}},
			fields{"field": "none", "==": 1}, fields{"field": "n", ">": 200}}, "age": "any"}, []string{"no document of drafts has none: is that its name?",
			"where[1]: there is no document of drafts whose state is c or d; the documents looked at have a",
			"where[3]: there is no document of drafts whose n is more than 200"}},
		"a group": {fields{"collectionGroup": "drafts", "where": array{fields{"field": "none", "==": 1}, fields{"field": "state", "==": "c"}}, "age": "any"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, tt.rule)
			f.SetMany(t, 130, func(i int) (string, fields) {
				d := fields{"state": "a", "n": i}
				if i == 129 {
					d["rare"] = "x"
				}
				return fmt.Sprintf("drafts/d%03d", i), d
			})
			enginetest.Want(t, "doubts", tt.want, doubts.Of(t.Context(), reader(t, f), nil, *entry(t, tt.rule).Rule, nil, nil))
		})
	}
}
