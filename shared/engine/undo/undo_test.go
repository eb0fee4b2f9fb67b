package undo

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
)

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

func text(v string) *firestorepb.Value {
	return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: v}}
}

func fields() *rapid.Generator[Fields] {
	value := rapid.Map(rapid.IntRange(0, 2), func(n int) *firestorepb.Value { return text(fmt.Sprint(n)) })
	all := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), value, 0, 3)
	return rapid.Map(all, func(all map[string]*firestorepb.Value) Fields { return all })
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

// TestNetOfADocumentSavedTwice: a call saved it ahead and had no time to delete it, somebody wrote to it, and the next call
// deleted that. What comes back is what was deleted.
func TestNetOfADocumentSavedTwice(t *testing.T) {
	first, last := Fields{"f": text("first")}, Fields{"f": text("last")}
	all := Net([]Write{{Op: documents.Delete, Path: "p", Found: true, Before: first}, {Op: documents.Delete, Path: "p", Found: true, Before: last}})
	want := []Change{{Path: "p", Found: true, Before: last, Whole: true}}
	check.Same(t, "all", want, all, protocmp.Transform())
}

// TestWrittenWhileTheRunIsUnderWay: what somebody writes between two writes of a run comes back, or is a conflict.
func TestWrittenWhileTheRunIsUnderWay(t *testing.T) {
	update := func(field, value string) Write { return Write{Op: documents.Update, After: Fields{field: text(value)}} }
	for name, tt := range map[string]struct {
		first, between, second Write
		step                   Step
		want                   Fields
	}{
		"the same field": {update("list", "b c"), update("list", "b c new"), update("list", "c new"), Conflict,
			Fields{"name": text("old"), "list": text("c new")}},
		"another": {update("list", "b c"), update("name", "new"), update("list", "c"), Revert,
			Fields{"name": text("new"), "list": text("a b c")}},
		"one that the run writes later": {update("list", "b c"), update("name", "new"), update("name", "none"), Revert,
			Fields{"name": text("new"), "list": text("a b c")}},
		"one that came": {update("list", "b c"), update("mine", "new"), update("list", "c"), Revert,
			Fields{"name": text("old"), "mine": text("new"), "list": text("a b c")}},
		"one that it deletes": {update("list", "b c"), update("name", "new"), Write{Op: documents.Delete}, Recreate,
			Fields{"name": text("new"), "list": text("a b c")}},
		"what it wrote, and then deletes": {update("list", "b c"), update("list", "b c new"), Write{Op: documents.Delete}, Recreate,
			Fields{"name": text("old"), "list": text("b c new")}},
		"what it wrote whole": {Write{Op: documents.Set, After: Fields{"name": text("none")}}, update("name", "new"),
			update("name", "none"), Conflict, Fields{"name": text("none")}},
		"what it wrote whole, and then deletes": {Write{Op: documents.Set, After: Fields{"name": text("none")}},
			update("name", "new"), Write{Op: documents.Delete}, Recreate, Fields{"name": text("new")}},
		"deleted, and written anew": {Write{Op: documents.Delete}, Write{Op: documents.Create, After: Fields{"name": text("new")}},
			update("name", "none"), Revert, Fields{"name": text("new")}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{"p": {"name": text("old"), "list": text("a b c")}}
			first, _ := w.do(tt.first.Op, "p", tt.first.After, nil)
			w.do(tt.between.Op, "p", tt.between.After, nil)
			second, _ := w.do(tt.second.Op, "p", tt.second.After, nil)
			check.Same(t, "step", tt.step, w.takeBack(Net([]Write{first, second})[0]))
			check.Same(t, "document", tt.want, w["p"], protocmp.Transform())
			check.Same(t, "documents", 1, len(w))
		})
	}
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
		gone := strings.HasSuffix(name, "deleted since")
		check.Same(t, name+": deleted since", gone, why == "somebody has deleted it since")
		check.Same(t, name+": "+why, []any{tt.want, step == Conflict}, []any{step, why != ""})
	}
}

func encoded(t *testing.T, values map[string]any) Fields {
	t.Helper()
	fields, err := encode.Fields(values)
	check.OK(t, err)
	return fields
}

// TestChangeShown looks at what is shown of each kind of change. Of an update the log names only what was written.
func TestChangeShown(t *testing.T) {
	before := map[string]any{"kept": 1, "removed": 2, "updated": 3}
	for what, c := range map[string]struct {
		change Change
		want   string
	}{
		"an update": {Change{
			Found: true, Exists: true, Before: encoded(t, before), After: encoded(t, map[string]any{"updated": 4, "added": 5}),
			Removed: []string{"removed"},
		}, "changed: *added -5 *removed 2- *updated 34 kept 11"},
		"a deletion":           {Change{Found: true, Whole: true, Before: encoded(t, map[string]any{"a": 1})}, "deleted: *a 1-"},
		"a document that came": {Change{Exists: true, Whole: true, After: encoded(t, map[string]any{"a": 1})}, "created: *a -1"},
		"one that was written anew": {Change{
			Found: true, Exists: true, Whole: true, Before: encoded(t, before), After: encoded(t, map[string]any{"kept": 1}),
		}, "changed: *removed 2- *updated 3- kept 11"},
	} {
		var parts []string
		for _, f := range c.change.Fields() {
			text := f.Name + " "
			if f.Changed {
				text = "*" + text
			}
			for _, v := range []*string{f.Before, f.After} {
				if v == nil {
					text += "-"
				} else {
					text += *v
				}
			}
			parts = append(parts, text)
		}
		check.Same(t, what, c.want, c.change.What()+": "+strings.Join(parts, " "))
	}
}

func TestValues(t *testing.T) {
	for want, v := range map[string]any{
		"null": nil, "true": true, "-7": -7, "1.5": 1.5, "NaN": math.NaN(), `"<b> \"x\"\n"`: "<b> \"x\"\n", "3 bytes": []byte("abc"),
		"2026-01-02T03:04:05.000006Z": time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		"document users/u":            &firestore.DocumentRef{Path: "projects/p/databases/(default)/documents/users/u"},
		"1.5° N, -2° E":               &latlng.LatLng{Latitude: 1.5, Longitude: -2},
		`[1, "a", [], {}]`:            []any{1, "a", []any{}, map[string]any{}},
		`{"a": 1, "b": {"c": null}}`:  map[string]any{"b": map[string]any{"c": nil}, "a": 1},
	} {
		check.Same(t, fmt.Sprint(v, " is shown as"), want, *Shown(encoded(t, map[string]any{"f": v})["f"]))
	}
	if long := Shown(encoded(t, map[string]any{"f": strings.Repeat("x", 10_000)})["f"]); len(*long) > MaxShown+10 {
		t.Errorf("a long value is shown with %d bytes", len(*long))
	}
}
