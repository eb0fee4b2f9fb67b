// Package pace follows what Firestore bears: how many writes a second and lookups at once.
package pace

import (
	"context"
	"sync"
	"time"

	"github.com/googleapis/gax-go/v2"
	"golang.org/x/time/rate"
)

// writesPerSecond is how many writes a run sends a second. Firestore recommends to begin with 500 writes a second to a
// collection and to increase that by half every five minutes. But jobs delete in the order of a time. For documents with such
// sequential values in an index, 500 a second is the most that Firestore recommends
// (https://cloud.google.com/firestore/quotas#soft_limits). So the rate does not grow.
//
// A second's worth of writes may go out at once. So a run with fewer than 500 deletes, as most are, does not wait at all. The
// second after an idle one has 1000 writes at most, and any minute 30,500.
const writesPerSecond = 500

// MaxBatch is how many writes may be sent at once.
const MaxBatch = 200

// Rate spaces writes evenly, [writesPerSecond] at most. After a pause, a burst of as many may go out at once. It is safe for
// concurrent use.
type Rate struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu      sync.Mutex
	limiter *rate.Limiter
}

// NewRate returns the rate of one run.
func NewRate() *Rate { return newRate(time.Now, gax.Sleep) }

func newRate(now func() time.Time, sleep func(context.Context, time.Duration) error) *Rate {
	return &Rate{now: now, sleep: sleep, limiter: rate.NewLimiter(writesPerSecond, writesPerSecond)}
}

// Wait blocks until n writes may be sent; n is at most [MaxBatch].
func (r *Rate) Wait(ctx context.Context, n int) error {
	r.mu.Lock()
	now := r.now()
	var delay time.Duration
	for ; n > 0; n -= writesPerSecond { // the limiter reserves one burst at a time
		delay = r.limiter.ReserveN(now, min(n, writesPerSecond)).DelayFrom(now)
	}
	r.mu.Unlock()
	return r.sleep(ctx, delay)
}
