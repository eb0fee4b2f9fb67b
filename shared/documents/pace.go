package documents

import (
	"context"

	"golang.org/x/time/rate"
)

// connections is how many connections to Google's service are open. One carries a hundred requests at once, so over a link of
// 40 ms some 2,500 a second.
const connections = 4

// lookups is how many lookups of up to 30 ids are under way at once, for all runs of a process. One takes more memory than the
// page that it is for.
const lookups = 40

// MaxBatch is how many writes one request carries at most. Firestore takes up to 500.
const MaxBatch = 200

// writesPerSecond is how many writes a run sends a second. Firestore recommends to begin with 500 writes a second to a
// collection and to increase that by half every five minutes. But jobs delete in the order of a time. For documents with such
// sequential values in an index, 500 a second is the most that Firestore recommends
// (https://cloud.google.com/firestore/quotas#soft_limits). So the rate does not grow.
//
// A second's worth of writes may go out at once. So a run with fewer than 500 deletes, as most are, does not wait at all. The
// second after an idle one has 1000 writes at most, and any minute 30,500.
const writesPerSecond = 500

// Pace says when writes may be sent; [NewPace] is the one to use on Google's service.
type Pace interface {
	WaitN(ctx context.Context, n int) error
}

// NewPace returns the pace of one run.
func NewPace() Pace { return rate.NewLimiter(writesPerSecond, writesPerSecond) }
