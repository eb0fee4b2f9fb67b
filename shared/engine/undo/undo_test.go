package undo

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/documents"
)

func ref(id string) documents.Ref { return documents.Ref{Collection: "things", ID: id} }

func recordsOf(t testing.TB) []Record {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	var all []Record
	for _, w := range []struct {
		documents.Write
		before map[string]any
	}{
		{documents.Write{Op: documents.Delete, Ref: ref("a")}, map[string]any{"x": "y", "list": []any{int64(1), nil}}},
		{documents.Write{Op: documents.Delete, Ref: ref("missing")}, nil},
		{documents.Write{Op: documents.Update, Ref: ref("b"), Data: map[string]any{"at": at, "gone": documents.DeleteField}}, map[string]any{}},
		{documents.Write{Op: documents.Create, Ref: ref("c"), Data: map[string]any{"x": 1.5}}, nil},
	} {
		r, err := Of(w.Write, documents.Document{Path: w.Ref.Path(), Data: w.before}, w.before != nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return append(all, Record{Item: "things/a"}, Record{Object: &Object{Name: "posts/ü", Generation: 1 << 60}},
		Record{Object: &Object{Name: "circles/c/", Folder: true, OwnerKey: "postId", Owner: "p"}},
		Record{Account: &Account{UID: "u", Data: `{"uid":"u"}`}})
}

func TestPack(t *testing.T) {
	want := recordsOf(t)
	entries, err := Pack(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(entries)
	if diff := cmp.Diff(want, got, protocmp.Transform(), cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if w := got[2].Write; !w.Found || len(w.Before) > 0 || !slices.Equal(w.Removed, []string{"gone"}) {
		t.Errorf("an empty document that loses a field is %+v", w)
	}
}

// TestPackWhatIsLarge: what does not compress is divided, and no part is missed.
func TestPackWhatIsLarge(t *testing.T) {
	noise := rand.NewChaCha8([32]byte{1})
	large := make([]byte, 1<<20-200)
	if _, err := noise.Read(large); err != nil {
		t.Fatal(err)
	}
	r, err := Of(documents.Write{Op: documents.Delete, Ref: ref("large")}, documents.Document{Data: map[string]any{"x": large}}, true)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := Pack([]Record{r, r})
	if err != nil || len(entries) < 2 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if len(e) > MaxEntry {
			t.Errorf("an entry of %d bytes", len(e))
		}
	}
	if got, err := Unpack(entries); err != nil || len(got) != 2 || !bytes.Equal(got[1].Write.Before["x"].GetBytesValue(), large) {
		t.Errorf("%d records, %v", len(got), err)
	}
	for name, broken := range map[string][][]byte{
		"none": nil, "without the last": entries[:len(entries)-1], "in another order": {entries[1], entries[0]}, "no log": {[]byte("x")},
	} {
		if got, err := Unpack(broken); err == nil || got != nil {
			t.Errorf("%s: %d records, %v", name, len(got), err)
		}
	}
	small, err := Of(documents.Write{Op: documents.Delete, Ref: ref("small")}, documents.Document{Data: map[string]any{"text": strings.Repeat("spam ", 50)}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := Pack(slices.Repeat([]Record{small}, 400)); err != nil || len(entries) != 1 {
		t.Errorf("400 small documents take %d entries, %v", len(entries), err)
	}
}

// TestPackTooMuch: what could not be read again is not packed, and fewer items have a chance.
func TestPackTooMuch(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	var records []Record
	for range maxRecords >> 20 {
		records = append(records, Record{Write: &Write{Op: documents.Delete, Path: "a/b", Found: true, Before: Fields{"f": text(large)}}})
	}
	if _, err := Pack(records); !errors.Is(err, documents.ErrTooMuch) {
		t.Errorf("%v, want that it is too much", err)
	}
	if entries, err := Pack(records[1:]); err != nil {
		t.Error(err)
	} else if got, err := Unpack(entries); err != nil || len(got) != len(records)-1 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

func TestWhatCannotBeKept(t *testing.T) {
	_, err := Of(documents.Write{Op: documents.Delete, Ref: ref("a")}, documents.Document{Data: map[string]any{"odd": struct{}{}}}, true)
	if err == nil || !strings.Contains(err.Error(), "things/a") || !strings.Contains(err.Error(), "odd") {
		t.Error(err)
	}
}

func FuzzUnpack(f *testing.F) {
	entries, err := Pack(recordsOf(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(entries[0])
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, entry []byte) {
		records, err := Unpack([][]byte{entry})
		if err != nil {
			return
		}
		again, err := Pack(records)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Unpack(again); err != nil || !cmp.Equal(records, got, protocmp.Transform(), cmpopts.EquateEmpty()) {
			t.Errorf("again %+v, %v", got, err)
		}
	})
}

// world is a plain database for the model: documents by path.
type world map[string]Fields

func (w world) clone() world {
	c := world{}
	for path, fields := range w {
		c[path] = maps.Clone(fields)
	}
	return c
}

// do makes a write as Firestore does, and returns its record. ok is false if Firestore refuses it.
func (w world) do(op documents.Op, path string, after Fields, removed []string) (Write, bool) {
	before, found := w[path]
	record := Write{Op: op, Path: path, Found: found, Before: maps.Clone(before)}
	switch op {
	case documents.Delete:
		delete(w, path)
		return record, true
	case documents.Create:
		if found {
			return record, false
		}
		w[path] = maps.Clone(after)
	case documents.Set:
		w[path] = maps.Clone(after)
	case documents.Update:
		if !found {
			return record, false
		}
		maps.Copy(before, after)
		for _, field := range removed {
			if after[field] == nil {
				delete(before, field)
				record.Removed = append(record.Removed, field)
			}
		}
	}
	record.After = maps.Clone(after)
	return record, true
}

// takeBack does what [Change.Decide] says.
func (w world) takeBack(c Change) Step {
	now, found := w[c.Path]
	step, _ := c.Decide(now, found)
	switch step {
	case Recreate, Replace:
		w[c.Path] = maps.Clone(c.Before)
	case Remove:
		delete(w, c.Path)
	case Nothing, Conflict, Lost, Stays:
	case Revert:
		for _, field := range c.Wrote() {
			delete(now, field)
			if v := c.Before[field]; v != nil {
				now[field] = v
			}
		}
	}
	return step
}

func fields() *rapid.Generator[Fields] {
	value := rapid.Map(rapid.IntRange(0, 2), func(n int) *firestorepb.Value { return text(fmt.Sprint(n)) })
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), value, 0, 3)
}

// TestModel makes random writes to a random world, as a run does, perhaps with somebody else's between or after them, and takes
// them back: where nobody else wrote to a document, it is as it was before, and again so when it is taken back twice. What
// somebody else wrote is there as it was.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		paths := []string{"things/a", "things/b"}
		path := rapid.SampledFrom(paths)
		ops := rapid.SampledFrom([]documents.Op{documents.Delete, documents.Create, documents.Set, documents.Update})
		w := world{}
		for _, p := range paths {
			if rapid.Bool().Draw(rt, "exists") {
				w[p] = fields().Draw(rt, "before")
			}
		}
		before := w.clone()
		var writes []Write
		for range rapid.IntRange(1, 6).Draw(rt, "writes") {
			removed := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2, rapid.ID[string]).Draw(rt, "removed")
			if r, ok := w.do(ops.Draw(rt, "op"), path.Draw(rt, "path"), fields().Draw(rt, "after"), removed); ok {
				writes = append(writes, r)
			}
		}
		foreign := "" // a document that somebody else has changed since
		if rapid.Bool().Draw(rt, "somebody") {
			foreign = path.Draw(rt, "theirs")
			w.do(ops.Draw(rt, "their op"), foreign, Fields{"new": text("theirs")}, nil)
		}
		theirs := maps.Clone(w[foreign])
		_, there := w[foreign]
		for range 2 {
			for _, c := range Net(writes) {
				step := w.takeBack(c)
				if step == Conflict && c.Path != foreign {
					rt.Fatalf("%s: a conflict with nobody: %+v", c.Path, c)
				}
			}
			for _, p := range paths {
				_, was := before[p]
				_, is := w[p]
				if p != foreign && (was != is || !cmp.Equal(before[p], w[p], protocmp.Transform(), cmpopts.EquateEmpty())) {
					rt.Fatalf("%s is %v, was %v", p, w[p], before[p])
				}
			}
			if theirs["new"] != nil && w[foreign]["new"] == nil {
				rt.Fatalf("%s was theirs: %v, is %v", foreign, theirs, w[foreign])
			}
			if _, is := w[foreign]; foreign != "" && there && !is && theirs["new"] != nil {
				rt.Fatalf("%s was theirs and is gone", foreign)
			}
		}
	})
}

