package documents

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/googleapis/gax-go/v2"
	"golang.org/x/time/rate"
)

// The 500/50/5 rule: Firestore wants a collection's traffic to begin at 500 operations a second and to grow by half
// every five minutes.
const (
	rampStart  = 500
	rampGrowth = 1.5
	rampStep   = 5 * time.Minute
)

// RampLimit returns the writes a second that the 500/50/5 rule allows after so much traffic.
func RampLimit(elapsed time.Duration) float64 {
	steps := math.Floor(max(0, elapsed.Seconds()) / rampStep.Seconds())
	return rampStart * math.Pow(rampGrowth, steps)
}

// Ramp spaces writes by the 500/50/5 rule. It is safe for concurrent use.
type Ramp struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu      sync.Mutex
	start   time.Time // of the first write
	limiter *rate.Limiter
}

// NewRamp returns a ramp that begins with its first write.
func NewRamp() *Ramp { return newRamp(time.Now, gax.Sleep) }

func newRamp(now func() time.Time, sleep func(context.Context, time.Duration) error) *Ramp {
	// The burst is one batch: a batch goes out whole, and then its share of time is waited for.
	return &Ramp{now: now, sleep: sleep, limiter: rate.NewLimiter(rampStart, MaxBatch)}
}

// Wait blocks until n writes may be sent, n being at most [MaxBatch].
func (r *Ramp) Wait(ctx context.Context, n int) error {
	r.mu.Lock()
	now := r.now()
	if r.start.IsZero() {
		r.start = now
	}
	r.limiter.SetLimitAt(now, rate.Limit(RampLimit(now.Sub(r.start))))
	delay := r.limiter.ReserveN(now, n).DelayFrom(now)
	r.mu.Unlock()
	return r.sleep(ctx, delay)
}
