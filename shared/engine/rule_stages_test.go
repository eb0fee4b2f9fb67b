package engine_test

import (
	"context"
	"errors"
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

// A tree is felled as a whole. What Firestore refuses of it is marked instead, with a commit for each of its marks, and then it
// is a failure, or has changed.
type tree struct {
	cleanup.Subject
	marks int
}

var trees = cleanup.Rule[tree]{
	Name: "tree", Group: 1,
	Reach: cleanup.Reach{Items: "trees", Deletes: []string{"trees"}, Writes: []string{"trees/*/marks"}},
	Load:  cleanup.Each(func(s cleanup.Subject) tree { return tree{Subject: s} }),
	Judge: func(t tree, _ cleanup.Run) cleanup.Decision {
		if t.Data["state"] != "old" {
			return cleanup.Decision{}
		}
		return cleanup.Do("fell tree", "it is old")
	},
	Gather: func(ctx context.Context, src cleanup.Source, due []*tree) error {
		marks, err := src.First(ctx, documents.Query{Collection: due[0].Path + "/marks"}, "", 5)
		due[0].marks = len(marks)
		return err
	},
	Change: func(t tree, d cleanup.Decision, _ cleanup.Run) cleanup.Change {
		mark := documents.Write{Op: documents.Create, Ref: documents.Ref{Collection: t.Path + "/marks", ID: string(rune('a' + t.marks))}, Data: map[string]any{}}
		switch {
		case t.From == "" && !t.Refused && t.Data["hollow"] == nil:
			return cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: t.Ref()}}}
		case t.marks < 2:
			return cleanup.Change{Writes: []documents.Write{mark}, Again: d.Kind, From: "marking"}
		case t.Data["hollow"] != nil:
			return cleanup.Change{Fail: documents.ErrChanged}
		default:
			return cleanup.Change{Fail: errors.New("too hard")}
		}
	},
}

var young = cleanup.Rule[cleanup.Subject]{
	Name: "young", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "trees"},
	Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
		if s.Data["state"] == "old" {
			return cleanup.Decision{}
		}
		return cleanup.Keep("young")
	},
}

// treeFunction has two rules on one collection. Firestore refuses to delete the hard tree.
func treeFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	f := ruleFunction(t, cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{trees}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		return p.Sweep(ctx, documents.Query{Collection: "trees"}, "", trees, young)
	}})
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		for _, w := range commit.GetWrites() {
			if strings.HasSuffix(w.GetDelete(), "/trees/hard") {
				return status.Error(codes.InvalidArgument, "too large")
			}
		}
		return send()
	})
	return f
}

func TestTheWayBackFromWhatFirestoreRefuses(t *testing.T) {
	f := treeFunction(t)
	f.Set(t, "trees/hard", map[string]any{"state": "old"})
	f.Set(t, "trees/soft", map[string]any{"state": "old"})
	f.Set(t, "trees/young", map[string]any{})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"fell tree": {Planned: 2, Done: 1, Failed: 1}})
	enginetest.Want(t, "failure", "too hard", got.Failures[0].Error)
	enginetest.Want(t, "kept", map[string]int{"young": 1}, got.Kept)
	enginetest.Want(t, "trees", []string{"hard", "young"}, ids(t, f, "trees"))
	enginetest.Want(t, "marks", []string{"a", "b"}, ids(t, f, "trees/hard/marks"))
	enginetest.Want(t, "todos", 0, len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"fell tree": {Planned: 1, Failed: 1}})
}

func TestAnItemThatEndsAsChanged(t *testing.T) {
	f := treeFunction(t)
	f.Set(t, "trees/hollow", map[string]any{"state": "old", "hollow": true})
	preview := f.Run(t, `{"dryRun":true}`)
	enginetest.Want(t, "previewed", map[string]int{"write document of marks": 1}, preview.Plan[0].With) // by the first commit
	enginetest.Want(t, "more", true, preview.Plan[0].More)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"fell tree": {Planned: 1, Changed: 1}})
	enginetest.Want(t, "marks", []string{"a", "b"}, ids(t, f, "trees/hollow/marks"))
	enginetest.Want(t, "todos", 0, len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
}
