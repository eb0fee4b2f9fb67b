package declared_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestWithThatLeadsToNothing: a collection, a field, a document or a folder of with that is misspelt would leave behind what belongs to
// the items. Plan and run name it, and the first run that deletes does nothing.
func TestWithThatLeadsToNothing(t *testing.T) {
	t.Parallel()
	const empty, hasNot = "the collection %s has no document", "no document of %s has %s"
	said := func(key, meant, format string, args ...any) string {
		return key + ": " + fmt.Sprintf(format, args...) + ", so nothing is deleted along by it: is " + meant + "?"
	}
	below := func(with fields) fields { return fields{"subcollection": "parts", "with": array{with}} }
	for name, tt := range map[string]struct {
		with fields
		told string // empty: nothing is doubtful
	}{
		"collection":              {fields{"collection": "commnts", "field": "of"}, said("with[0]", "it comments", empty, "commnts")},
		"field":                   {fields{"collection": "comments", "field": "off"}, said("with[0]", "it of", hasNot, "comments", "off")},
		"field that is null":      {fields{"collection": "comments", "field": "null"}, said("with[0]", "that its name", hasNot, "comments", "null")},
		"subcollection":           {fields{"subcollection": "part"}, said("with[0]", "that its name", empty, "drafts/{id}/part")},
		"document":                {fields{"document": "user/{by}"}, said("with[0]", "it users", empty, "user")},
		"document's field":        {fields{"document": "users/{bye}"}, said("with[0]", "it by", hasNot, "drafts", "bye")},
		"a list of documents":     {fields{"document": "users/{bye[]}"}, said("with[0]", "it by", hasNot, "drafts", "bye")},
		"entry":                   {fields{"collection": "teams", "field": "member[]", "remove": true}, said("with[0]", "it members", hasNot, "teams", "member")},
		"key":                     {fields{"collection": "teams", "field": "owner.{id}", "remove": true}, said("with[0]", "it owners", hasNot, "teams", "owner")},
		"folder":                  {fields{"objects": "cover/{id}/**"}, said("with[0]", "that its name", "no file is below %s", "cover/")},
		"folder of a field":       {fields{"objects": "cover/**", "field": "cover"}, said("with[0]", "that its name", "no file is below %s", "cover/")},
		"field of a folder":       {fields{"objects": "covers/**", "field": "covr"}, said("with[0]", "it cover", hasNot, "drafts", "covr")},
		"list of maps":            {fields{"objects": "covers/**", "field": "photos[].ur"}, ""}, // an index knows of no element
		"list":                    {fields{"objects": "covers/**", "field": "photo[].url"}, said("with[0]", "it photos", hasNot, "drafts", "photo")},
		"nested subcollection":    {below(fields{"subcollection": "not"}), said("with[0].with[0]", "that its name", empty, "drafts/{id}/parts/{id}/not")},
		"nested document's field": {below(fields{"document": "users/{bye}"}), said("with[0].with[0]", "it by", hasNot, "drafts/{id}/parts", "bye")},
		"nested field":            {below(fields{"collection": "comments", "field": "off"}), said("with[0].with[0]", "it of", hasNot, "comments", "off")},
		"all is there":            {below(fields{"document": "users/{by}"}), ""},
		"of others":               {fields{"collection": "comments", "field": "of"}, ""},
		"everything":              {fields{"subcollection": "**"}, ""},
		"files":                   {fields{"objects": "covers/**", "field": "cover"}, ""},
		"an account":              {fields{"account": "{id}"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(fields{"maxDuePercent": 100, "with": array{tt.with}}))
			f.Set(t, "comments/c", fields{"of": "other", "null": nil})
			f.Set(t, "teams/t", fields{"members": array{"other"}, "owners": fields{"other": true}})
			f.Set(t, "users/ken", fields{"x": true})
			f.Set(t, "drafts/young", fields{"updatedAt": now, "by": "ken", "cover": "covers/x.png", "photos": array{fields{"url": "covers/x.png"}}})
			f.Set(t, "drafts/young/parts/p", fields{"by": "ken"})
			f.Set(t, "drafts/young/parts/p/notes/n", fields{"x": true})
			f.Put(t, "covers/x.png", nil, nil)
			f.Set(t, "drafts/due", fields{"updatedAt": old})
			if tt.told == "" {
				rep := f.Run(t, "")
				enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete draft", 1))
				enginetest.Want(t, "warnings", 0, len(rep.Warnings))
				return
			}
			for _, preview := range []string{`{"dryRun":true}`, `{"dryRun":true,"force":true}`, `{"force":true}`} {
				rep := f.Run(t, preview)
				enginetest.WantAborted(t, rep, "never found: "+tt.told+" Nothing is deleted this time")
				enginetest.Want(t, "warnings of "+preview, []string{tt.told}, rep.Warnings)
			}
			enginetest.Want(t, "drafts", []string{"due", "young"}, f.IDs(t, "drafts"))
			check.Holds(t, fmt.Sprint(f.LogLines(t)), tt.told)
			f.Now = now.Add(time.Hour)
			rep := f.Run(t, "")
			enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete draft", 1))
			enginetest.Want(t, "warnings of the second run", []string{tt.told}, rep.Warnings)
			f.Now = f.Now.Add(time.Hour)
			enginetest.Want(t, "warnings where nothing is due", []string{tt.told}, f.Run(t, "").Warnings)
			f.Set(t, "drafts/due", fields{"updatedAt": old})
			f.Now = f.Now.Add(time.Hour)
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
		})
	}
}

