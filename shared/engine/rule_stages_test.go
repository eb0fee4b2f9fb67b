package engine_test

import (
	"context"
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

// trees are felled, unless the commit finds that they are hollow, or Firestore refuses to delete them with all that is there.
var trees = cleanup.Rule[cleanup.Subject]{
	Name: "tree", Group: 1, Load: cleanup.Itself,
	Reach: cleanup.Reach{Items: "trees", Deletes: []string{"trees"}, Writes: []string{"stumps"}},
	Judge: func(t cleanup.Subject, _ cleanup.Run) cleanup.Decision {
		if t.Data["state"] != "old" {
			return cleanup.Decision{}
		}
		return cleanup.Do("fell tree", "it is old")
	},
	Change: func(t cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		if t.Data["hollow"] == true || t.Room < cleanup.MaxRoom {
			return cleanup.Change{Invalid: "it cannot be felled"}
		}
		stump := documents.Ref{Collection: "stumps", ID: t.ID()}
		return cleanup.Change{Writes: []documents.Write{
			{Op: documents.Delete, Ref: t.Ref()}, {Op: documents.Set, Ref: stump, Data: map[string]any{}},
		}}
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

// TestFoundInvalidByTheCommit has two rules on one collection. What turns out to be invalid is kept, counted and named by each run;
// a preview says so, but of what Firestore refuses.
func TestFoundInvalidByTheCommit(t *testing.T) {
	f := ruleFunction(t, cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{trees}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		return p.Sweep(ctx, documents.Query{Collection: "trees"}, "", trees, young)
	}})
	refused := 0
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		for _, w := range commit.GetWrites() {
			if strings.HasSuffix(w.GetDelete(), "/trees/hard") {
				refused++
				return status.Error(codes.InvalidArgument, "too large")
			}
		}
		return send()
	})
	f.Set(t, "trees/hard", map[string]any{"state": "old"})
	f.Set(t, "trees/hollow", map[string]any{"state": "old", "hollow": true})
	f.Set(t, "trees/soft", map[string]any{"state": "old"})
	f.Set(t, "trees/young", map[string]any{})
	preview := f.Run(t, `{"dryRun":true}`)
	plan := preview.Plan
	enginetest.Want(t, "previewed", [][2]any{{"", map[string]int{"write document of stumps": 1}}, {"it cannot be felled", map[string]int(nil)},
		{"", map[string]int{"write document of stumps": 1}}},
		[][2]any{{plan[0].Kept, plan[0].With}, {plan[1].Kept, plan[1].With}, {plan[2].Kept, plan[2].With}})
	for run := range 2 {
		got := f.Run(t, "")
		enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"fell tree": {Planned: 3 - run, Done: 1 - run}})
		enginetest.Want(t, "kept", map[string]int{"young": 1, "it cannot be felled": 2}, got.Kept)
		enginetest.Want(t, "trees", []string{"hard", "hollow", "young"}, f.IDs(t, "trees"))
		enginetest.Want(t, "times that Firestore refused", run+1, refused)
	}
	for _, id := range []string{"hard", "hollow"} {
		enginetest.Want(t, "times that the log names "+id, 2, len(f.Warnings(t)["trees/"+id]))
	}
}
