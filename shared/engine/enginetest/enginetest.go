// Package enginetest runs a function in a test: on a project of its own on the local backends, with the test's clock. It
// records every request to Firestore and every log line. When the test ends, it checks what production needs and the emulator
// does not enforce: that an index of the functions' lists covers each query, and that none is beyond Firestore's limits.
package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// Function is a function under test.
type Function struct {
	*engine.Function
	*backendstest.Project
	Now     time.Time         // sent as Cloud Scheduler's schedule time; zero: not sent
	Env     map[string]string // the function's environment
	Request *Recorder
	Indexes []manifest.Index // indexes besides those of the functions' lists

	log *lines
}

// New returns a function on a project of its own. Its writes are not slowed down to Firestore's rate.
func New(t testing.TB, f *engine.Function) *Function {
	t.Helper()
	return On(t, f, backendstest.Start(t))
}

// On returns a function on a given project.
func On(t testing.TB, f *engine.Function, p *backendstest.Project) *Function {
	t.Helper()
	tf := &Function{Function: f, Project: p, Env: maps.Clone(p.Environment), Request: &Recorder{}, log: &lines{}}
	f.Getenv = func(name string) string { return tf.Env[name] }
	f.Log = tf.log
	f.Hooks.Pace = unpaced{}
	f.Hooks.DeafToStop, f.Hooks.AnyClock = true, true
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(tf.Request.record)...)
	t.Cleanup(func() {
		f.Close()
		for _, problem := range tf.Request.problems(t, tf.Indexes) {
			t.Error(problem)
		}
		if t.Failed() {
			tellLog(t, f.Job.Name, tf.log.text())
		}
	})
	return tf
}

// Run runs the function with a body, which may be empty, and returns its report.
func (f *Function) Run(t testing.TB, body string) *report.Report {
	t.Helper()
	return f.RunQuery(t, "", body)
}

// RunQuery is [Function.Run] with a query, such as "?dryRun=true".
func (f *Function) RunQuery(t testing.TB, query, body string) *report.Report {
	t.Helper()
	w := f.PostQuery(t.Context(), t, query, body)
	var rep report.Report
	if err := json.Unmarshal(w.Body.Bytes(), &rep); err != nil || rep.RunID == "" {
		t.Fatalf("answer %d %s: not a report", w.Code, w.Body)
	}
	want := rep.HTTPStatus()
	if f.Job.Task != nil && rep.Status == report.Skipped { // Cloud Tasks is to call again
		want = http.StatusServiceUnavailable
	}
	if w.Code != want {
		t.Errorf("status %s answered with %d, want %d", rep.Status, w.Code, want)
	}
	return &rep
}

// Post calls the function like Cloud Scheduler and returns its answer.
func (f *Function) Post(t testing.TB, body string) *httptest.ResponseRecorder {
	t.Helper()
	return f.PostQuery(t.Context(), t, "", body)
}

// PostQuery is [Function.Post] with a context and a query, such as "?dryRun=true".
func (f *Function) PostQuery(ctx context.Context, t testing.TB, query, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/"+query, strings.NewReader(body))
	if !f.Now.IsZero() {
		r.Header.Set("X-CloudScheduler-ScheduleTime", f.Now.Format(time.RFC3339Nano))
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q, want application/json", got)
	}
	return w
}

// Serve serves the function over HTTP until the test ends, and returns its URL. Tasks can be delivered there.
func (f *Function) Serve(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

// OnStorage returns what disturbs requests to Cloud Storage, for [engine.Hooks] and those of an undo.
func OnStorage(disturb func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) (
	around func(http.RoundTripper) http.RoundTripper,
) {
	return func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			return disturb(r, func() (*http.Response, error) { return base.RoundTrip(r) })
		})
	}
}

// StorageRefuses returns an answer of Cloud Storage without anything but a status.
func StorageRefuses(r *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Request: r, Header: http.Header{}, Body: http.NoBody}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// PutOf uploads objects whose metadata names a post; with the id "", they have none.
func (f *Function) PutOf(t testing.TB, postID string, names ...string) {
	t.Helper()
	var metadata map[string]string
	if postID != "" {
		metadata = map[string]string{"postId": postID}
	}
	for _, name := range names {
		f.Put(t, name, metadata, []byte("x"))
	}
}

// LogLines returns the lines logged so far, parsed.
func (f *Function) LogLines(t testing.TB) []map[string]any {
	t.Helper()
	var parsed []map[string]any
	for text := range strings.Lines(f.log.text()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("log line %q is not JSON: %v", text, err)
		}
		parsed = append(parsed, line)
	}
	return parsed
}

// Summaries returns the log lines that hold a report.
func (f *Function) Summaries(t testing.TB) []map[string]any {
	t.Helper()
	return slices.DeleteFunc(f.LogLines(t), func(line map[string]any) bool { return line["report"] == nil })
}

type unpaced struct{}

// WaitN implements documents.Pace.
func (unpaced) WaitN(ctx context.Context, _ int) error { return ctx.Err() }

// lines collects log lines of concurrent requests.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
