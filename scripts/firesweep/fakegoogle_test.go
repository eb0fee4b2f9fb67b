package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/api/option"
)

// google stands in for the services of Google that the doctor asks.
type google struct {
	t *testing.T
	o *operator

	mu      sync.Mutex
	calls   []string       // method and path
	answers map[string]any // by path: what is answered, a status, or a function of the body
}

// onGoogle returns an operator with functions that are deployed.
func onGoogle(t *testing.T) (*operator, *google) {
	t.Helper()
	o := newOperator(t)
	g := &google{t: t, o: o, answers: map[string]any{}}
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
	return o, g
}

// ServeHTTP implements http.Handler.
func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	g.calls = append(g.calls, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1/"))
	answer, there := g.answers[r.URL.Path]
	if of, isFunction := answer.(func([]byte) any); isFunction {
		answer = of(body)
	}
	status, refused := answer.(int)
	if !there {
		status, refused, answer = http.StatusNotFound, true, "no such method"
	}
	if refused {
		answer = fields{"error": fields{"code": status, "message": fmt.Sprint(answer)}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(max(status, http.StatusOK))
	if err := errors.Join(err, json.NewEncoder(w).Encode(answer)); err != nil {
		g.t.Error(err)
	}
}
