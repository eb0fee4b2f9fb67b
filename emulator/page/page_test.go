package page_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/emulator/page"
	"github.com/firesweep/firesweep/functions"
)

// fixture is a page on a project of its own, and cleanupReports behind it.
type fixture struct {
	*backendstest.Project
	handler  http.Handler
	settings map[string]string
	called   int // how often a function was
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Project: backendstest.Start(t)}
	f.settings = f.Environment
	getenv := func(name string) string { return f.settings[name] }
	job := functions.New(functions.Registered()["cleanupReports"])
	job.Getenv, job.Log = getenv, io.Discard
	t.Cleanup(job.Close)
	f.handler = page.Handler(page.Options{Getenv: getenv, Backends: f.Backends(), Ahead: time.Hour},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.called++
			job.ServeHTTP(w, r)
		}))
	return f
}

// request returns a request as the page sends it.
func request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8081"
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (f *fixture) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// ask asks the page's API and returns the answer.
func ask[A any](t *testing.T, f *fixture, name, question string) (a A) {
	t.Helper()
	w := f.send(request(http.MethodPost, page.Prefix+"api/"+name, question))
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s %s: %d %s", name, question, w.Code, w.Body)
	}
	return a
}

// TestOtherOriginsAreRefused sends what a web page from elsewhere could: to the functions as well, which delete.
func TestOtherOriginsAreRefused(t *testing.T) {
	f := start(t)
	f.Set(t, "reports/due", map[string]any{"status": "reviewed", "createdAt": time.Now().AddDate(-1, 0, 0)})
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for what, change := range map[string]func(*http.Request){
		"another origin":                header("Origin", "https://evil.example"),
		"an opaque origin":              header("Origin", "null"),
		"another port of this machine":  header("Origin", "http://127.0.0.1:3000"),
		"a browser says cross-site":     header("Sec-Fetch-Site", "cross-site"),
		"a browser says same-site":      header("Sec-Fetch-Site", "same-site"),
		"a name that leads here":        host("evil.example:8081"),
		"one that only looks like here": host("127.0.0.1.evil.example"),
		"one that begins like here":     host("localhost.evil.example:8081"),
		"an address of the network":     host("192.168.1.7:8081"),
		"no name":                       host(""),
		"a name that leads here, with its own origin": func(r *http.Request) {
			r.Host = "evil.example:8081"
			r.Header.Set("Origin", "http://evil.example:8081")
		},
	} {
		for _, path := range []string{"/cleanupReports", page.Prefix + "api/undo", page.Prefix + "api/jobs",
			page.Prefix + "api/release"} {
			r := request(http.MethodPost, path, "{}")
			change(r)
			if w := f.send(r); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"error"`) {
				t.Errorf("%s, %s: %d %s, want 403", what, path, w.Code, w.Body)
			}
		}
	}
	if f.called > 0 {
		t.Errorf("%d of these requests reached a function", f.called)
	}
	for what, change := range map[string]func(*http.Request){
		"a program": func(*http.Request) {},
		"the page": func(r *http.Request) {
			r.Header.Set("Origin", "http://127.0.0.1:8081")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		},
		"localhost": host("localhost:8081"), "IPv6": host("[::1]:8081"), "an address typed by hand": header("Sec-Fetch-Site", "none"),
	} {
		r := request(http.MethodPost, "/cleanupReports", `{"dryRun":true}`)
		change(r)
		if w := f.send(r); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s, want 200", what, w.Code, w.Body)
		}
	}
}

// TestWhatTheAPIRefuses sends what no page sends.
func TestWhatTheAPIRefuses(t *testing.T) {
	f := start(t)
	for _, c := range []struct {
		method, kind, name, body string
		want                     int
		says                     string
	}{
		{http.MethodGet, "application/json", "jobs", "{}", http.StatusMethodNotAllowed, "POST"},
		{http.MethodPost, "text/plain", "undo", `{"run":"x","apply":true}`, http.StatusUnsupportedMediaType, "application/json"},
		{http.MethodPost, "", "undo", `{"run":"x","apply":true}`, http.StatusUnsupportedMediaType, "application/json"},
		{http.MethodPost, "application/x-www-form-urlencoded", "release", "job=cleanupReports", http.StatusUnsupportedMediaType,
			"application/json"},
		{http.MethodPost, "application/json", "undo", `{"run":"x","aply":true}`, http.StatusBadRequest, "aply"},
		{http.MethodPost, "application/json", "undo", `{`, http.StatusBadRequest, "cannot be read"},
		{http.MethodPost, "application/json", "undo", `{"run":"none-1-2"}`, http.StatusUnprocessableEntity, `no function "none"`},
		{http.MethodPost, "application/json", "undo", `{"run":"cleanupReports"}`, http.StatusUnprocessableEntity, "a run's id is like"},
		{http.MethodPost, "application/json", "undo", `{"run":"cleanupReports-20260101T000000Z-0123abcd"}`,
			http.StatusUnprocessableEntity, "the undo log has nothing of it"},
		{http.MethodPost, "application/json", "runs", `{"job":"none"}`, http.StatusUnprocessableEntity, `no function "none"`},
		{http.MethodPost, "application/json", "counts", `{"job":""}`, http.StatusUnprocessableEntity, "no function"},
		{http.MethodPost, "application/json", "documents", `{"job":"cleanupReports","paths":["reports"]}`,
			http.StatusUnprocessableEntity, "reports"},
		{http.MethodPost, "application/json", "documents", `{"job":"cleanupReports","paths":[` + strings.Repeat(`"a/b",`,
			100) + `"a/b"]}`, http.StatusUnprocessableEntity, "100 at most"},
		{http.MethodPost, "application/json", "documents", `{"job":"` + strings.Repeat("x", 1<<20) + `"}`, http.StatusBadRequest,
			"too large"},
	} {
		r := request(c.method, page.Prefix+"api/"+c.name, c.body)
		r.Header.Set("Content-Type", c.kind)
		if w := f.send(r); w.Code != c.want || !strings.Contains(w.Body.String(), strings.ReplaceAll(c.says, `"`, `\"`)) {
			t.Errorf("%s %s %s %.60s: %d %s, want %d that says %q", c.method, c.kind, c.name, c.body, w.Code, w.Body, c.want, c.says)
		}
	}
}

// TestFiles looks at what is served besides the functions, and that the browser is told to load nothing else.
func TestFiles(t *testing.T) {
	f := start(t)
	for path, want := range map[string]string{
		"/": "text/html; charset=utf-8", page.Prefix + "main.js": "text/javascript; charset=utf-8",
		page.Prefix + "style.css": "text/css; charset=utf-8",
	} {
		w := f.send(request(http.MethodGet, path, ""))
		policy := w.Header().Get("Content-Security-Policy")
		same(t, "GET "+path, []any{http.StatusOK, want, "nosniff"},
			[]any{w.Code, w.Header().Get("Content-Type"), w.Header().Get("X-Content-Type-Options")})
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
			"require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, part) || strings.Contains(policy, "unsafe") {
				t.Errorf("GET %s: the content policy is %q, want %s and nothing unsafe", path, policy, part)
			}
		}
	}
	if f.called > 0 {
		t.Error("a function was called for a file")
	}
	for _, c := range []struct{ method, path string }{{http.MethodPost, "/"}, {http.MethodGet, "/cleanupReports"},
		{http.MethodGet, "/index.html"}} {
		before := f.called
		if f.send(request(c.method, c.path, "")); f.called != before+1 {
			t.Errorf("%s %s is not left to the functions", c.method, c.path)
		}
	}
}

