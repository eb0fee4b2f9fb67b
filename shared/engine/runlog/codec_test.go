package runlog

import (
	"encoding/json"
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

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

var ok = check.OK

func ref(id string) documents.Ref { return documents.Ref{Collection: "things", ID: id} }

func someRecords(t testing.TB) []undo.Record {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	var all []undo.Record
	for _, w := range []struct {
		documents.Write
		before map[string]any
	}{
		{documents.Write{Op: documents.Delete, Ref: ref("a")}, map[string]any{"x": "y", "list": []any{int64(1), nil}}},
		{documents.Write{Op: documents.Delete, Ref: ref("missing")}, nil},
		{documents.Write{Op: documents.Update, Ref: ref("b"), Data: map[string]any{"at": at, "gone": documents.DeleteField}}, map[string]any{}},
		{documents.Write{Op: documents.Create, Ref: ref("c"), Data: map[string]any{"x": 1.5}}, nil},
	} {
		r, err := undo.Of(w.Write, documents.Document{Path: w.Ref.Path(), Data: w.before}, w.before != nil)
		ok(t, err)
		all = append(all, r)
	}
	all[1].Of = len(all) + 1
	return append(all, undo.Record{Item: "things/a"},
		undo.Record{Of: len(all) + 1, Object: &undo.Object{Name: "posts/ü", Generation: 1 << 60}},
		undo.Record{Of: len(all) + 1, Account: &undo.Account{UID: "u", Data: `{"uid":"u"}`}})
}

func TestPack(t *testing.T) {
	want := someRecords(t)
	entries, err := Pack(want)
	ok(t, err)
	got, err := Unpack(entries)
	ok(t, err)
	check.Same(t, "records", want, got, protocmp.Transform(), cmpopts.EquateEmpty())
	if w := got[2].Write; !w.Found || len(w.Before) > 0 || !slices.Equal(w.Removed, []string{"gone"}) {
		t.Errorf("an empty document that loses a field is %+v", w)
	}
}

// TestPackWhatIsLarge: what does not compress is divided, and no part is missed.
func TestPackWhatIsLarge(t *testing.T) {
	noise := rand.NewChaCha8([32]byte{1})
	large := make([]byte, 1<<20-200)
	_, err := noise.Read(large)
	ok(t, err)
	r, err := undo.Of(documents.Write{Op: documents.Delete, Ref: ref("large")}, documents.Document{Data: map[string]any{"x": large}}, true)
	ok(t, err)
	entries, err := Pack([]undo.Record{r, r})
	if err != nil || len(entries) < 2 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if len(e) > MaxPart {
			t.Errorf("an entry of %d bytes", len(e))
		}
	}
	got, err := Unpack(entries)
	ok(t, err)
	check.Same(t, "records, and the large one", []any{2, large}, []any{len(got), got[1].Write.Before["x"].GetBytesValue()})
	for name, broken := range map[string][][]byte{
		"none": nil, "without the last": entries[:len(entries)-1], "in another order": {entries[1], entries[0]}, "no log": {[]byte("x")},
	} {
		got, err := Unpack(broken)
		check.Fails(t, err)
		check.Same(t, name+": records", 0, len(got))
	}
	small, err := undo.Of(documents.Write{Op: documents.Delete, Ref: ref("small")}, documents.Document{Data: map[string]any{"text": strings.Repeat("spam ", 50)}}, true)
	ok(t, err)
	entries, err = Pack(slices.Repeat([]undo.Record{small}, 400))
	check.Same(t, "entries of 400 small documents", []any{1, nil}, []any{len(entries), err})
}

