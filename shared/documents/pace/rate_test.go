package pace

import (
	"context"
	"errors"
	"testing"
	"time"
)

// fakeTime is a clock that only sleeping moves.
type fakeTime struct{ now time.Time }

func (f *fakeTime) Now() time.Time { return f.now }

func (f *fakeTime) Sleep(ctx context.Context, d time.Duration) error {
	f.now = f.now.Add(d)
	return ctx.Err()
}

// TestRateStays: the rate does not grow, however long the deletes go on.
func TestRateStays(t *testing.T) {
	clock := &fakeTime{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	start := clock.now
	r := newRate(clock.Now, clock.Sleep)
	sent := map[int]int{} // by minute
	for clock.now.Sub(start) < 20*time.Minute {
		if err := r.Wait(t.Context(), MaxBatch); err != nil {
			t.Fatal(err)
		}
		sent[int(clock.now.Sub(start)/time.Minute)] += MaxBatch
	}
	for minute := range 20 {
		if got := sent[minute]; got > 500*60+500+MaxBatch || got < 500*60-MaxBatch {
			t.Errorf("minute %d: %d writes, want 30,000 give or take a batch, and a burst in the first", minute, got)
		}
	}
}

func TestRateOfABurst(t *testing.T) {
	clock := &fakeTime{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r := newRate(clock.Now, clock.Sleep)
	clock.now = clock.now.Add(time.Hour) // planning took long: no more is saved up than a second's worth
	start := clock.now
	for range 10 {
		if err := r.Wait(t.Context(), MaxBatch); err != nil {
			t.Fatal(err)
		}
	}
	// The burst is 500; the other 1500 writes go at 500 a second.
	if got, want := clock.now.Sub(start), 3*time.Second; got != want {
		t.Errorf("ten batches took %s, want %s", got, want)
	}
}

func TestRateEndsWithItsContext(t *testing.T) {
	clock := &fakeTime{now: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newRate(clock.Now, clock.Sleep).Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v, want context.Canceled", err)
	}
}
