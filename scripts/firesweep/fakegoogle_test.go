package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"
)

const location = "asia-northeast1"

// google stands in for Cloud Scheduler. It refuses what that would refuse, as far as its reference says.
type google struct {
	t *testing.T
	o *operator

	mu     sync.Mutex
	jobs   map[string]map[string]any       // by full name
	calls  []string                        // method and path
	fail   func(r *http.Request) int       // a status to answer with; 0: none
	extra  map[string]func(url.Values) any // further answers, by path
	posted map[string][]byte               // to these, the last body by path
}

// onGoogle returns an operator with functions that are deployed.
func onGoogle(t *testing.T) (*operator, *google) {
	t.Helper()
	o := newOperator(t)
	return o, o.onGoogle(t)
}

// onGoogle has the operator's functions deployed: cleanupReports and cleanExpiredComped.
func (o *operator) onGoogle(t *testing.T) *google {
	t.Helper()
	g := &google{t: t, o: o, jobs: map[string]map[string]any{}, extra: map[string]func(url.Values) any{},
		posted: map[string][]byte{}}
	for _, name := range []string{"cleanupReports", "cleanExpiredComped"} {
		g.jobs[g.name(name)] = map[string]any{
			"name": g.name(name), "schedule": "0 0 * * *", "timeZone": "UTC", "state": "ENABLED",
		}
	}
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

func (g *google) name(job string) string {
	return "projects/" + g.o.ID + "/locations/" + location + "/jobs/" + job
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
	case strings.HasPrefix(r.URL.Path, "/v1/projects/"+g.o.ID+"/locations/"+location+"/jobs"):
		status, answer = g.schedule(r, strings.TrimPrefix(r.URL.Path, "/v1/"))
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

// schedule is Cloud Scheduler. https://docs.cloud.google.com/scheduler/docs/reference/rest/v1/projects.locations.jobs
func (g *google) schedule(r *http.Request, name string) (int, any) {
	for verb, state := range map[string]string{":pause": paused, ":resume": enabled} {
		if job, is := strings.CutSuffix(name, verb); is && r.Method == http.MethodPost && g.jobs[job] != nil {
			g.jobs[job]["state"] = state
			return http.StatusOK, g.jobs[job]
		}
	}
	switch {
	case strings.HasSuffix(name, "/jobs") && r.Method == http.MethodGet:
		var jobs []any
		for _, name := range slices.Sorted(maps.Keys(g.jobs)) {
			jobs = append(jobs, g.jobs[name])
		}
		return http.StatusOK, map[string]any{"jobs": jobs}
	case g.jobs[name] == nil:
		return http.StatusNotFound, "Job not found."
	}
	return http.StatusBadRequest, "not understood"
}
