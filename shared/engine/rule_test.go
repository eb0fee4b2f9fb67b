package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// box is a document of boxes with the things in it, and perhaps a file.
type box struct {
	cleanup.Subject
	things cleanup.Belonging
}

var loadBoxes = cleanup.Each(func(s cleanup.Subject) box { return box{Subject: s} })

func judgeBox(b box, _ cleanup.Run) cleanup.Decision {
	switch b.Data["state"] {
	case "old":
		return cleanup.Do("delete box", "it is old")
	case nil:
		return cleanup.Invalid("no state")
	default:
		return cleanup.Keep("in use")
	}
}

func gatherThings(ctx context.Context, src cleanup.Source, due []*box) error {
	ids := make([]string, len(due))
	for i, b := range due {
		ids[i] = b.ID()
	}
	things, err := src.Children(ctx, cleanup.Children{Collection: "things", Field: "box"}, ids)
	for _, b := range due {
		b.things = things[b.ID()]
	}
	return err
}

func changeBox(b box, _ cleanup.Decision, run cleanup.Run) (c cleanup.Change) {
	if b.Data["panic"] == true {
		panic("this box")
	}
	if !b.things.Whole && !b.Alone {
		return cleanup.Change{Again: true}
	}
	for _, thing := range b.things.Documents {
		c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: thing.Ref()})
	}
	if !b.things.Whole {
		c.Again = true
		return c
	}
	c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: b.Ref()},
		documents.Write{Op: documents.Set, Ref: documents.Ref{Collection: "gone", ID: b.ID()}, Data: map[string]any{"at": run.Now}})
	if file, _ := b.Text("file"); file != "" {
		c.Then = []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: file}, Absent: b.Ref()}}
	}
	photos, _ := b.Data["photos"].(int64)
	for i := range photos {
		photo := cleanup.ObjectDeletion{Name: fmt.Sprintf("photos/%04d", i), OwnerKey: "box", Owner: b.ID()}
		c.Then = append(c.Then, cleanup.FollowUp{Object: photo, Absent: b.Ref()})
	}
	return c
}

var boxes = cleanup.Rule[box]{
	Name: "box", Load: loadBoxes, Judge: judgeBox, Gather: gatherThings, Change: changeBox,
	Reach: cleanup.Reach{
		Items: "boxes", Deletes: []string{"boxes", "things"}, Writes: []string{"gone"},
		Objects: []cleanup.Files{{Folder: "files/"}, {Folder: "photos/", Owner: "box"}},
	},
}

func boxJob() cleanup.Job {
	return cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{boxes}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		q := documents.Query{Collection: "boxes", Select: []string{"state"}}
		return p.Sweep(ctx, q, documents.Cursor(p.Checkpoint), boxes)
	}}
}

func boxFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	return ruleFunction(t, boxJob())
}

// setBoxes writes boxes with so many things each.
func setBoxes(t *testing.T, f *enginetest.Function, prefix string, n, things int, data map[string]any) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s%03d", prefix, i)
		f.Set(t, "boxes/"+id, data)
		f.SetMany(t, things, func(k int) (string, map[string]any) {
			return fmt.Sprintf("things/%s-%04d", id, k), map[string]any{"box": id}
		})
	}
}

var old = map[string]any{"state": "old"}

func TestItemsShareCommits(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 60, 3, old)
	setBoxes(t, f, "used", 2, 2, map[string]any{"state": "used"})
	f.Set(t, "boxes/odd", map[string]any{"name": "?"})
	got := enginetest.NewGolden(t, "boxes").Run(t, "60 boxes share commits", f, "", "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete box", 60))
	enginetest.Want(t, "kept", map[string]int{"in use": 2, "no state": 1}, got.Kept)
	enginetest.Want(t, "boxes left", []string{"odd", "used000", "used001"}, f.IDs(t, "boxes"))
	enginetest.Want(t, "things left", 4, len(f.IDs(t, "things")))
	enginetest.Want(t, "boxes recorded", 60, len(f.IDs(t, "gone")))
	enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
}

// TestOneThatIsToBlameIsFound: Firestore refuses one of a commit, and the others of it are done.
func TestOneThatIsToBlameIsFound(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "a", 12, 1, old)
	setBoxes(t, f, "b", 1, 1, old)
	setBoxes(t, f, "c", 12, 1, old)
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		for _, w := range commit.GetWrites() {
			if strings.HasSuffix(w.GetDelete(), "boxes/b000") {
				return status.Error(codes.InvalidArgument, "too large")
			}
		}
		return send()
	})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete box": {Planned: 25, Done: 24, Failed: 1}})
	failure := onlyFailure(t, got)
	enginetest.Want(t, "target", "boxes/b000", failure.Target)
	has(t, failure.Error, "too large")
	enginetest.Want(t, "boxes left", []string{"b000"}, f.IDs(t, "boxes"))
	enginetest.Want(t, "things left", []string{"b000-0000"}, f.IDs(t, "things"))
	enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
}
