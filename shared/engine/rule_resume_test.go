package engine_test

import (
	"context"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestUndone tells the job what was left undone: what failed and what changed, not what is gone. It says where the next run begins.
func TestUndone(t *testing.T) {
	var told []documents.Ref
	whole := boxJob()
	plan := whole.Plan
	whole.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		p.Continue(func(undone []documents.Ref) string { told = undone; return "next" })
		return plan(ctx, p)
	}
	f := ruleFunction(t, whole)
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
	enginetest.Want(t, "checkpoint", "next", enginetest.Checkpoint(job(t, f)))
	enginetest.Want(t, "undone", []documents.Ref{{Collection: "boxes", ID: "failing"}, {Collection: "boxes", ID: "old001"}}, told)
}
