package localdb

import (
	"context"
	"errors"
	"io"
	"strings"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

// A program that imports this package has its clients meet on the emulator what they meet on Google's service: requests without
// the header that Google's front end routes by are refused, and counts of names are quick.
func init() {
	documents.EmulatorDial = wire.Before(func(ctx context.Context, _ string, message any) error { return checkRouted(ctx, message) })
	documents.EmulatorDial = append(documents.EmulatorDial, grpc.WithChainStreamInterceptor(countNamesByGetting))
}

// checkRouted refuses a request whose header does not name its database, as Google's service does. The emulator would answer
// it, because it reads requests.
func checkRouted(ctx context.Context, req any) error {
	var database string
	switch r := req.(type) {
	case interface{ GetDatabase() string }:
		database = r.GetDatabase()
	case interface{ GetParent() string }:
		database, _, _ = strings.Cut(r.GetParent(), "/documents")
	}
	sent, _ := metadata.FromOutgoingContext(ctx)
	if named := sent.Get(documents.DatabaseHeader); len(named) != 1 || named[0] != database {
		return status.Errorf(codes.InvalidArgument, "a %T for the database %q with the routing header %q", req, database, named)
	}
	return nil
}

// countNamesByGetting answers a count of documents by their names with a get of these documents. Google's service looks the
// names up in its index. The emulator scans the whole collection for every name, 30 times for [documents.Reader.Missing], which
// takes a second if the collection has 5,000 documents. This is the innermost interceptor, so those that meter or disturb
// requests see the count that production gets.
func countNamesByGetting(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	open := func(method string) (grpc.ClientStream, error) { return stream(ctx, desc, cc, method, opts...) }
	if method != firestorepb.Firestore_RunAggregationQuery_FullMethodName {
		return open(method)
	}
	return &aggregation{open: open}, nil
}

// aggregation is a RunAggregationQuery that opens its stream with the first request: only then it knows which method to call.
type aggregation struct {
	grpc.ClientStream // nil if it could not be opened
	open              func(method string) (grpc.ClientStream, error)
	err               error  // why it could not
	alias             string // the alias of a count of names; empty for any other request
	done              bool   // the count has been answered
}

// SendMsg opens the stream and sends the request, or a get instead of it.
func (s *aggregation) SendMsg(m any) (err error) {
	method := firestorepb.Firestore_RunAggregationQuery_FullMethodName
	if get, alias := getInsteadOfCount(m); get != nil {
		m, s.alias, method = get, alias, firestorepb.Firestore_BatchGetDocuments_FullMethodName
	}
	stream, err := s.open(method)
	if err != nil {
		s.err = err
		return err
	}
	s.ClientStream = stream
	return stream.SendMsg(m)
}

// CloseSend ends the requests. Callers may call it even if SendMsg could not open the stream.
func (s *aggregation) CloseSend() error {
	if s.ClientStream == nil {
		return nil
	}
	return s.ClientStream.CloseSend()
}

// getInsteadOfCount returns a get of the documents that a request counts by their names; nil for any other request.
func getInsteadOfCount(m any) (get *firestorepb.BatchGetDocumentsRequest, alias string) {
	req, _ := m.(*firestorepb.RunAggregationQueryRequest)
	q := req.GetStructuredAggregationQuery()
	filter := q.GetStructuredQuery().GetWhere().GetFieldFilter()
	if filter.GetField().GetFieldPath() != firestore.DocumentID || filter.GetOp() != firestorepb.StructuredQuery_FieldFilter_IN ||
		len(q.GetAggregations()) != 1 || req.GetConsistencySelector() != nil {
		return nil, ""
	}
	if _, ok := q.GetAggregations()[0].GetOperator().(*firestorepb.StructuredAggregationQuery_Aggregation_Count_); !ok {
		return nil, ""
	}
	database, _, _ := strings.Cut(req.GetParent(), "/documents")
	get = &firestorepb.BatchGetDocumentsRequest{Database: database, Mask: &firestorepb.DocumentMask{}}
	for _, v := range filter.GetValue().GetArrayValue().GetValues() {
		get.Documents = append(get.Documents, v.GetReferenceValue())
	}
	return get, q.GetAggregations()[0].GetAlias()
}

// RecvMsg receives an answer. For a get it counts the documents that were found.
func (s *aggregation) RecvMsg(m any) error {
	if s.ClientStream == nil {
		return s.err
	}
	if s.alias == "" {
		return s.ClientStream.RecvMsg(m)
	}
	if s.done {
		return io.EOF
	}
	var found int64
	for {
		var answer firestorepb.BatchGetDocumentsResponse
		err := s.ClientStream.RecvMsg(&answer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if answer.GetFound() != nil {
			found++
		}
	}
	s.done = true
	m.(*firestorepb.RunAggregationQueryResponse).Result = &firestorepb.AggregationResult{
		AggregateFields: map[string]*firestorepb.Value{s.alias: {ValueType: &firestorepb.Value_IntegerValue{IntegerValue: found}}},
	}
	return nil
}
