package enginetest

import (
	"context"
	"maps"
	"net/http"
	"path"
	"strings"
)

// counts returns how many requests of each service and method were sent so far, e.g. of "Storage GET objects". A test that replaces a
// hook for Storage or Authentication leaves out that service.
func (r *Recorder) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.all)
}

func (r *Recorder) count(method string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.countLocked(method)
}

func (r *Recorder) countLocked(method string) {
	if r.all == nil {
		r.all = map[string]int{}
	}
	r.all[method]++
}

func (r *Recorder) task(_ context.Context, method string, _ any) error {
	r.count("Tasks " + path.Base(method))
	return nil
}

// countedStorage counts requests to Storage, whose paths are /storage/v1/b/BUCKET, and behind that /o and /o/OBJECT.
type countedStorage struct {
	base     http.RoundTripper
	recorder *Recorder
}

// RoundTrip implements [http.RoundTripper].
func (s countedStorage) RoundTrip(r *http.Request) (*http.Response, error) {
	_, resource, _ := strings.Cut(r.URL.EscapedPath(), "/b/")
	of := []string{"bucket", "objects", "object"}[min(2, strings.Count(resource, "/"))]
	s.recorder.count("Storage " + r.Method + " " + of)
	return s.base.RoundTrip(r)
}

// counted counts calls of Authentication.
func (r *Recorder) counted(method string, _ []string, send func() error) error {
	r.count("Authentication " + method)
	return send()
}
