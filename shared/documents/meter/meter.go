// Package meter counts what Google bills for requests to Firestore, into the [usage.Meter] of their context.
package meter

import (
	"context"
	"errors"
	"io"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/documents/wire"
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
	return wire.DialOptions(func(ctx context.Context, _ string) wire.Request {
		r := &request{meter: usage.FromContext(ctx)}
		return wire.Request{Send: r.send, Receive: r.receive}
	})
}

// request is a request under way.
type request struct {
	meter     *usage.Meter
	sent      any
	query     bool // it is a query that was answered
	documents int  // how many the query returned
}

func (r *request) send(message any) error {
	r.sent = message
	return nil
}

// receive counts the reads of a message, and the writes and deletes that took effect.
func (r *request) receive(answer any, err error) error {
	if err != nil {
		if errors.Is(err, io.EOF) && r.query {
			r.reads(r.afterLast())
		}
		return err
	}
	switch a := answer.(type) {
	case *firestorepb.CommitResponse:
		r.writes(r.sent.(*firestorepb.CommitRequest).GetWrites()...)
	case *firestorepb.RunQueryResponse:
		r.query = true
		if a.GetDocument() != nil {
			r.documents++
			r.reads(1)
		}
	case *firestorepb.BatchGetDocumentsResponse:
		if a.GetResult() != nil {
			r.reads(1) // a missing document costs as much as one found
		}
	case *firestorepb.ListDocumentsResponse:
		r.reads(max(1, int64(len(a.GetDocuments()))))
	case *firestorepb.RunAggregationQueryResponse:
		if a.GetResult() != nil {
			r.reads(aggregationReads(a.GetResult()))
		}
	}
	return nil
}

// afterLast returns the reads that a query costs besides its documents.
func (r *request) afterLast() int64 {
	sent, _ := r.sent.(*firestorepb.RunQueryRequest)
	switch {
	case r.documents == 0:
		return 1 // a query without results costs one read
	case severalRanges(sent.GetStructuredQuery()): // its index entries are billed, too
		return readsOf(int64(r.documents))
	}
	return 0
}

func (r *request) reads(n int64) { r.meter.Add(usage.Usage{FirestoreReads: n}) }

func (r *request) writes(all ...*firestorepb.Write) {
	for _, w := range all {
		if w.GetDelete() != "" {
			r.meter.Add(usage.Usage{FirestoreDeletes: 1})
		} else {
			r.meter.Add(usage.Usage{FirestoreWrites: 1})
		}
	}
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
