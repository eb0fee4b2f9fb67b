package main

import (
	"context"
	"sync/atomic"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/usage"
)

// bound is how many reads of Firestore may be billed, of requests that are made one after the other. A request that may cost more
// than what is left is refused before it is sent.
type bound struct {
	most   int
	read   usage.Meter
	listed atomic.Int64 // reads of listings, which the meter does not count
}

// newBound returns a bound of so many reads.
func newBound(most int) *bound { return &bound{most: most} }

// metered returns a context whose requests count.
func (b *bound) metered(ctx context.Context) context.Context { return usage.NewContext(ctx, &b.read) }

// used returns how many reads were billed.
func (b *bound) used() int { return int(b.read.Usage().FirestoreReads + b.listed.Load()) }

// left returns how many reads may still be billed.
func (b *bound) left() int { return b.most - b.used() }

// dialOptions let a connection keep to the bound.
func (b *bound) dialOptions() []grpc.DialOption {
	return wire.DialOptions(func(context.Context, string) wire.Request { return b })
}

// entriesPerRead is how many entries of an index a count reads for the price of a document.
const entriesPerRead = 1000

// Send implements [wire.Request]: it refuses what cannot be paid for.
func (b *bound) Send(message any) error {
	cost := 1
	switch r := message.(type) {
	case *firestorepb.RunQueryRequest:
		cost = limitOf(r.GetStructuredQuery())
	case *firestorepb.BatchGetDocumentsRequest:
		cost = len(r.Documents)
	case *firestorepb.RunAggregationQueryRequest:
		cost = (limitOf(r.GetStructuredAggregationQuery().GetStructuredQuery()) + entriesPerRead - 1) / entriesPerRead
	case *firestorepb.ListDocumentsRequest:
		cost = max(1, int(r.PageSize))
	case *firestorepb.ListCollectionIdsRequest:
	default:
		return status.Errorf(codes.PermissionDenied, "the request was not sent: what a %T costs is not known", message)
	}
	if left := b.left(); cost > left {
		return status.Errorf(codes.PermissionDenied, "the request was not sent: it may cost %d reads, and %d are left", cost, left)
	}
	return nil
}

// Receive implements [wire.Request]. It counts listings: a page of collections costs one read, and one of documents one for each.
func (b *bound) Receive(answer any, err error) error {
	if err != nil {
		return err
	}
	switch a := answer.(type) {
	case *firestorepb.ListDocumentsResponse:
		b.listed.Add(int64(max(1, len(a.Documents))))
	case *firestorepb.ListCollectionIdsResponse:
		b.listed.Add(1)
	}
	return nil
}

// limitOf returns how many documents a query reads at most; more than any bound if it has no limit.
func limitOf(q *firestorepb.StructuredQuery) int {
	if q.GetLimit() == nil {
		return 1 << 40
	}
	return max(1, int(q.GetLimit().GetValue()))
}
