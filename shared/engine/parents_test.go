package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// shelf is a box of whose things only the old ones go, however many stay.
type shelf struct {
	cleanup.Subject
	things cleanup.Belonging
}

func loadShelves(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]shelf, error) {
	things := cleanup.Children{Collection: "things", Field: "box", Select: []string{"state"}}
	ids, all := make([]string, len(subjects)), make([]shelf, len(subjects))
	for i, s := range subjects {
		ids[i], all[i].Subject = s.ID(), s
	}
	if subjects[0].Alone {
		things.From = documents.Cursor(subjects[0].From)
	}
	found, err := src.Children(ctx, things, ids)
	for i, id := range ids {
		all[i].things = found[id]
	}
	return all, err
}

var shelves = cleanup.Rule[shelf]{
	Name: "shelf", Load: loadShelves,
	Reach: cleanup.Reach{Items: "boxes", Deletes: []string{"things"}},
	Judge: func(shelf, cleanup.Run) cleanup.Decision { return cleanup.Do("clear shelf", "") },
	Change: func(s shelf, _ cleanup.Decision, _ cleanup.Run) (c cleanup.Change) {
		if !s.things.Whole && !s.Alone {
			return cleanup.Change{Again: true}
		}
		for _, thing := range s.things.Documents {
			if thing.Data["state"] == "old" {
				c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: thing.Ref()})
			}
		}
		if !s.things.Whole {
			c.Again, c.From = true, string(s.things.Next)
		}
		return c
	},
}

// TestParentsOfWhatIsFound finds the old things, page by page, and proposes the boxes that they are in: each once, however many
// things lead to it. One box has more things that stay than a commit looks at, before the one that goes and behind it.
func TestParentsOfWhatIsFound(t *testing.T) {
	old := documents.Query{Collection: "things", Where: []documents.Filter{{Field: "state", Op: "==", Value: "old"}}, PageSize: 2}
	f := ruleFunction(t, cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{shelves}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		return p.EachPage(ctx, old, documents.Cursor(p.Checkpoint), func(things []documents.Document) error {
			var due []cleanup.Proposal
			for _, thing := range things {
				if thing.Data["box"] == nil {
					p.Keep(ctx, thing.Path, cleanup.Invalid("in no box"), 1)
					continue
				}
				box := documents.Document{Path: fmt.Sprint("boxes/", thing.Data["box"])}
				due = append(due, cleanup.Proposal{Document: box, Decision: cleanup.Do("clear shelf", "it has an old thing")})
			}
			return p.ProposeItems(ctx, shelves, due)
		})
	}})
	thing := func(box any, state string) map[string]any { return map[string]any{"box": box, "state": state} }
	f.SetMany(t, 2*cleanup.MaxRoom+10, func(i int) (string, map[string]any) { return fmt.Sprintf("things/m%04d", i), thing("many", "new") })
	for id, data := range map[string]map[string]any{
		"a": thing("few", "old"), "b": thing("few", "old"), "c": thing("few", "old"), "d": thing("few", "new"), "e": thing(nil, "old"),
		"m0400x": thing("many", "old"), "m0801x": thing("many", "old"), "z": thing("few", "old"),
	} {
		f.Set(t, "things/"+id, data)
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("clear shelf", 2))
	enginetest.Want(t, "kept", map[string]int{"in no box": 1}, got.Kept)
	enginetest.Want(t, "scanned", 7, got.Scanned)
	left := f.Documents(t, "things")
	for _, id := range []string{"a", "b", "c", "m0400x", "m0801x", "z"} {
		if left[id] != nil {
			t.Errorf("%s is left", id)
		}
	}
	enginetest.Want(t, "things left", 2*cleanup.MaxRoom+10+2, len(left))
}
