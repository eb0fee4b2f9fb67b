package placeholderusers

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

func TestTheWholeWay(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "u1", true)
	w.placeholder(t, "u12", false, "namespace_id", missing)
	w.placeholder(t, "mapped", true, "namespace_id", "g1")
	w.placeholder(t, "recent", false, "last_deletion_attempt_at", twoDaysAgo)
	w.placeholder(t, "exhausted", false, "deletion_attempts", 15)
	w.placeholder(t, "odd", false, "deletion_attempts", "1")
	w.placeholder(t, "author", true, "deletion_attempts", 3, "last_deletion_attempt_at", twoDaysAgo.Add(-time.Second))
	w.Set(t, "posts/p1", map[string]any{"userId": "author"})

	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, sweeptest.Done(handKind, 3))
	sweeptest.Want(t, "kept", map[string]int{keptNamespace: 1, keptRecent: 1, keptExhausted: 1, keptBadAttempts: 1}, got.Kept)
	if got.Scanned != 7 || got.Usage.Tasks != 3 {
		t.Errorf("scanned %d, usage %+v", got.Scanned, got.Usage)
	}
	for id, n := range map[string]int64{"u1": 1, "u12": 1, "author": 4} {
		d := w.Documents(t, details)["d-"+id]
		if d["deletion_attempts"] != n || d["last_deletion_attempt_at"] != now {
			t.Errorf("%s: %v", id, d)
		}
	}
	if n := w.deliver(t); n != 3 {
		t.Errorf("%d tasks delivered, want 3", n)
	}
	w.wantLeft(t, left{
		Users:    []string{"author", "exhausted", "mapped", "odd", "recent"},
		Details:  []string{"d-author", "d-exhausted", "d-mapped", "d-odd", "d-recent"},
		Accounts: []string{"author", "mapped"},
	})
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	// Two days later, and no sooner, the referenced one has its turn again; recent has had its own.
	w.Now = now.AddDate(0, 0, 2)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(handKind, 1))
	sweeptest.Want(t, "attempts of recent", any(int64(1)), w.Documents(t, details)["d-recent"]["deletion_attempts"])
	w.Now = now.AddDate(0, 0, 2).Add(tick)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(handKind, 1))
	sweeptest.Want(t, "attempts of author", any(int64(5)), w.Documents(t, details)["d-author"]["deletion_attempts"])
}

// TestOnlyDetailsWithoutNamespaceAreRead counts what a run with and without details that lack the field costs.
func TestOnlyDetailsWithoutNamespaceAreRead(t *testing.T) {
	w := newWorld(t)
	w.SetMany(t, 200, func(i int) (string, map[string]any) {
		return fmt.Sprintf("%s/mapped%03d", details, i), detail(fmt.Sprint(i), "namespace_id", "g1")
	})
	// Lease twice, three counts, the journal.
	if got := w.Run(t, ""); got.Usage.FirestoreReads != 6 || got.Scanned != 200 || got.Kept[keptNamespace] != 200 {
		t.Errorf("nothing without a namespace: %d reads, want 6", got.Usage.FirestoreReads)
	}
	w.placeholder(t, "recent", false, "last_deletion_attempt_at", now)
	if got := w.Run(t, ""); got.Usage.FirestoreReads != 7 || got.Scanned != 201 || got.Kept[keptNamespace] != 200 {
		t.Errorf("one with null: %d reads, want 7; %+v", got.Usage.FirestoreReads, got)
	}
	w.placeholder(t, "without", false, "namespace_id", missing, "last_deletion_attempt_at", now)
	if got := w.Run(t, ""); got.Usage.FirestoreReads != 6+202 || got.Scanned != 202 || got.Kept[keptNamespace] != 200 {
		t.Errorf("one without the field: %d reads, want all; %+v", got.Usage.FirestoreReads, got)
	}
}

func TestTasksAreASecondApart(t *testing.T) {
	w := newWorld(t)
	w.Clock = func() time.Time { return now.Add(time.Minute) }
	const n = 40
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("%s/d%02d", details, i), detail(fmt.Sprintf("u%02d", i))
	})
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(handKind, n))
	pending := w.Tasks().Pending("")
	if len(pending) != n {
		t.Fatalf("%d tasks, want %d", len(pending), n)
	}
	for i, task := range pending {
		wantBody := fmt.Sprintf(`{"placeholder_user_id":"u%02d"}`, i)
		at := task.GetScheduleTime().AsTime()
		if string(task.GetHttpRequest().GetBody()) != wantBody || !at.Equal(now.Add(time.Minute+time.Duration(i)*time.Second)) {
			t.Errorf("task %d: %s at %s", i, task.GetHttpRequest().GetBody(), at)
		}
	}
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
	if n := w.deliver(t); n != 3 {
		t.Errorf("%d tasks, want 3", n)
	}
	w.wantLeft(t, left{})
}

func TestChangedBetweenPlanAndHandingOver(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"mapped", "tried", "gone", "same"} {
		w.placeholder(t, id, false)
	}
	w.Hooks.BeforeApply = func() {
		w.Set(t, details+"/d-mapped", detail("mapped", "namespace_id", "g1"))
		w.Set(t, details+"/d-tried", detail("tried", "last_deletion_attempt_at", now))
		if _, err := w.Firestore(t).Doc(details + "/d-gone").Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{handKind: {Planned: 4, Done: 1, Changed: 3}})
	if n := len(w.Tasks().Pending("")); n != 1 {
		t.Errorf("%d tasks, want 1", n)
	}
}

// TestDetailsThatCannotBeCountedAreRead: whether all details must be read is decided by counts. Without them, they are.
func TestDetailsThatCannotBeCountedAreRead(t *testing.T) {
	w := newWorld(t)
	w.placeholder(t, "mapped", false, "namespace_id", "g1")
	w.placeholder(t, "null", false)
	w.placeholder(t, "without", false, "namespace_id", missing)
	w.Hooks.Dial = append(w.Hooks.Dial, grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if path.Base(method) == "RunAggregationQuery" {
				return nil, status.Error(codes.DeadlineExceeded, "it took too long")
			}
			return stream(ctx, desc, cc, method, opts...)
		}))
	got := w.Run(t, "")
	if got.Status != sweep.Completed || got.Scanned != 3 || got.Actions["have placeholder user deleted"].Done != 2 || got.Kept[keptNamespace] != 1 {
		t.Errorf("report %+v", got)
	}
	sweeptest.Want(t, "not counted", []string{details}, got.NotCounted)
}