// TestExceptionsOfWithThatLeadToNothing: a collection or a field that is misspelt in the unless of what is deleted along, or in that of
// another rule about it, keeps nothing, so nothing is deleted.
func TestExceptionsOfWithThatLeadToNothing(t *testing.T) {
	t.Parallel()
	const empty, hasNot = "hold holds no document at all", "no document of holds has off,"
	parts := func(unless ...any) array { return array{fields{"subcollection": "parts", "unless": unless}} }
	below := fields{"subcollection": "parts", "with": array{fields{"subcollection": "notes", "unless": array{fields{"document": "hold/{id}"}}}}}
	others := `{"name":"cleanupParts","schedule":"0 4 * * *","collection":"drafts/{d}/parts","age":"any","unless":[{"document":"hold/{id}"}]}`
	for name, tt := range map[string]struct {
		with   array
		others []string
		told   string // empty: nothing is doubtful
	}{
		"a document":              {parts(fields{"document": "hold/{id}"}), nil, empty},
		"a field":                 {parts(fields{"field": "pin", "==": true}, fields{"collection": "holds", "field": "off"}), nil, hasNot},
		"below":                   {array{below}, nil, empty},
		"another rule's":          {array{fields{"subcollection": "parts"}}, []string{others}, empty},
		"of others":               {parts(fields{"document": "holds/{id}"}, fields{"collection": "holds", "field": "of"}), nil, ""},
		"another rule's, of some": {array{fields{"subcollection": "parts"}}, []string{strings.Replace(others, "hold/", "holds/", 1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := startEntry(t, entry(t, drafts(fields{"maxDuePercent": 100, "with": tt.with}), tt.others...))
			for _, path := range []string{"holds/x", "drafts/due/parts/p", "drafts/due/parts/p/notes/n"} {
				f.Set(t, path, fields{"of": "other"})
			}
			f.Set(t, "drafts/due", fields{"updatedAt": old})
			for range 2 {
				rep := f.Run(t, "")
				if f.Now = f.Now.Add(time.Hour); tt.told == "" {
					enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete draft", 1))
					return
				}
				enginetest.WantAborted(t, rep, "empty collection: "+tt.told)
			}
			enginetest.WantAborted(t, f.Run(t, `{"force":true}`))
			enginetest.Want(t, "drafts", []string{"due"}, f.IDs(t, "drafts"))
		})
	}
}

// TestNothingMoreToDeleteAlong: where nothing is due, nobody is told of what was deleted with the last items.
func TestNothingMoreToDeleteAlong(t *testing.T) {
	f := start(t, drafts(fields{"maxDuePercent": 100, "with": array{fields{"subcollection": "parts"}}}))
	f.Set(t, "drafts/due", fields{"updatedAt": old})
	f.Set(t, "drafts/due/parts/p", fields{"x": true})
	f.Set(t, "drafts/due/notes/n", fields{"x": true}) // which stays, and is told
	enginetest.Want(t, "warnings", 1, len(f.Run(t, "").Warnings))
	f.Now = f.Now.Add(time.Hour)
	rep := f.Run(t, "")
	enginetest.WantReport(t, rep, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "warnings where nothing is due", 0, len(rep.Warnings))
}

// TestWithOfAccountsThatLeadsToNothing: the same of what is deleted together with accounts.
func TestWithOfAccountsThatLeadsToNothing(t *testing.T) {
	f := start(t, guests(fields{"with": array{fields{"document": "user/{uid}"}, fields{"document": "profiles/{uid}", "with": array{fields{"subcollection": "order"}}}}}))
	f.Import(t, signedIn("one", old))
	rep := f.Run(t, "")
	enginetest.WantAborted(t, rep, "never found: with[0]: the collection user has no document, so nothing is deleted along by it: is that its name?; "+
		"with[1]: the collection profiles has no document, so nothing is deleted along by it: is that its name? Nothing is deleted")
	f.Set(t, "user/other", fields{"x": true})
	f.Set(t, "profiles/one/orders/o", fields{"x": true})
	f.Set(t, "profiles/other", fields{"x": true})
	f.Now = f.Now.Add(time.Hour)
	enginetest.WantAborted(t, f.Run(t, ""), "never found: with[1].with[0]: the collection profiles/{id}/order has no document")
	enginetest.Want(t, "accounts", []string{"one"}, f.Accounts(t))
}

// TestConditionThatKeepsNothing: a condition of unless on a field that no document has keeps nothing. Plan and run name it, and the
// first run that deletes does nothing.
func TestConditionThatKeepsNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		unless fields
		told   string // empty: nothing is doubtful
	}{
		"misspelt":                 {fields{"field": "pinned", "==": true}, "unless[0]: no document of drafts has pinned, so it keeps nothing: is it isPinned?"},
		"unlike any":               {fields{"field": "archived.by", "is": "set"}, "unless[0]: no document of drafts has archived.by, so it keeps nothing: is that its name?"},
		"one has it":               {fields{"field": "isPinned", "==": true}, ""},
		"one has a list":           {fields{"field": "tags", "array-contains": "keep"}, ""},
		"the id":                   {fields{"field": "{id}", "==": "x"}, ""},
		"what is missing keeps it": {fields{"field": "done", "is": "missing"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(fields{"maxDuePercent": 100, "unless": array{tt.unless}}))
			f.Set(t, "drafts/young", fields{"updatedAt": now, "isPinned": true, "tags": array{"x"}})
			f.Set(t, "drafts/due", fields{"updatedAt": old, "done": true})
			if tt.told != "" {
				rep := f.Run(t, "")
				enginetest.WantAborted(t, rep, "never found: "+tt.told+" Nothing is deleted this time")
				enginetest.Want(t, "warnings", []string{tt.told}, rep.Warnings)
				f.Now = now.Add(time.Hour)
			}
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete draft", 1))
		})
	}
}