// TestNeverDeployed looks at the names in the archive that Terraform deploys.
func TestNeverDeployed(t *testing.T) {
	files, err := bundletest.ArchivedFiles("../..")
	if err != nil {
		t.Fatal(err)
	}
	if files["bundle.go"] == "" {
		t.Fatal("this is not what is deployed")
	}
	for name := range files {
		if !regexp.MustCompile(`\.go$|\.json$|^go\.(mod|sum)$`).MatchString(name) ||
			regexp.MustCompile(`^(emulator|scripts)/`).MatchString(name) {
			t.Errorf("%s is deployed", name)
		}
	}
}

type job struct {
	Name, When, Schedule, Problem, UnderWay, Rule string
	CalledBy, Uses                                []string
	Pinned                                        bool
	UndoDays                                      int
	Last                                          *last
}

func (f *fixture) job(t *testing.T, name string) job {
	t.Helper()
	all := ask[struct{ Jobs []job }](t, f, "jobs", "{}").Jobs
	return all[slices.IndexFunc(all, func(j job) bool { return j.Name == name })]
}

type last struct{ RunID, Status, Next string }

type field struct {
	Name          string
	Before, After *string
	Changed       bool
}

type change struct {
	Target, What string
	Fields       []field
}

type did struct {
	Kept    bool
	Items   []struct{ Target, Action, Reason string }
	Changes []change
}

