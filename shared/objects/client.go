// Package objects is what the bundle knows of Cloud Storage: listing in pages, deletes on the condition that the object has
// not changed since it was judged, and a meter of what Google bills.
//
// Planners are handed a [Reader], which cannot write; only the engine holds a [Writer].
package objects

import (
	"context"
	"fmt"
	"net/http"

	"cloud.google.com/go/storage"
	"google.golang.org/api/option"
	htransport "google.golang.org/api/transport/http"
)

// Bucket says which bucket to open.
type Bucket struct {
	Name         string
	EmulatorHost string // host:port of an emulator; empty for Google's service
}

// maxAttempts bounds how often a request is sent, because a run's time is bounded.
const maxAttempts = 8

// Client is an open bucket. It is safe for concurrent use by any number of runs.
type Client struct {
	storage *storage.Client
	bucket  *storage.BucketHandle
	name    string

	connections *http.Transport
}

// Open connects to a bucket. wrap, if not nil, is put around the transport that sends the requests. It fails if no
// credentials are found. A failed attempt leaves nothing behind, so a later one can succeed.
func Open(ctx context.Context, b Bucket, wrap func(http.RoundTripper) http.RoundTripper) (*Client, error) {
	connections := http.DefaultTransport.(*http.Transport).Clone()
	base := http.RoundTripper(connections)
	if wrap != nil {
		base = wrap(base)
	}
	var options []option.ClientOption
	transport := http.RoundTripper(newFewLarge(meteredTransport{base}))
	if b.EmulatorHost != "" {
		options = append(options, option.WithEndpoint("http://"+b.EmulatorHost+"/storage/v1/"))
	} else {
		authenticated, err := htransport.NewTransport(ctx, transport, option.WithScopes(storage.ScopeReadWrite))
		if err != nil {
			return nil, fmt.Errorf("open bucket %s: %w", b.Name, err)
		}
		transport = authenticated
	}
	client, err := storage.NewClient(ctx, append(options, option.WithHTTPClient(&http.Client{Transport: transport}))...)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", b.Name, err)
	}
	client.SetRetry(storage.WithPolicy(storage.RetryIdempotent), storage.WithMaxAttempts(maxAttempts))
	return &Client{storage: client, bucket: client.Bucket(b.Name), name: b.Name, connections: connections}, nil
}

// Close closes the connections.
func (c *Client) Close() error {
	err := c.storage.Close()
	c.connections.CloseIdleConnections() // the library leaves them open
	return err
}

// Handle returns the client library's handle of the bucket. Undo needs it to restore what a run deleted.
func (c *Client) Handle() *storage.BucketHandle { return c.bucket }

// Reader returns the reading side of the bucket.
func (c *Client) Reader() Reader { return Reader{c: c} }