// TestPackTooMuch: what could not be read again is not packed, and fewer items have a chance.
func TestPackTooMuch(t *testing.T) {
	large := undo.Fields{"f": {ValueType: &firestorepb.Value_BytesValue{BytesValue: make([]byte, 3<<18)}}} // 1 MiB as text
	var records []undo.Record
	for range maxPlain >> 20 {
		records = append(records, undo.Record{Write: &undo.Write{Op: documents.Delete, Path: "a/b", Found: true, Before: large}})
	}
	_, err := Pack(records)
	check.Is(t, "a record too large", err, documents.ErrTooMuch)
	if entries, err := Pack(records[1:]); err != nil {
		t.Error(err)
	} else if got, err := Unpack(entries); err != nil || len(got) != len(records)-1 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// TestRecordsThatNoRunLeft: one thing alone is told of, with a name, and perhaps the item that it belongs to; what this version does
// not know, it does not read.
func TestRecordsThatNoRunLeft(t *testing.T) {
	for record, fine := range map[string]bool{
		`{"item":"a/b"}`: true,
		`{"item":"a/b"},{"write":{"op":"delete","path":"a/b"},"of":-1}`: false,
		`{"item":"a/b"},{"write":{"op":"delete","path":"a/b"},"of":1}`:  true,
		`{"item":"a/b"},{"write":{"op":"delete","path":"a/b"},"of":2}`:  false,
		`{"item":"a/b"},{"write":{"op":"delete","path":"a/b"},"of":3}`:  false,
		`{"object":{"name":"x","generation":7}}`:                        true,
		`{"account":{"uid":"u","data":"{}"}}`:                           true,
		`{"write":{"op":"delete","path":"a/b"}}`:                        true,
		`{}`:                                                            false,
		`null`:                                                          false,
		`{"action":"delete"}`:                                           false,
		`{"item":"a/b","of":1}`:                                         false,
		`{"item":"a/b","more":1}`:                                       false,
		`{"item":"a/b","write":{"op":"delete","path":"a/b"}}`:           false,
		`{"item":"a/b","object":{"name":"x","generation":7}}`:           false,
		`{"item":"a/b","account":{"uid":"u"}}`:                          false,
		`{"write":{"op":"delete","path":"a/b"},"account":{"uid":"u"}}`:  false,
		`{"write":{"op":"delete","path":"a/b"},"object":{"name":"x"}}`:  false,
		`{"object":{"name":"x","generation":7},"account":{"uid":"u"}}`:  false,
		`{"write":{"op":"erase","path":"a/b"}}`:                         false,
		`{"write":{"op":"delete","path":"a"}}`:                          false,
		`{"write":{"op":"delete","path":"a/b","before":"AA=="}}`:        false,
		`{"object":{"name":"","generation":7}}`:                         false,
		`{"object":{"name":"x","generation":0}}`:                        false,
		`{"account":{"data":"{}"}}`:                                     false,
	} {
		parts, err := Pack(json.RawMessage("[" + record + "]"))
		ok(t, err)
		if got, err := Unpack(parts); (err == nil) != fine {
			t.Errorf("%s: %+v, %v", record, got, err)
		}
	}
}

func TestWhatCannotBeKept(t *testing.T) {
	_, err := undo.Of(documents.Write{Op: documents.Delete, Ref: ref("a")}, documents.Document{Data: map[string]any{"odd": struct{}{}}}, true)
	check.Fails(t, err, "things/a", "odd")
	_, err = undo.Of(documents.Write{Op: documents.Delete, Ref: ref("a\x1b")}, documents.Document{Data: map[string]any{"odd": struct{}{}}}, true)
	if err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("what a client wrote is repeated: %q", err)
	}
}

func FuzzUnpack(f *testing.F) {
	entries, err := Pack(someRecords(f))
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
		ok(t, err)
		if got, err := Unpack(again); err != nil || !cmp.Equal(records, got, protocmp.Transform(), cmpopts.EquateEmpty()) {
			t.Errorf("again %+v, %v", got, err)
		}
	})
}

// TestWithout: what stayed is no record, nor is an item of which nothing else was deleted. The others belong to their items as before.
func TestWithout(t *testing.T) {
	item := func(name string) undo.Record { return undo.Record{Item: name} }
	file := func(of int, name string) undo.Record {
		return undo.Record{Of: of, Object: &undo.Object{Name: name, Generation: 7}}
	}
	all := []undo.Record{item("told"), item("a"), file(2, "a1"), file(2, "a2"), item("b"), file(5, "b1"), file(5, "b2"), file(0, "nobody's")}
	but := func(places ...int) []undo.Record {
		some := slices.Clone(all)
		for _, place := range places {
			some[place-1] = undo.Record{}
		}
		return some
	}
	for name, tt := range map[string]struct {
		stayed []int
		want   []undo.Record
	}{
		"nothing":     {nil, all},
		"nowhere":     {[]int{0, -1, 99}, all},
		"one of two":  {[]int{3}, but(3)},
		"both of two": {[]int{3, 4}, but(2, 3, 4)},
		"nobody's":    {[]int{8}, but(8)},
		"all":         {[]int{3, 4, 6, 7, 8}, but(2, 3, 4, 5, 6, 7, 8)},
	} {
		stayed := map[int]bool{}
		for _, place := range tt.stayed {
			stayed[place] = true
		}
		check.Same(t, name+" stayed", tt.want, without(slices.Clone(all), stayed))
	}
}