// TestConditionElsewhereThatKeepsNothing: the same of documents of many collections, of what is deleted along, of what is looked
// for, of accounts and of files. Where not all can be looked at, the first run does nothing only if a field is called alike.
func TestConditionElsewhereThatKeepsNothing(t *testing.T) {
	t.Parallel()
	is := func(field string) fields { return fields{"field": field, "==": true} }
	at := fields{"field": "at", "days": 7}
	pings := func(source, name, field string) fields {
		return fields{source: name, "age": at, "unless": array{is(field)}}
	}
	zones := func(key string, of fields) fields { return fields{"collection": "zones", "age": at, key: array{of}} }
	for name, tt := range map[string]struct {
		rule fields
		told string // empty: nothing is doubtful
	}{
		"many collections":              {pings("collection", "zones/{z}/pings", "SOS"), "unless[0]: no document of zones/{z}/pings that was looked at has SOS, so it keeps nothing: is it sos?"},
		"many collections, one has it":  {pings("collection", "zones/{z}/pings", "sos"), ""},
		"many collections, unlike any":  {pings("collection", "zones/{z}/pings", "locked"), ""},
		"many collections, all of them": {pings("collection", "zones/{z}/logs", "locked"), "unless[0]: no document of zones/{z}/logs has locked, so it keeps nothing: is that its name?"},
		"a collection group":            {pings("collectionGroup", "pings", "SOS"), "unless[0]: no document of pings that was looked at has SOS, so it keeps nothing: is it sos?"},
		"in a map":                      {pings("collection", "zones/{z}/logs", "meta.kep"), "unless[0]: no document of zones/{z}/logs has meta.kep, so it keeps nothing: is it meta.keep?"},
		"what is deleted along": {zones("with", fields{"subcollection": "logs", "unless": array{is("opn")}}),
			"with[0].unless[0]: no document of zones/{id}/logs has opn, so it keeps nothing: is it open?"},
		"what is deleted along by a field": {zones("with", fields{"collection": "bills", "field": "zone", "unless": array{is("opn")}}),
			"with[0].unless[0]: no document of bills has opn, so it keeps nothing: is it open?"},
		"what is looked for, gone": {zones("gone", fields{"collection": "bills", "field": "zone", "where": array{is("state")}}),
			"gone[0].where[0]: no document of bills has state, so it keeps nothing: is it status?"},
		"what is looked for, unless": {zones("unless", fields{"document": "bills/{id}", "where": array{fields{"field": "statu", ">": 3}}}),
			"unless[0].where[0]: no document of bills has statu, so it keeps nothing: is it status?"},
		"what is looked for, missing": {zones("unless", fields{"document": "bills/{id}", "where": array{fields{"field": "statu", "is": "missing"}}}), ""},
		"what is looked for along": {zones("with", fields{"subcollection": "logs", "unless": array{fields{"collection": "bills", "field": "zone", "where": array{is("state")}}}}),
			"with[0].unless[0].where[0]: no document of bills has state, so it keeps nothing: is it status?"},
		"accounts":                   {fields{"accounts": "all", "age": fields{"by": "creationTime", "days": 7}, "unless": array{is("claims.stuff")}}, "unless[0]: no account has claims.stuff, so it keeps nothing: is it claims.staff?"},
		"accounts, one has it":       {fields{"accounts": "all", "age": fields{"by": "creationTime", "days": 7}, "unless": array{is("claims.staff")}}, ""},
		"files":                      {fields{"objects": "tmp/**", "gone": "nobody", "age": fields{"days": 1}, "unless": array{fields{"field": "metadata.kep", "==": "yes"}}}, "unless[0]: no file has metadata.kep, so it keeps nothing: is it metadata.keep?"},
		"files, one has it":          {fields{"objects": "tmp/**", "gone": "nobody", "age": fields{"days": 1}, "unless": array{fields{"field": "metadata.keep", "==": "yes"}}}, ""},
		"files, by what they all do": {fields{"objects": "tmp/**", "gone": "nobody", "age": fields{"days": 1}, "unless": array{fields{"field": "metadata", "is": "empty"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, with(tt.rule, fields{"maxDuePercent": 100}))
			for n := range 25 {
				f.Set(t, fmt.Sprintf("zones/z/pings/p%02d", n), fields{"at": old, "sos": n == 3})
			}
			f.Set(t, "zones/z", fields{"at": old})
			f.Set(t, "zones/z/logs/l", fields{"at": old, "open": false, "meta": fields{"keep": false}})
			f.Set(t, "bills/b", fields{"zone": "other", "status": "x", "open": false})
			f.Import(t, signedIn("u", old).CustomClaims(map[string]any{"staff": false}))
			f.Put(t, "tmp/1.png", map[string]string{"keep": "no"}, nil)
			f.Now = time.Now().AddDate(1, 0, 0)
			f.Clock = func() time.Time { return f.Now }
			if tt.told != "" {
				rep := f.Run(t, "")
				enginetest.WantAborted(t, rep, "never found: "+tt.told+" Nothing is deleted this time")
				enginetest.Want(t, fmt.Sprint("that it is told in ", rep.Warnings), true, slices.Contains(rep.Warnings, tt.told))
				f.Now = f.Now.Add(time.Hour)
			}
			rep := f.Run(t, "")
			done := 0
			for _, counts := range rep.Actions {
				done += counts.Done
			}
			if rep.Status != report.Completed || done == 0 {
				t.Errorf("%s, %d done", rep.Status, done)
			}
		})
	}
}

// TestExceptionsThatNobodyWrote: a collection of unless that holds no document, such as a misspelt one, must not mean that there
// are no exceptions. That most documents of it do not exist is normal.
func TestExceptionsThatNobodyWrote(t *testing.T) {
	t.Parallel()
	holds := fields{"unless": array{fields{"document": "legalHolds/{id}"}}}
	two := fields{"unless": array{fields{"document": "legalHolds/{id}"}, fields{"document": "users/{author}"}}}
	below := fields{"unless": array{fields{"document": "users/{author}/holds/{id}"}}}
	ofNotes := func(role, path string) fields {
		return fields{"collection": "rooms/{room}/notes", "age": "any", "maxDuePercent": 100, role: array{fields{"document": path}}}
	}
	many := func(path string) (all []string) {
		for n := range 25 {
			all = append(all, fmt.Sprintf(path, n))
		}
		return all
	}
	parent, target, named := ofNotes("gone", "{parent}"), ofNotes("unless", "{target}"), ofNotes("unless", "{parent}/holds/{id}")
	for name, tt := range map[string]struct {
		rule      fields
		documents []string // besides three drafts and three notes
		due       int      // -1: nothing is done
		empty     string   // the collection that is named
	}{
		"misspelt": {fields{"unless": array{fields{"document": "legalHold/{id}"}}}, []string{"legalHolds/d00"}, -1, "legalHold"},
		"none":     {holds, nil, -1, "legalHolds"},
		"a blank in its name": {fields{"unless": array{fields{"document": "legal holds/{id}"}}}, []string{"legal/x"}, -1,
			"legal holds"},
		"of others":            {holds, []string{"legalHolds/other"}, 3, ""},
		"of one":               {holds, []string{"legalHolds/d00"}, 2, ""},
		"two, one is empty":    {two, []string{"users/ken"}, -1, "legalHolds"},
		"two":                  {two, []string{"legalHolds/d00", "users/other"}, 2, ""},
		"below, none":          {below, []string{"holds/d00", "a/b/holds/d00", "users/ken/x/y/holds/d00", "zones/z/holds/d00"}, -1, "users/{author}/holds"},
		"below, behind many":   {below, append(many("a/b%d/holds/d00"), "users/other/holds/d00"), 3, ""},
		"below, many others":   {below, many("a/b%d/holds/d00"), -1, "users/{author}/holds"},
		"gone, elsewhere":      {ofNotes("gone", "rooms/{room}/holds/{id}"), []string{"holds/n", "users/u/holds/n"}, -1, "rooms/{room}/holds"},
		"below, none anywhere": {below, []string{"users/ken"}, -1, "users/{author}/holds"},
		"below, of others":     {below, []string{"users/other/holds/d00"}, 3, ""},
		"below, of one":        {below, []string{"users/ken/holds/d00"}, 2, ""},
		// Where the item says in which collection something must be.
		"parent, none":        {parent, nil, -1, "rooms"},
		"parent, of others":   {parent, []string{"rooms/other"}, 3, ""},
		"path, none":          {target, []string{"rooms/x"}, -1, "holds"},
		"path, of others":     {target, []string{"holds/other"}, 3, ""},
		"below it, none":      {named, []string{"rooms/x"}, -1, "rooms/{room}/holds"},
		"below it, of others": {named, []string{"rooms/x/holds/n"}, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(tt.rule))
			for _, path := range tt.documents {
				f.Set(t, path, fields{"x": true})
			}
			f.SetAlike(t, 3, "drafts/d%02d", fields{"updatedAt": old, "author": "ken"})
			f.SetAlike(t, 3, "rooms/r%d/notes/n", fields{"target": "holds/h"})
			before := left(f, t)
			got := f.Run(t, "")
			if tt.due >= 0 {
				enginetest.WantReport(t, got, report.Completed, enginetest.Done(entry(t, drafts(tt.rule)).Kind(), tt.due))
				return
			}
			enginetest.WantAborted(t, got, "empty collection: "+tt.empty+" holds no document at all")
			enginetest.WantAborted(t, f.Run(t, `{"force":true}`))
			enginetest.Want(t, "left", before, left(f, t))
		})
	}
}

