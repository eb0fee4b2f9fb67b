package pace

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestLookupsUnderWay: the bound after rounds of answers, of as many as are under way each.
func TestLookupsUnderWay(t *testing.T) {
	const failed = -1
	const fine, unclear, slow = 40 * time.Millisecond, 340 * time.Millisecond, 540 * time.Millisecond
	all := func(took time.Duration) func(i, n int) time.Duration {
		return func(int, int) time.Duration { return took }
	}
	some := func(took time.Duration, part float64) func(i, n int) time.Duration { // the others are fine
		return func(i, n int) time.Duration {
			if float64(i) >= float64(n)*(1-part) {
				return took
			}
			return fine
		}
	}
	for name, tt := range map[string]struct {
		rounds []func(i, n int) time.Duration
		want   []int
	}{
		"quick":                     {[]func(i, n int) time.Duration{all(fine), all(fine), all(fine), all(fine), all(fine), all(fine)}, []int{20, 40, 80, 160, 200, 200}},
		"a long link":               {[]func(i, n int) time.Duration{all(time.Second), all(time.Second)}, []int{20, 40}},
		"just quick, just not slow": {[]func(i, n int) time.Duration{all(fine), all(139 * time.Millisecond), all(140 * time.Millisecond), all(440 * time.Millisecond)}, []int{20, 40, 40, 40}},
		"slower and slower":         {[]func(i, n int) time.Duration{all(fine), all(fine), all(unclear), all(slow), all(slow), all(fine), all(fine)}, []int{20, 40, 40, 20, 10, 11, 12}},
		"a few that dawdle":         {[]func(i, n int) time.Duration{some(slow, 0.1), some(slow, 0.25), some(slow, 0.3)}, []int{20, 20, 10}},
		"failures":                  {[]func(i, n int) time.Duration{some(failed, 0.1), some(failed, 0.3), all(failed), all(failed), all(failed), all(failed), all(failed)}, []int{20, 10, 5, 2, 1, 1, 1}},
	} {
		clock := &fakeTime{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		l := NewLookups(func() time.Time { return clock.now })
		for r, took := range tt.rounds {
			sent, n := clock.now, l.most
			clock.now = sent.Add(time.Hour) // whatever a round takes
			for i := range n {
				if d := took(i, n); d == failed {
					l.Answered(clock.now, status.Error(codes.ResourceExhausted, "too fast"))
				} else {
					l.Answered(clock.now.Add(-d), nil)
				}
			}
			if l.most != tt.want[r] {
				t.Errorf("%s, round %d: %d under way, want %d", name, r+1, l.most, tt.want[r])
			}
		}
	}
	l := NewLookups(time.Now)
	for range 100 {
		l.Answered(time.Now(), context.Canceled)
		l.Answered(time.Now(), errors.New("refused"))
	}
	if l.n != 0 || l.most != firstLookups {
		t.Errorf("%d under way after errors that say nothing of the service", l.most)
	}
}

// bearing is a service that answers so many lookups a second, one after the other, over a link.
type bearing struct {
	link  time.Duration
	each  time.Duration // 0: as many as come
	mu    sync.Mutex
	until time.Time // when it has done what it was asked for

	underWay, most int
	slowest        time.Duration
}

func (b *bearing) answer() {
	b.mu.Lock()
	now := time.Now()
	if b.until.Before(now) {
		b.until = now
	}
	b.until = b.until.Add(b.each)
	wait := b.until.Sub(now) + b.link
	b.underWay++
	b.most, b.slowest = max(b.most, b.underWay), max(b.slowest, wait)
	b.mu.Unlock()
	time.Sleep(wait)
	b.mu.Lock()
	b.underWay--
	b.mu.Unlock()
}

// ask asks for n lookups, as many at once as are let.
func (b *bearing) ask(t *testing.T, l *Lookups, n int) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := l.Begin(t.Context()); err != nil {
				t.Error(err)
				return
			}
			defer l.End()
			sent := l.clock()
			b.answer()
			l.Answered(sent, nil)
		})
	}
	all.Wait()
}

// TestLookupsBeginSlowAndGrow: over any link, a service that answers at once is soon asked for as much as the connections carry. One
// that slows down when it is asked too fast is not asked for more than it bears, and whoever else asks then waits a second at most.
func TestLookupsBeginSlowAndGrow(t *testing.T) {
	for _, link := range []time.Duration{time.Millisecond, 40 * time.Millisecond, 120 * time.Millisecond, 700 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			l, b := NewLookups(time.Now), &bearing{link: link}
			b.ask(t, l, firstLookups)
			if b.most != firstLookups {
				t.Errorf("%s: %d lookups at first", link, b.most)
			}
			began := time.Now()
			b.ask(t, l, 3400)
			// 20, 40, 80, 160 and then 200 at once would be 20 round trips, and 17 if it began with 200.
			if trips := float64(time.Since(began)) / float64(link); b.most != maxLookups || trips > 21 {
				t.Errorf("%s: at most %d under way, %.1f round trips for 3,400 lookups", link, b.most, trips)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l, b := NewLookups(time.Now), &bearing{link: 40 * time.Millisecond, each: 10 * time.Millisecond}
		began := time.Now()
		b.ask(t, l, 3000)
		if took := time.Since(began); took > 33*time.Second { // 30 s is what the service needs
			t.Errorf("3,000 lookups took %s of a service that answers a hundred a second", took)
		}
		if b.slowest > time.Second {
			t.Errorf("an answer took %s", b.slowest)
		}
		b.mu.Lock()
		b.each, b.most = 0, 0 // it has split what it was asked for
		b.mu.Unlock()
		b.ask(t, l, 10_000)
		if b.most != maxLookups {
			t.Errorf("%d under way of a service that has become quick", b.most)
		}
	})
	synctest.Test(t, func(t *testing.T) { // five a second: fewer than the first ten take
		l, b := NewLookups(time.Now), &bearing{link: 40 * time.Millisecond, each: 200 * time.Millisecond}
		b.ask(t, l, firstLookups)
		b.slowest = 0
		began := time.Now()
		b.ask(t, l, 500)
		if took := time.Since(began); took > 105*time.Second || b.slowest > time.Second+40*time.Millisecond {
			t.Errorf("500 lookups took %s, an answer up to %s", took, b.slowest)
		}
	})
}

// TestLookupsThatAreCanceled: whoever waits for its turn goes when its context ends, and takes no other's turn.
func TestLookupsThatAreCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLookups(time.Now)
		for range firstLookups {
			if err := l.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an eleventh begins: %v", err)
		}
		l.End()
		if err := l.Begin(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
