package objects

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/firesweep/firesweep/shared/usage"
)

// meteredTransport counts the requests that Cloud Storage bills. It does not bill requests that it answers with an error
// (https://cloud.google.com/storage/pricing#operations-notes).
type meteredTransport struct{ base http.RoundTripper }

// RoundTrip sends a request and counts it.
func (t meteredTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		return resp, err
	}
	m := usage.FromContext(req.Context())
	switch req.Method {
	case http.MethodDelete:
		m.Add(usage.Usage{StorageDeletes: 1})
	case http.MethodGet, http.MethodHead:
		if isListing(req.URL.EscapedPath()) {
			m.Add(usage.Usage{StorageClassA: 1})
		} else {
			m.Add(usage.Usage{StorageClassB: 1})
		}
	default:
		m.Add(usage.Usage{StorageClassA: 1})
	}
	return resp, err
}

// isListing reports whether a path lists a bucket's objects, /storage/v1/b/BUCKET/o, and does not name an object that is
// called o.
func isListing(path string) bool {
	_, rest, _ := strings.Cut(path, "/b/")
	_, rest, _ = strings.Cut(rest, "/")
	return rest == "o"
}

// A page of a listing may have 9 MB, where clients wrote all the metadata that Cloud Storage allows, and takes three times as
// much memory while it is decoded. So of pages that are larger than usual, few are read at once.
const (
	usualPage   = 1 << 20 // bytes
	largeAtOnce = 2
)

// fewLarge is a transport whose large answers are read a few at once.
type fewLarge struct {
	base  http.RoundTripper
	slots chan struct{}
}

func newFewLarge(base http.RoundTripper) fewLarge {
	return fewLarge{base, make(chan struct{}, largeAtOnce)}
}

// RoundTrip implements http.RoundTripper.
func (t fewLarge) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.base.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && isListing(r.URL.EscapedPath()) {
		answer.Body = &largeBody{ReadCloser: answer.Body, ctx: r.Context(), slots: t.slots}
	}
	return answer, err
}

// largeBody is a body that takes a slot once it turns out to be large.
type largeBody struct {
	io.ReadCloser
	ctx   context.Context
	slots chan struct{}
	read  int
	has   bool
}

// Read implements io.Reader.
func (b *largeBody) Read(p []byte) (int, error) {
	if b.read > usualPage && !b.has {
		select {
		case b.slots <- struct{}{}:
			b.has = true
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
	n, err := b.ReadCloser.Read(p)
	b.read += n
	return n, err
}

// Close implements io.Closer.
func (b *largeBody) Close() error {
	if b.has {
		<-b.slots
		b.has = false
	}
	return b.ReadCloser.Close()
}

// ReadOnly wraps a transport for [Open]. It allows only requests that read, and refuses all others before they are sent.
func ReadOnly(base http.RoundTripper) http.RoundTripper { return readOnlyTransport{base} }

type readOnlyTransport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readOnlyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if r.Body != nil {
			_ = r.Body.Close() // every RoundTripper must close it; an error does not matter
		}
		return nil, fmt.Errorf("the request %s %s was not sent: this connection only reads", r.Method, r.URL.EscapedPath())
	}
	return t.base.RoundTrip(r)
}
