package declared_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// TestNewest: of each group, the newest stay however old they are, and what only others could tell stays too.
func TestNewest(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return old.Add(time.Duration(n) * time.Minute) }
	for name, tt := range map[string]struct {
		rule      fields
		documents map[string]fields
		gone      []string
	}{
		"of all": {fields{"collection": "builds", "unless": array{fields{"newest": 2}}},
			map[string]fields{"builds/1": {"at": at(1)}, "builds/2": {"at": at(2)}, "builds/3": {"at": at(3)}, "builds/odd": {"at": "3"}},
			[]string{"builds/1"}},
		"alike at the boundary": {fields{"collection": "builds", "unless": array{fields{"newest": 2}}},
			map[string]fields{"builds/1": {"at": at(1)}, "builds/2a": {"at": at(2)}, "builds/2b": {"at": at(2)}, "builds/3": {"at": at(3)}},
			[]string{"builds/1"}},
		"per field": {fields{"collection": "builds", "unless": array{fields{"newest": 1, "per": "app"}}},
			map[string]fields{"builds/a1": {"at": at(1), "app": "a"}, "builds/a2": {"at": at(2), "app": "a"}, "builds/b1": {"at": at(1), "app": "b"},
				"builds/1": {"at": at(1), "app": int64(1)}, "builds/1.0": {"at": at(2), "app": 1.0},
				"builds/none": {"at": at(0)}, "builds/null": {"at": at(0), "app": nil}, "builds/list": {"at": at(0), "app": array{"a"}}},
			[]string{"builds/a1", "builds/1"}},
		"per parent": {fields{"collection": "apps/{app}/builds", "unless": array{fields{"newest": 1, "per": "{parent}"}}},
			map[string]fields{"apps/a/builds/1": {"at": at(1)}, "apps/a/builds/2": {"at": at(2)}, "apps/b/builds/0": {"at": at(0)},
				"builds/9": {"at": at(9)}},
			[]string{"apps/a/builds/1"}},
		"of what a condition finds": {fields{"collection": "builds", "unless": array{fields{"newest": 1, "where": array{fields{"field": "ok", "==": true}}}}},
			map[string]fields{"builds/1": {"at": at(1), "ok": true}, "builds/2": {"at": at(2), "ok": true}, "builds/3": {"at": at(3), "ok": false},
				"builds/4": {"at": at(4)}, "builds/odd": {"at": at(0), "ok": "yes"}},
			[]string{"builds/1", "builds/3", "builds/4"}},
		"what is no time does not count": {fields{"collection": "builds", "age": fields{"field": "at", "as": "seconds", "days": 30}, "unless": array{fields{"newest": 1}}},
			map[string]fields{"builds/1": {"at": at(1).Unix()}, "builds/2": {"at": at(2).Unix()}, "builds/ms": {"at": at(2).UnixMilli()}, "builds/odd": {"at": 1e300}},
			[]string{"builds/1"}},
		"young ones count": {fields{"collection": "builds", "unless": array{fields{"newest": 1}}},
			map[string]fields{"builds/1": {"at": at(1)}, "builds/now": {"at": now}}, []string{"builds/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, with(fields{"age": fields{"field": "at", "days": 30}, "maxDuePercent": 100}, tt.rule))
			want := map[string]any{}
			for path, data := range tt.documents {
				f.Set(t, path, data)
				want[path] = data
			}
			for _, path := range tt.gone {
				delete(want, path)
			}
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete document", len(tt.gone)))
			got := f.Everything(t)
			for path := range tt.documents {
				if (got[path] != nil) != (want[path] != nil) {
					t.Errorf("%s is there: %t", path, got[path] != nil)
				}
			}
		})
	}
}

