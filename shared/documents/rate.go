package documents

import (
	"context"
	"sync"
	"time"

	"github.com/googleapis/gax-go/v2"
	"golang.org/x/time/rate"
)

// writesPerSecond is how many writes a run sends a second. Firestore wants a collection's traffic to begin with 500 and
// would let it grow by half every five minutes; but jobs delete in the order of a time, which is at one end of that
// field's index, and for documents with such sequential values 500 a second is as much as Firestore recommends
// (https://cloud.google.com/firestore/quotas#soft_limits). So it does not grow.
const writesPerSecond = 500

// Rate spaces writes evenly, [writesPerSecond] at most. It is safe for concurrent use.
type Rate struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu      sync.Mutex
	limiter *rate.Limiter
}

// NewRate returns what spaces the writes of a run.
func NewRate() *Rate { return newRate(time.Now, gax.Sleep) }

func newRate(now func() time.Time, sleep func(context.Context, time.Duration) error) *Rate {
	// The burst is the largest batch: a batch goes out whole, and then its share of time is waited for.
	return &Rate{now: now, sleep: sleep, limiter: rate.NewLimiter(writesPerSecond, MaxBatch)}
}

// Wait blocks until n writes may be sent, n being at most [MaxBatch].
func (r *Rate) Wait(ctx context.Context, n int) error {
	r.mu.Lock()
	now := r.now()
	delay := r.limiter.ReserveN(now, n).DelayFrom(now)
	r.mu.Unlock()
	return r.sleep(ctx, delay)
}
