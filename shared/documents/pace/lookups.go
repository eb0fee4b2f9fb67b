package pace

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Connections is how many connections to Google's service are open. One carries a hundred requests at once, so over a link of
// 40 ms some 2,500 a second.
const Connections = 4

// How many lookups of up to 30 ids are under way at once, for all runs of a process. Firestore recommends to begin with 500
// operations a second to documents whose names lie close together, as those of a moment do, and to increase that by half every
// five minutes (https://cloud.google.com/firestore/docs/best-practices#ramping_up_traffic). What it bears depends on what it has
// borne before, so the number follows its answers.
const (
	firstLookups = 10
	// maxLookups is half of what the connections carry, because a lookup may send several requests at once. They take more memory
	// than the pages they are for.
	maxLookups = Connections * 100 / 2

	// By how much an answer comes later than the quickest so far. The link and what an answer takes at least are in both.
	quickAnswer = 100 * time.Millisecond
	slowAnswer  = 400 * time.Millisecond
)

// Lookups bounds the lookups under way. Round by round, which is as many answers as are under way, it doubles the bound while
// nearly all answers are quick, and halves it when more than a quarter are slow or failures. From then on it grows by a tenth a
// round: it is near to what the service bears. It is safe for concurrent use.
type Lookups struct {
	clock func() time.Time
	free  *semaphore.Weighted // of maxLookups, all but most and excess are held back

	mu          sync.Mutex
	most        int // under way at once
	excess      int // of those under way, how many end without another that begins
	least       time.Duration
	halved      time.Time // requests that were sent before say nothing more
	steady      bool      // it was halved once
	n           int       // answers in this round
	quick, slow int       // of them
}

// NewLookups returns the bound for a client.
func NewLookups(clock func() time.Time) *Lookups {
	l := &Lookups{clock: clock, free: semaphore.NewWeighted(maxLookups), most: firstLookups}
	l.free.TryAcquire(maxLookups - firstLookups)
	return l
}

// Begin waits until one more may be under way.
func (l *Lookups) Begin(ctx context.Context) error { return l.free.Acquire(ctx, 1) }

// End ends one.
func (l *Lookups) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(1)
}

// release lets n more begin, unless too many are under way.
func (l *Lookups) release(n int) {
	over := min(n, l.excess)
	l.excess -= over
	l.free.Release(int64(n - over))
}

// Answered records that a request that was sent at a time was answered now, or that it failed.
func (l *Lookups) Answered(sent time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	took := now.Sub(sent)
	switch {
	case sent.Before(l.halved), err != nil && !retry.Transient(err):
		return
	case err != nil:
		l.slow++
	default:
		if l.least == 0 || took < l.least {
			l.least = took
		}
		switch late := took - l.least; {
		case late < quickAnswer:
			l.quick++
		case late > slowAnswer:
			l.slow++
		}
	}
	if l.n++; l.n < l.most {
		return
	}
	switch {
	case 4*l.slow > l.n:
		half := max(1, l.most/2)
		for l.excess += l.most - half; l.excess > 0 && l.free.TryAcquire(1); l.excess-- {
		}
		l.most, l.steady, l.halved = half, true, now
	case 10*l.quick >= 9*l.n:
		more := l.most
		if l.steady {
			more = max(1, l.most/10)
		}
		more = min(more, maxLookups-l.most)
		l.most += more
		l.release(more)
	}
	l.n, l.quick, l.slow = 0, 0, 0
}
