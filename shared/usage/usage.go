// Package usage counts what Google bills for a run: Firestore documents read, written and deleted, Cloud Storage
// operations, Authentication calls and Cloud Tasks. The counting is done where requests leave the process (a gRPC
// interceptor in shared/documents, an HTTP transport in shared/objects), so that it is what was sent, not what the code
// believes it sent.
package usage

import (
	"context"
	"sync/atomic"
)

// Usage is what a run has cost so far. Every figure is a number of billed operations; that of Firestore's reads is the least
// there can have been, for what a query or a count skips in an index is billed and not told.
type Usage struct {
	FirestoreReads   int64 `json:"firestoreReads" firestore:"firestoreReads"`
	FirestoreWrites  int64 `json:"firestoreWrites" firestore:"firestoreWrites"`
	FirestoreDeletes int64 `json:"firestoreDeletes" firestore:"firestoreDeletes"`
	StorageClassA    int64 `json:"storageClassA" firestore:"storageClassA"`
	StorageClassB    int64 `json:"storageClassB" firestore:"storageClassB"`
	StorageDeletes   int64 `json:"storageDeletes" firestore:"storageDeletes"`
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
	firestoreReads, firestoreWrites, firestoreDeletes atomic.Int64
	storageClassA, storageClassB, storageDeletes      atomic.Int64
	authCalls, tasks                                  atomic.Int64
}

// FirestoreReads adds n billed document reads.
func (m *Meter) FirestoreReads(n int) { m.firestoreReads.Add(int64(n)) }

// FirestoreWrites adds n billed document writes.
func (m *Meter) FirestoreWrites(n int) { m.firestoreWrites.Add(int64(n)) }

// FirestoreDeletes adds n billed document deletes.
func (m *Meter) FirestoreDeletes(n int) { m.firestoreDeletes.Add(int64(n)) }

// StorageClassA adds one class A operation (list, insert, update).
func (m *Meter) StorageClassA() { m.storageClassA.Add(1) }

// StorageClassB adds one class B operation (get).
func (m *Meter) StorageClassB() { m.storageClassB.Add(1) }

// StorageDeletes adds one object deletion (free of charge).
func (m *Meter) StorageDeletes() { m.storageDeletes.Add(1) }

// AuthCalls adds one call to the Authentication API.
func (m *Meter) AuthCalls() { m.authCalls.Add(1) }

// Tasks adds one task created.
func (m *Meter) Tasks() { m.tasks.Add(1) }

// Usage returns the figures as they stand.
func (m *Meter) Usage() Usage {
	return Usage{
		FirestoreReads:   m.firestoreReads.Load(),
		FirestoreWrites:  m.firestoreWrites.Load(),
		FirestoreDeletes: m.firestoreDeletes.Load(),
		StorageClassA:    m.storageClassA.Load(),
		StorageClassB:    m.storageClassB.Load(),
		StorageDeletes:   m.storageDeletes.Load(),
		AuthCalls:        m.authCalls.Load(),
		Tasks:            m.tasks.Load(),
	}
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