// TestEmptyCollectionsAreToldOnce: of those that differ by the documents above them, one is named.
func TestEmptyCollectionsAreToldOnce(t *testing.T) {
	f := start(t, fields{"objects": "files/{t}/{e}/**", "age": fields{"by": "timeCreated", "days": 1},
		"gone": array{fields{"document": "tenants/{t}/events/{e}"}}})
	for _, of := range []string{"t1/e1", "t1/e2", "t2/e1", "t3/e1", "t4/e1"} {
		f.Put(t, "files/"+of+"/a.png", nil, nil)
	}
	f.Now = time.Now().AddDate(0, 0, 9)
	f.Set(t, "tenants/t4/events/other", fields{"x": true})
	got := f.Run(t, "")
	enginetest.WantAborted(t, got, "empty collection: tenants/t", "/events holds no document at all", "If it is rightly empty")
	enginetest.Want(t, "told", 1, len(got.Failures))
	enginetest.Want(t, "files", 5, len(f.Objects(t)))
}

// ofAccounts returns a rule that looks for accounts, in gone or in unless.
func ofAccounts(role string) fields {
	return fields{"collection": "prefs", "age": fields{"field": "at", "days": 1}, role: array{fields{"account": "{id}"}},
		"maxDuePercent": 100}
}

// TestNoAccountIsFound: plan and run say if none exists of three accounts or more without which documents are due.
func TestNoAccountIsFound(t *testing.T) {
	f := start(t, ofAccounts("gone"))
	none := []string{"gone[0]: no account {id} was found, whatever the item, so all of them look gone: is that their uid?"}
	for i, want := range [][]string{nil, nil, none} {
		f.Set(t, fmt.Sprintf("prefs/u%d", i), fields{"at": old})
		enginetest.Want(t, fmt.Sprint(i+1, " accounts"), want, f.Run(t, `{"dryRun":true}`).Warnings)
	}
	f.SignUp(t, "u2")
	enginetest.Want(t, "where one exists", []string(nil), f.Run(t, "").Warnings)
}

