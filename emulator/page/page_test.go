package page_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/page"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

// rules are a user's own.
const rules = `{"rules":[{
	"name": "cleanupDrafts", "schedule": "0 4 * * *", "collection": "drafts", "age": {"field": "updatedAt", "days": 90},
	"with": [{"subcollection": "revisions"}]
}]}`

// fixture is a page on a project of its own, with all functions and a user's rules behind it.
type fixture struct {
	*backendstest.Project
	*httptest.Server
	sample   *sampledata.Project
	settings map[string]string
	called   atomic.Int32 // how often a function was
}

func start(t *testing.T, ahead time.Duration) *fixture {
	t.Helper()
	f := &fixture{Project: backendstest.Start(t)}
	f.settings = f.Environment
	var err error
	if f.sample, err = sampledata.Open(t.Context(), f.ID, f.Bucket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.sample.Close() }) // all has been read
	list, err := functions.With(manifest.File{Name: "firesweep.json", Text: []byte(rules)})
	ok(t, err)
	getenv := func(name string) string { return f.settings[name] }
	mux := http.NewServeMux()
	for _, e := range list.All {
		function, err := list.New(e, getenv)
		ok(t, err)
		function.Log = io.Discard
		t.Cleanup(function.Close)
		mux.HandleFunc("/"+e.Name, func(w http.ResponseWriter, r *http.Request) {
			f.called.Add(1)
			function.ServeHTTP(w, r)
		})
	}
	o := page.Options{Getenv: getenv, List: list, SoftDelete: f.EmbeddedStorage(), Ahead: ahead}
	f.Server = httptest.NewServer(page.Handler(o, mux))
	t.Cleanup(f.Close)
	return f
}

// sample is a fixture with the sample, two days ahead, as its files have only just been uploaded.
func sample(t *testing.T) *fixture {
	t.Helper()
	f := start(t, sampledata.WholeAhead)
	ok(t, f.sample.Load(t.Context(), sampledata.Of(time.Now().Add(sampledata.WholeAhead), f.Bucket)))
	return f
}

var ok = check.OK

// read returns what the application has.
func (f *fixture) read(t *testing.T) sampledata.State {
	t.Helper()
	s, err := f.sample.Read(t.Context())
	ok(t, err)
	return s
}

// send sends a request as the page does, but for headers of others.
func (f *fixture) send(method, path, body string, headers ...string) (status int, header http.Header, answer string) {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8081"
	r.Header.Set("Content-Type", "application/json")
	for _, text := range headers {
		name, value, _ := strings.Cut(text, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	w := httptest.NewRecorder()
	f.Config.Handler.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.String()
}

// TestOtherOriginsAreRefused sends what a web page from elsewhere could: to the functions as well, which delete.
func TestOtherOriginsAreRefused(t *testing.T) {
	f := start(t, 0)
	for _, headers := range [][]string{
		{"Origin: https://evil.example"}, {"Origin: null"}, {"Origin: http://127.0.0.1:3000"},
		{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"},
		{"Host: evil.example:8081"}, {"Host: 127.0.0.1.evil.example"}, {"Host: localhost.evil.example:8081"},
		{"Host: 192.168.1.7:8081"}, {"Host: "}, {"Host: evil.example:8081", "Origin: http://evil.example:8081"},
	} {
		for _, path := range []string{"/cleanupReports", "/-/api/undo", "/-/api/jobs", "/-/api/did", "/-/documents/(default)"} {
			code, _, body := f.send(http.MethodPost, path, "{}", headers...)
			if code != http.StatusForbidden || !strings.Contains(body, `"error"`) {
				t.Errorf("%q, %s: %d %s, want 403", headers, path, code, body)
			}
		}
	}
	if n := f.called.Load(); n > 0 {
		t.Errorf("%d of these requests reached a function", n)
	}
	for _, headers := range [][]string{
		nil, {"Origin: http://127.0.0.1:8081", "Sec-Fetch-Site: same-origin"}, {"Sec-Fetch-Site: none"},
		{"Host: localhost:8081"}, {"Host: [::1]:8081"},
	} {
		if code, _, body := f.send(http.MethodPost, "/cleanupReports", `{"dryRun":true}`, headers...); code != http.StatusOK {
			t.Errorf("%q: %d %s, want 200", headers, code, body)
		}
	}
}

// TestWhatTheAPIRefuses sends what no page sends. What is sent as a form could come from any web page.
func TestWhatTheAPIRefuses(t *testing.T) {
	f := start(t, 0)
	const json = "application/json"
	for _, c := range []struct {
		kind, name, body string
		want             int
		says             string
	}{
		{"text/plain", "undo", `{"run":"x","apply":true}`, http.StatusUnsupportedMediaType, json},
		{"application/x-www-form-urlencoded", "undo", "run=x", http.StatusUnsupportedMediaType, json},
		{json, "undo", `{"run":"x","aply":true}`, http.StatusBadRequest, "aply"},
		{json, "undo", `{`, http.StatusBadRequest, "cannot be read"},
		{json, "undo", `{"run":"none-1-2"}`, http.StatusUnprocessableEntity, `no function \"none\"`},
		{json, "undo", `{"run":"cleanupReports"}`, http.StatusUnprocessableEntity, "a run's id is like"},
		{json, "undo", `{"run":"cleanupReports-20260101T000000Z-0123abcd"}`, http.StatusUnprocessableEntity, "has nothing of it"},
		{json, "did", `{"run":"cleanupReports-20260101T000000Z-0123abcd"}`, http.StatusOK, `"saved":false,"things":[]`},
		{json, "did", `{"run":"` + strings.Repeat("x", 1<<20) + `"}`, http.StatusBadRequest, "too large"},
	} {
		code, _, body := f.send(http.MethodPost, "/-/api/"+c.name, c.body, "Content-Type: "+c.kind)
		if code != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %.60s: %d %s, want %d that says %q", c.kind, c.name, c.body, code, body, c.want, c.says)
		}
	}
	if code, _, body := f.send(http.MethodGet, "/-/api/jobs", "{}"); code != http.StatusNotFound {
		t.Errorf("GET: %d %s", code, body)
	}
	f.settings["MAX_ACTIONS"] = "many"
	if _, _, body := f.send(http.MethodPost, "/-/api/jobs", "{}"); !strings.Contains(body, "MAX_ACTIONS is") {
		t.Errorf("a wrong setting is not named: %s", body)
	}
}

// TestFiles looks at what is served besides the functions: the browser is told to load nothing else, and lets no other web page
// read documents, which Firestore's emulator allows them all.
func TestFiles(t *testing.T) {
	f := start(t, 0)
	get := `{"documents":["projects/` + f.ID + `/databases/(default)/documents/a/b"]}`
	for _, c := range []struct{ method, path, kind string }{
		{http.MethodGet, "/", "text/html; charset=utf-8"}, {http.MethodGet, "/-/main.js", "text/javascript; charset=utf-8"},
		{http.MethodGet, "/-/style.css", "text/css; charset=utf-8"}, {http.MethodPost, "/-/documents/(default)", "application/json"},
	} {
		code, header, _ := f.send(c.method, c.path, get, "Origin: http://127.0.0.1:8081")
		if code != http.StatusOK || header.Get("Content-Type") != c.kind || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: %d %v", c.method, c.path, code, header)
		}
		policy := header.Get("X-Content-Type-Options") + "; " + header.Get("Content-Security-Policy")
		for _, part := range []string{"nosniff", "default-src 'none'", "script-src 'self'", "connect-src 'self'",
			"frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, part) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s %s: the policy is %q, want %s", c.method, c.path, policy, part)
			}
		}
	}
}