// TestReferencesToElsewhere: a reference into another database names nothing here.
func TestReferencesToElsewhere(t *testing.T) {
	f := start(t, fields{"collection": "builds", "age": fields{"field": "at", "days": 30}, "unless": array{fields{"newest": 1, "per": "app"}},
		"with": array{fields{"collection": "lists", "field": "all[]", "remove": true}}, "maxDuePercent": 100})
	here, of := f.Firestore(t).Doc("apps/a"), f.Firestore(t).Doc("builds/1")
	elsewhere, ofElsewhere := *here, *of
	for _, ref := range []*firestore.DocumentRef{&elsewhere, &ofElsewhere} {
		ref.Path = strings.Replace(ref.Path, "/(default)/", "/second/", 1)
	}
	f.Set(t, "builds/1", fields{"at": old, "app": here})
	f.Set(t, "builds/2", fields{"at": old.Add(time.Minute), "app": here})
	f.Set(t, "builds/elsewhere", fields{"at": old, "app": &elsewhere})
	f.Set(t, "lists/l", fields{"all": array{of, &ofElsewhere, "x", "1"}})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete document", 1))
	enginetest.Want(t, "left", []string{"2", "elsewhere"}, f.IDs(t, "builds"))
	left := f.Documents(t, "lists")["l"]["all"].([]any)
	if len(left) != 2 || left[0].(*firestore.DocumentRef).Path != ofElsewhere.Path || left[1] != "x" {
		t.Errorf("%v", left)
	}
}

// TestNewestIsLookedForAgain: what became one of the newest since the plan was made stays.
func TestNewestIsLookedForAgain(t *testing.T) {
	f := start(t, fields{"collection": "builds", "age": fields{"field": "at", "days": 30}, "unless": array{fields{"newest": 1}}})
	f.Set(t, "builds/1", fields{"at": old})
	f.Set(t, "builds/2", fields{"at": old.Add(time.Minute)})
	f.Hooks.BeforeApply = func() { f.Delete(t, "builds/2") }
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"delete document": {Planned: 1, Changed: 1}})
	enginetest.Want(t, "left", []string{"1"}, f.IDs(t, "builds"))
}

// TestNewestOfLargeOnes: that only their times are read, so they fit into a commit, whose undo log has what is deleted as a whole.
func TestNewestOfLargeOnes(t *testing.T) {
	f := start(t, fields{"collection": "articles/{article}/versions", "age": fields{"field": "at", "days": 30},
		"unless": array{fields{"newest": 5, "per": "{parent}"}}, "maxDuePercent": 100})
	f.Env["UNDO_DAYS"] = "7"
	for i := range 6 {
		f.Set(t, fmt.Sprintf("articles/a/versions/v%d", i), fields{"at": old.Add(time.Duration(i) * time.Minute), "text": strings.Repeat("x", 900_000)})
	}
	before := f.Documents(t, "articles/a/versions")
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete document", 1))
	enginetest.Want(t, "left", []string{"v1", "v2", "v3", "v4", "v5"}, f.IDs(t, "articles/a/versions"))
	err := f.Restorer(t, f.Clock).Undo(t.Context(), got.RunID, restore.Options{Apply: true}, func(restore.Outcome) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, f.Documents(t, "articles/a/versions")) {
		t.Error("undo brought back another document")
	}
}

