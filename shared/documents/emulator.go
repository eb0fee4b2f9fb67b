package documents

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
)

// emulatorOwner makes the emulator treat the client like a service account, whom no security rules bind.
type emulatorOwner struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (emulatorOwner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (emulatorOwner) RequireTransportSecurity() bool { return false }

// CheckRouted refuses, as Google's service does, a request whose header does not name the database that it is for. The
// emulator reads requests and would answer them all.
func CheckRouted(ctx context.Context, req any) error {
	var database string
	switch r := req.(type) {
	case interface{ GetDatabase() string }:
		database = r.GetDatabase()
	case interface{ GetParent() string }:
		database, _, _ = strings.Cut(r.GetParent(), "/documents")
	}
	sent, _ := metadata.FromOutgoingContext(ctx)
	if named := sent.Get(databaseHeader); len(named) != 1 || named[0] != database {
		return status.Errorf(codes.InvalidArgument, "a %T for the database %q with the routing header %q", req, database, named)
	}
	return nil
}

func checkRoutedUnary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := CheckRouted(ctx, req); err != nil {
		return err
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

func checkRoutedStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := stream(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return routedStream{s, ctx}, nil
}

type routedStream struct {
	grpc.ClientStream
	ctx context.Context // that the stream was opened with, which holds its headers
}

// SendMsg sends a request if its stream's header names its database.
func (s routedStream) SendMsg(m any) error {
	if err := CheckRouted(s.ctx, m); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m)
}

// turnKey is the key in a context of a transaction's turn.
type turnKey struct{}

// takeTurn calls transact when no other transaction of the client is under way on an emulator, and at once on Google's
// service. That locks what a transaction's query matches, its emulator the whole collection: there, transactions that query
// the same one and then write to it wait for each other until they time out. A transaction within another is not
// kept waiting for that one's end: the client refuses it.
func (c *Client) takeTurn(ctx context.Context, transact func(context.Context) error) error {
	if c.turn == nil || ctx.Value(turnKey{}) != nil {
		return transact(ctx)
	}
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.turn.Release(1)
	return transact(context.WithValue(ctx, turnKey{}, true))
}

// countNamesByGetting answers a count of documents by their names with a get of these documents. Google's service looks
// them up in its index; its emulator scans the whole collection for every name, 30 times for [Reader.Missing], which
// takes a second in a collection of 5,000 documents. It is the innermost interceptor: whoever meters or disturbs the
// requests sees the count that production gets.
func countNamesByGetting(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	open := func(method string) (grpc.ClientStream, error) { return stream(ctx, desc, cc, method, opts...) }
	if method != firestorepb.Firestore_RunAggregationQuery_FullMethodName {
		return open(method)
	}
	return &aggregation{open: open}, nil
}

// aggregation is a RunAggregationQuery that opens its stream when it knows what is asked.
type aggregation struct {
	grpc.ClientStream // nil where it could not be opened
	open              func(method string) (grpc.ClientStream, error)
	err               error  // why not
	alias             string // of a count of names; empty for anything else
	done              bool   // the count has been answered
}

// SendMsg opens the stream and sends the request, or a get in its place.
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

// CloseSend says that there is no further request. Whoever was told that the stream could not be opened may still say so.
func (s *aggregation) CloseSend() error {
	if s.ClientStream == nil {
		return nil
	}
	return s.ClientStream.CloseSend()
}

// getInsteadOfCount returns the get of the documents that a request only counts by their names, nil for others.
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

// RecvMsg receives an answer; of a get, it counts what was found.
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
