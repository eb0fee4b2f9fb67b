package documents

import (
	"context"
	"errors"
	"io"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/usage"
)

// indexEntriesPerRead is how many index entries an aggregation matches for one billed read.
const indexEntriesPerRead = 1000

// meterUnary counts what a successful unary request is billed.
func meterUnary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
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
		m.FirestoreDeletes(1)
	} else {
		m.FirestoreWrites(1)
	}
}

// meterStream counts what the answers of a streamed read are billed.
func meterStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := stream(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &meteredStream{ClientStream: s, meter: usage.FromContext(ctx)}, nil
}

type meteredStream struct {
	grpc.ClientStream
	meter     *usage.Meter
	query     bool // it answers a query
	documents bool // it answered with a document
}

// RecvMsg counts the message it receives.
func (s *meteredStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		if errors.Is(err, io.EOF) && s.query && !s.documents {
			s.meter.FirestoreReads(1) // a query without results costs one read
		}
		return err
	}
	switch r := m.(type) {
	case *firestorepb.RunQueryResponse:
		s.query = true
		if r.GetDocument() != nil {
			s.documents = true
			s.meter.FirestoreReads(1)
		}
	case *firestorepb.BatchGetDocumentsResponse:
		if r.GetResult() != nil {
			s.meter.FirestoreReads(1) // a missing document costs as much as one found
		}
	case *firestorepb.RunAggregationQueryResponse:
		if r.GetResult() != nil {
			s.meter.FirestoreReads(aggregationReads(r.GetResult()))
		}
	}
	return nil
}

// aggregationReads returns what a count is billed: one read per 1000 index entries, at least one.
func aggregationReads(r *firestorepb.AggregationResult) int {
	var entries int64
	for _, v := range r.GetAggregateFields() {
		entries = max(entries, v.GetIntegerValue())
	}
	return int(max(1, (entries+indexEntriesPerRead-1)/indexEntriesPerRead))
}