// TestEntries: each entry that is due goes, and nothing else of the document.
func TestEntries(t *testing.T) {
	t.Parallel()
	token := func(at any, kind string) fields { return fields{"at": at, "kind": kind} }
	for name, tt := range map[string]struct {
		rule, before, after fields // after is nil where nothing changes
	}{
		"of a list": {fields{"remove": "tokens[]", "age": fields{"field": "tokens[].at", "days": 30}},
			fields{"tokens": array{token(old, "a"), token(now, "b"), token(nil, "c"), "x", nil, token("2001", "d"), token(old, "e")}, "n": int64(1)},
			fields{"tokens": array{token(now, "b"), token(nil, "c"), "x", nil, token("2001", "d")}, "n": int64(1)}},
		"exactly as old": {fields{"remove": "tokens[]", "age": fields{"field": "tokens[].at", "days": 30}},
			fields{"tokens": array{token(now.AddDate(0, 0, -30), "a")}}, nil},
		"a tick older": {fields{"remove": "tokens[]", "age": fields{"field": "tokens[].at", "days": 30}},
			fields{"tokens": array{token(now.AddDate(0, 0, -30).Add(-time.Microsecond), "a")}}, fields{"tokens": array{}}},
		"of a map in a map": {fields{"remove": "push.tokens.*", "age": fields{"field": "push.tokens.*.at", "days": 30},
			"where": array{fields{"field": "push.tokens.*.kind", "==": "web"}}},
			fields{"push": fields{"tokens": fields{"a.b": token(old, "web"), "c": token(old, "ios"), "d": token(now, "web"), "e": int64(1)}, "on": true}},
			fields{"push": fields{"tokens": fields{"c": token(old, "ios"), "d": token(now, "web"), "e": int64(1)}, "on": true}}},
		"of old documents": {fields{"remove": "tags[]", "age": fields{"field": "at", "days": 30}, "where": array{fields{"field": "tags[]", "startsWith": "tmp-"}}},
			fields{"at": old, "tags": array{"tmp-a", "b", "tmp-c", int64(1)}}, fields{"at": old, "tags": array{"b", int64(1)}}},
		"of the document's own id": {fields{"remove": "tags[]", "age": "any", "where": array{fields{"field": "{id}", "!=": "v"}, fields{"field": "tags[]", "==": "x"}}},
			fields{"tags": array{"x", "b"}}, fields{"tags": array{"b"}}},
		"of young documents": {fields{"remove": "tags[]", "age": fields{"field": "at", "days": 30}, "where": array{fields{"field": "tags[]", "startsWith": "tmp-"}}},
			fields{"at": now, "tags": array{"tmp-a"}}, nil},
		"with an exception": {fields{"remove": "tags[]", "age": "any", "where": array{fields{"field": "tags[]", "==": "x"}}, "unless": array{fields{"field": "hold", "==": true}}},
			fields{"hold": true, "tags": array{"x"}}, nil},
		"of neither a list nor a map": {fields{"remove": "tags[]", "age": "any", "where": array{fields{"field": "tags[]", "==": "x"}}}, fields{"tags": "x"}, nil},
		"of the other of both":        {fields{"remove": "tags[]", "age": "any", "where": array{fields{"field": "tags[]", "==": "x"}}}, fields{"tags": fields{"a": "x"}}, nil},
		"of nothing":                  {fields{"remove": "tags[]", "age": "any", "where": array{fields{"field": "tags[]", "==": "x"}}}, fields{"n": int64(1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, with(fields{"collection": "users", "maxDuePercent": 100}, tt.rule))
			f.Set(t, "users/u", tt.before)
			want, done := tt.after, map[string]report.Counts{"change document": {Planned: 1, Done: 1}}
			if want == nil {
				want, done = tt.before, map[string]report.Counts{}
			}
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, done)
			enginetest.Want(t, "the document", want, f.Documents(t, "users")["u"])
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
		})
	}
}

// TestEntriesThatCameMeanwhile: an entry that was written since the plan was made stays if it is not due.
func TestEntriesThatCameMeanwhile(t *testing.T) {
	f := start(t, fields{"collection": "users", "remove": "tags[]", "age": "any", "where": array{fields{"field": "tags[]", "==": "x"}}, "maxDuePercent": 100})
	for i := range 3 {
		f.Set(t, fmt.Sprintf("users/%d", i), fields{"tags": array{"x", "a"}})
	}
	f.Hooks.BeforeApply = func() {
		f.Set(t, "users/0", fields{"tags": array{"x", "a", "b", "x"}})
		f.Set(t, "users/1", fields{"tags": array{"a", "b"}})
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"change document": {Planned: 3, Done: 2, Changed: 1}})
	enginetest.Want(t, "documents", map[string]fields{"0": {"tags": array{"a", "b"}}, "1": {"tags": array{"a", "b"}}, "2": {"tags": array{"a"}}},
		f.Documents(t, "users"))
}
