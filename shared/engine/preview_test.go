package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// onLooks calls do for each query of a collection that is in no transaction.
func onLooks(f *enginetest.Function, do func(collection string)) {
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, message any) error {
		if q, ok := message.(*firestorepb.RunQueryRequest); ok && q.GetTransaction() == nil {
			for _, from := range q.GetStructuredQuery().GetFrom() {
				do(from.GetCollectionId())
			}
		}
		return nil
	})...)
}

// TestAPreviewLooksOnce at what goes with an item by one commit, whatever the job keeps.
func TestAPreviewLooksOnce(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 3, 2, old)
	f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping("things/old001-0001"))
	var looks atomic.Int32
	onLooks(f, func(collection string) {
		if collection == "things" {
			looks.Add(1)
		}
	})
	plan := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "looks at things", int32(3), looks.Load())
	enginetest.Want(t, "of the second", "things/old001-0001 is "+jobstate.KeptListed, plan[1].Kept)
	enginetest.Want(t, "of the third", map[string]int{"delete document of things": 2, "write document of gone": 1}, plan[2].With)
}

// TestAPreviewIsBounded: of the first items it works out what goes with them, and of the others it says that there may be more.
func TestAPreviewIsBounded(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 120, 1, old)
	var looks atomic.Int32
	onLooks(f, func(collection string) {
		if collection == "things" {
			looks.Add(1)
		}
	})
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
		"accounts": {accountsJob(crates), report.Completed, "delete account"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ruleFunction(t, tt.job)
			for i := range 20 {
				id := fmt.Sprintf("c%02d", i)
				f.Import(t, (&auth.UserToImport{}).UID(id))
				f.Set(t, "boxes/"+id, map[string]any{"state": "old"})
			}
			var over atomic.Bool
			f.Clock = func() time.Time {
				if over.Load() {
					return start.Add(f.Timeout)
				}
				return start
			}
			onLooks(f, func(collection string) {
				if collection == "things" {
					over.Store(true)
				}
			})
			got := f.Run(t, `{"dryRun":true}`)
			enginetest.Want(t, "status", tt.status, got.Status)
			enginetest.Want(t, "actions", map[string]report.Counts{tt.action: {Planned: 20}}, got.Actions)
			enginetest.Want(t, "there is more of the last", true, got.Plan[19].More)
		})
	}
}
