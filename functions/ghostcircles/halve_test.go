package ghostcircles

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHalve finds, among documents at random times, all that are sought, each in one span, in order.
func TestHalve(t *testing.T) {
	t.Parallel()
	from := time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		last := rapid.SampledFrom([]int64{1, 2, 3, 1000, 1_500_000_000_000_000}).Draw(t, "microseconds")
		at := rapid.SliceOfN(rapid.Int64Range(0, last-1), 0, 300).Draw(t, "at")
		every := rapid.IntRange(1, 300).Draw(t, "every")
		var shares atomic.Int64
		share := func(_ context.Context, s span) (all portion, _ error) {
			shares.Add(1)
			for i, n := range at {
				if moment := from.Add(time.Duration(n) * time.Microsecond); !moment.Before(s.From) && moment.Before(s.Until) {
					all.All++
					if i%every == 0 {
						all.Sought++
					}
				}
			}
			return all, nil
		}
		in := span{From: from, Until: from.Add(time.Duration(last) * time.Microsecond)}
		whole, _ := share(t.Context(), in)
		shares.Store(0)
		spans, err := halve(t.Context(), in, whole, share)
		if err != nil {
			t.Fatal(err)
		}
		found, until := 0, in.From
		for i, s := range spans {
			if s.From.Before(until) || i > 0 && s.From.Equal(until) || !s.From.Before(s.Until) || s.Until.After(in.Until) {
				t.Fatalf("span %v after %s, of %v", s, until, in)
			}
			until = s.Until
			n, _ := share(t.Context(), s)
			found += n.Sought
		}
		if found != whole.Sought {
			t.Fatalf("%d of %d found in %v", found, whole.Sought, spans)
		}
		if most := 52 * whole.Sought; int(shares.Load()) > most+len(spans) {
			t.Fatalf("%d counts for %d", shares.Load(), whole.Sought)
		}
	})
}

func TestHalveFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	now := time.Now()
	all := portion{Sought: 1, All: 100}
	_, err := halve(t.Context(), span{From: now, Until: now.Add(time.Hour)}, all,
		func(context.Context, span) (portion, error) { return portion{}, boom })
	if !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}
