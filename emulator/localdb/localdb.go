// Package localdb opens databases of the Firestore emulator, and reads a whole database with one request.
package localdb

import (
	"context"
	"fmt"
	"math"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/firesweep/firesweep/shared/documents"
)

// Dial connects to the emulator at an address. Many clients may share a connection.
func Dial(address string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+address, append(documents.OnEmulator(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))...)
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
	all, err := db.CollectionGroup(documents.Everywhere).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("read all documents: %w", err)
	}
	return all, nil
}
