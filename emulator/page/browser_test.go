package page_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/firesweep/firesweep/emulator/sampledata"
)

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
	if due := value[int](w, `document.querySelectorAll(".jobs .badge.warn").length`); due != len(sampledata.Jobs()) {
		t.Errorf("of %d jobs %d have something due", len(sampledata.Jobs()), due)
	}
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
	if value[bool](w, `document.body.innerText.includes("Run it…")`) {
		t.Error("the page offers to run what a safety limit holds back")
	}
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
