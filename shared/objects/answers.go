package objects

import (
	"context"
	"io"
	"net/http"
)

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
