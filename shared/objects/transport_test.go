package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/option"
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

// BenchmarkLargestObjects lists objects with the longest names and all the metadata that Cloud Storage allows, and reports how much
// memory that takes at most, all that the garbage collector has not collected included.
func BenchmarkLargestObjects(b *testing.B) {
	const pages = 100
	metadata := map[string]string{"postId": strings.Repeat("p", 1500), "m": strings.Repeat("m", 6500)}
	name := func(i int) string { return fmt.Sprintf("posts/%07d%s", i, strings.Repeat("n", 1011)) }
	var names []string
	for i := range pages * pageSize {
		names = append(names, name(i))
	}
	saved := cutsOf(names)
	answer := newFewLarge(roundTripper(func(r *http.Request) *http.Response {
		q, from := r.URL.Query(), 0
		if at := max(q.Get("startOffset"), q.Get("pageToken")); at != "" {
			for from < len(names) && names[from] < at {
				from++
			}
		}
		body, done := io.Pipe()
		go func() { // an item at a time, so that what is sent takes no memory
			_, _ = io.WriteString(done, `{"kind":"storage#objects","items":[`)
			n := from
			for ; n < len(names) && n < from+pageSize && (q.Get("endOffset") == "" || names[n] < q.Get("endOffset")); n++ {
				if n > from {
					_, _ = io.WriteString(done, ",")
				}
				text, _ := json.Marshal(map[string]any{"name": name(n), "generation": "1", "metageneration": "1", "metadata": metadata})
				_, _ = done.Write(text)
			}
			more := ""
			if n == from+pageSize && n < len(names) {
				more = `,"nextPageToken":"` + name(n) + `"`
			}
			_, _ = io.WriteString(done, "]"+more+"}")
			_ = done.Close()
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}
	}))
	client, err := storage.NewClient(b.Context(), option.WithHTTPClient(&http.Client{Transport: answer}))
	if err != nil {
		b.Fatal(err)
	}
	r := (&Client{storage: client, bucket: client.Bucket("b"), name: "b"}).Reader()
	before := alive()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(before) + 128<<20))
	for b.Loop() {
		most, given := uint64(0), 0
		ended := make(chan bool)
		var measured sync.WaitGroup
		measured.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(2 * time.Millisecond):
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					most = max(most, m.HeapAlloc-uint64(before))
				}
			}
		})
		for page, err := range PagesOf(b.Context(), r, "posts/", Names{}, saved, func(o Object) kept { return kept{name: o.Name + o.Metadata["postId"]} }) {
			if err != nil {
				b.Fatal(err)
			}
			given += len(page)
		}
		close(ended)
		measured.Wait()
		b.ReportMetric(float64(most)/(1<<20), "MiB")
		if given != len(names) {
			b.Errorf("%d objects of %d", given, len(names))
		}
	}
}
