// Package meter counts what Google bills for requests to Firestore, into the [usage.Meter] of their context.
package meter

import (
	"context"
	"errors"
	"io"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/usage"
)

// The meter counts the least that Google may bill. Google bills all index entries that a query reads, but its answer shows
// only those that matched. A query that skips many, or a count for which Firestore merges two indexes, costs more. See
// https://firebase.google.com/docs/firestore/pricing#index-reads.

// indexEntriesPerRead is how many index entries are billed as one read, for an aggregation and for a query with several
// ranges.
const indexEntriesPerRead = 1000

// DialOptions make a connection count its requests.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(meterUnary), grpc.WithChainStreamInterceptor(meterStream)}
}

// meterUnary counts the writes and deletes of successful unary requests.
func meterUnary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err != nil {
		return err
	}
	m := usage.FromContext(ctx)
	switch r := req.(type) {
	case *firestorepb.CommitRequest:
		for _, w := range r.Writes {
			meterWrite(m, w)
		}
	case *firestorepb.BatchWriteRequest:
		statuses := reply.(*firestorepb.BatchWriteResponse).GetStatus()
		for i, w := range r.Writes {
			if i < len(statuses) && codes.Code(statuses[i].GetCode()) == codes.OK {
				meterWrite(m, w)
			}
		}
	}
	return nil
}

func meterWrite(m *usage.Meter, w *firestorepb.Write) {
	if w.GetDelete() != "" {
		m.Add(usage.Usage{FirestoreDeletes: 1})
	} else {
		m.Add(usage.Usage{FirestoreWrites: 1})
	}
}

// meterStream counts the reads of streamed answers.
func meterStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := stream(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &meteredStream{ClientStream: s, meter: usage.FromContext(ctx)}, nil
}

type meteredStream struct {
	grpc.ClientStream
	meter     *usage.Meter
	query     bool // the stream answers a query
	ranges    bool // the query has several ranges, so its index entries are billed besides its documents
	documents int  // how many the query returned
}

// SendMsg looks at a query before it sends it.
func (s *meteredStream) SendMsg(m any) error {
	if r, ok := m.(*firestorepb.RunQueryRequest); ok {
		s.ranges = severalRanges(r.GetStructuredQuery())
	}
	return s.ClientStream.SendMsg(m)
}

// RecvMsg receives a message and counts its reads.
func (s *meteredStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		switch {
		case !errors.Is(err, io.EOF) || !s.query:
		case s.documents == 0:
			s.meter.Add(usage.Usage{FirestoreReads: 1}) // a query without results costs one read
		case s.ranges:
			s.meter.Add(usage.Usage{FirestoreReads: readsOf(int64(s.documents))})
		}
		return err
	}
	switch r := m.(type) {
	case *firestorepb.RunQueryResponse:
		s.query = true
		if r.GetDocument() != nil {
			s.documents++
			s.meter.Add(usage.Usage{FirestoreReads: 1})
		}
	case *firestorepb.BatchGetDocumentsResponse:
		if r.GetResult() != nil {
			s.meter.Add(usage.Usage{FirestoreReads: 1}) // a missing document costs as much as one found
		}
	case *firestorepb.RunAggregationQueryResponse:
		if r.GetResult() != nil {
			s.meter.Add(usage.Usage{FirestoreReads: aggregationReads(r.GetResult())})
		}
	}
	return nil
}

// aggregationReads returns the reads that a count is billed as. It reads at least as many index entries as it counts.
func aggregationReads(r *firestorepb.AggregationResult) int64 {
	var entries int64
	for _, v := range r.GetAggregateFields() {
		entries = max(entries, v.GetIntegerValue())
	}
	return readsOf(entries)
}

// readsOf returns how many reads so many index entries are billed as.
func readsOf(entries int64) int64 {
	return max(1, (entries+indexEntriesPerRead-1)/indexEntriesPerRead)
}

// severalRanges reports whether more than one field of a query counts as a range: each field with an inequality, the
// document's name wherever the query uses it and, if there is any of these, each field of the order.
func severalRanges(q *firestorepb.StructuredQuery) bool {
	ranges := map[string]bool{}
	addRanges(ranges, q.GetWhere())
	for _, o := range q.GetOrderBy() {
		if field := o.GetField().GetFieldPath(); field == firestore.DocumentID {
			ranges[field] = true
		}
	}
	if len(ranges) > 0 {
		for _, o := range q.GetOrderBy() {
			ranges[o.GetField().GetFieldPath()] = true
		}
	}
	return len(ranges) > 1
}

func addRanges(ranges map[string]bool, f *firestorepb.StructuredQuery_Filter) {
	for _, part := range f.GetCompositeFilter().GetFilters() {
		addRanges(ranges, part)
	}
	if field := f.GetFieldFilter(); field != nil {
		switch name := field.GetField().GetFieldPath(); field.GetOp() {
		case firestorepb.StructuredQuery_FieldFilter_EQUAL, firestorepb.StructuredQuery_FieldFilter_IN,
			firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS, firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
			if name == firestore.DocumentID {
				ranges[name] = true
			}
		default:
			ranges[name] = true
		}
	}
	if field := f.GetUnaryFilter(); field != nil {
		switch field.GetOp() {
		case firestorepb.StructuredQuery_UnaryFilter_IS_NOT_NULL, firestorepb.StructuredQuery_UnaryFilter_IS_NOT_NAN:
			ranges[field.GetField().GetFieldPath()] = true
		default:
		}
	}
}
