package standin

import (
	"context"
	"fmt"
	"strings"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	maxBatch   = 500      // writes of a BatchWrite
	maxRequest = 10 << 20 // bytes
)

// server is the service of Firestore.
type server struct {
	pb.UnimplementedFirestoreServer
	s    *store
	turn func(now time.Time) time.Duration // how long a lookup waits
}

// routed refuses a request whose header does not name its database, as Google's front end does.
func (s *server) routed(ctx context.Context) error {
	sent, _ := metadata.FromIncomingContext(ctx)
	want := strings.TrimSuffix(s.s.root, "/documents")
	if named := sent.Get("google-cloud-resource-prefix"); len(named) != 1 || named[0] != want {
		return wrong("the header google-cloud-resource-prefix is %q, want %s", named, want)
	}
	return nil
}

// begin begins a transaction. The lock is held.
func (s *server) begin() []byte {
	s.s.begun++
	id := fmt.Sprintf("t%d", s.s.begun)
	s.s.transacting[id] = map[string]time.Time{}
	return []byte(id)
}

// read notes that a transaction has read a document, which may not be there.
func (s *server) read(transaction []byte, name string, d *doc) error {
	if len(transaction) == 0 {
		return nil
	}
	read := s.s.transacting[string(transaction)]
	if read == nil {
		return wrong("the transaction %q is not under way", transaction)
	}
	var at time.Time
	if d != nil {
		at = d.updated
	}
	if had, again := read[name]; again && !had.Equal(at) {
		return status.Error(codes.Aborted, "Transaction lock timeout: what was read has changed.")
	}
	read[name] = at
	return nil
}

// BeginTransaction implements the service.
func (s *server) BeginTransaction(ctx context.Context, _ *pb.BeginTransactionRequest) (*pb.BeginTransactionResponse, error) {
	if err := s.routed(ctx); err != nil {
		return nil, err
	}
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	return &pb.BeginTransactionResponse{Transaction: s.begin()}, nil
}

// Rollback implements the service.
func (s *server) Rollback(ctx context.Context, r *pb.RollbackRequest) (*emptypb.Empty, error) {
	if err := s.routed(ctx); err != nil {
		return nil, err
	}
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	delete(s.s.transacting, string(r.GetTransaction()))
	return &emptypb.Empty{}, nil
}

// Commit implements the service.
func (s *server) Commit(ctx context.Context, r *pb.CommitRequest) (*pb.CommitResponse, error) {
	if err := s.routed(ctx); err != nil {
		return nil, err
	}
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	if id := string(r.GetTransaction()); id != "" {
		read, under := s.s.transacting[id]
		if !under {
			return nil, wrong("the transaction %q is not under way", id)
		}
		delete(s.s.transacting, id)
		for name, at := range read {
			d, err := s.s.get(name)
			if err != nil {
				return nil, err
			}
			if (d == nil) != at.IsZero() || d != nil && !d.updated.Equal(at) {
				return nil, status.Error(codes.Aborted, "Too much contention on these documents. Please try again.")
			}
		}
	}
	for _, w := range r.GetWrites() {
		d, err := s.s.get(target(w))
		if err == nil {
			err = check(w, d)
		}
		if err != nil {
			return nil, err
		}
	}
	at := s.s.tick()
	answer := &pb.CommitResponse{CommitTime: timestamppb.New(at)}
	for _, w := range r.GetWrites() {
		result, err := s.s.apply(w, at)
		if err != nil {
			return nil, err
		}
		answer.WriteResults = append(answer.WriteResults, result)
	}
	return answer, nil
}

// BatchWrite implements the service.
func (s *server) BatchWrite(ctx context.Context, r *pb.BatchWriteRequest) (*pb.BatchWriteResponse, error) {
	if err := s.routed(ctx); err != nil {
		return nil, err
	}
	if len(r.GetWrites()) > maxBatch {
		return nil, wrong("a BatchWrite of %d writes, at most %d are allowed", len(r.GetWrites()), maxBatch)
	}
	once := make(map[string]bool, len(r.GetWrites()))
	for _, w := range r.GetWrites() {
		if once[target(w)] {
			return nil, wrong("a BatchWrite cannot write %s more than once", target(w))
		}
		once[target(w)] = true
	}
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	answer := &pb.BatchWriteResponse{}
	for _, w := range r.GetWrites() {
		result := &pb.WriteResult{}
		d, err := s.s.get(target(w))
		if err == nil {
			err = check(w, d)
		}
		if err == nil {
			result, err = s.s.apply(w, s.s.tick())
		}
		answer.WriteResults = append(answer.WriteResults, result)
		answer.Status = append(answer.Status, status.Convert(err).Proto())
	}
	return answer, nil
}