// TestTenants: an account of a tenant is not found, so nobody can tell it from one that is gone.
func TestTenants(t *testing.T) {
	t.Parallel()
	gone, unless := ofAccounts("gone"), ofAccounts("unless")
	allowed := "tenants: the project allows tenants"
	for name, tt := range map[string]struct {
		rule    fields
		request string
		tenants bool
		refused error  // why Authentication does not answer
		exist   bool   // all accounts
		aborted string // what is said; both empty: the documents without an account go
		failed  string
	}{
		"none":               {rule: gone},
		"gone":               {rule: gone, tenants: true, aborted: allowed},
		"unless":             {rule: unless, tenants: true, aborted: allowed},
		"forced":             {rule: gone, request: `{"force":true}`, tenants: true, aborted: allowed},
		"preview":            {rule: gone, request: `{"dryRun":true}`, tenants: true, aborted: allowed},
		"not to be asked":    {rule: gone, refused: &googleapi.Error{Code: http.StatusForbidden}, failed: "some accounts were not found, and it is unknown whether"},
		"all accounts exist": {rule: gone, tenants: true, refused: errors.New("it need not be asked"), exist: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, tt.rule)
			asked, gone := 0, 25
			if tt.exist {
				gone = 0
			}
			watch(f).before = func(method string) error {
				if method != "Tenants" {
					return nil
				}
				asked++
				return tt.refused
			}
			for i := range 60 {
				uid := fmt.Sprintf("u%02d", i)
				if f.Set(t, "prefs/"+uid, fields{"at": old}); i >= gone {
					f.SignUp(t, uid)
				}
			}
			if tt.tenants {
				f.AllowTenants(t)
			}
			got := f.Run(t, tt.request)
			switch left := len(f.Documents(t, "prefs")); {
			case tt.aborted != "":
				enginetest.WantAborted(t, got, tt.aborted)
				enginetest.Want(t, "left", 60, left)
			case tt.failed != "": // and not aborted, or a retry would not ask again
				enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{})
				check.Holds(t, fmt.Sprint(got.Failures), tt.failed)
				enginetest.Want(t, "left", 60, left)
			case tt.exist:
				enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
			default:
				enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete pref", gone))
				enginetest.Want(t, "left", 60-gone, left)
			}
			once := asked >= 1 && asked <= 2 // the Firebase Emulator Suite, which has no configuration, is asked for tenants, too
			enginetest.Want(t, fmt.Sprintf("asked once, of %d calls", asked), gone > 0, once)
		})
	}
}