type taken struct {
	Applied  bool
	Back     int
	Outcomes []outcome
	Problem  string
}

type outcome struct{ Target, Step, Says, Why string }

// TestARun goes through what the page does with one.
func TestARun(t *testing.T) {
	f := start(t)
	due := map[string]any{"status": "reviewed", "createdAt": time.Now().AddDate(-1, 0, 0),
		"<b>": []any{1, "<i>", nil, map[string]any{"a": 1.5}}}
	f.Set(t, "reports/due", due)
	f.Set(t, "reports/changed-since", due)
	f.Set(t, "reports/young", map[string]any{"status": "reviewed", "createdAt": time.Now()})
	f.Set(t, "reports/young/notes/n", map[string]any{"text": "hello"})

	reports := f.job(t, "cleanupReports")
	if !strings.HasPrefix(reports.Rule, "deletes documents of reports") {
		t.Errorf("the rule is %q", reports.Rule)
	}
	reports.Rule = ""
	same(t, "before the first run", job{
		Name: "cleanupReports", When: "daily 00:00 Asia/Tokyo", Schedule: "0 0 * * *", UndoDays: 7, Uses: []string{"firestore"},
	}, reports)
	worker := f.job(t, "deletePlaceholderUser")
	same(t, "when a worker runs", "", worker.When)
	same(t, "who calls it", []string{"cleanupPlaceholderUsers"}, worker.CalledBy)
	counts := func() string {
		var all []string
		for _, c := range ask[[]struct {
			Sort, Name string
			Count      int
		}](t, f, "counts", `{"job":"cleanupReports","collections":["notes","cleanupUndo","a/b"]}`) {
			all = append(all, fmt.Sprint(c.Sort, " ", c.Name, " ", c.Count))
		}
		return strings.Join(all, ", ")
	}
	same(t, "before", "documents notes 1, documents reports 3", counts())
	var report struct{ RunID, Status string }
	if w := f.send(request(http.MethodPost, "/cleanupReports", "{}")); json.Unmarshal(w.Body.Bytes(), &report) != nil ||
		report.Status != "completed" {
		t.Fatalf("the run: %s", w.Body)
	}
	same(t, "after", "documents notes 1, documents reports 1", counts())
	same(t, "the last run", &last{report.RunID, "completed", "Everything due is done: there is nothing to do."},
		f.job(t, "cleanupReports").Last)
	same(t, "runs", []struct{ RunID string }{{report.RunID}},
		ask[[]struct{ RunID string }](t, f, "runs", `{"job":"cleanupReports"}`))

	d := ask[did](t, f, "did", fmt.Sprintf(`{"run":%q}`, report.RunID))
	same(t, "kept, items, changes", []any{true, 2, 2}, []any{d.Kept, len(d.Items), len(d.Changes)})
	for _, item := range d.Items {
		if !strings.HasPrefix(item.Reason, "status reviewed") {
			t.Errorf("the reason is %q", item.Reason)
		}
	}
	before := `[1, "<i>", null, {"a": 1.5}]`
	for _, c := range d.Changes {
		same(t, c.Target, "deleted", c.What)
		same(t, "fields", 3, len(c.Fields))
		same(t, "the first field", field{Name: "<b>", Before: &before, Changed: true}, c.Fields[0])
	}

	f.Set(t, "reports/changed-since", map[string]any{"status": "pending"})
	question := fmt.Sprintf(`{"run":%q,"apply":%%t}`, report.RunID)
	for _, apply := range []bool{false, true} {
		back := ask[taken](t, f, "undo", fmt.Sprintf(question, apply))
		same(t, "undo", taken{Applied: apply, Back: 1, Outcomes: []outcome{
			{"reports/due", "recreate", "bring back", ""},
			{"reports/changed-since", "conflict", "left: changed since", "somebody has created it since"},
		}}, back)
		looked := ask[[]struct {
			Path   string
			Exists bool
		}](t, f, "documents", `{"job":"cleanupReports","paths":["reports/due"]}`)
		if looked[0].Exists != apply {
			t.Errorf("undo, apply %t: %+v", apply, looked)
		}
	}
	if !f.job(t, "cleanupReports").Pinned {
		t.Error("the page does not say that the job keeps what came back")
	}
	ask[struct{}](t, f, "release", `{"job":"cleanupReports"}`)
	if f.job(t, "cleanupReports").Pinned {
		t.Error("what was released is pinned still")
	}
}

