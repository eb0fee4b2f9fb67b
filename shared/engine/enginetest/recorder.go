package enginetest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/emulator/localdb"
)

// Recorder records the requests that a function sent to Firestore, and counts all that it sent.
type Recorder struct {
	mu      sync.Mutex
	methods []string
	all     map[string]int // how many requests of each service and method
	queries []*firestorepb.StructuredQuery
	// unrouted are the requests without the header by which Google's service finds the database. On the emulator the client
	// refuses them; this reports them even if the job ignores the failure.
	unrouted []string
}

// Methods returns the short names of the RPCs sent so far, in order, e.g. "BatchWrite".
func (r *Recorder) Methods() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.methods)
}

// Count returns how many RPCs of a method were sent so far.
func (r *Recorder) Count(method string) int {
	n := 0
	for _, m := range r.Methods() {
		if m == method {
			n++
		}
	}
	return n
}

// Clear forgets the methods recorded so far. It keeps the queries: they are checked when the test ends.
func (r *Recorder) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.methods = nil
}

// record records a request, or the opening of a stream if req is nil.
func (r *Recorder) record(ctx context.Context, method string, req any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if method != "" {
		r.methods = append(r.methods, path.Base(method))
		r.countLocked("Firestore " + path.Base(method))
	}
	if req != nil && localdb.CheckRouted(ctx, req) != nil {
		r.unrouted = append(r.unrouted, fmt.Sprintf("%T", req))
	}
	switch req := req.(type) {
	case *firestorepb.RunQueryRequest:
		r.queries = append(r.queries, req.GetStructuredQuery())
	case *firestorepb.RunAggregationQueryRequest:
		r.queries = append(r.queries, req.GetStructuredAggregationQuery().GetStructuredQuery())
	}
}

func (r *Recorder) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	r.record(ctx, method, req)
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (r *Recorder) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	r.record(ctx, method, nil)
	s, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return recordedStream{s, ctx, r}, nil
}

type recordedStream struct {
	grpc.ClientStream
	ctx      context.Context // the stream was opened with it
	recorder *Recorder
}

// SendMsg records the request of a streamed read.
func (s recordedStream) SendMsg(m any) error {
	s.recorder.record(s.ctx, "", m)
	return s.ClientStream.SendMsg(m)
}

// unroutedRequests returns the kinds of requests whose header did not name the database.
func (r *Recorder) unroutedRequests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.unrouted)
}

// uncovered returns the indexes that the queries need and that neither the functions' lists nor more have.
func (r *Recorder) uncovered(t testing.TB, more []index) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	indexes := slices.Concat(declaredIndexes(t), more)
	var missing []string
	for _, q := range r.queries {
		for _, where := range alternatives(q.GetWhere()) {
			if need := requiredIndex(q, where...); need != nil && !need.coveredBy(indexes) && !slices.Contains(missing, need.String()) {
				missing = append(missing, need.String())
			}
		}

	}
	return missing
}

// tooLarge returns how queries exceed Firestore's limits.
func (r *Recorder) tooLarge() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var beyond []string
	for _, q := range r.queries {
		if what := beyondLimits(q); what != "" && !slices.Contains(beyond, what) {
			beyond = append(beyond, what)
		}
	}
	return beyond
}