// TestTenantsThatComeLater: each run asks anew, though the same instance answers it.
func TestTenantsThatComeLater(t *testing.T) {
	f := start(t, ofAccounts("gone"))
	for i := range 3 {
		f.Set(t, fmt.Sprintf("prefs/u%02d", i), fields{"at": old})
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete pref", 3))
	f.Set(t, "prefs/u03", fields{"at": old})
	f.AllowTenants(t)
	f.Now = now.Add(time.Hour)
	enginetest.WantAborted(t, f.Run(t, ""), "tenants: ")
	enginetest.Want(t, "left", 1, len(f.Documents(t, "prefs")))
}

// TestDatesWithin: a date is over 36 hours after it began in UTC, where that is latest; until then it counts as within. What
// cannot be read as a time keeps, wherever it stands among those that can.
func TestDatesWithin(t *testing.T) {
	f := start(t, fields{"collection": "chats", "age": "any", "maxDuePercent": 100,
		"unless": array{fields{"subcollection": "messages", "within": fields{"field": "on", "as": "text", "days": 30}}}})
	odd := []string{"2/14/2026, 3:00:00 PM", "20.5.2026", "2-14-2026", "2 Feb 2026", "19:30 on 2 Feb", "2", "14.2.2026", "3/14/2026", "Feb 2"}
	past := []string{"1971-01-01", "1999-12-31", "2000-01-01", "2024-02-14", "2024-02-14T10:00:00Z"}
	for i, on := range slices.Concat(odd, past, []string{"2026-01-01"}) {
		f.Set(t, fmt.Sprintf("chats/c%02d", i), fields{"x": true})
		f.Set(t, fmt.Sprintf("chats/c%02d/messages/m", i), fields{"on": on})
	}
	over := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC).AddDate(0, 0, 30)
	f.Now = over.Add(-time.Microsecond)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete chat", len(past)))
	f.Now = over
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete chat", 1))
	enginetest.Want(t, "left", []string{"c00", "c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08"}, f.IDs(t, "chats"))
}

