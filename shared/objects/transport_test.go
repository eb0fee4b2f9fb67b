package objects

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type roundTripper func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// slowly is a body of which each read takes a second.
type slowly struct{ io.Reader }

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return s.Reader.Read(p)
}

// readAll reads what a request is answered, so many bytes at a time.
func readAll(ctx context.Context, transport http.RoundTripper, path string) (n int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://storage.googleapis.com"+path, nil)
	if err != nil {
		return 0, err
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	for part := make([]byte, usualPage); err == nil; {
		var more int
		more, err = answer.Body.Read(part)
		n += more
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, errors.Join(err, answer.Body.Close())
}

// answering answers each request with so many bytes.
func answering(size int) http.RoundTripper {
	return newFewLarge(roundTripper(func(*http.Request) *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(slowly{bytes.NewReader(make([]byte, size))})}
	}))
}

const listingPath = "/storage/v1/b/b/o"

// TestLargeAnswers of listings are read two at a time, from where they turn out to be large; others wait for nobody.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		size    int
		path    string
		seconds int
	}{
		"usual pages": {usualPage, listingPath, 2}, "large pages": {4 * usualPage, listingPath, 2 + 3*3},
		"objects": {4 * usualPage, listingPath + "/x", 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport, began := answering(tt.size), time.Now()
			var underWay sync.WaitGroup
			for range 3 * largeAtOnce {
				underWay.Go(func() {
					if n, err := readAll(t.Context(), transport, tt.path); n != tt.size || err != nil {
						t.Errorf("%s: %d bytes and %v", what, n, err)
					}
				})
			}
			underWay.Wait()
			if took := time.Since(began); took != time.Duration(tt.seconds)*time.Second {
				t.Errorf("%s: it took %s, want %d s", what, took, tt.seconds)
			}
		})
	}
}

// TestLargeAnswerThatIsCanceled does not wait for others.
func TestLargeAnswerThatIsCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := answering(100 * usualPage)
		var underWay sync.WaitGroup
		for range largeAtOnce {
			underWay.Go(func() { _, _ = readAll(t.Context(), transport, listingPath) })
		}
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if n, err := readAll(ctx, transport, listingPath); n != 2*usualPage || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d bytes and %v", n, err)
		}
		underWay.Wait()
	})
}
