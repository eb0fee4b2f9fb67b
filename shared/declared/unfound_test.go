package declared_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
			if !strings.Contains(fmt.Sprint(f.LogLines(t)), tt.told) {
				t.Error("the log does not say it")
			}
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
		"a condition nobody has":  {parts(fields{"field": "pin", "==": true}), nil, ""},
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
