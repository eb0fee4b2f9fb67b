// Package localdb opens databases of the Firestore emulator, and reads a whole database with one request.
package localdb

import (
	"context"
	"fmt"
	"math"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Dial connects to the emulator at an address. Many clients may share a connection.
func Dial(address string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(owner{}), grpc.WithChainStreamInterceptor(ofEveryKind),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("connect to the Firestore emulator at %s: %w", address, err)
	}
	return conn, nil
}

// Open returns a client of a database. Closing it closes the connection.
func Open(ctx context.Context, conn *grpc.ClientConn, project, database string) (*firestore.Client, error) {
	db, err := firestore.NewClientWithDatabase(ctx, project, database, option.WithGRPCConn(conn))
	if err != nil {
		return nil, fmt.Errorf("open the local Firestore: %w", err)
	}
	return db, nil
}

// All returns all documents of a database, wherever they are, ordered by path. The client must be one of [Open].
func All(ctx context.Context, db *firestore.Client) ([]*firestore.DocumentSnapshot, error) {
	all, err := db.CollectionGroup(every).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("read all documents: %w", err)
	}
	return all, nil
}

// every stands for all collections. Firestore queries them all if the request names no collection; Go's client always names one.
const every = "__every__"

func ofEveryKind(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, opts...)
	return lookedAt{s, func(m any) error {
		if r, isQuery := m.(*firestorepb.RunQueryRequest); isQuery {
			if from := r.GetStructuredQuery().GetFrom(); len(from) == 1 && from[0].GetCollectionId() == every {
				from[0].CollectionId = ""
			}
		}
		return nil
	}}, err //nolint:wrapcheck // another's error
}

// lookedAt is a stream each of whose requests is looked at, and perhaps changed or refused, before it is sent.
type lookedAt struct {
	grpc.ClientStream
	look func(m any) error
}

// SendMsg implements grpc.ClientStream.
func (s lookedAt) SendMsg(m any) error {
	if err := s.look(m); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m) //nolint:wrapcheck // another's error
}

// owner is an administrator, to whom security rules do not apply.
type owner struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (owner) RequireTransportSecurity() bool { return false }
