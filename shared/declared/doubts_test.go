package declared_test

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/usage"
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
			[]string{"unless[0].where[0]: no document of users has plan, so it keeps nothing: is that its name?"}},
		"a form of within": {fields{"age": "any", "unless": array{fields{"collection": "drafts", "field": "team", "within": fields{"field": "seen", "days": 30}}}, "with": all}, 30, nil,
			[]string{`unless[0].within: seen is a number of seconds since 1970 in 20 of 20: write "as": "seconds"`,
				"unless[0]: none of the 10 values of drafts.team looked at refers to a document of drafts: is it the right field?"}},
		"a mark of the application's": {fields{"age": fields{"field": "seen", "as": "seconds", "days": 30}, "with": array{fields{"subcollection": "comments"}},
			"warn": fields{"days": 7, "field": "author"}}, 27, nil, []string{"warn.field: 30 of 30 have author already: unless this rule wrote it, give the mark a field of its own"}},
		"fields of what goes along": {fields{"age": "any", "with": array{fields{"subcollection": "comments", "with": array{fields{"document": "users/{of}"}}}}}, 5, nil, []string{
			"with[0].with[0]: no document of drafts/{id}/comments has of, so nothing is deleted along by it: is that its name?"}},
		"an optional date that nobody has": {fields{"age": fields{"field": "never", "days": 0, "optional": true}, "with": all}, 30, nil, []string{
			"no document of drafts has a value in never: is that its name?"}},
		"a text for a value": {fields{"age": "any", "where": array{fields{"field": "open", "==": "true"}}, "with": all}, 30, nil, []string{
			`where[0]: there is no document of drafts whose open is "true"; the documents looked at have true`}},
		"names": {fields{"age": fields{"field": "att", "days": 30}, "where": array{fields{"field": "stat", "==": "open"}}, "with": all}, 30, nil,
			[]string{"no document of drafts has a value in stat: is it state?", "no document of drafts has a value in att: is it at?"}},
		"a condition that keeps nothing": {fields{"age": "any", "unless": array{fields{"field": "stat", "==": "open"}, fields{"field": "state", "==": "open"}}, "with": all}, 30, nil,
			[]string{"unless[0]: no document of drafts has stat, so it keeps nothing: is it state?"}},
		"a hole": {fields{"age": "any", "gone": array{fields{"document": "users/{userId}"}}, "with": all}, 30, nil,
			[]string{"no document of drafts has a value in userId: is that its name?"}},
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
			"gone[0]: no document of users has of, so a run that finds nothing by it does nothing: is that its name?",
			"unless[0]: no document of drafts/{id}/comments that was looked at has at, so a run that finds nothing by it does nothing: is that its name?",
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
			f.SetAlike(t, tt.users, "users/u%02d", fields{"x": true})
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
			fields{"field": "none", "==": 1}, fields{"field": "n", ">": 200}}, "age": "any"}, []string{"no document of drafts has a value in none: is that its name?",
			"where[1]: there is no document of drafts whose state is c or d; the documents looked at have a",
			"where[3]: there is no document of drafts whose n is more than 200"}},
		"an exception": {fields{"collection": "drafts", "unless": array{fields{"field": "none", "==": 1}, fields{"field": "rare", "==": "x"}}, "age": "any"}, []string{
			"unless[0]: no document of drafts has none, so it keeps nothing: is that its name?"}},
		"an exception of a group": {fields{"collectionGroup": "drafts", "unless": array{fields{"field": "none", "==": 1}}, "age": "any"}, []string{
			"unless[0]: no document of drafts that was looked at has none, so it keeps nothing: is that its name?"}},
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

// twelve returns twelve documents of a collection, whose ids begin with the text before the number.
func twelve(all map[string]fields, before string, of func(i int) fields) {
	for i := range 12 {
		all[fmt.Sprintf("%s%02d", before, i)] = of(i)
	}
}

