package expiredcomped

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/sweep"
)

// TestOutOfTimeWhilePlanning plans two of three pages in time. A member of the first has a row on the last.
func TestOutOfTimeWhilePlanning(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	const n, people = 1100, 8
	f.SetMany(t, people, func(i int) (string, map[string]any) { return fmt.Sprintf("members/m%d", i), member("comped") })
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		id := min(i/150, people-1) // in the order of expiry_at
		if i == n-1 {
			id = 0
		}
		return fmt.Sprintf("members_products/r%04d", i), row(fmt.Sprintf("m%d", id), today.Add(time.Duration(i-n)*time.Minute))
	})
	var reads atomic.Int64
	wall := time.Date(2026, 1, 10, 4, 17, 34, 0, time.UTC)
	f.Clock = func() time.Time {
		if reads.Add(1) > 3 {
			return wall.Add(f.Timeout/2 + time.Second)
		}
		return wall
	}
	got := f.Run(t, "")
	if got.Status != sweep.Partial || got.Scanned == n || got.Actions[kind].Done == 0 {
		t.Fatalf("%s, %d scanned: this test is not about what it should be", got.Status, got.Scanned)
	}
	if f.Documents(t, "cleanupJobs")["cleanExpiredComped"]["position"] == "" {
		t.Error("no position was saved")
	}
	sound(t, f)
	f.Clock = time.Now
	if next := f.Run(t, ""); next.Status != sweep.Completed {
		t.Errorf("next run %s %v", next.Status, next.Failures)
	}
	if rows, events := f.Documents(t, "members_products"), f.Documents(t, "members_status_events"); len(rows) != 0 || len(events) != people {
		t.Errorf("%d rows and %d events left, want none and %d", len(rows), len(events), people)
	}
	sound(t, f)
}

// TestOutOfTimeOrCanceledWhileApplying stops a run after each number of its commits; the next comes to the same end.
func TestOutOfTimeOrCanceledWhileApplying(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		for commits := 1; commits <= commitsOfMembers; commits++ {
			t.Run(fmt.Sprintf("%d,canceled=%v", commits, cancels), func(t *testing.T) {
				t.Parallel()
				f := functionOf(t, fewRows())
				before, end := everySort()
				before.load(t, f)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var late atomic.Bool
				f.Clock = func() time.Time {
					if late.Load() {
						return time.Now().Add(f.Timeout)
					}
					return time.Now()
				}
				var n atomic.Int64
				onUnary(f, func(req any, send func() error) error {
					err := send()
					if writes(req) {
						if n.Add(1) == int64(commits) { // the first takes the lease
							if cancels {
								cancel()
							} else {
								late.Store(true)
							}
						}
					}
					return err
				})
				w := f.PostContext(ctx, t, "")
				if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"status":"partial"`) {
					t.Errorf("%d %s, want partial", w.Code, w.Body)
				}
				sound(t, f)
				lines := []string{starting, canceled}
				if !cancels {
					lines[1] = fmt.Sprintf("Removed %d expired subscriptions, updated %d members in %sms",
						11-len(f.Documents(t, "members_products")), len(f.Documents(t, "members_status_events")), durationIn(w.Body.String()))
				}
				logged(t, f, lines...)

				late.Store(false)
				rows, events := len(f.Documents(t, "members_products")), len(f.Documents(t, "members_status_events"))
				got := f.Run(t, "")
				if got.Status != sweep.Completed {
					t.Errorf("next run %s %v", got.Status, got.Failures)
				}
				end.is(t, f)
				logged(t, f, append(lines, starting, removedLine(rows-1, 3-events, got))...)
			})
		}
	}
}

// durationIn returns durationMs of a report.
func durationIn(body string) string {
	_, rest, _ := strings.Cut(body, `"durationMs":`)
	ms, _, _ := strings.Cut(rest, ",")
	return ms
}

// TestDeadlineIsNoCancellation has the request end because its time is over, not because the caller went away.
func TestDeadlineIsNoCancellation(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	w := world{"members_products/r": row("m", yesterday), "members/m": member("comped")}.load(t, f)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	answer := f.PostContext(ctx, t, "").Body.String()
	if !strings.Contains(answer, `"status":"partial"`) {
		t.Errorf("answer %s", answer)
	}
	w.is(t, f)
	logged(t, f, starting, "Removed 0 expired subscriptions, updated 0 members in "+durationIn(answer)+"ms")
}

// TestCanceledWhenAllIsDone has the caller go away during the last commit: nothing was left undone.
func TestCanceledWhenAllIsDone(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	w := world{"members_products/r": row("m", yesterday), "members/m": member("comped")}.load(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	onUnary(f, func(req any, send func() error) error {
		err := send()
		if touches(req, f, "members_products/r") {
			cancel()
		}
		return err
	})
	answer := f.PostContext(ctx, t, "").Body.String()
	if !strings.Contains(answer, `"status":"completed"`) {
		t.Errorf("answer %s", answer)
	}
	w.freed("m", "r").is(t, f)
	logged(t, f, starting, "Removed 1 expired subscriptions, updated 1 members in "+durationIn(answer)+"ms")
}
