package pace

import (
	"sync"
	"time"
)

// How many writes of a BatchWrite go into one request. Firestore takes up to 500. How long they take depends on their indexes and
// on the database's other work. If the answer to a long request is lost, all of it is repeated, and it may still be under way
// when a run must end. So the size follows the time.
const (
	// MaxBatch is how many writes one request carries at most.
	MaxBatch = 200

	firstBatch = 50
	minBatch   = 10
	batchTime  = time.Second // what a request may take
)

// BatchSize is the number of writes that Firestore completes in [batchTime]. It is safe for concurrent use.
type BatchSize struct {
	mu   sync.Mutex
	size int
}

// NewBatchSize returns the size of a run's first request.
func NewBatchSize() *BatchSize { return &BatchSize{size: firstBatch} }

// Get returns how many writes the next request should carry.
func (b *BatchSize) Get() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

// Answered records that a request with n writes took so long. A small request that was quick says nothing about larger
// ones.
func (b *BatchSize) Answered(n int, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case took > batchTime:
		b.size = max(minBatch, min(b.size, int(int64(n)*int64(batchTime)/int64(took))))
	case took < batchTime/2 && n >= b.size:
		b.size = min(MaxBatch, 2*b.size)
	}
}

// Failed records that Firestore could not answer a request. The next one is smaller.
func (b *BatchSize) Failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size = max(minBatch, b.size/2)
}
