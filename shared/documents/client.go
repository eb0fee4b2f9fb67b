// Package documents is what the bundle knows of Firestore: streaming reads in pages, counts, transactions, writes
// in batches, the write rate, and a meter of what Google bills.
//
// Planners are handed a [Reader], which cannot write; only the engine holds a [Writer]. It writes in four ways:
//
//   - [Writer.Transact], what is judged again as it is then. It takes three requests, and what was read stays as it was.
//   - [Writer.Exchange], a record of the bundle's own that others write too: two requests, one where the record is known.
//   - [Writer.Put], records that may be written twice: one request, again after a lost answer.
//   - [Writer.Commit], writes with conditions of their own: one request, never again by itself.
package documents

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
	apiv1 "cloud.google.com/go/firestore/apiv1"
	"golang.org/x/sync/semaphore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/documents/meter"
	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/documents/wire"
)

// DatabaseHeader names the database that a request is for: Google's front end routes by headers and does not read requests.
// The client library sets it. The generated client does not: what it sends is refused for every database other than
// (default), see https://github.com/apache/beam/issues/25851.
const DatabaseHeader = "google-cloud-resource-prefix"

// Database says which Firestore database to open.
type Database struct {
	Project      string
	ID           string // "(default)" for the default database
	EmulatorHost string // host:port of an emulator; empty for Google's service
}

// Client is an open database. It is safe for concurrent use by any number of runs.
type Client struct {
	firestore *firestore.Client
	raw       *apiv1.Client       // of the same service, for documents as they are stored
	root      string              // projects/{project}/databases/{database}
	turn      *semaphore.Weighted // of a transaction, on an emulator; see [Client.takeTurn]

	lookups *semaphore.Weighted // of [Reader.Missing]
}

// Open connects to a database. It applies further dial options, such as interceptors, to every connection. It fails if no
// credentials are found. A failed attempt leaves nothing behind, so a later one can succeed.
func Open(ctx context.Context, db Database, dial ...grpc.DialOption) (*Client, error) {
	own := slices.Concat(bound(), wire.Before(askEverywhere), retry.DialOptions(), meter.DialOptions())
	dial = slices.Concat(own, dial)
	asOwner := []grpc.DialOption{grpc.WithPerRPCCredentials(emulatorOwner{})}
	options, err := wire.ClientOptions(db.EmulatorHost, dial, append(asOwner, EmulatorDial...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to the Firestore emulator at %s: %w", db.EmulatorHost, err)
	}
	raw, err := apiv1.NewClient(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("open Firestore of project %s: %w", db.Project, err)
	}
	if db.EmulatorHost == "" {
		options = append(options, option.WithGRPCConnectionPool(connections))
	}
	reads, err := firestore.NewClientWithDatabase(ctx, db.Project, db.ID, options...)
	if err != nil {
		_ = raw.Close() // the error that matters is the one below
		return nil, fmt.Errorf("open Firestore database %s of project %s: %w", db.ID, db.Project, err)
	}
	c := &Client{
		firestore: reads,
		raw:       raw,
		root:      fmt.Sprintf("projects/%s/databases/%s", db.Project, db.ID),
		lookups:   semaphore.NewWeighted(lookups),
	}
	if db.EmulatorHost != "" {
		c.turn = semaphore.NewWeighted(1)
	}
	return c, nil
}

// Close closes the connections. On an emulator both clients share one connection, so closing it twice is no error.
func (c *Client) Close() error {
	err := c.firestore.Close()
	_ = c.raw.Close() // an error only means that the shared connection is already closed
	return err
}

// Reader returns the reading side of the database.
func (c *Client) Reader() Reader { return Reader{c: c} }