// TestTextsThatAreNoTimes: what no age can read is counted and named, also where it sorts behind all dates. Times far ahead are not.
func TestTextsThatAreNoTimes(t *testing.T) {
	f := start(t, fields{"collection": "events", "age": fields{"field": "endsAt", "as": "text", "days": 30}, "maxDuePercent": 100})
	for id, text := range map[string]string{"js": "Sat Nov 21 2020 10:00:00 GMT+0100", "us": "Nov 3, 2020", "never": "9999-12-31T00:00:00Z", "dart": "2020-11-03 10:00:00.123"} {
		f.Set(t, "events/"+id, fields{"endsAt": text})
	}
	enginetest.WantKept(t, f.Run(t, ""), report.Completed, enginetest.Done("delete event", 1), map[string]int{"no usable age": 2, "not due": 1})
	check.Holds(t, fmt.Sprint(f.LogLines(t)), "events/js, events/us: kept, no usable endsAt")
}

// TestSeveralOwnersAreLookedForEverywhere: a collection of owners that is misspelt, and therefore empty, stops the run.
func TestSeveralOwnersAreLookedForEverywhere(t *testing.T) {
	f := start(t, fields{"objects": "avatars/{uid}.png", "age": fields{"days": 1}, "gone": array{fields{"document": array{"users/{uid}", "admin/{uid}"}}}})
	f.Now = time.Now().AddDate(1, 0, 0)
	f.Clock = func() time.Time { return f.Now }
	f.Set(t, "users/hana", fields{"n": int64(1)})
	f.Put(t, "avatars/hana.png", nil, nil)
	f.Put(t, "avatars/ken.png", nil, nil)
	enginetest.WantAborted(t, f.Run(t, ""), "empty collection: admin ")
	f.Set(t, "admin/root", fields{"n": int64(1)})
	f.Now = f.Now.Add(time.Hour) // a retry answers the same
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete object", 1))
	enginetest.Want(t, "objects", []string{"avatars/hana.png"}, f.Objects(t))
}
