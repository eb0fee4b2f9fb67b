package engine_test

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestNoticesOfOneItem has two items with 22 things to say each: the log has the first 20 of each, and the report counts all.
func TestNoticesOfOneItem(t *testing.T) {
	f := ruleFunction(t, ruleJob("boxes", cleanup.Rule[cleanup.Subject]{
		Name: "box", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "boxes", Deletes: []string{"boxes"}},
		Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("delete box", "it is old") },
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			c := cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}}}
			for i := range 22 {
				c.Notices = append(c.Notices, cleanup.Notice{
					Message: "a label is kept", Fields: map[string]any{"label": i}, Kept: map[string]int{"a label": 1},
				})
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
