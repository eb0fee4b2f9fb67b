package documents

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestRampLimit(t *testing.T) {
	for elapsed, want := range map[time.Duration]float64{
		-time.Second:                     500,
		0:                                500,
		5*time.Minute - time.Nanosecond:  500,
		5 * time.Minute:                  750,
		10*time.Minute - time.Nanosecond: 750,
		10 * time.Minute:                 1125,
		30 * time.Minute:                 500 * 1.5 * 1.5 * 1.5 * 1.5 * 1.5 * 1.5,
	} {
		if got := RampLimit(elapsed); got != want {
			t.Errorf("RampLimit(%s) = %v, want %v", elapsed, got, want)
		}
	}
}

// fakeTime is a clock that only sleeping moves.
type fakeTime struct{ now time.Time }

func (f *fakeTime) Now() time.Time { return f.now }

func (f *fakeTime) Sleep(ctx context.Context, d time.Duration) error {
	f.now = f.now.Add(d)
	return ctx.Err()
}

func TestRampFollows500_50_5(t *testing.T) {
	clock := &fakeTime{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	start := clock.now
	ramp := newRamp(clock.Now, clock.Sleep)
	var sent [4]int // in each five minutes
	for {
		if err := ramp.Wait(t.Context(), MaxBatch); err != nil {
			t.Fatal(err)
		}
		window := int(clock.now.Sub(start) / (5 * time.Minute))
		if window == len(sent) {
			break
		}
		sent[window] += MaxBatch
	}
	for i, want := range []int{500 * 300, 750 * 300, 1125 * 300, 1687 * 300} {
		if sent[i] > want+2*MaxBatch+300 || sent[i] < want-2*MaxBatch {
			t.Errorf("minutes %d to %d: %d writes, want %d give or take two batches", 5*i, 5*i+5, sent[i], want)
		}
	}
}

func TestRampBeginsWithTheFirstWrite(t *testing.T) {
	clock := &fakeTime{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	ramp := newRamp(clock.Now, clock.Sleep)
	clock.now = clock.now.Add(time.Hour) // planning took long; Firestore has seen no write yet
	start := clock.now
	for range 10 {
		if err := ramp.Wait(t.Context(), MaxBatch); err != nil {
			t.Fatal(err)
		}
	}
	// The first batch is the burst; the other nine are 1800 writes at 500 a second.
	if got, want := clock.now.Sub(start), 3600*time.Millisecond; got != want {
		t.Errorf("ten batches took %s, want %s", got, want)
	}
}

func TestRampEndsWithItsContext(t *testing.T) {
	clock := &fakeTime{now: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newRamp(clock.Now, clock.Sleep).Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v, want context.Canceled", err)
	}
}
