package look

import (
	"context"
	"sync/atomic"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/usage"
)

// Bound is how many reads of Firestore may be billed, of requests that are made one after the other. A request that may cost more
// than what is left is refused before it is sent.
type Bound struct {
	most   int
	meter  usage.Meter
	listed atomic.Int64 // reads of listings, which the meter does not count
}

// NewBound returns a bound of so many reads.
func NewBound(most int) *Bound { return &Bound{most: most} }

// Metered returns a context whose requests count.
func (b *Bound) Metered(ctx context.Context) context.Context { return usage.NewContext(ctx, &b.meter) }

// Used returns how many reads were billed.
func (b *Bound) Used() int { return int(b.meter.Usage().FirestoreReads + b.listed.Load()) }

// Left returns how many reads may still be billed.
func (b *Bound) Left() int { return b.most - b.Used() }

func (b *Bound) refuse(cost int) error {
	if left := b.Left(); cost > left {
		return status.Errorf(codes.PermissionDenied, "the request was not sent: it may cost %d reads, and %d are left", cost, left)
	}
	return nil
}

// DialOptions let a connection keep to the bound.
func (b *Bound) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(b.unary), grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (
			grpc.ClientStream, error,
		) {
			s, err := open(ctx, desc, cc, method, opts...)
			return boundedStream{s, b}, err
		})}
}

// unary counts listings. A page of a list of collections costs one read, and a page of documents one for each.
func (b *Bound) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	cost := 1
	list, ofDocuments := req.(*firestorepb.ListDocumentsRequest)
	if ofDocuments {
		cost = max(1, int(list.PageSize))
	}
	if err := b.refuse(cost); err != nil {
		return err
	}
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil && ofDocuments {
		cost = max(1, len(reply.(*firestorepb.ListDocumentsResponse).Documents))
	}
	b.listed.Add(int64(cost))
	return err
}

type boundedStream struct {
	grpc.ClientStream
	bound *Bound
}

// entriesPerRead is how many entries of an index a count reads for the price of a document.
const entriesPerRead = 1000

// SendMsg sends a request that can be paid for.
func (s boundedStream) SendMsg(m any) error {
	var cost int
	switch r := m.(type) {
	case *firestorepb.RunQueryRequest:
		cost = limitOf(r.GetStructuredQuery())
	case *firestorepb.BatchGetDocumentsRequest:
		cost = len(r.Documents)
	case *firestorepb.RunAggregationQueryRequest:
		cost = (limitOf(r.GetStructuredAggregationQuery().GetStructuredQuery()) + entriesPerRead - 1) / entriesPerRead
	default:
		return status.Errorf(codes.PermissionDenied, "the request was not sent: what a %T costs is not known", m)
	}
	if err := s.bound.refuse(cost); err != nil {
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
