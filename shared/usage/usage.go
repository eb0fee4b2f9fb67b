// Package usage adds up what Google bills for a run. Interceptors count where requests leave the process, so the figures are of
// what was sent, not of what the code believes it sent.
package usage

import (
	"context"
	"sync"
)

// Usage is what a run has cost so far, in billed operations. FirestoreReads is the least that there can have been: Google also
// bills the index entries that a query or a count skips, and does not tell how many.
type Usage struct {
	FirestoreReads   int64 `json:"firestoreReads" firestore:"firestoreReads"`
	FirestoreWrites  int64 `json:"firestoreWrites" firestore:"firestoreWrites"`
	FirestoreDeletes int64 `json:"firestoreDeletes" firestore:"firestoreDeletes"`
	StorageClassA    int64 `json:"storageClassA" firestore:"storageClassA"`   // list, insert, update
	StorageClassB    int64 `json:"storageClassB" firestore:"storageClassB"`   // get
	StorageDeletes   int64 `json:"storageDeletes" firestore:"storageDeletes"` // free of charge
	AuthCalls        int64 `json:"authCalls" firestore:"authCalls"`
	Tasks            int64 `json:"tasks" firestore:"tasks"`
}

// Plus returns the sum of two.
func (u Usage) Plus(other Usage) Usage {
	return Usage{
		FirestoreReads:   u.FirestoreReads + other.FirestoreReads,
		FirestoreWrites:  u.FirestoreWrites + other.FirestoreWrites,
		FirestoreDeletes: u.FirestoreDeletes + other.FirestoreDeletes,
		StorageClassA:    u.StorageClassA + other.StorageClassA,
		StorageClassB:    u.StorageClassB + other.StorageClassB,
		StorageDeletes:   u.StorageDeletes + other.StorageDeletes,
		AuthCalls:        u.AuthCalls + other.AuthCalls,
		Tasks:            u.Tasks + other.Tasks,
	}
}

// Meter adds up the usage of one run. Its zero value is ready; it is safe for concurrent use.
type Meter struct {
	mu  sync.Mutex
	sum Usage
}

// Add adds billed operations.
func (m *Meter) Add(u Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum = m.sum.Plus(u)
}

// Usage returns the figures as they stand.
func (m *Meter) Usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum
}

type contextKey struct{}

// NewContext returns a context whose requests are counted by m. Clients are shared by all runs of a process; the
// context is what tells one run's requests from another's.
func NewContext(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, contextKey{}, m)
}

// FromContext returns the context's meter, or one that nobody reads.
func FromContext(ctx context.Context) *Meter {
	if m, ok := ctx.Value(contextKey{}).(*Meter); ok {
		return m
	}
	return new(Meter)
}