func someTodos(rt *rapid.T) Todo {
	name := rapid.SampledFrom([]string{"a", "files/ü", "posts/p/"})
	ref := rapid.Custom(func(rt *rapid.T) documents.Ref {
		return documents.Ref{Collection: rapid.SampledFrom([]string{"posts", "circles/c/members"}).Draw(rt, "collection"), ID: rapid.SampledFrom([]string{"x", "ü"}).Draw(rt, "id")}
	})
	step := rapid.Custom(func(rt *rapid.T) Step {
		s := Step{Rule: name.Draw(rt, "rule"), Absent: ref.Draw(rt, "absent"), Account: rapid.Bool().Draw(rt, "account")}
		if !s.Account {
			s.Object = cleanup.ObjectDeletion{
				Name: name.Draw(rt, "object"), Folder: rapid.Bool().Draw(rt, "folder"),
				OwnerKey: rapid.SampledFrom([]string{"", "postId"}).Draw(rt, "owner"),
				Home:     rapid.SampledFrom([]string{"", "/", "posts/u/"}).Draw(rt, "home"),
			}
		}
		return s
	})
	item := rapid.Custom(func(rt *rapid.T) Item { return Item{Rule: name.Draw(rt, "rule"), Ref: ref.Draw(rt, "item")} })
	return Todo{
		Task:  rapid.SampledFrom([]string{"", "0123"}).Draw(rt, "task"),
		Steps: rapid.SliceOfN(step, 0, 3).Draw(rt, "steps"), Next: rapid.SliceOfN(item, 0, 2).Draw(rt, "next"),
	}
}

// stored returns a document as Firestore holds what is written.
func stored(w documents.Write, at time.Time) documents.Document {
	data := w.Data
	if data["at"] == documents.ServerTimestamp {
		data["at"] = at
	}
	return documents.Document{Path: w.Ref.Path(), Data: data, UpdateTime: at}
}

// TestTodo: what follows a commit is read as it was written; where nothing does, there is no Todo.
func TestTodo(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	records := []undo.Record{{Item: "things/a"}}
	rapid.Check(t, func(rt *rapid.T) {
		want := someTodos(rt)
		log := &Log{Job: "j", Run: "r", Saves: true}
		entry := log.Next()
		writes, err := entry.Writes(1, records, want)
		if err != nil {
			rt.Fatal(err)
		}
		if want.Empty() {
			if len(writes) != 1 || writes[0].Ref != entry.done(0) {
				rt.Fatalf("writes %v, want Done alone", writes)
			}
			return
		}
		if len(writes) != 2 || writes[0].Ref != entry.Todo() || writes[1].Ref != entry.done(0) {
			rt.Fatalf("writes %v, want Todo and Done", writes)
		}
		got, err := ReadTodo(stored(writes[0], at))
		want.At = at
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			rt.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// TestTimeOfATodo is its own, but never after its last change.
func TestTimeOfATodo(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tt := range map[string]struct {
		data          any
		updated, want time.Time
	}{
		"moved later": {at, at.Add(time.Hour), at},
		"forged":      {at.Add(time.Nanosecond), at, at},
		"none":        {nil, at, time.Time{}},
	} {
		check.Same(t, name, tt.want, timeOf(documents.Document{Data: map[string]any{"at": tt.data}, UpdateTime: tt.updated}))
	}
}

func FuzzTodo(f *testing.F) {
	log := &Log{Job: "j", Run: "r"}
	writes, err := log.Next().Writes(1, nil, Todo{
		Steps: []Step{{Rule: "r", Absent: documents.Ref{Collection: "a", ID: "b"}, Object: cleanup.ObjectDeletion{Name: "x"}}},
		Next:  []Item{{Rule: "r", Ref: documents.Ref{Collection: "a", ID: "b"}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(writes[0].Data["data"].([]byte))
	f.Fuzz(func(t *testing.T, data []byte) {
		todo, err := ReadTodo(documents.Document{Data: map[string]any{"data": data}})
		if err != nil {
			return
		}
		for _, s := range todo.Steps {
			if s.Absent == (documents.Ref{}) || s.Account == (s.Object.Name != "") || s.Account && s.Object.Folder {
				t.Errorf("step %+v", s)
			}
		}
	})
}