// BatchGetDocuments implements the service.
func (s *server) BatchGetDocuments(r *pb.BatchGetDocumentsRequest, stream pb.Firestore_BatchGetDocumentsServer) error {
	if err := s.routed(stream.Context()); err != nil {
		return err
	}
	s.s.mu.Lock()
	var answers []*pb.BatchGetDocumentsResponse
	transaction := r.GetTransaction()
	if r.GetNewTransaction() != nil {
		transaction = s.begin()
		answers = append(answers, &pb.BatchGetDocumentsResponse{Transaction: transaction})
	}
	now := timestamppb.New(s.s.tick())
	err := func() error {
		for _, name := range r.GetDocuments() {
			c, id, err := s.s.split(name)
			if err != nil {
				return err
			}
			d := c.docs[id]
			if err := s.read(transaction, name, d); err != nil {
				return err
			}
			answer := &pb.BatchGetDocumentsResponse{ReadTime: now, Result: &pb.BatchGetDocumentsResponse_Missing{Missing: name}}
			if d != nil {
				answer.Result = &pb.BatchGetDocumentsResponse_Found{Found: s.s.message(c, d, r.GetMask())}
			}
			answers = append(answers, answer)
		}
		return nil
	}()
	s.s.mu.Unlock()
	if err != nil {
		return err
	}
	for _, a := range answers {
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}

// RunQuery implements the service.
func (s *server) RunQuery(r *pb.RunQueryRequest, stream pb.Firestore_RunQueryServer) error {
	if err := s.routed(stream.Context()); err != nil {
		return err
	}
	s.s.mu.Lock()
	var answers []*pb.RunQueryResponse
	now := timestamppb.New(s.s.tick())
	transaction := r.GetTransaction()
	if r.GetNewTransaction() != nil {
		transaction = s.begin()
		answers = append(answers, &pb.RunQueryResponse{Transaction: transaction})
	}
	err := func() error {
		q, err := s.s.query(r.GetParent(), r.GetStructuredQuery())
		if err != nil {
			return err
		}
		mask := maskOf(r.GetStructuredQuery())
		for _, d := range q.answer() {
			if err := s.read(transaction, s.s.name(q.c, d), d); err != nil {
				return err
			}
			answers = append(answers, &pb.RunQueryResponse{ReadTime: now, Document: s.s.message(q.c, d, mask)})
		}
		return nil
	}()
	s.s.mu.Unlock()
	if err != nil {
		return err
	}
	if len(answers) == 0 {
		answers = append(answers, &pb.RunQueryResponse{ReadTime: now})
	}
	for _, a := range answers {
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}

// maskOf returns the fields that a query selects, nil if all.
func maskOf(q *pb.StructuredQuery) *pb.DocumentMask {
	if q.GetSelect() == nil {
		return nil
	}
	mask := &pb.DocumentMask{}
	for _, f := range q.GetSelect().GetFields() {
		mask.FieldPaths = append(mask.FieldPaths, f.GetFieldPath())
	}
	return mask
}

// RunAggregationQuery implements the service, for counts.
func (s *server) RunAggregationQuery(r *pb.RunAggregationQueryRequest, stream pb.Firestore_RunAggregationQueryServer) error {
	if err := s.routed(stream.Context()); err != nil {
		return err
	}
	a := r.GetStructuredAggregationQuery()
	if len(a.GetAggregations()) != 1 || a.GetAggregations()[0].GetCount() == nil {
		return status.Error(codes.Unimplemented, "the stand-in counts, and nothing else")
	}
	if a.GetStructuredQuery().GetWhere().GetFieldFilter().GetField().GetFieldPath() == nameField {
		time.Sleep(s.turn(time.Now()))
	}
	s.s.mu.Lock()
	n := 0
	q, err := s.s.query(r.GetParent(), a.GetStructuredQuery())
	if err == nil {
		n = q.count()
	}
	now := timestamppb.New(s.s.tick())
	s.s.mu.Unlock()
	if err != nil {
		return err
	}
	return stream.Send(&pb.RunAggregationQueryResponse{ReadTime: now, Result: &pb.AggregationResult{
		AggregateFields: map[string]*pb.Value{a.GetAggregations()[0].GetAlias(): value(n)},
	}})
}
