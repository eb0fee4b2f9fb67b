package declared_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// kept returns what a run's undo log holds of each document.
func kept(t testing.TB, f *enginetest.Function, runID string) map[string]undo.Fields {
	t.Helper()
	writes := map[string]undo.Fields{}
	entries := f.Documents(t, runlog.DoneOf(runID))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		records, err := runlog.Unpack([][]byte{entries[name]["data"].([]byte)})
		ok(t, err)
		for _, r := range records {
			switch {
			case r.Write != nil && writes[r.Write.Path] != nil:
				t.Errorf("%s is kept twice", r.Write.Path)
			case r.Write != nil:
				writes[r.Write.Path] = r.Write.Before
			}
		}
	}
	return writes
}

var settled = fields{
	"collection": "reports", "age": fields{"field": "createdAt", "months": 1},
	"where": array{fields{"field": "status", "in": array{"reviewed", "dismissed"}}},
}

// cannotDecode has the client library not know the value of a field of documents which the field unknown names there, and returns
// that value. fieldsOf returns the map of a document that has these fields.
func cannotDecode(
	f *enginetest.Function, fieldsOf func(map[string]*firestorepb.Value) map[string]*firestorepb.Value,
) *firestorepb.Value {
	text := func(v string) *firestorepb.Value {
		return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: v}}
	}
	unknown := &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{
		Fields: map[string]*firestorepb.Value{"__type__": text("__vector__"), "value": text("no numbers")},
	}}}
	f.Hooks.Dial = append(f.Hooks.Dial, wire.After(func(_ string, answer any, err error) error {
		if r, ok := answer.(*firestorepb.BatchGetDocumentsResponse); ok && err == nil {
			of := fieldsOf(r.GetFound().GetFields())
			if field := of["unknown"].GetStringValue(); field != "" {
				of[field] = unknown
			}
		}
		return err
	})...)
	return unknown
}

// TestSetBesideAValueThatNobodyKnows: a field is written as a whole, so a document of which the client cannot write that stays as it
// is, and the others are written.
func TestSetBesideAValueThatNobodyKnows(t *testing.T) {
	f := start(t, fields{"collection": "users", "age": fields{"field": "profile.seenAt", "months": 1}, "maxDuePercent": 100,
		"where": array{fields{"field": "profile.status", "==": "open"}}, "set": fields{"profile.status": "closed"}})
	cannotDecode(f, func(d map[string]*firestorepb.Value) map[string]*firestorepb.Value {
		return d["profile"].GetMapValue().GetFields()
	})
	for id, unknown := range map[string]string{"odd": "embedding", "plain": ""} {
		f.Set(t, "users/"+id, fields{"profile": fields{"seenAt": old, "status": "open", "name": "Hana", "unknown": unknown}})
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"change user": {Planned: 2, Done: 1}})
	for id, status := range map[string]string{"odd": "open", "plain": "closed"} {
		profile := f.Documents(t, "users")[id]["profile"].(map[string]any)
		enginetest.Want(t, id, fmt.Sprint("Hana ", status), fmt.Sprint(profile["name"], " ", profile["status"]))
	}
}

// TestValuesThatNobodyKnows: a value that the client library cannot decode stops neither its document nor others, and the undo log has it.
// Where the rule asks for it, the document stays. Without an undo log, nothing is kept.
func TestValuesThatNobodyKnows(t *testing.T) {
	for days, wanted := range map[string]int{"7": 3, "0": 0} {
		t.Run("UNDO_DAYS "+days, func(t *testing.T) {
			f := start(t, settled)
			f.Env["UNDO_DAYS"] = days
			unknown := cannotDecode(f, func(d map[string]*firestorepb.Value) map[string]*firestorepb.Value { return d })
			for id, field := range map[string]string{"plain": "", "odd": "embedding", "doubtful": "status", "last": ""} {
				f.Set(t, "reports/"+id, fields{"status": "reviewed", "createdAt": old, "unknown": field})
			}
			f.SetAlike(t, 10, "reports/young%d", fields{"status": "reviewed", "createdAt": now})
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete report": {Planned: 4, Done: 3, Changed: 1}})
			left := f.Documents(t, "reports")
			enginetest.Want(t, "left, and not the doubtful one", []any{11, false}, []any{len(left), left["doubtful"] == nil})
			writes := kept(t, f, got.RunID)
			enginetest.Want(t, "kept with UNDO_DAYS "+days, wanted, len(writes))
			if odd := writes["reports/odd"]["embedding"]; wanted > 0 && !proto.Equal(odd, unknown) {
				t.Errorf("the undo log has %v", odd)
			}
		})
	}
}

// TestReferencesToElsewhere: a reference into another database names nothing here.
func TestReferencesToElsewhere(t *testing.T) {
	f := start(t, fields{"collection": "builds", "age": fields{"field": "at", "days": 30}, "gone": array{fields{"document": "apps/{app}"}},
		"with": array{fields{"collection": "lists", "field": "all[]", "remove": true}}, "maxDuePercent": 100})
	here, of := f.Firestore(t).Doc("apps/a"), f.Firestore(t).Doc("builds/1")
	elsewhere, ofElsewhere := *here, *of
	for _, ref := range []*firestore.DocumentRef{&elsewhere, &ofElsewhere} {
		ref.Path = strings.Replace(ref.Path, "/(default)/", "/second/", 1)
	}
	f.Set(t, "builds/1", fields{"at": old, "app": here})
	f.Set(t, "apps/b", fields{"n": int64(1)})
	f.Set(t, "builds/elsewhere", fields{"at": old, "app": &elsewhere})
	f.Set(t, "lists/l", fields{"all": array{of, &ofElsewhere, "x", "1"}})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete build", 1))
	enginetest.Want(t, "left", []string{"elsewhere"}, f.IDs(t, "builds"))
	left := f.Documents(t, "lists")["l"]["all"].([]any)
	if len(left) != 2 || left[0].(*firestore.DocumentRef).Path != ofElsewhere.Path || left[1] != "x" {
		t.Errorf("%v", left)
	}
}

// TestEntries: each entry that is due goes, and nothing else of the document.
func TestEntries(t *testing.T) {
	t.Parallel()
	token := func(at any, kind string) fields { return fields{"at": at, "kind": kind} }
	said := map[string]string{"of a list": "older than 30 days; entries: 2", "of neither a list nor a map": "tags is neither a list nor a map",
		"of the other of both": "tags is a map: write tags.* in remove"} // by a plan
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
			want, done := tt.after, map[string]report.Counts{"change user": {Planned: 1, Done: 1}}
			if want == nil {
				want, done = tt.before, map[string]report.Counts{}
			}
			check.Holds(t, fmt.Sprint(f.Run(t, `{"dryRun":true}`)), said[name])
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, done)
			enginetest.Want(t, "the document", want, f.Documents(t, "users")["u"])
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
		})
	}
}
