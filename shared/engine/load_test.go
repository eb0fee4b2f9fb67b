package engine_test

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// lent is a thing with the box that it is lent out from.
type lent struct {
	cleanup.Subject
	box cleanup.Subject
}

// TestJudgedByAnotherDocument deletes the things whose box is old, as the box is when they go.
func TestJudgedByAnotherDocument(t *testing.T) {
	boxOf := func(thing documents.Document) (documents.Ref, bool) {
		id, _ := thing.Text("box")
		return documents.Ref{Collection: "boxes", ID: id}, documents.ValidID(id)
	}
	f := ruleFunction(t, ruleJob("things", cleanup.Rule[lent]{
		Name: "thing", Reach: cleanup.Reach{Items: "things", Deletes: []string{"things"}},
		Load: cleanup.EachWith(boxOf, func(thing, box cleanup.Subject) lent { return lent{thing, box} }),
		Judge: func(l lent, _ cleanup.Run) cleanup.Decision {
			if l.box.Data["state"] == "old" {
				return cleanup.Do("delete thing", "its box is old")
			}
			return cleanup.Keep(fmt.Sprint("its box is found: ", l.box.Found))
		},
		Change: func(l lent, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			return cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: l.Ref()}}}
		},
	}))
	for id, box := range map[string]any{"1": "old", "2": "old", "3": "used", "4": "gone", "5": "renewed", "6": nil, "7": "a/b", "8": 7} {
		f.Set(t, "things/"+id, map[string]any{"box": box})
	}
	for id, state := range map[string]string{"old": "old", "used": "used", "renewed": "old"} {
		f.Set(t, "boxes/"+id, map[string]any{"state": state})
	}
	f.Hooks.BeforeApply = func() { f.Set(t, "boxes/renewed", map[string]any{"state": "used"}) }
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete thing": {Planned: 3, Done: 2, Changed: 1}})
	enginetest.Want(t, "kept", map[string]int{"its box is found: true": 1, "its box is found: false": 4}, got.Kept)
	enginetest.Want(t, "things left", []string{"3", "4", "5", "6", "7", "8"}, ids(t, f, "things"))
}
