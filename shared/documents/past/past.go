// Package past reads a database as it was at an earlier time.
package past

import (
	"context"
	"fmt"
	"path"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// At returns dial options for [documents.Open] with which each request reads the database as it was at t, and nothing is written.
// Firestore answers FailedPrecondition where t is older than what it keeps: an hour, or seven days where point-in-time
// recovery is on. In the latter case t must be a whole minute if it is older than an hour.
func At(t time.Time) []grpc.DialOption {
	at := timestamppb.New(t)
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
				opts ...grpc.CallOption) error {
				if err := readAt(method, req, at); err != nil {
					return err
				}
				return invoke(ctx, method, req, reply, cc, opts...)
			}),
		grpc.WithChainStreamInterceptor(
			func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
				opts ...grpc.CallOption) (grpc.ClientStream, error) {
				s, err := open(ctx, d, cc, method, opts...)
				return pastStream{ClientStream: s, method: method, at: at}, err
			}),
	}
}

// pastStream asks for the past in each request that it sends.
type pastStream struct {
	grpc.ClientStream
	method string
	at     *timestamppb.Timestamp
}

// SendMsg implements [grpc.ClientStream].
func (s pastStream) SendMsg(m any) error {
	if err := readAt(s.method, m, s.at); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m)
}

// readAt makes a request one for the past. What cannot be one is refused.
func readAt(method string, request any, at *timestamppb.Timestamp) error {
	switch r := request.(type) {
	case *firestorepb.GetDocumentRequest:
		r.ConsistencySelector = &firestorepb.GetDocumentRequest_ReadTime{ReadTime: at}
	case *firestorepb.BatchGetDocumentsRequest:
		r.ConsistencySelector = &firestorepb.BatchGetDocumentsRequest_ReadTime{ReadTime: at}
	case *firestorepb.ListDocumentsRequest:
		r.ConsistencySelector = &firestorepb.ListDocumentsRequest_ReadTime{ReadTime: at}
	case *firestorepb.ListCollectionIdsRequest:
		r.ConsistencySelector = &firestorepb.ListCollectionIdsRequest_ReadTime{ReadTime: at}
	case *firestorepb.RunQueryRequest:
		r.ConsistencySelector = &firestorepb.RunQueryRequest_ReadTime{ReadTime: at}
	case *firestorepb.RunAggregationQueryRequest:
		r.ConsistencySelector = &firestorepb.RunAggregationQueryRequest_ReadTime{ReadTime: at}
	default:
		return status.Error(codes.PermissionDenied,
			fmt.Sprintf("the request %s was not sent: this connection only reads the past", path.Base(method)))
	}
	return nil
}
