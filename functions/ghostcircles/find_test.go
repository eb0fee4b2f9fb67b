package ghostcircles

import (
	"fmt"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestReadsOfCircles says what a run reads of circles that are not due: nothing but counts, at a read for each thousand.
func TestReadsOfCircles(t *testing.T) {
	t.Parallel()
	inUse := func(i int) map[string]any { return circle(daysAgo(1+i%300), daysAgo(400), nil) }
	isNew := func(i int) map[string]any { return circle(nil, daysAgo(i%29), nil) }
	gone := func(of map[string]any) map[string]any { return with(of, "isDeleted", true) }
	idle := func(i int) map[string]any { return circle(daysAgo(366+i), daysAgo(2000), nil) }
	unposted := func(i int) map[string]any { return circle(nil, daysAgo(31+i), nil) }
	const n = 1200
	tests := []struct {
		name  string
		of    func(i int) map[string]any
		warn  int
		reads int64 // of which 3 are the lease, the pins and the like
		kept  map[string]int
	}{
		{"in use", inUse, 0, 20, map[string]int{keptInUse: n}},
		{"new", isNew, 0, 20, map[string]int{keptInUse: n}},
		{"in use and new", func(i int) map[string]any {
			if i%2 == 0 {
				return isNew(i)
			}
			return inUse(i)
		}, 0, 20, map[string]int{keptInUse: n}},
		{"deleted long ago", func(i int) map[string]any { return gone(idle(i)) }, 0, 24, map[string]int{keptDeleted: n}},
		{"deleted long ago, and nobody ever posted", func(i int) map[string]any { return gone(unposted(i)) }, 0, 28, map[string]int{keptDeleted: n}},
		{"all in one", func(i int) map[string]any {
			return []func(int) map[string]any{inUse, isNew, func(i int) map[string]any { return gone(idle(i)) },
				func(i int) map[string]any { return gone(unposted(i)) }}[i%4](i)
		}, 0, 28, map[string]int{keptInUse: n / 2, keptDeleted: n / 2}},
		{"one of them a ghost", func(i int) map[string]any {
			if i == 600 {
				return idle(i)
			}
			return inUse(i)
		}, 1, 30, map[string]int{keptInUse: n - 1}},
		{"one of them abandoned", func(i int) map[string]any {
			if i == 600 {
				return unposted(i)
			}
			return with(inUse(i), "createdAt", daysAgo(31+i))
		}, 1, 60, map[string]int{keptInUse: n - 1}},
		{"a ghost among the deleted", func(i int) map[string]any {
			if i == 600 {
				return idle(i)
			}
			return gone(idle(i))
		}, 1, 60, map[string]int{keptDeleted: n - 1}},
		{"an abandoned one among the deleted", func(i int) map[string]any {
			switch {
			case i == 600:
				return unposted(i)
			case i%2 == 0:
				return gone(unposted(i))
			}
			return with(inUse(i), "createdAt", daysAgo(31+i))
		}, 1, 90, map[string]int{keptInUse: n / 2, keptDeleted: n/2 - 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t)
			f.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("circles/c%04d", i), tt.of(i) })
			f.Env["MAX_DUE_PERCENT"] = "100"
			got := f.Run(t, `{"dryRun":true}`)
			want := map[string]engine.Counts{}
			if tt.warn > 0 {
				want[toWarn] = engine.Counts{Planned: tt.warn}
			}
			enginetest.WantReport(t, got, engine.Completed, want)
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
	t.Parallel()
	f := newFunction(t)
	kinds := []map[string]any{
		circle(int64(1700000000000), daysAgo(400), nil), circle("2020-01-01", daysAgo(400), nil), // milliseconds, a text
		circle(time.Unix(0, 0), daysAgo(400), nil), with(circle(daysAgo(1), nil, nil), "isDeleted", "true"),
		circle(daysAgo(1), nil, "yesterday"), circle(nil, nil, nil), circle(nil, "yesterday", nil), circle(nil, time.Unix(0, 0), nil),
		with(circle(nil, nil, nil), "isDeleted", true), circle(daysAgo(1), nil, nil),
	}
	f.SetMany(t, 30*len(kinds), func(i int) (string, map[string]any) { return fmt.Sprintf("circles/c%04d", i), kinds[i%len(kinds)] })
	got := f.Run(t, "")
	enginetest.WantReport(t, got, engine.Completed, map[string]engine.Counts{})
	enginetest.Want(t, "kept", map[string]int{
		keptOddPost: 90, keptOddDeleted: 30, keptOddWarning: 30, keptUndated: 90, keptDeleted: 30, keptInUse: 30,
	}, got.Kept)
	enginetest.Want(t, "scanned", 300, got.Scanned)
	if got.Usage.FirestoreReads > 200 {
		t.Errorf("%d reads", got.Usage.FirestoreReads)
	}
}

// TestUncountableCircles: where the counts fail, all circles are read, and the report says why.
func TestUncountableCircles(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	f.Hooks.Dial = append(f.Hooks.Dial, uncountable)
	f.Set(t, "circles/ghost", circle(daysAgo(380), nil, nil))
	f.Set(t, "circles/abandoned", circle(nil, daysAgo(31), nil))
	f.Set(t, "circles/active", circle(daysAgo(1), nil, nil))
	got := f.Run(t, "")
	enginetest.WantReport(t, got, engine.Completed, enginetest.Done(toWarn, 2))
	if len(got.Warnings) != 1 {
		t.Errorf("warnings %q", got.Warnings)
	}
}
