package objects

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestListingSideBySide lists with pages that take a tenth of a second each, by a clock that advances only while every
// goroutine waits. One after the other, 50 pages would take five seconds.
func TestListingSideBySide(t *testing.T) {
	t.Parallel()
	names := named(rand.New(rand.NewPCG(1, 2)), 50_000)
	for what, most := range map[string]time.Duration{"random": 2 * time.Second, "of users": 2 * time.Second,
		"in time": 2 * time.Second, "times, joined": 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := &fakeBucket{names: names[what]}
			l := newListing(func(ctx context.Context, prefix string, names Names) ([]Object, bool, error) {
				time.Sleep(100 * time.Millisecond)
				return b.list(ctx, prefix, names)
			}, b.folders, "f/", Names{}, whole)
			began, n := time.Now(), 0
			if err := l.read(t.Context(), func(objects []Object) bool { n += len(objects); return true }); err != nil || n != 50_000 {
				t.Fatalf("%s: %d objects and %v", what, n, err)
			}
			if took := time.Since(began); took > most {
				t.Errorf("%s: 50 pages took as long as %d one after the other, want at most %d", what, took/(100*time.Millisecond),
					most/(100*time.Millisecond))
			}
		})
	}
}

// TestListingThatBeginsInTheMiddle lists from a name on, as a shard does. The second letters before the one it begins with are not
// known at first, and follow when the first letter changes.
func TestListingThatBeginsInTheMiddle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var names []string
	for range 300_000 {
		names = append(names, fmt.Sprintf("f/%c%015x", "abc"[random.IntN(3)], random.Uint64()>>4))
	}
	slices.Sort(names)
	for _, from := range []string{"f/a0", "f/a3", "f/a8", "f/ae", "f/bc", "f/c8"} {
		synctest.Test(t, func(t *testing.T) {
			first, _ := slices.BinarySearch(names, from)
			left := names[first:]
			b := &fakeBucket{names: left}
			l := newListing(func(ctx context.Context, prefix string, names Names) ([]Object, bool, error) {
				time.Sleep(100 * time.Millisecond)
				return b.list(ctx, prefix, names)
			}, b.folders, "f/", Names{From: from}, whole)
			began, n := time.Now(), 0
			if err := l.read(t.Context(), func(objects []Object) bool { n += len(objects); return true }); err != nil || n != len(left) {
				t.Fatalf("from %s: %d objects and %v, want %d", from, n, err, len(left))
			}
			pages := len(left) / pageSize
			// Chance decides in which order answers come that come at once.
			if took, most := int(time.Since(began)/(100*time.Millisecond)), pages/5+3; took > most {
				t.Errorf("from %s: %d pages took as long as %d one after the other, want at most %d", from, pages, took, most)
			}
			if requests := int(b.requests.Load()); requests > pages*3/2+maxRanges {
				t.Errorf("from %s: %d requests for %d pages", from, requests, pages)
			}
		})
	}
}

// TestNamesThatCannotBeGuessed lists names that are dense in one part and sparse in another. That takes at most twice as many
// requests as page after page would, and those that are under way meanwhile.
func TestNamesThatCannotBeGuessed(t *testing.T) {
	t.Parallel()
	const n = 100_000
	names := named(rand.New(rand.NewPCG(1, 2)), n)["sparse, dense"]
	synctest.Test(t, func(t *testing.T) {
		b := &fakeBucket{names: names}
		l := newListing(func(ctx context.Context, prefix string, names Names) ([]Object, bool, error) {
			time.Sleep(100 * time.Millisecond)
			return b.list(ctx, prefix, names)
		}, b.folders, "f/", Names{}, whole)
		got := 0
		if err := l.read(t.Context(), func(objects []Object) bool { got += len(objects); return true }); err != nil ||
			got != len(names) {
			t.Fatalf("%d names and %v, want %d", got, err, len(names))
		}
		if most := int64(2*len(names)/pageSize + 1 + 2*maxRanges); b.requests.Load() > most {
			t.Errorf("%d requests for %d names, want at most %d", b.requests.Load(), len(names), most)
		}
	})
}

// TestPagesThatNobodyTakes: few pages are read ahead for a caller that has taken only the first, and as many as may be held for
// one that goes on.
func TestPagesThatNobodyTakes(t *testing.T) {
	t.Parallel()
	names := named(rand.New(rand.NewPCG(1, 2)), 200_000)["random"]
	synctest.Test(t, func(t *testing.T) {
		b := &fakeBucket{names: names}
		l := newListing(b.list, b.folders, "f/", Names{}, whole)
		given := 0
		err := l.read(t.Context(), func(objects []Object) bool {
			synctest.Wait()
			given += len(objects)
			most := atFirst
			if given >= wanted*pageSize {
				most = maxHeld
			}
			if requests, pages := int(b.requests.Load()), given/950; requests > pages+most+6 { // some pages hold less
				t.Errorf("%d requests when %d objects were given", requests, given)
				return false
			}
			return given < len(names)/2
		})
		if err != nil {
			t.Error(err)
		}
	})
}
