package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestRoom refuses, as Firestore does what is more than 10 MiB, commits of more than so many writes, for an item that alone
// has more.
func TestRoom(t *testing.T) {
	for name, tt := range map[string]struct {
		most   int
		status report.Status
		left   int
	}{"some at a time": {25, report.Completed, 0}, "refused for good": {0, report.Failed, 60}} {
		t.Run(name, func(t *testing.T) {
			f := boxFunction(t)
			setBoxes(t, f, "old", 1, 60, old)
			largest := 0
			f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
				if n := len(r.GetWrites()); strings.Contains(fmt.Sprint(r.GetWrites()), "/things/") && n > tt.most {
					return status.Error(codes.InvalidArgument, "Transaction too big. Decrease transaction size.")
				} else if n > largest {
					largest = n
				}
				return send()
			})
			got := f.Run(t, "")
			enginetest.Want(t, "status", tt.status, got.Status)
			enginetest.Want(t, "things", tt.left, len(f.Documents(t, "things")))
			if tt.most > 0 && largest < tt.most/2 {
				t.Errorf("the largest commit held %d writes: there was room for %d", largest, tt.most)
			}
		})
	}
}

// TestChildrenOfTheLongestID deletes a box whose id is too long for a query, and nothing of one whose id begins like it.
func TestChildrenOfTheLongestID(t *testing.T) {
	f := boxFunction(t)
	id, other := strings.Repeat("x", 1499)+"a", strings.Repeat("x", 1499)+"b"
	f.Set(t, "boxes/"+id, old)
	f.Set(t, "boxes/short", old)
	f.Set(t, "things/short", map[string]any{"box": "short"})
	for i := range 450 { // more than one commit holds
		f.Set(t, fmt.Sprintf("things/a%03d", i), map[string]any{"box": id})
	}
	for i := range 5 {
		f.Set(t, fmt.Sprintf("things/b%d", i), map[string]any{"box": other})
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete box", 2))
	enginetest.Want(t, "things left", []string{"b0", "b1", "b2", "b3", "b4"}, ids(t, f, "things"))
}

// TestUndone tells the job what was left undone: what failed and what changed, not what is gone.
func TestUndone(t *testing.T) {
	var told []documents.Ref
	job := boxJob()
	plan := job.Plan
	job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		p.Continue(func(undone []documents.Ref) string { told = undone; return "next" })
		return plan(ctx, p)
	}
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore, config.Storage}))
	f.Clock = func() time.Time { return start }
	setBoxes(t, f, "old", 3, 0, old)
	f.Set(t, "boxes/failing", map[string]any{"state": "old", "panic": true})
	f.Hooks.BeforeApply = func() {
		f.Set(t, "boxes/old001", map[string]any{"state": "used"})
		if _, err := f.Firestore(t).Doc("boxes/old002").Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete box": {Planned: 4, Done: 1, Changed: 2, Failed: 1}})
	enginetest.Want(t, "undone", []documents.Ref{{Collection: "boxes", ID: "failing"}, {Collection: "boxes", ID: "old001"}}, told)
}
