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
// (https://cloud.google.com/firestore/quotas#soft_limits). So it does not grow. That is a rate and not the size of a burst: a
// second's worth may go out at once, as it would if it were spread over that second, so that a run with less than that to
// delete, which most are, does not wait at all. So a second after an idle one comes to 1000 at most, and any minute to 30,500.
const writesPerSecond = 500

// Rate spaces writes evenly, [writesPerSecond] at most, but for a burst of as many. It is safe for concurrent use.
type Rate struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu      sync.Mutex
	limiter *rate.Limiter
}

// NewRate returns what spaces the writes of a run.
func NewRate() *Rate { return NewShareOfRate(1) }

// NewShareOfRate returns what spaces the writes of one of so many runs that write at once, all of which keep to the rate together.
func NewShareOfRate(runs int) *Rate { return newRate(runs, time.Now, gax.Sleep) }

func newRate(runs int, now func() time.Time, sleep func(context.Context, time.Duration) error) *Rate {
	return &Rate{now: now, sleep: sleep, limiter: rate.NewLimiter(rate.Limit(writesPerSecond)/rate.Limit(runs), max(1, writesPerSecond/runs))}
}

// Wait blocks until n writes may be sent, n being at most [MaxBatch].
func (r *Rate) Wait(ctx context.Context, n int) error {
	r.mu.Lock()
	now := r.now()
	var delay time.Duration
	for burst := r.limiter.Burst(); n > 0; n -= burst { // more than a burst is more than one
		delay = r.limiter.ReserveN(now, min(n, burst)).DelayFrom(now)
	}
	r.mu.Unlock()
	return r.sleep(ctx, delay)
}
