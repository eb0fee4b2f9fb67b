package ghostcircles

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestReadsOfCircles says what a run reads of circles that are not due: nothing but counts, at a read for each thousand.
func TestReadsOfCircles(t *testing.T) {
	t.Parallel()
	type kind = func(i int) map[string]any
	inUse := func(i int) map[string]any { return circle(daysAgo(1+i%300), daysAgo(400), nil) }
	oldInUse := func(i int) map[string]any { return with(inUse(i), "createdAt", daysAgo(31+i)) }
	isNew := func(i int) map[string]any { return circle(nil, daysAgo(i%29), nil) }
	idle := func(i int) map[string]any { return circle(daysAgo(366+i), daysAgo(2000), nil) }
	unposted := func(i int) map[string]any { return circle(nil, daysAgo(31+i), nil) }
	idleGone := func(i int) map[string]any { return with(idle(i), "isDeleted", true) }
	unpostedGone := func(i int) map[string]any { return with(unposted(i), "isDeleted", true) }
	const n, half = 1200, 600
	tests := []struct {
		name  string
		kinds []kind // in turns
		one   kind   // the 600th, which is due
		reads int64  // of which 3 are the lease, the pins and the like
		kept  map[string]int
	}{
		{"in use", []kind{inUse}, nil, 20, map[string]int{keptInUse: n}},
		{"new", []kind{isNew}, nil, 20, map[string]int{keptInUse: n}},
		{"in use and new", []kind{isNew, inUse}, nil, 20, map[string]int{keptInUse: n}},
		{"deleted long ago", []kind{idleGone}, nil, 24, map[string]int{keptDeleted: n}},
		{"deleted long ago, and nobody ever posted", []kind{unpostedGone}, nil, 28, map[string]int{keptDeleted: n}},
		{"all in one", []kind{inUse, isNew, idleGone, unpostedGone}, nil, 28, map[string]int{keptInUse: half, keptDeleted: half}},
		{"one of them a ghost", []kind{inUse}, idle, 30, map[string]int{keptInUse: n - 1}},
		{"one of them abandoned", []kind{oldInUse}, unposted, 60, map[string]int{keptInUse: n - 1}},
		{"a ghost among the deleted", []kind{idleGone}, idle, 60, map[string]int{keptDeleted: n - 1}},
		{"an abandoned one among the deleted", []kind{unpostedGone, oldInUse}, unposted, 90,
			map[string]int{keptInUse: half, keptDeleted: half - 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			f.SetMany(t, n, func(i int) (string, map[string]any) {
				of := tt.kinds[i%len(tt.kinds)]
				if i == half && tt.one != nil {
					of = tt.one
				}
				return fmt.Sprintf("circles/c%04d", i), of(i)
			})
			f.Env["MAX_DUE_PERCENT"] = "100"
			got := f.Run(t, `{"dryRun":true}`)
			want := map[string]report.Counts{}
			if tt.one != nil {
				want[toWarn] = report.Counts{Planned: 1}
			}
			enginetest.WantReport(t, got, report.Completed, want)
			enginetest.Want(t, "kept", tt.kept, got.Kept)
			enginetest.Want(t, "scanned", n, got.Scanned)
			if got.Usage.FirestoreReads > tt.reads {
				t.Errorf("%d reads, want at most %d", got.Usage.FirestoreReads, tt.reads)
			}
		})
	}
}

// TestOddCircles: circles that cannot be judged are counted, and up to twenty for each reason are named, without reading the others.
func TestOddCircles(t *testing.T) {
	f := newFunction(t)
	kinds := []map[string]any{
		circle(int64(1700000000000), daysAgo(400), nil), circle("2020-01-01", daysAgo(400), nil), // milliseconds, a text
		circle(time.Unix(0, 0), daysAgo(400), nil), with(circle(daysAgo(1), nil, nil), "isDeleted", "true"),
		circle(daysAgo(1), nil, "yesterday"), circle(nil, nil, nil), circle(nil, "yesterday", nil), circle(nil, time.Unix(0, 0), nil),
		with(circle(nil, nil, nil), "isDeleted", true), circle(daysAgo(1), nil, nil),
	}
	f.SetMany(t, 30*len(kinds), func(i int) (string, map[string]any) { return fmt.Sprintf("circles/c%04d", i), kinds[i%len(kinds)] })
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept", map[string]int{
		keptOddPost: 90, keptOddDeleted: 30, keptOddWarning: 30, keptUndated: 90, keptDeleted: 30, keptInUse: 30,
	}, got.Kept)
	enginetest.Want(t, "scanned", 300, got.Scanned)
	if got.Usage.FirestoreReads > 200 {
		t.Errorf("%d reads", got.Usage.FirestoreReads)
	}
}

// TestUncountableCircles: where the counts fail, all circles are read, and the report says why. A run that is out of time goes on
// behind the last that was read.
func TestUncountableCircles(t *testing.T) {
	f := newFunction(t)
	f.RefuseCounts(status.Error(codes.FailedPrecondition, "The query requires an index."))
	f.Set(t, "circles/a-ghost", circle(daysAgo(380), nil, nil))
	f.Set(t, "circles/abandoned", circle(nil, daysAgo(31), nil))
	f.SetMany(t, 500, func(i int) (string, map[string]any) {
		return fmt.Sprintf("circles/c%03d", i), circle(daysAgo(1), nil, nil)
	})
	outOfTime(f)
	first, second := f.Run(t, ""), f.Run(t, "")
	enginetest.WantReport(t, first, report.Partial, enginetest.Done(toWarn, 2))
	enginetest.WantReport(t, second, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "scanned by each", []int{500, 2}, []int{first.Scanned, second.Scanned})
	enginetest.Want(t, "warnings", 1, len(first.Warnings))
}

// TestOutOfTime: where circles are counted, what a run that was out of time has done is not found again.
func TestOutOfTime(t *testing.T) {
	f := newFunction(t)
	f.SetMany(t, 501, func(i int) (string, map[string]any) { // one more than a page
		return fmt.Sprintf("circles/c%04d", i), circle(daysAgo(380), nil, nil)
	})
	f.Env["MAX_DUE_PERCENT"] = "100"
	outOfTime(f)
	first, second := f.Run(t, ""), f.Run(t, "")
	enginetest.WantReport(t, first, report.Partial, enginetest.Done(toWarn, 500))
	enginetest.WantReport(t, second, report.Completed, enginetest.Done(toWarn, 1))
	enginetest.Want(t, "kept", map[string]int{keptWarned: 500}, second.Kept)
}

// outOfTime has time for planning be up behind the first page.
func outOfTime(f *enginetest.Function) {
	var asked atomic.Int64
	f.Clock = func() time.Time { // for the request, the lease and after each page
		if asked.Add(1) == 3 {
			return now.Add(f.Timeout/2 + time.Second)
		}
		return now
	}
}