// TestDoubtsOfRelations: a relation that finds nothing, and a field elsewhere that refers to what is deleted, are said with what to
// write instead; nothing is said of those that are right.
func TestDoubtsOfRelations(t *testing.T) {
	t.Parallel()
	users := fields{"collection": "users", "age": "any", "maxDuePercent": 100}
	unless := func(relation fields) fields { return with(users, fields{"unless": array{relation}}) }
	owner := fields{"collection": "projects", "field": "owner"}
	keep := func(collection, field string) string {
		return fmt.Sprintf("documents of %s refer to documents of users by %s, and would refer to nothing without them: to keep such users, add "+
			`{"collection": %[1]q, "field": %[2]q} to "unless"; to delete the %[1]s with them, add it to "with"`, collection, field)
	}
	text := func(format string) func(i int) fields {
		return func(i int) fields { return fields{"owner": fmt.Sprintf(format, i), "author": fmt.Sprintf(format, i)} }
	}
	const keys = "is seats.* the right field? It stands for the keys of a map, and not for its values"
	seats := func(all map[string]fields) {
		twelve(all, "tours/t", func(i int) fields {
			return fields{"seats": fields{"A1": fmt.Sprintf("u%02d", i)}, "rows": array{"row"}}
		})
	}
	plans := func(all map[string]fields) {
		twelve(all, "users/u", func(i int) fields { return fields{"plan": []string{"pro", "free"}[i%2]} })
		for i := range 12 {
			tour := fmt.Sprintf("tours/t%02d", i)
			all[tour], all[tour+"/log/l"] = fields{"user": fmt.Sprintf("u%02d", i)}, fields{"kind": "bought"}
		}
	}
	for name, tt := range map[string]struct {
		rule fields
		data func(all map[string]fields)
		due  []string
		want []string
	}{
		"addresses where ids should be": {unless(owner), func(all map[string]fields) { twelve(all, "projects/p", text("u%02d@x.de")) }, nil, []string{
			"unless[0]: none of the 12 values of projects.owner looked at refers to a document of users: is it the right field?"}},
		"maps among ids": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", func(i int) fields {
				if i%2 == 0 {
					return fields{"owner": fields{"id": fmt.Sprintf("u%02d", i), "name": "x"}}
				}
				return fields{"owner": fmt.Sprintf("u%02d", i)}
			})
		}, nil, []string{"unless[0]: owner holds a map in 6 of 12, which refers to nothing: write owner.id"}},
		"maps with ids as keys": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", func(i int) fields { return fields{"owner": fields{fmt.Sprintf("u%02d", i): true}} })
		}, nil, []string{"unless[0]: no document of projects has one value in owner (if it holds a list, write owner[]), so a run that finds nothing by it does nothing: is that its name?",
			"unless[0]: owner holds a map in 12 of 12, which refers to nothing: write owner.{id}"}},
		"ids, addresses and paths of another form": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", func(i int) fields {
				return fields{"owner": fmt.Sprintf([]string{"u%02d", "users/u%02d", "u%02d@x.de", "projects/p/databases/(default)/documents/users/u%02d"}[i%4], i)}
			})
		}, nil, []string{"unless[0]: owner holds what is no id, such as an address or several ids, in 6 of 12, and these refer to nothing: correct the documents first"}},
		"texts that can be no id among owners": {fields{"collection": "tours", "age": "any", "gone": array{fields{"document": "users/{by}"}}}, func(all map[string]fields) {
			twelve(all, "tours/t", func(i int) fields {
				return fields{"by": []string{"u01", "https://x.de/u01", "users/null", "u01@x.de"}[i%4]}
			})
		}, nil, []string{"gone[0]: by holds what is no id, such as an address or several ids, in 3 of 12, and these count as gone: correct the documents first"}},
		"whole names": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", func(i int) fields {
				return fields{"owner": fmt.Sprintf([]string{"u%02d", "WHOLE/users/u%02d"}[i%2], i)}
			})
		}, nil, nil},
		"numbers where the rule compares texts": {fields{"collection": "tours", "age": "any", "where": array{fields{"field": "round", "<": "3"}}}, func(all map[string]fields) {
			twelve(all, "tours/t", func(i int) fields { return fields{"round": []any{int64(i), "2"}[i/11]} })
		}, nil, []string{"where[0]: round is of another type in 11 of 12, which the rule keeps"}},
		"keys in place of values": {fields{"collection": "tours", "age": "any", "gone": array{fields{"document": "users/{seats.*}"}}}, seats, nil,
			[]string{"gone[0]: none of the 12 documents users/{seats.*} looked at exists, so nearly all of these are due: " + keys}},
		"keys in place of values that keep": {fields{"collection": "tours", "age": "any", "unless": array{fields{"document": "users/{seats.*}"}}}, seats, nil,
			[]string{"unless[0]: none of the 12 documents users/{seats.*} looked at exists, and no item leads to one that does, so this keeps nothing: " + keys}},
		"keys that few have": {fields{"collection": "tours", "age": "any", "unless": array{fields{"document": "users/{seats.*}"}}}, func(all map[string]fields) {
			for i := range 3 {
				twelve(all, fmt.Sprintf("tours/t%d", i), func(int) fields { return fields{"seats": fields{"A1": "x"}} })
			}
			all["tours/z"] = fields{"seats": fields{"u01": "x"}}
		}, nil, nil},
		"one list for all": {fields{"collection": "tours", "age": "any", "gone": array{fields{"document": "users/{rows[]}"}}}, seats, nil,
			[]string{"gone[0]: none of the 12 documents users/{rows[]} looked at exists, so nearly all of these are due: is rows[] the right field?"}},
		"ids that repeat": {fields{"collection": "tenants/{t}/events", "age": "any", "maxDuePercent": 100, "with": array{fields{"collection": "carts", "field": "event"}}}, func(all map[string]fields) {
			twelve(all, "tenants/t/events/e", func(int) fields { return fields{} })
			twelve(all, "carts/c", func(i int) fields { return fields{"event": fmt.Sprintf("e%02d", i)} })
		}, nil, []string{"with[0]: none of the 12 values of carts.event looked at refers to a document of tenants/{t}/events: ids repeat there, so have this " +
			"field hold references or paths"}},
		"a value that nobody has, of a document that keeps": {fields{"collection": "tours", "age": "any", "unless": array{fields{"document": "users/{user}",
			"where": array{fields{"field": "plan", "==": "Pro"}}}}}, plans, nil, []string{
			`unless[0].where[0]: no document of users has plan "Pro", which the rule keeps; the documents looked at have free and pro`}},
		"a value that nobody has, below": {fields{"collection": "tours", "age": "any", "gone": array{fields{"subcollection": "log",
			"where": array{fields{"field": "kind", "==": "buy"}}}}}, plans, nil, []string{
			`gone[0].where[0]: no document of tours/{id}/log has kind "buy", which the rule keeps; the documents looked at have bought`}},
		"another part of the item's path that keeps": {fields{"collection": "orgs/{org}/logs", "age": "any", "unless": array{fields{"document": "legalHolds/{id}"}}}, func(all map[string]fields) {
			twelve(all, "orgs/o1/logs/l", func(int) fields { return fields{} })
			all["legalHolds/o1"] = fields{}
		}, nil, []string{"unless[0]: no item looked at leads to a document legalHolds/{id}, and some lead to one legalHolds/{org}: is that meant?"}},
		"parts of a path in another order": {fields{"collection": "orgs/{org}/teams/{team}/logs", "age": "any", "unless": array{fields{"document": "orgs/{team}/teams/{org}",
			"where": array{fields{"field": "starred", "==": true}}}}}, func(all map[string]fields) {
			twelve(all, "orgs/o1/teams/t1/logs/l", func(int) fields { return fields{} })
			all["orgs/o1/teams/t1"], all["orgs/o1"] = fields{"starred": true}, fields{}
		}, nil, []string{"unless[0]: no item looked at leads to a document orgs/{team}/teams/{org}, and some lead to one orgs/{org}/teams/{team}: is that meant?"}},
		"an id that a field holds": {fields{"collection": "tours", "age": "any", "unless": array{fields{"document": "payments/{id}"}}}, func(all map[string]fields) {
			twelve(all, "tours/t", func(i int) fields { return fields{"paymentId": fmt.Sprintf("p%02d", i)} })
			twelve(all, "payments/p", func(int) fields { return fields{} })
		}, nil, []string{"unless[0]: no item looked at leads to a document payments/{id}, and some lead to one payments/{paymentId}: is that meant?"}},
		"few that keep": {fields{"collection": "orgs/{org}/logs", "age": "any", "unless": array{fields{"document": "legalHolds/{id}"}}}, func(all map[string]fields) {
			twelve(all, "orgs/o1/logs/l", func(int) fields { return fields{} })
			all["legalHolds/other"] = fields{}
		}, nil, nil},
		"ids": {unless(owner), func(all map[string]fields) { twelve(all, "projects/p", text("u%02d")) }, nil, nil},
		"one of many": {unless(owner), func(all map[string]fields) {
			twelve(all, "projects/p", text("x%02d"))
			all["projects/p00"] = fields{"owner": "u00"}
		}, nil, []string{"unless[0]: only 1 of the 12 values of projects.owner looked at refers to a document of users: is it the right field?"}},
		"too few to tell": {unless(owner), func(all map[string]fields) {
			all["projects/p1"], all["projects/p2"] = fields{"owner": "x1"}, fields{"owner": "x2"}
		}, nil, nil},
		"the inverse of a path": {unless(fields{"collection": "tenants", "field": "id"}), func(all map[string]fields) {
			for _, id := range []string{"free", "pro", "ent"} {
				all["tenants/"+id] = fields{"id": id}
			}
		}, nil, []string{`unless[0]: none of the 3 values of tenants.id looked at refers to a document of users: to look up what a field of ` +
			`the item refers to, write "document"`}},
		"in with": {with(users, fields{"with": array{owner}}), func(all map[string]fields) { twelve(all, "projects/p", text("x%02d")) }, nil, []string{
			"with[0]: none of the 12 values of projects.owner looked at refers to a document of users: is it the right field?"}},
		"a path of gone": {fields{"collection": "profiles", "age": "any", "gone": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) { twelve(all, "profiles/p", text("user%d")) }, nil, []string{
				"gone[0]: none of the 12 documents users/{author} looked at exists, so nearly all of these are due: is author the right field?"}},
		"a path of maps": {fields{"collection": "profiles", "age": "any", "unless": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) {
				twelve(all, "profiles/p", func(i int) fields { return fields{"author": fields{"uid": fmt.Sprintf("u%02d", i), "age": 1}} })
			}, nil, []string{"unless[0]: author holds a map in 12 of 12, which refers to nothing: write author.uid"}},
		"a path of with": {fields{"collection": "profiles", "age": "any", "maxDuePercent": 100, "with": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) { twelve(all, "profiles/p", text("user%d")) }, nil, []string{
				"with[0]: none of the 12 documents users/{author} looked at exists, so nothing is deleted along: is author the right field?"}},
		"a path of unless": {fields{"collection": "profiles", "age": "any", "unless": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) { twelve(all, "profiles/p", text("user%d")) }, nil, []string{
				"unless[0]: none of the 12 documents users/{author} looked at exists, and no item leads to one that does, so this keeps " +
					"nothing: is author the right field?"}},
		"a path of unless that few have": {fields{"collection": "profiles", "age": "any", "unless": array{fields{"document": "users/{author}"}}},
			func(all map[string]fields) {
				for i := range 3 {
					twelve(all, fmt.Sprintf("profiles/p%d", i), text("other%d"))
				}
				all["profiles/q"] = fields{"author": "u01"}
			}, nil, nil},
		"addresses among uids": {fields{"collection": "profiles", "age": "any", "gone": array{fields{"account": "{author}"}}},
			func(all map[string]fields) {
				twelve(all, "profiles/p", text("user%d@x.de"))
				twelve(all, "profiles/q", text("user%d"))
			}, nil, []string{"gone[0]: author holds what is no id, such as an address or several ids, in 12 of 24, and these find no account: name the field that holds its uid"}},
		"not, where most have no such field": {fields{"collection": "users", "age": "any", "where": array{fields{"field": "role", "!=": "admin"},
			fields{"field": "kind", "not-in": array{"a", "b"}}, fields{"field": "many", "!=": "x"}, fields{"field": "some", "!=": nil}}},
			func(all map[string]fields) {
				twelve(all, "users/u", func(int) fields { return fields{"many": "y"} })
				all["users/u00"] = fields{"role": "admin", "kind": "a", "many": "x", "some": 1}
				all["users/u01"] = fields{"role": 1, "kind": "b", "many": 1, "some": 1}
			}, nil, []string{
				`where[0]: role is missing, or of another type, in 11 of 12, which the rule keeps: to delete these, too, write ` +
					`{"field": "role", "==": "admin"} into "unless" instead`,
				`where[1]: kind is missing, or of another type, in 10 of 12, which the rule keeps: to delete these, too, write ` +
					`{"field": "kind", "in": ["a","b"]} into "unless" instead`}},
		"another field of a collection that the rule names": {with(users, fields{"with": array{fields{"collection": "groups", "field": "memberIds[]", "remove": true}}}),
			func(all map[string]fields) {
				all["users/kJ3hd8aXq1"], all["users/pQ9sLm2Zt7"] = fields{}, fields{}
				all["groups/g1"] = fields{"memberIds": array{"kJ3hd8aXq1", "pQ9sLm2Zt7"}, "createdBy": "kJ3hd8aXq1"}
			}, nil, []string{keep("groups", "createdBy")}},
		"what the rule deletes along, and what keeps": {with(users, fields{"with": array{fields{"collection": "posts", "field": "author"},
			fields{"document": "carts/{cart}"}, fields{"subcollection": "notes", "with": array{fields{"document": "marks/{mark}"}}}},
			"unless": array{fields{"collection": "orders", "field": "buyer"}}}),
			func(all map[string]fields) {
				for i := range 6 {
					id := fmt.Sprintf("person%02d", i)
					all["users/"+id] = fields{"cart": "cart-of-" + id}
					all["users/"+id+"/notes/n"] = fields{"mark": "mark-of-" + id}
					all["marks/mark-of-"+id] = fields{"user": id}
					all["posts/post00"+id] = fields{"author": id, "authorPath": "users/" + id}
					all["carts/cart-of-"+id] = fields{"user": id}
					all["orders/order00"+id] = fields{"buyer": id, "by": fields{"id": id}}
				}
				all["orders/order-of-two"] = fields{"buyer": "person00", "seller": "person01"}
			}, nil, []string{keep("orders", "seller")}},
		"many collections, and documents that were not looked at": {users, func(all map[string]fields) {
			for i := range 130 {
				all[fmt.Sprintf("users/person%03d", i)] = fields{}
			}
			for i := range 70 {
				all[fmt.Sprintf("other%02d/x", i)] = fields{"user": "none", "name": "a name"}
			}
			for _, name := range []string{"other02", "other31", "other58"} {
				all[name+"/a"] = fields{"a": "person128", "b": "status", "userId": "p", "c": "person1xx"}
				all[name+"/z"] = fields{"a": "person001"}
			}
		}, nil, []string{keep("other02", "a"), keep("other31", "a"), keep("other58", "a"), "nobody looked whether documents of these " +
			"collections refer to what is deleted: other00, other04, other08, other13, other17 and 11 others"}},
		"short ids in a field of the name": {users, func(all map[string]fields) {
			all["tasks/t"] = fields{"userId": "u01", "state": "u01"}
		}, nil, []string{keep("tasks", "userId")}},
		"documents that are deleted along": {fields{"collection": "orders", "age": "any", "maxDuePercent": 100, "with": array{fields{"document": "addresses/{addressId}"},
			fields{"collection": "notes", "field": "order"}, fields{"subcollection": "lines"}}}, func(all map[string]fields) {
			for i := range 4 {
				order := fmt.Sprintf("order%04d", i)
				all["orders/"+order] = fields{"addressId": fmt.Sprintf("addr%06d", i)}
				all[fmt.Sprintf("addresses/addr%06d", i)] = fields{"s": 1, "next": "addr000001"}
				all[fmt.Sprintf("notes/note%04d", i)] = fields{"order": order, "address": "addr000001"}
				all["orders/"+order+"/lines/line01"] = fields{}
			}
			all["customers/c"] = fields{"defaultAddress": "addr000001", "pinned": array{"note0001"}, "line": "/orders/order0001/lines/line01", "word": "line01"}
		}, nil, []string{
			`with[0]: documents of customers refer to documents of addresses by defaultAddress, and would refer to nothing without them: to keep such addresses, ` +
				`add {"collection": "customers", "field": "defaultAddress"} to its "unless"; to delete the customers with them, add it to its "with"`,
			`with[1]: documents of customers refer to documents of notes by pinned[], and would refer to nothing without them: to keep such notes, ` +
				`add {"collection": "customers", "field": "pinned[]"} to its "unless"; to take them out of the customers, add it to its "with", beside "remove": true`,
			`with[2]: documents of customers refer to documents of orders/{id}/lines by line, and would refer to nothing without them: to keep such lines, ` +
				`add {"collection": "customers", "field": "line"} to its "unless"; to delete the customers with them, add it to its "with"`}},
		"files that are deleted along": {fields{"collection": "posts", "age": "any", "maxDuePercent": 100, "with": array{fields{"objects": "pics/**", "field": "pic"},
			fields{"objects": "faces/**", "field": "faces[].url"}}}, func(all map[string]fields) {
			const url = "https://firebasestorage.googleapis.com/v0/b/b/o/"
			all["posts/post000001"] = fields{"pic": url + "pics%2Fa.jpg?alt=media&token=1", "faces": array{fields{"url": "faces/f.png"}}}
			all["posts/post000002"] = fields{"pic": "gs://b/pics/b.jpg", "faces": array{fields{"url": "faces/g.png"}}}
			all["albums/a"] = fields{"cover": "pics/a.jpg", "other": "pics/c.jpg", "faces": array{"faces/f.png"}}
			for i := range 12 {
				all[fmt.Sprintf("shops/s%02d", i)] = fields{"pic": fmt.Sprintf("gs://b/pics/%d.jpg", i)}
			}
			all["shops/z"] = fields{"pic": "gs://b/pics/b.jpg"}
		}, nil, []string{
			`with[0]: documents of albums refer to files below pics/ by cover, and would refer to nothing without them: leave this entry out, ` +
				`and let a rule about files delete them, with {"collection": "albums", "field": "cover"} and {"collection": "posts", "field": "pic"} in "gone"`,
			`with[0]: documents of shops refer to files below pics/ by pic, and would refer to nothing without them: leave this entry out, ` +
				`and let a rule about files delete them, with {"collection": "shops", "field": "pic"} and {"collection": "posts", "field": "pic"} in "gone"`,
			`with[1]: documents of albums refer to files below faces/ by faces[], and would refer to nothing without them: leave this entry out, ` +
				`and let a rule about files delete them, with {"collection": "albums", "field": "faces[]"} and {"collection": "posts", "field": "faces[].url"} in "gone"`}},
		"accounts": {fields{"accounts": "anonymous", "age": fields{"by": "lastActive", "days": 30}, "with": array{fields{"document": "users/{uid}"}}},
			func(all map[string]fields) {
				all["users/kJ3hd8aXq1"] = fields{"uid": "kJ3hd8aXq1"}
				all["games/g1"], all["games/g2"] = fields{"owner": "kJ3hd8aXq1"}, fields{"player": "zzzzzzzzzz"}
				all["likes/l"] = fields{"by": "zzzzzzzzzz"}
			}, []string{"kJ3hd8aXq1"}, []string{`documents of games refer to accounts that are due by owner, and would refer to nothing without them: ` +
				`to delete these, too, write a rule about games with {"account": "{owner}"} in "gone"`}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, tt.rule)
			all := map[string]fields{}
			tt.data(all)
			if len(all) > 0 && all["users/person000"] == nil && all["users/kJ3hd8aXq1"] == nil {
				twelve(all, "users/u", func(i int) fields {
					if has := all[fmt.Sprintf("users/u%02d", i)]; has != nil {
						return has
					}
					return fields{}
				})
			}
			for path, data := range all {
				f.Set(t, path, stored(t, f, data).(fields))
			}
			var meter usage.Meter
			got := doubts.Of(usage.NewContext(t.Context(), &meter), reader(t, f), nil, *entry(t, tt.rule).Rule, nil, append([]string{"something"}, tt.due...))
			enginetest.Want(t, "doubts", tt.want, got)
			if reads := meter.Usage().FirestoreReads; reads > 300 {
				t.Errorf("%d reads", reads)
			}
		})
	}
}