// TestDecide has the cases that people meet.
func TestDecide(t *testing.T) {
	x, y := Fields{"f": text("x")}, Fields{"f": text("y")}
	deleted := Change{Path: "p", Found: true, Before: x, Whole: true}
	updated := Change{Path: "p", Found: true, Before: x, Exists: true, After: y}
	created := Change{Path: "p", Exists: true, After: y, Whole: true}
	replaced := Change{Path: "p", Found: true, Before: x, Exists: true, After: y, Whole: true}
	sent := created
	sent.Sent = true
	both := Fields{"f": text("y"), "other": text("theirs")}
	for name, tt := range map[string]struct {
		c     Change
		now   Fields
		found bool
		want  Step
	}{
		"deleted":                            {deleted, nil, false, Recreate},
		"deleted, is back":                   {deleted, x, true, Nothing},
		"deleted, created anew":              {deleted, y, true, Conflict},
		"updated":                            {updated, y, true, Revert},
		"updated, another field changed":     {updated, both, true, Revert},
		"updated, the field changed":         {updated, Fields{"f": text("z")}, true, Conflict},
		"updated, the field removed":         {updated, Fields{}, true, Conflict},
		"updated, deleted since":             {updated, nil, false, Conflict},
		"updated, is back":                   {updated, x, true, Nothing},
		"updated, is back, another changed":  {updated, Fields{"f": text("x"), "g": text("z")}, true, Nothing},
		"created":                            {created, y, true, Remove},
		"created, gone":                      {created, nil, false, Nothing},
		"created, changed":                   {created, both, true, Conflict},
		"replaced":                           {replaced, y, true, Replace},
		"replaced, changed":                  {replaced, both, true, Conflict},
		"replaced, is back":                  {replaced, x, true, Nothing},
		"replaced, deleted since":            {replaced, nil, false, Conflict},
		"sent":                               {sent, y, true, Stays},
		"created and deleted, created since": {Change{Path: "p", Whole: true}, y, true, Conflict},
	} {
		step, why := tt.c.Decide(tt.now, tt.found)
		if gone := strings.HasSuffix(name, "deleted since"); gone != (why == "somebody has deleted it since") {
			t.Errorf("%s: %q", name, why)
		}
		if step != tt.want || (why != "") != (step == Conflict) {
			t.Errorf("%s: %q, %q, want %q", name, step, why, tt.want)
		}
	}
}
