package page_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

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
	check.Same(t, "requests that reached a function", int32(0), f.called.Load())
	for _, headers := range [][]string{
		nil, {"Origin: http://127.0.0.1:8081", "Sec-Fetch-Site: same-origin"}, {"Sec-Fetch-Site: none"},
		{"Host: localhost:8081"}, {"Host: [::1]:8081"},
	} {
		code, _, body := f.send(http.MethodPost, "/cleanupReports", `{"dryRun":true}`, headers...)
		check.Same(t, fmt.Sprint(headers, body), http.StatusOK, code)
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
	got, _, said := f.send(http.MethodGet, "/-/api/jobs", "{}")
	check.Same(t, "GET: "+said, http.StatusNotFound, got)
	f.settings["MAX_ACTIONS"] = "many"
	_, _, body := f.send(http.MethodPost, "/-/api/jobs", "{}")
	check.Holds(t, body, "MAX_ACTIONS is")
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

// These tests use Chromium or Chrome. If there is none, they are skipped, or fail if CI is set. This makes a picture of each
// state of the page, and README's page-light.png and page-dark.png among them:
//
//	go test ./emulator/page -args -pictures FOLDER
var pictures = flag.String("pictures", "", "write a picture of each state of the page to this `FOLDER`")

// hostile is a document's id that would be a script, were it taken for HTML. It fits into no line.
var hostile = `<img src=x onerror="document.title='harmed'">` + strings.Repeat("x", 100)

// window is a window of the browser on the page.
type window struct {
	*testing.T
	ctx context.Context
}

// open opens the page. What goes wrong in it, or is refused by the content policy, fails the test.
func open(t *testing.T, f *fixture) *window {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "chrome"}
	there := slices.IndexFunc(names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	if there < 0 && os.Getenv("CI") == "" {
		t.Skip("there is no Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(names[max(there, 0)]))
	if os.Geteuid() == 0 { // whom Chromium gives no sandbox
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	w := &window{t, ctx}
	w.do() // opens it
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("in the page: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *log.EventEntryAdded:
			if !strings.HasPrefix(e.Entry.Text, "Failed to load resource: the server responded") { // which the page shows
				t.Errorf("in the page: %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
			}
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	ok(t, err)
	w.do(chromedp.EmulateViewport(1200, 800), chromedp.Navigate(f.URL))
	return w
}

func (w *window) do(actions ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.Fatal(err)
	}
}

// value returns what an expression is. It waits for a promise.
func value[T any](w *window, expression string) T {
	w.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		w.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true. The page looks by itself, so that nobody sleeps.
func (w *window) until(condition string) {
	w.Helper()
	if !value[bool](w, fmt.Sprintf(`new Promise((resolve) => {
		const begun = Date.now();
		const look = () => (%s) ? resolve(true) : Date.now() - begun > 60000 ? resolve(false) : setTimeout(look, 20);
		look();
	})`, condition)) {
		w.Fatalf("it never was: %s; the page shows\n%s", condition, value[string](w, `document.body.innerText`))
	}
}

// says waits until the page shows texts.
func (w *window) says(texts ...string) {
	w.Helper()
	for _, text := range texts {
		w.until(fmt.Sprintf(`document.body.innerText.replace(/\s+/g, " ").includes(%q)`, text))
	}
}

// press goes to a button or link with the Tab key, sees that it shows the focus, and presses it.
func (w *window) press(text string) {
	w.Helper()
	w.until(fmt.Sprintf(`[...document.querySelectorAll("a, button")].some((e) => e.textContent === %q)`, text))
	for tabs := 0; !value[bool](w, fmt.Sprintf(`document.activeElement.textContent === %q`, text)); tabs++ {
		if w.do(chromedp.KeyEvent(kb.Tab)); tabs > 60 {
			w.Fatalf("Tab does not lead to %q", text)
		}
	}
	if !value[bool](w, `getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
		w.Errorf("the focus on %q cannot be seen", text)
	}
	w.do(chromedp.KeyEvent(kb.Enter))
}

// openEach opens all that can be opened.
func (w *window) openEach() {
	w.Helper()
	value[bool](w, `document.querySelectorAll("main details").forEach((d) => { d.open = true; }) ?? true`)
	w.until(`[...document.querySelectorAll("main .inside")].every((e) => !e.textContent.startsWith("Reading"))`)
}

// ugly returns what cannot be read: texts whose contrast is less than WCAG's AA asks for, what sticks out, dates that are broken,
// and what moves.
const ugly = `(() => {
	const parse = (color) => color.match(/[\d.]+/g).map(Number);
	const ground = (e) => [...function* () { for (; e; e = e.parentElement) yield parse(getComputedStyle(e).backgroundColor); }()]
		.find((color) => color[3] !== 0);
	const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
	const most = document.documentElement.clientWidth + 1;
	return [...document.querySelectorAll("body *:not(noscript, .unseen, [aria-disabled])")].filter((e) => e.checkVisibility())
		.map((e) => {
			const style = getComputedStyle(e);
			const [light, dark] = [luminance(parse(style.color)), luminance(ground(e))].sort((a, b) => b - a);
			const problems = [];
			if (e.innerText?.trim() && (light + 0.05) / (dark + 0.05) < 4.5) problems.push("contrast");
			if (e.getBoundingClientRect().right > most || e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1) problems.push("wide");
			if (e.matches(".date") && e.getClientRects().length > 1) problems.push("broken");
			if (style.transitionDuration !== "0s") problems.push("moves");
			if (e.innerText?.includes("[object ")) problems.push("no text");
			return problems.length > 0 ? problems.join() + ": " + e.className + ": " + e.textContent.slice(0, 40) : "";
		}).filter(Boolean);
})()`

// look looks at the page as it is: light and dark, wide and as narrow as a telephone, for somebody who wants no motion.
func (w *window) look(what string) {
	w.Helper()
	for _, shape := range []struct {
		name  string
		width int64
	}{{"-narrow", 360}, {"", 1200}} {
		w.do(chromedp.EmulateViewport(shape.width, 800))
		for _, scheme := range []string{"dark", "light"} {
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			}}
			if _, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, media); err != nil {
				w.Fatal(err)
			}
			for _, problem := range value[[]string](w, ugly) {
				w.Errorf("%s, %s, %d: %s", what, scheme, shape.width, problem)
			}
			if *pictures == "" {
				continue
			}
			picture, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
			if err == nil {
				err = os.WriteFile(filepath.Join(*pictures, what+"-"+scheme+shape.name+".png"), picture, 0o600)
			}
			if err != nil {
				w.Fatal(err)
			}
		}
	}
}

// TestAUsersRule plans, runs and takes back a rule of a user's own, by the keyboard.
func TestAUsersRule(t *testing.T) {
	f := start(t, 0)
	old := time.Now().AddDate(-1, 0, 0)
	f.Set(t, "drafts/"+hostile, map[string]any{"updatedAt": old, hostile: hostile})
	f.Set(t, "drafts/"+hostile+"/revisions/1", map[string]any{"words": 7, "of": map[string]any{"place": []any{1.5, nil}}})
	f.Set(t, "drafts/new", map[string]any{"updatedAt": time.Now()})
	before := f.read(t)
	w := open(t, f)
	w.press("cleanupDrafts")
	w.says("Plan: 1 due", "older than 90 days", "with 1 document of revisions", "not due")
	w.openEach()
	w.says("updatedAt", hostile)
	w.look("plan")
	w.do(chromedp.EmulateViewport(360, 800))
	if top := value[float64](w, `document.querySelector("main .group").getBoundingClientRect().top + scrollY`); top > 600 {
		t.Errorf("on a telephone the plan begins %v pixels from the top", top)
	}
	w.press("Run it…")
	w.says("Run cleanupDrafts now?", "It can be taken back for 7 days.")
	w.look("question")
	w.do(chromedp.KeyEvent(kb.Escape))
	w.until(`!document.querySelector("dialog") && document.activeElement.textContent === "Run it…"`)
	if now := f.read(t); !reflect.DeepEqual(before, now) {
		t.Fatalf("a run that nobody confirmed left %v", now)
	}
	w.press("Run it…")
	w.press("Run it now")
	w.says("Run completed", "Deleted 2")
	w.until(`document.activeElement.textContent === "Run completed"`)
	if now := f.read(t).Documents; len(now) != 1 || now["drafts/new"] == nil {
		t.Errorf("the run left %v", now)
	}
	w.openEach()
	w.says("drafts/"+hostile+"/revisions/1", `{"place": [1.5, null]}`)
	w.look("run")
	w.press("Undo…")
	w.says("Take back 2 changes?", "Bring back 2")
	w.look("undo")
	w.press("Take it back")
	w.says("Undone: 2 changes are taken back", "are held", "firesweep resume --all")
	w.look("undone")
	if now := f.read(t); !reflect.DeepEqual(before, now) {
		t.Errorf("the undo left %v, want %v", now, before)
	}
	w.press("← All jobs")
	w.press("cleanupDrafts")
	w.says("Last run: completed", "Plan: 1 due", "held since", "firesweep resume cleanupDrafts")
	w.press("Show it")
	w.says("Run completed", "It was taken back", "Deleted 2")
	if value[bool](w, `document.title === "harmed" || document.querySelector("main img") !== null`) {
		t.Error("the hostile id was taken for HTML")
	}
}

// TestTheSample plans all jobs, and takes back a run that deletes documents and files, changes fields, and tells people.
func TestTheSample(t *testing.T) {
	f := sample(t)
	before := f.read(t)
	w := open(t, f)
	w.press("Plan all")
	w.until(`document.getElementById("live").textContent === "All jobs are planned."`)
	due := value[int](w, `document.querySelectorAll(".jobs .badge.warn").length`)
	check.Same(t, "jobs with something due", len(sampledata.Jobs()), due)
	w.look("jobs")
	w.press("checkGhostCircles")
	w.press("Run it…")
	w.press("Run it now")
	w.says("Run completed", "Deleted", "Changed", "Created", "gs://"+f.Bucket+"/circles/")
	w.openEach()
	if n := value[int](w, `document.querySelectorAll("main tr.changed").length`); n == 0 {
		t.Error("no changed field is shown before and after")
	}
	w.look("changes")
	w.press("Undo…")
	w.says("Leave: it was sent")
	w.press("Take it back")
	w.says("Undone: ")
	after := f.read(t)
	for path := range after.Documents {
		if strings.Contains(path, "/notifications/") && before.Documents[path] == nil { // it was sent
			delete(after.Documents, path)
		}
	}
	if f.EmbeddedStorage() && !reflect.DeepEqual(before, after) {
		t.Errorf("not all is back: %v, want %v", after, before)
	}
	w.press("← All jobs")
	w.press("cleanupReports")
	w.press("Run it…")
	w.press("Run it now")
	w.says("Run completed")
	value[bool](w, `document.querySelector("main details").open = true`)
	value[string](w, `document.querySelector("#project strong").textContent = "demo-firesweep"`) // as for who tries the sample
	w.look("page")
}

// TestWhatIsWrong looks at a plan that a safety limit stops, a run that fails because the job's record is somebody else's, and a
// plan that fails because Firestore is gone.
func TestWhatIsWrong(t *testing.T) {
	f := sample(t)
	for path := range f.read(t).Documents {
		if strings.HasPrefix(path, "posts/") || strings.HasPrefix(path, "circles/") {
			f.Delete(t, path)
		}
	}
	f.settings["UNDO_DAYS"] = "0"
	w := open(t, f)
	w.press("cleanupOrphanedMedia")
	w.says("A safety limit trips", "empty collection")
	w.look("aborted")
	w.press("Plan without limits on number and share")
	w.until(`!document.body.innerText.includes("Plan without limits")`)
	w.says("empty collection")
	check.Same(t, "a run is offered", false, value[bool](w, `document.body.innerText.includes("Run it…")`))
	w.press("← All jobs")
	w.press("removeUnacceptedMemberInvites")
	w.until(`document.querySelector("button.danger")`)
	f.Set(t, "cleanupJobs/removeUnacceptedMemberInvites", map[string]any{"until": hostile})
	w.press("Run it…")
	w.says("It cannot be taken back: UNDO_DAYS is 0.")
	w.press("Run it now")
	w.says("Run failed", "is not one that this program wrote")
	f.settings["FIRESTORE_EMULATOR_HOST"] = "127.0.0.1:1"
	w.press("← All jobs")
	w.press("cleanupReports")
	w.says("Plan: failed", "Firestore's emulator does not answer")
	w.look("error")
}
