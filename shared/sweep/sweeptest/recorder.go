package sweeptest

import (
	"context"
	"path"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
)

// Recorder keeps what a function sent to Firestore.
type Recorder struct {
	mu      sync.Mutex
	methods []string
	queries []*firestorepb.StructuredQuery
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

// Clear forgets the methods recorded so far. The queries are kept, to be proven covered when the test ends.
func (r *Recorder) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.methods = nil
}

func (r *Recorder) record(method string, req any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if method != "" {
		r.methods = append(r.methods, path.Base(method))
	}
	switch req := req.(type) {
	case *firestorepb.RunQueryRequest:
		r.queries = append(r.queries, req.GetStructuredQuery())
	case *firestorepb.RunAggregationQueryRequest:
		r.queries = append(r.queries, req.GetStructuredAggregationQuery().GetStructuredQuery())
	}
}

func (r *Recorder) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	r.record(method, req)
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (r *Recorder) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	r.record(method, nil)
	s, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return recordedStream{s, r}, nil
}

type recordedStream struct {
	grpc.ClientStream
	recorder *Recorder
}

// SendMsg records the request of a streamed read.
func (s recordedStream) SendMsg(m any) error {
	s.recorder.record("", m)
	return s.ClientStream.SendMsg(m)
}

// uncovered returns the queries sent that no index covers.
func (r *Recorder) uncovered(t testing.TB) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	indexes := declaredIndexes(t)
	var missing []string
	for _, q := range r.queries {
		if need := requiredIndex(q); need != nil && !need.coveredBy(indexes) && !slices.Contains(missing, need.String()) {
			missing = append(missing, need.String())
		}
	}
	return missing
}
