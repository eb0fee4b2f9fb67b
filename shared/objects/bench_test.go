package objects

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"google.golang.org/api/option"
)

// BenchmarkObjectName parses a download URL, as it is done for each file of a post.
func BenchmarkObjectName(b *testing.B) {
	const url = "https://firebasestorage.googleapis.com:443/v0/b/p.firebasestorage.app/o/posts%2Fu1%2F%E5%86%99%E7%9C%9F.jpg?alt=media&token=t"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ObjectName(url, "p.firebasestorage.app", ""); err != nil {
			b.Fatal(err)
		}
	}
}

type roundTripper func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// BenchmarkPage decodes a page of a listing, 1000 objects.
func BenchmarkPage(b *testing.B) {
	var body strings.Builder
	body.WriteString(`{"kind":"storage#objects","items":[`)
	for i := range pageSize {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"name":"posts/u/%04d.jpg","generation":"1700000000000000","metageneration":"1","timeCreated":"2025-06-01T00:00:00.000Z","metadata":{"postId":"p%019d"}}`, i, i/2)
	}
	body.WriteString(`]}`)
	answer := roundTripper(func(r *http.Request) *http.Response {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(body.String())), Request: r,
		}
	})
	client, err := storage.NewClient(b.Context(), option.WithHTTPClient(&http.Client{Transport: answer}))
	if err != nil {
		b.Fatal(err)
	}
	r := (&Client{storage: client, bucket: client.Bucket("b"), name: "b"}).Reader()
	b.ReportAllocs()
	for b.Loop() {
		if page, _, err := r.pager(b.Context(), "posts/", Names{})(); err != nil || len(page) != pageSize {
			b.Fatal(len(page), err)
		}
	}
}
