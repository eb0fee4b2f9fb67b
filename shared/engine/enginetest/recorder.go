package enginetest

import (
	"context"
	"path"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
)

// Recorder records the requests that a function sent to Firestore.
type Recorder struct {
	mu      sync.Mutex
	methods []string
	queries []*firestorepb.StructuredQuery
}

// Methods returns the short names of the RPCs sent so far, in order, e.g. "Commit".
func (r *Recorder) Methods() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.methods)
}

// Count returns how many RPCs of a method were sent so far.
func (r *Recorder) Count(method string) int {
	return len(slices.DeleteFunc(r.Methods(), func(m string) bool { return m != method }))
}

// Clear forgets the methods recorded so far. It keeps the queries: they are checked when the test ends.
func (r *Recorder) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.methods = nil
}

// record records a request.
func (r *Recorder) record(_ context.Context, method string, req any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.methods = append(r.methods, path.Base(method))
	switch req := req.(type) {
	case *firestorepb.RunQueryRequest:
		r.queries = append(r.queries, req.GetStructuredQuery())
	case *firestorepb.RunAggregationQueryRequest:
		r.queries = append(r.queries, req.GetStructuredAggregationQuery().GetStructuredQuery())
	}
	return nil
}

// problems says which queries Google's service would refuse: one that is beyond Firestore's limits, and one that needs an index
// which neither the functions' lists nor more have.
func (r *Recorder) problems(t testing.TB, more []index) (all []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	indexes := slices.Concat(declaredIndexes(t), more)
	for _, q := range r.queries {
		if beyond := beyondLimits(q); beyond != "" {
			all = append(all, "a query that was sent is beyond Firestore's limits: "+beyond)
		}
		for _, where := range alternatives(q.GetWhere()) {
			if need := requiredIndex(q, where...); need != nil && !need.coveredBy(indexes) {
				all = append(all, "no index of the function's entry covers a query that was sent: "+need.String())
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