// TestNothingIsSaved runs a job that saves nothing of what it deletes for undo.
func TestNothingIsSaved(t *testing.T) {
	f := start(t)
	f.settings["UNDO_DAYS"] = "0"
	f.Set(t, "reports/due", map[string]any{"status": "reviewed", "createdAt": time.Now().AddDate(-1, 0, 0)})
	var report struct{ RunID string }
	if w := f.send(request(http.MethodPost, "/cleanupReports", "{}")); json.Unmarshal(w.Body.Bytes(), &report) != nil ||
		report.RunID == "" {
		t.Fatalf("the run: %s", w.Body)
	}
	if d := ask[did](t, f, "did", fmt.Sprintf(`{"run":%q}`, report.RunID)); d.Kept || len(d.Items) > 0 {
		t.Errorf("it did %+v, want that nothing is kept", d)
	}
	if j := f.job(t, "cleanupReports"); j.UndoDays != 0 {
		t.Errorf("it can be undone for %d days", j.UndoDays)
	}
}

// TestAdvice says what to do, with the commands as they are typed here. A wrong setting is named with its job.
func TestAdvice(t *testing.T) {
	f := start(t)
	got := ask[struct {
		Next     string
		Failures []string
	}](t, f, "advice",
		`{"job":"cleanupReports","status":"aborted","stopped":false,"failures":["MAX_ACTIONS: run once with {\"force\":true}","out of time","something else"]}`)
	same(t, "next", "A safety limit tripped: nothing was deleted or changed. Look at the plan before you lift the limit: "+
		"go run ./scripts/firesweep plan --local --force cleanupReports. Look at the whole plan: "+
		"go run ./scripts/firesweep plan --local --force cleanupReports. Only if the plan is right: "+
		"go run ./scripts/firesweep run --local cleanupReports --force", got.Next)
	same(t, "advice on failures", []string{"", "The next run continues from there.", ""}, got.Failures)
	f.settings["MAX_ACTIONS"] = "many"
	if j := f.job(t, "cleanupReports"); !strings.Contains(j.Problem, "MAX_ACTIONS") {
		t.Errorf("with a wrong setting: %+v", j)
	}
}
