package runlog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

func someTodos(rt *rapid.T) Todo {
	name := rapid.SampledFrom([]string{"a", "files/ü", "posts/p/"})
	ref := rapid.Custom(func(rt *rapid.T) documents.Ref {
		return documents.Ref{Collection: rapid.SampledFrom([]string{"posts", "circles/c/members"}).Draw(rt, "collection"), ID: rapid.SampledFrom([]string{"x", "ü"}).Draw(rt, "id")}
	})
	step := rapid.Custom(func(rt *rapid.T) Step {
		s := Step{Rule: name.Draw(rt, "rule"), Absent: ref.Draw(rt, "absent"), Account: rapid.Bool().Draw(rt, "account")}
		if !s.Account {
			s.Objects = rapid.SliceOfN(name, 1, 3).Draw(rt, "objects")
			s.Folder, s.Home = rapid.Bool().Draw(rt, "folder"), rapid.SampledFrom([]string{"", "/", "posts/u/"}).Draw(rt, "home")
			s.OwnerKey = rapid.SampledFrom([]string{"", "postId"}).Draw(rt, "owner")
		}
		return s
	})
	item := rapid.Custom(func(rt *rapid.T) Item {
		return Item{Rule: name.Draw(rt, "rule"), Ref: ref.Draw(rt, "item")}
	})
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
		if got := timeOf(documents.Document{Data: map[string]any{"at": tt.data}, UpdateTime: tt.updated}); !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestDoneOnly: without undo, Done holds no more than the attempt, and only if no Todo tells it.
func TestDoneOnly(t *testing.T) {
	log := &Log{Job: "j", Run: "r"}
	entry := log.Next()
	todo := Todo{Next: []Item{{Rule: "r", Ref: documents.Ref{Collection: "a", ID: "b"}}}}
	writes, err := entry.Writes(3, nil, todo)
	if err != nil || len(writes) != 1 || writes[0].Ref != entry.Todo() || writes[0].Data["attempt"] != 3 {
		t.Errorf("with a Todo: %v, %v", writes, err)
	}
	writes, err = entry.Writes(3, nil, Todo{})
	if err != nil || len(writes) != 1 || writes[0].Ref != entry.done(0) || writes[0].Data["attempt"] != 3 || writes[0].Data["records"] != 0 {
		t.Errorf("without: %v, %v", writes, err)
	}
	entry.Answered(true)
	if over := log.TakeOver(); len(over) != 0 {
		t.Errorf("with a Todo %v is over", over)
	}
	entry.Answered(false)
	if over := log.TakeOver(); len(over) != 1 || over[0] != entry.done(0) {
		t.Errorf("without one %v is over", over)
	}
}

func FuzzTodo(f *testing.F) {
	log := &Log{Job: "j", Run: "r"}
	writes, err := log.Next().Writes(1, nil, Todo{
		Steps: []Step{{Rule: "r", Absent: documents.Ref{Collection: "a", ID: "b"}, Objects: []string{"x", "y"}}},
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
			if s.Absent == (documents.Ref{}) || s.Account == (len(s.Objects) > 0) {
				t.Errorf("step %+v", s)
			}
		}
	})
}
