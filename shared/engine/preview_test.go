package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// onLooks calls do for each query of things that is in no transaction, and counts them.
func onLooks(f *enginetest.Function, do func()) *atomic.Int32 {
	var looks atomic.Int32
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, message any) error {
		q, ok := message.(*firestorepb.RunQueryRequest)
		if ok && q.GetTransaction() == nil && q.GetStructuredQuery().GetFrom()[0].GetCollectionId() == "things" {
			looks.Add(1)
			do()
		}
		return nil
	})...)
	return &looks
}

// TestAPreviewLooksOnce at what goes with an item by one commit, whatever the job keeps.
func TestAPreviewLooksOnce(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 3, 2, old)
	f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping("things/old001-0001"))
	looks := onLooks(f, func() {})
	plan := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "looks at things", int32(3), looks.Load())
	enginetest.Want(t, "of the second", "things/old001-0001 is "+jobstate.KeptListed, plan[1].Kept)
	enginetest.Want(t, "of the third", map[string]int{"delete document of things": 2, "write document of gone": 1}, plan[2].With)
}

// TestAPreviewIsBounded: of the first items it works out what goes with them, and of the others it says that there may be more.
func TestAPreviewIsBounded(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 120, 1, old)
	looks := onLooks(f, func() {})
	plan := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "planned", 120, len(plan))
	enginetest.Want(t, "looks at things", int32(100), looks.Load())
	for i, planned := range plan {
		enginetest.Want(t, "more of "+planned.Target, i >= 100, planned.More)
		enginetest.Want(t, "worked out "+planned.Target, i < 100, len(planned.With) > 0)
	}
}

// TestAPreviewThatRunsOutOfTime while it works out what would be written plans what it has found due by then.
func TestAPreviewThatRunsOutOfTime(t *testing.T) {
	for name, tt := range map[string]struct {
		job    cleanup.Job
		status report.Status
		action string
	}{
		"items":    {ruleJob("boxes", boxes), report.Partial, "delete box"},
		"accounts": {accountsJob(boxes), report.Completed, "delete account"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ruleFunction(t, tt.job)
			for i := range 20 {
				id := fmt.Sprintf("c%02d", i)
				f.Import(t, (&auth.UserToImport{}).UID(id))
				f.Set(t, "boxes/"+id, map[string]any{"state": "old"})
			}
			late := lateClock(f)
			onLooks(f, func() { late.Store(true) })
			got := f.Run(t, `{"dryRun":true}`)
			enginetest.Want(t, "status", tt.status, got.Status)
			enginetest.Want(t, "actions", map[string]report.Counts{tt.action: {Planned: 20}}, got.Actions)
			enginetest.Want(t, "there is more of the last", true, got.Plan[19].More)
		})
	}
}
