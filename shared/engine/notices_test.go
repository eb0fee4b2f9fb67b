package engine_test

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestNoticesOfOneItem has two items with 22 things to say each: the log has the first 20 of each, and the report counts all.
func TestNoticesOfOneItem(t *testing.T) {
	f := ruleFunction(t, ruleJob("boxes", engine.Rule[engine.Subject]{
		Name: "box", Load: engine.Itself, Reach: engine.Reach{Items: "boxes", Deletes: []string{"boxes"}},
		Judge: func(engine.Subject, engine.Run) engine.Decision { return engine.Do("delete box", "it is old") },
		Change: func(s engine.Subject, _ engine.Decision, _ engine.Run) engine.Change {
			c := engine.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}}}
			for i := range 22 {
				c.Kept = append(c.Kept, "a label")
				c.Notices = append(c.Notices, engine.Notice{Message: "a label is kept", Fields: map[string]any{"label": i}})
			}
			return c
		},
	}))
	want := map[string]int{}
	for _, id := range []string{"a", "b"} {
		f.Set(t, "boxes/"+id, old)
		for i := range 20 {
			want[fmt.Sprint("boxes/", id, " ", i)] = 1
		}
	}
	enginetest.Want(t, "kept", map[string]int{"a label": 44}, f.Run(t, "").Kept)
	said := map[string]int{}
	for _, line := range linesWith(t, f, "a label is kept") {
		said[fmt.Sprint(line["target"], " ", line["label"])]++
	}
	enginetest.Want(t, "warnings", want, said)
}
