package look

import (
	"context"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Bound is how many reads of Firestore may be billed. A request that may cost more than what is left is refused before it is
// sent.
type Bound struct {
	mu         sync.Mutex
	most, used int
}

// NewBound returns a bound of so many reads.
func NewBound(most int) *Bound { return &Bound{most: most} }

// Used returns how many reads were billed.
func (b *Bound) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Left returns how many reads may still be billed.
func (b *Bound) Left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most - b.used
}

// take reserves the reads that a request may cost.
func (b *Bound) take(n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.most {
		return status.Errorf(codes.PermissionDenied, "the request was not sent: it may cost %d reads, and %d are left",
			n, b.most-b.used)
	}
	b.used += n
	return nil
}

func (b *Bound) giveBack(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// DialOptions let a connection keep to the bound.
func (b *Bound) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(b.unary), grpc.WithChainStreamInterceptor(b.stream)}
}

// unary counts listings. A page of a list of collections costs one read, and a page of documents one for each.
func (b *Bound) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	most := 1
	list, ofDocuments := req.(*firestorepb.ListDocumentsRequest)
	if ofDocuments {
		most = max(1, int(list.PageSize))
	}
	if err := b.take(most); err != nil {
		return err
	}
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil && ofDocuments {
		b.giveBack(most - max(1, len(reply.(*firestorepb.ListDocumentsResponse).Documents)))
	}
	return err
}

func (b *Bound) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &boundedStream{ClientStream: s, bound: b}, nil
}

type boundedStream struct {
	grpc.ClientStream
	bound          *Bound
	reserved, read int
}

// entriesPerRead is how many entries of an index a count reads for the price of a document.
const entriesPerRead = 1000

// SendMsg sends a request that can be paid for.
func (s *boundedStream) SendMsg(m any) error {
	switch r := m.(type) {
	case *firestorepb.RunQueryRequest:
		s.reserved = limitOf(r.GetStructuredQuery())
	case *firestorepb.BatchGetDocumentsRequest:
		s.reserved = len(r.Documents)
	case *firestorepb.RunAggregationQueryRequest:
		s.reserved = readsOf(limitOf(r.GetStructuredAggregationQuery().GetStructuredQuery()))
	default:
		return status.Errorf(codes.PermissionDenied, "the request was not sent: what a %T costs is not known", m)
	}
	if err := s.bound.take(s.reserved); err != nil {
		s.reserved = 0
		return err
	}
	return s.ClientStream.SendMsg(m)
}

// limitOf returns how many documents a query reads at most; more than any bound if it has no limit.
func limitOf(q *firestorepb.StructuredQuery) int {
	if q.GetLimit() == nil {
		return 1 << 40
	}
	return max(1, int(q.GetLimit().GetValue()))
}

func readsOf(entries int) int { return max(1, (entries+entriesPerRead-1)/entriesPerRead) }

// RecvMsg receives a message, and gives back in the end what was not read.
func (s *boundedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.bound.giveBack(s.reserved - min(s.reserved, max(1, s.read)))
		s.reserved = 0
		return err
	}
	switch r := m.(type) {
	case *firestorepb.RunQueryResponse:
		if r.Document != nil {
			s.read++
		}
	case *firestorepb.BatchGetDocumentsResponse:
		if r.Result != nil {
			s.read++
		}
	case *firestorepb.RunAggregationQueryResponse:
		for _, v := range r.GetResult().GetAggregateFields() {
			s.read = readsOf(int(v.GetIntegerValue()))
		}
	}
	return nil
}
