package placeholderusers

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// TestOnlyDetailsWithoutNamespaceAreRead counts what a run with and without details that lack the field costs.
func TestOnlyDetailsWithoutNamespaceAreRead(t *testing.T) {
	w := newWorld(t)
	w.SetMany(t, 20, func(i int) (string, map[string]any) {
		return fmt.Sprintf("%s/mapped%03d", details, i), detail(fmt.Sprint(i), "namespace_id", "g1")
	})
	// Lease, what is pinned, three counts, the journal.
	if got := w.Run(t, ""); got.Usage.FirestoreReads != 6 || got.Scanned != 20 || got.Kept[keptNamespace] != 20 {
		t.Errorf("nothing without a namespace: %d reads, want 6", got.Usage.FirestoreReads)
	}
	w.placeholder(t, "recent", false, "last_deletion_attempt_at", now)
	if got := w.Run(t, ""); got.Usage.FirestoreReads != 7 || got.Scanned != 21 || got.Kept[keptNamespace] != 20 {
		t.Errorf("one with null: %d reads, want 7; %+v", got.Usage.FirestoreReads, got)
	}
	w.placeholder(t, "without", false, "namespace_id", sweeptest.Missing, "last_deletion_attempt_at", now)
	if got := w.Run(t, ""); got.Usage.FirestoreReads != 6+22 || got.Scanned != 22 || got.Kept[keptNamespace] != 20 {
		t.Errorf("one without the field: %d reads, want all; %+v", got.Usage.FirestoreReads, got)
	}
}

func TestGoesOnBehindItsCheckpoint(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"u1", "u2", "u3"} {
		w.placeholder(t, id, false)
	}
	w.Set(t, "cleanupJobs/cleanupPlaceholderUsers", map[string]any{"position": `[{"text":"d-u2"}]`})
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(handKind, 1))
	sweeptest.Want(t, "the one before it", detail("u2"), w.Documents(t, details)["d-u2"])
}

func TestAttemptThatCannotBeEnqueuedDoesNotCount(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"u1", "u2", "u3"} {
		w.placeholder(t, id, false)
	}
	w.Tasks().FailCreates(func(task *cloudtaskspb.Task) error {
		if strings.Contains(string(task.GetHttpRequest().GetBody()), "u2") {
			return status.Error(codes.PermissionDenied, "no role")
		}
		return nil
	})
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Failed, map[string]sweep.Counts{handKind: {Planned: 3, Done: 2, Failed: 1}})
	sweeptest.Want(t, "the detail that failed", detail("u2"), w.Documents(t, details)["d-u2"])
	w.Tasks().FailCreates(nil)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(handKind, 1))
}

func TestChangedBetweenPlanAndHandingOver(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"mapped", "tried", "gone", "same"} {
		w.placeholder(t, id, false)
	}
	w.Hooks.BeforeApply = func() {
		w.Set(t, details+"/d-mapped", detail("mapped", "namespace_id", "g1"))
		w.Set(t, details+"/d-tried", detail("tried", "last_deletion_attempt_at", now))
		w.Delete(t, details+"/d-gone")
	}
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{handKind: {Planned: 4, Done: 1, Changed: 3}})
	if n := len(w.Tasks().Pending("")); n != 1 {
		t.Errorf("%d tasks, want 1", n)
	}
}
