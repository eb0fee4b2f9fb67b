package standin

import (
	"context"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	maxBatch   = 500      // writes of a BatchWrite
	maxRequest = 10 << 20 // bytes
)

// server is the service of Firestore. A transaction locks nothing: whoever is measured is alone.
type server struct {
	pb.UnimplementedFirestoreServer
	*store
	turn func(now time.Time) time.Duration // how long a lookup waits
}

// BeginTransaction implements the service.
func (s *server) BeginTransaction(context.Context, *pb.BeginTransactionRequest) (*pb.BeginTransactionResponse, error) {
	return &pb.BeginTransactionResponse{Transaction: []byte("t")}, nil
}

// Rollback implements the service.
func (s *server) Rollback(context.Context, *pb.RollbackRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// Commit implements the service.
func (s *server) Commit(_ context.Context, r *pb.CommitRequest) (*pb.CommitResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range r.GetWrites() {
		if err := s.check(w); err != nil {
			return nil, err
		}
	}
	at := s.tick()
	answer := &pb.CommitResponse{CommitTime: timestamppb.New(at)}
	for _, w := range r.GetWrites() {
		answer.WriteResults = append(answer.WriteResults, s.apply(w, at))
	}
	return answer, nil
}

// BatchWrite implements the service.
func (s *server) BatchWrite(_ context.Context, r *pb.BatchWriteRequest) (*pb.BatchWriteResponse, error) {
	once := map[string]bool{}
	for _, w := range r.GetWrites() {
		if once[target(w)] {
			return nil, wrong("a BatchWrite cannot write %s more than once", target(w))
		}
		once[target(w)] = true
	}
	if len(once) > maxBatch {
		return nil, wrong("a BatchWrite of %d writes, at most %d are allowed", len(once), maxBatch)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &pb.BatchWriteResponse{}
	for _, w := range r.GetWrites() {
		result, err := &pb.WriteResult{}, s.check(w)
		if err == nil {
			result = s.apply(w, s.tick())
		}
		answer.WriteResults = append(answer.WriteResults, result)
		answer.Status = append(answer.Status, status.Convert(err).Proto())
	}
	return answer, nil
}

// sendAll sends what an answer consists of, which is found under the lock.
func sendAll[A any](s *store, stream grpc.ServerStreamingServer[A], find func(now *timestamppb.Timestamp) ([]*A, error)) error {
	s.mu.Lock()
	answers, err := find(timestamppb.New(s.tick()))
	s.mu.Unlock()
	for _, a := range answers {
		if err == nil {
			err = stream.Send(a)
		}
	}
	return err
}

// BatchGetDocuments implements the service.
func (s *server) BatchGetDocuments(r *pb.BatchGetDocumentsRequest, stream pb.Firestore_BatchGetDocumentsServer) error {
	return sendAll(s.store, stream, func(now *timestamppb.Timestamp) (all []*pb.BatchGetDocumentsResponse, err error) {
		for _, name := range r.GetDocuments() {
			c, id, err := s.split(name)
			if err != nil {
				return nil, err
			}
			a := &pb.BatchGetDocumentsResponse{ReadTime: now, Result: &pb.BatchGetDocumentsResponse_Missing{Missing: name}}
			if d := c.docs[id]; d != nil {
				found := message(name[:len(name)-len(id)], d, r.GetMask())
				a.Result = &pb.BatchGetDocumentsResponse_Found{Found: found}
			}
			all = append(all, a)
		}
		return all, nil
	})
}

// RunQuery implements the service.
func (s *server) RunQuery(r *pb.RunQueryRequest, stream pb.Firestore_RunQueryServer) error {
	return sendAll(s.store, stream, func(now *timestamppb.Timestamp) (all []*pb.RunQueryResponse, err error) {
		q, err := s.query(r.GetParent(), r.GetStructuredQuery())
		if err != nil {
			return nil, err
		}
		var mask *pb.DocumentMask // nil: all fields
		for _, f := range r.GetStructuredQuery().GetSelect().GetFields() {
			mask = &pb.DocumentMask{FieldPaths: append(mask.GetFieldPaths(), f.GetFieldPath())}
		}
		for _, d := range q.answer() {
			path := r.GetParent() + "/" + r.GetStructuredQuery().GetFrom()[0].GetCollectionId() + "/"
			all = append(all, &pb.RunQueryResponse{ReadTime: now, Document: message(path, d, mask)})
		}
		if len(all) == 0 {
			all = append(all, &pb.RunQueryResponse{ReadTime: now})
		}
		return all, nil
	})
}

// RunAggregationQuery implements the service, for counts.
func (s *server) RunAggregationQuery(r *pb.RunAggregationQueryRequest, stream pb.Firestore_RunAggregationQueryServer) error {
	a := r.GetStructuredAggregationQuery()
	if len(a.GetAggregations()) != 1 || a.GetAggregations()[0].GetCount() == nil {
		return unknown("aggregations but counts")
	}
	if a.GetStructuredQuery().GetWhere().GetFieldFilter().GetField().GetFieldPath() == nameField {
		time.Sleep(s.turn(time.Now()))
	}
	return sendAll(s.store, stream, func(now *timestamppb.Timestamp) ([]*pb.RunAggregationQueryResponse, error) {
		q, err := s.query(r.GetParent(), a.GetStructuredQuery())
		if err != nil {
			return nil, err
		}
		counted := map[string]*pb.Value{a.GetAggregations()[0].GetAlias(): value(q.count())}
		return []*pb.RunAggregationQueryResponse{{ReadTime: now, Result: &pb.AggregationResult{AggregateFields: counted}}}, nil
	})
}
