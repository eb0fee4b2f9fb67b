package declared_test

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// kept returns what a run's undo log holds of each document, and which it says to have stayed.
func kept(t testing.TB, f *enginetest.Function, runID string) (writes map[string]undo.Fields, stayed []string) {
	t.Helper()
	writes = map[string]undo.Fields{}
	entries := f.Documents(t, runlog.DoneOf(runID))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		records, err := runlog.Unpack([][]byte{entries[name]["data"].([]byte)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			switch {
			case r.Stayed != "":
				stayed = append(stayed, r.Stayed)
			case r.Write != nil && writes[r.Write.Path] != nil:
				t.Errorf("%s is kept twice", r.Write.Path)
			case r.Write != nil:
				writes[r.Write.Path] = r.Write.Before
			}
		}
	}
	return writes, stayed
}

var settled = fields{
	"collection": "reports", "age": fields{"field": "createdAt", "months": 1},
	"where": array{fields{"field": "status", "in": array{"reviewed", "dismissed"}}},
}

// TestWhatThePlanHasReadIsNotReadAgain: 400 of 2,400 reports go at 1.05 reads each at most, and the undo log holds the whole of each.
func TestWhatThePlanHasReadIsNotReadAgain(t *testing.T) {
	f := start(t, settled)
	const n, due = 2400, 400
	rep := func(i int) fields {
		created := now
		if i < due {
			created = old
		}
		return fields{"status": "reviewed", "createdAt": created, "reporter": fmt.Sprint("u", i), "of": fields{"post": int64(i), "at": old}}
	}
	f.SetMany(t, n, func(i int) (string, fields) { return fmt.Sprintf("reports/r%04d", i), rep(i) })
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete document", due))
	if u := got.Usage; u.FirestoreReads > due*105/100 || u.FirestoreWrites > 10 {
		t.Errorf("usage %+v, want at most 1.05 reads a document, and a few writes", u)
	}
	if left := len(f.Documents(t, "reports")); left != n-due {
		t.Errorf("%d left", left)
	}
	writes, _ := kept(t, f, got.RunID)
	for i := range due {
		want, err := encode.Fields(rep(i))
		if err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("reports/r%04d", i)
		if diff := cmp.Diff(want, writes[path], protocmp.Transform()); diff != "" {
			t.Fatalf("%s is kept as (-want +got):\n%s", path, diff)
		}
	}
	if len(writes) != due {
		t.Errorf("%d are kept", len(writes))
	}
}

// TestChangedAfterThePlanHasReadIt: what the plan kept is not what is there, so nothing is deleted, and an undo leaves it alone.
func TestChangedAfterThePlanHasReadIt(t *testing.T) {
	f := start(t, settled)
	ids := []string{"changed", "deleted", "again", "same", "due"}
	for _, id := range ids {
		f.Set(t, "reports/"+id, fields{"status": "reviewed", "createdAt": old, "text": id})
	}
	f.SetMany(t, 10, func(i int) (string, fields) {
		return fmt.Sprintf("reports/young%d", i), fields{"status": "reviewed", "createdAt": now}
	})
	f.Hooks.BeforeApply = func() {
		for _, id := range []string{"deleted", "again"} {
			if _, err := f.Firestore(t).Doc("reports/" + id).Delete(t.Context()); err != nil {
				t.Error(err)
			}
		}
		f.Set(t, "reports/changed", fields{"status": "reviewed", "createdAt": old, "text": "new"})
		f.Set(t, "reports/again", fields{"status": "reviewed", "createdAt": old, "text": "again"})
		f.Set(t, "reports/same", fields{"status": "reviewed", "createdAt": old, "text": "same"}) // writes nothing
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete document": {Planned: 5, Done: 2, Changed: 3}})
	left := f.Documents(t, "reports")
	enginetest.Want(t, "left", 12, len(left))
	enginetest.Want(t, "changed and again", array{"new", "again"}, array{left["changed"]["text"], left["again"]["text"]})
	_, stayed := kept(t, f, got.RunID)
	enginetest.Want(t, "stayed", []string{"reports/again", "reports/changed", "reports/deleted"}, slices.Sorted(slices.Values(stayed)))
}

// TestBeyondTheBoundOfMemory: documents that do not fit are read again, as are those that the client library cannot keep, and all
// are in the undo log. Without one, nothing is read whole.
func TestBeyondTheBoundOfMemory(t *testing.T) {
	const n, room, most = 60, 5000, config.LimitMaxActions
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(most*config.BytesPerAction + 4*room))
	for days, want := range map[string]struct{ least, most int }{"7": {20, 45}, "0": {0, 0}} {
		e := entry(t, settled) // not parallel to other tests, which the limit would hold for
		f := enginetest.New(t, newFunction(t, e))
		f.Indexes = e.AllIndexes()
		f.Now, f.Env["MAX_ACTIONS"], f.Env["UNDO_DAYS"], f.Env["MAX_DUE_PERCENT"] = now, fmt.Sprint(most), days, "100"
		f.SetMany(t, 2*n, func(i int) (string, fields) {
			created := now
			if i < n {
				created = old.Add(time.Duration(i) * time.Second)
			}
			return fmt.Sprintf("reports/r%04d", i), fields{"status": "reviewed", "createdAt": created, "text": strings.Repeat("x", 100)}
		})
		got := f.Run(t, "")
		enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete document", n))
		writes, _ := kept(t, f, got.RunID)
		const besides = 1 + 1 + 1 + 4 // the lease, what is pinned, the page's index entries, the counts
		again := int(got.Usage.FirestoreReads) - n - besides
		if again < want.least || again > want.most {
			t.Errorf("UNDO_DAYS %s: %d documents were read again, want %d to %d", days, again, want.least, want.most)
		}
		enginetest.Want(t, "kept with UNDO_DAYS "+days, map[string]int{"7": n, "0": 0}[days], len(writes))
	}
}
