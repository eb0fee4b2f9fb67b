package enginetest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/localdb"
)

// Recorder records the requests that a function sent to Firestore.
type Recorder struct {
	mu      sync.Mutex
	methods []string
	queries []*firestorepb.StructuredQuery
	// unrouted are the requests without the header by which Google's service finds the database. On the emulator the client
	// refuses them; this reports them even if the job ignores the failure.
	unrouted []string
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
func (r *Recorder) record(ctx context.Context, method string, req any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.methods = append(r.methods, path.Base(method))
	if localdb.CheckRouted(ctx, req) != nil {
		r.unrouted = append(r.unrouted, fmt.Sprintf("%T", req))
	}
	switch req := req.(type) {
	case *firestorepb.RunQueryRequest:
		r.queries = append(r.queries, req.GetStructuredQuery())
	case *firestorepb.RunAggregationQueryRequest:
		r.queries = append(r.queries, req.GetStructuredAggregationQuery().GetStructuredQuery())
	}
	return nil
}

// problems says what Google's service would refuse of what was sent: a request whose header does not name the database, a query that is
// beyond Firestore's limits, and one that needs an index which neither the functions' lists nor more have.
func (r *Recorder) problems(t testing.TB, more []index) (all []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.unrouted {
		all = append(all, "a request without the header that says which database it is for: "+request)
	}
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
