package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"
)

// google stands in for the services of Google that the doctor asks.
type google struct {
	t *testing.T
	o *operator

	mu     sync.Mutex
	calls  []string                        // method and path
	fail   func(r *http.Request) int       // a status to answer with; 0: none
	extra  map[string]func(url.Values) any // what is answered, by path
	posted map[string][]byte               // to these, the last body by path
}

// onGoogle returns an operator with functions that are deployed.
func onGoogle(t *testing.T) (*operator, *google) {
	t.Helper()
	o := newOperator(t)
	return o, o.onGoogle(t)
}

// onGoogle has the operator work on Google.
func (o *operator) onGoogle(t *testing.T) *google {
	t.Helper()
	g := &google{t: t, o: o, extra: map[string]func(url.Values) any{}, posted: map[string][]byte{}}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	o.google = func(_ context.Context, service, _ string) []option.ClientOption {
		endpoint := server.URL + "/"
		if service == "storage" {
			endpoint += "storage/v1/"
		}
		return []option.ClientOption{option.WithEndpoint(endpoint), option.WithoutAuthentication()}
	}
	o.other = o.env
	o.env = map[string]string{"GOOGLE_CLOUD_PROJECT": o.ID, "STORAGE_BUCKET": o.Bucket}
	o.sleep = noSleep
	return g
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// forbid refuses requests whose path ends so.
func forbid(path string) func(*http.Request) int {
	return func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, path) {
			return http.StatusForbidden
		}
		return 0
	}
}

// ServeHTTP implements http.Handler.
func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		g.t.Error(err)
	}
	g.calls = append(g.calls, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1/"))
	status := 0
	var answer any
	if g.fail != nil {
		status = g.fail(r)
	}
	switch {
	case status != 0:
		answer = "it was made to fail"
	case g.extra[r.URL.Path] != nil:
		g.posted[r.URL.Path] = body.Bytes()
		status, answer = http.StatusOK, g.extra[r.URL.Path](r.URL.Query())
	default:
		status, answer = http.StatusNotFound, "no such method: "+r.Method+" "+r.URL.Path
	}
	if status != http.StatusOK {
		answer = map[string]any{"error": map[string]any{"code": status, "message": answer}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		g.t.Error(err)
	}
}
