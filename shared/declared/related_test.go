package declared_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

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
		"below, none":          {below, []string{"holds/d00"}, 3, ""}, // which is in a collection of that name
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
			f.SetMany(t, 3, func(i int) (string, fields) {
				return fmt.Sprintf("drafts/d%02d", i), fields{"updatedAt": old, "author": "ken"}
			})
			f.SetMany(t, 3, func(i int) (string, fields) { return fmt.Sprintf("rooms/r%d/notes/n", i), fields{"target": "holds/h"} })
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

// TestEmptyCollectionsAreToldOnce: of those that differ by the documents above them, one is named, with how many are like it.
func TestEmptyCollectionsAreToldOnce(t *testing.T) {
	f := start(t, fields{"objects": "files/{t}/{e}/**", "age": fields{"by": "timeCreated", "days": 1},
		"gone": array{fields{"document": "tenants/{t}/events/{e}"}}})
	for _, of := range []string{"t1/e1", "t1/e2", "t2/e1", "t3/e1", "t4/e1"} {
		f.Put(t, "files/"+of+"/a.png", nil, nil)
	}
	f.Now = time.Now().AddDate(0, 0, 9)
	f.Set(t, "tenants/t4/events/other", fields{"x": true})
	got := f.Run(t, "")
	enginetest.WantAborted(t, got, "empty collection: tenants/t1/events, like 2 others, holds no document at all",
		"If tenants/t1 was deleted, have another rule delete what is left of it, by whether tenants/t1 exists. If it is rightly empty")
	enginetest.Want(t, "told", 1, len(got.Failures))
	enginetest.Want(t, "files", 5, len(f.Objects(t)))
}

// ofAccounts returns a rule that looks for accounts, in gone or in unless.
func ofAccounts(role string) fields {
	return fields{"collection": "prefs", "age": fields{"field": "at", "days": 1}, role: array{fields{"account": "{id}"}},
		"maxDuePercent": 100}
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
		"not to be asked":    {rule: gone, refused: errors.New("PERMISSION_DENIED"), failed: "some accounts were not found, and it is unknown whether"},
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
				if said := fmt.Sprint(got.Failures); !strings.Contains(said, tt.failed) {
					t.Errorf("failures %s, want %q", said, tt.failed)
				}
				enginetest.Want(t, "left", 60, left)
			case tt.exist:
				enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
			default:
				enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete pref", gone))
				enginetest.Want(t, "left", 60-gone, left)
			}
			enginetest.Want(t, "how often it was asked", min(1, gone), asked)
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
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete event", 1))
	enginetest.Want(t, "kept", map[string]int{"no usable age": 2, "not due": 1}, got.Kept)
	if said := fmt.Sprint(f.LogLines(t)); !strings.Contains(said, "events/js, events/us: kept, no usable endsAt") {
		t.Errorf("the log does not name them: %s", said)
	}
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
