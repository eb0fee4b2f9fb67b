package engine_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
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

// TestLookingAheadAtManyOfAGroup: if the things of ten boxes are too many to look at, those of some boxes are not.
func TestLookingAheadAtManyOfAGroup(t *testing.T) {
	f := ruleFunction(t, ruleJob("crates", crates, boxes))
	setCrate(t, f, "c1", 10)
	f.SetMany(t, 2500, func(i int) (string, map[string]any) {
		return fmt.Sprintf("things/t%04d", i), map[string]any{"box": fmt.Sprintf("c1-%02d", i/250)}
	})
	var looks atomic.Int32
	onLooks(f, func(collection string) {
		if collection == "things" {
			looks.Add(1)
		}
	})
	f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: []string{"things/t1499"}})
	enginetest.Want(t, "kept", map[string]int{undo.KeptWithPinned: 1}, f.Run(t, "").Kept)
	enginetest.Want(t, "crate", "old", f.Documents(t, "crates")["c1"]["state"])
	enginetest.Want(t, "things", 2500, len(ids(t, f, "things")))
	looks.Store(0)
	f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: []string{"others/x"}})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete crate", 1))
	if n := looks.Load(); n > 20 {
		t.Errorf("%d looks at things", n)
	}
}

// TestStoppedWhileLookingAhead: a look ahead ends as a run ends, and nothing was begun.
func TestStoppedWhileLookingAhead(t *testing.T) {
	s := newStoppable(t, ruleFunction(t, ruleJob("crates", crates, boxes)))
	setCrate(t, s.Function, "c1", 12)
	s.SetMany(t, 24, func(i int) (string, map[string]any) {
		return fmt.Sprintf("things/t%04d", i), map[string]any{"box": fmt.Sprintf("c1-%02d", i/2)}
	})
	s.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: []string{"others/x"}})
	var tell sync.Once
	var after atomic.Int32
	onLooks(s.Function, func(collection string) {
		switch collection {
		case "boxes":
			tell.Do(func() { s.tell(t) })
		case "things":
			after.Add(1)
		}
	})
	s.stopped(t, s.Run(t, ""))
	enginetest.Want(t, "looks at things after the order to stop", int32(0), after.Load())
	enginetest.Want(t, "crate", "old", s.Documents(t, "crates")["c1"]["state"])
	s.ahead.Add(3600)
	enginetest.WantReport(t, s.Run(t, ""), report.Completed, enginetest.Done("delete crate", 1))
}

// TestAPreviewLooksOnce at what goes with an item by one commit, whatever is pinned.
func TestAPreviewLooksOnce(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 3, 2, old)
	f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: []string{"things/old001-0001"}})
	var looks atomic.Int32
	onLooks(f, func(collection string) {
		if collection == "things" {
			looks.Add(1)
		}
	})
	plan := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "looks at things", int32(3), looks.Load())
	enginetest.Want(t, "of the second", []string{"nothing: things/old001-0001 is pinned, until it is released with firesweep release"}, plan[1].Writes)
	enginetest.Want(t, "of the third", 4, len(plan[2].Writes))
}

// TestAPreviewThatRunsOutOfTime while it works out what would be written plans what it has found due by then.
func TestAPreviewThatRunsOutOfTime(t *testing.T) {
	for name, tt := range map[string]struct {
		job    cleanup.Job
		status report.Status
		action string
	}{
		"items":    {ruleJob("crates", crates, boxes), report.Partial, "delete crate"},
		"accounts": {accountsJob(crates), report.Completed, "delete account"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ruleFunction(t, tt.job)
			for _, id := range []string{"c1", "c2", "c3"} {
				f.Import(t, (&auth.UserToImport{}).UID(id))
				setCrate(t, f, id, 2)
			}
			f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: []string{"others/x"}}) // so it looks ahead
			var over atomic.Bool
			f.Clock = func() time.Time {
				if over.Load() {
					return start.Add(f.Timeout)
				}
				return start
			}
			onLooks(f, func(collection string) {
				if collection == "boxes" {
					over.Store(true)
				}
			})
			got := f.Run(t, `{"dryRun":true}`)
			enginetest.Want(t, "status", tt.status, got.Status)
			enginetest.Want(t, "actions", map[string]report.Counts{tt.action: {Planned: 3}}, got.Actions)
			for _, planned := range got.Plan {
				enginetest.Want(t, "there is more of "+planned.Target, true, planned.More)
			}
		})
	}
}
