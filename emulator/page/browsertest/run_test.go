package browsertest

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// hostile is a document's id that would be a script, were it taken for HTML.
const hostile = `<img src=x onerror="document.title='harmed'">`

// suite says whether the Firebase Emulator Suite's Storage is used, as the environment says.
var suite = os.Getenv(backends.FirebaseStorageHost) != ""

// choose goes to a job by the keyboard.
func (w *window) choose(job string) {
	w.Helper()
	w.back(link(job))
	w.enter()
	w.heading(job)
}

// run runs the chosen job, which deletes documents or files as well, by the keyboard.
func (w *window) run(files bool) {
	w.Helper()
	w.tabTo(labelled("Run…"))
	w.enter()
	w.until(`document.activeElement.matches(".ask")`)
	if lost := value[bool](w, `document.querySelector(".ask").textContent.includes("gone for good")`); lost != (files && suite) {
		w.Errorf("the question says that files are gone for good: %t", lost)
	}
	w.tabTo(labelled("Run it now"))
	w.enter()
	w.heading("Run completed")
	w.until(`document.activeElement.matches("h3")`)
}

// undo takes the run that is shown back, by the keyboard.
func (w *window) undo() {
	w.Helper()
	w.tabTo(labelled("Undo…"))
	w.enter()
	w.heading("Undo would take back")
	w.tabTo(labelled("Bring it back"))
	w.enter()
	w.heading("Undone: ")
	w.until(`[...document.querySelectorAll("main .counts th")].some((e) => e.textContent === "After undo")`)
}

// release lets the job delete again what came back, so that other tests find it as it was.
func (w *window) release() {
	w.Helper()
	w.until(`[...document.querySelectorAll("main button")].some((b) => b.textContent === "Release")`)
	w.press("Release")
	w.until(`![...document.querySelectorAll("main button")].some((b) => b.textContent === "Release")`)
}

// numbers returns the numbers of a row of the table of counts, as "5 1 −4".
func (w *window) numbers(row string) string {
	w.Helper()
	return value[string](w,
		fmt.Sprintf(`[...document.querySelectorAll("main .counts tr")].`+
			`find((e) => e.cells[0].textContent === %q)?.innerText ?? "none"`, row))
}

func TestRunIsShownAndTakenBack(t *testing.T) {
	w := open(t)
	p := w.project()
	hostileReport := map[string]any{"status": "reviewed", "createdAt": time.Now().AddDate(-1, 0, 0), "reason": hostile,
		hostile: hostile}
	if _, err := p.Firestore.Collection("reports").Doc(hostile).Set(t.Context(), hostileReport); err != nil {
		t.Fatal(err)
	}
	before := w.state(p)
	w.choose("cleanupReports")

	w.tabTo(labelled("Run…"))
	w.enter()
	w.until(`document.activeElement.matches(".ask")`)
	w.tabTo(labelled("Cancel"))
	w.enter()
	w.until(`!document.querySelector(".ask")`)
	if now := w.state(p); !reflect.DeepEqual(now, before) {
		t.Fatal("a run that was cancelled changed something")
	}
	if !value[bool](w, `document.activeElement.textContent === "Run…"`) {
		t.Error("after Cancel the focus is not where it was")
	}

	w.do(chromedp.KeyEvent(kb.Tab))
	w.back(labelled("Preview")) // from where w.run goes on
	w.run(false)
	after := w.state(p)
	var gone []string
	for path := range before.Documents {
		if after.Documents[path] == nil {
			gone = append(gone, path)
		}
	}
	if len(gone) != 5 || !slices.Contains(gone, "reports/"+hostile) {
		t.Errorf("the run deleted %q, want five reports, one of them the hostile one", gone)
	}
	if got := w.numbers("reports"); !strings.HasPrefix(got, "reports\t10\t5 −5") {
		t.Errorf("of the reports the page says %q, want 10 before and 5 after", got)
	}
	w.openEach()
	statuses := value[[]string](w,
		`[...document.querySelectorAll("main .fields tbody tr")].`+
			`filter((e) => e.cells[0].textContent === "status").map((e) => e.cells[1].textContent)`)
	if slices.Sort(statuses); !slices.Equal(statuses, []string{`"dismissed"`, `"reviewed"`, `"reviewed"`, `"reviewed"`,
		`"reviewed"`}) {
		t.Errorf("of five reports that went, the page shows the statuses before as %q", statuses)
	}
	w.harmless()

	w.undo()
	if different := differences(before, w.state(p)); len(different) > 0 {
		t.Errorf("not all is back: %v", different)
	}
	if got := w.numbers("reports"); !strings.HasPrefix(got, "reports\t10\t5 −5\t10 +5") {
		t.Errorf("of the reports the page says %q, want 10, 5 and 10", got)
	}
	w.harmless()
	w.release()
	if _, err := p.Firestore.Collection("reports").Doc(hostile).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// harmless makes sure that the hostile id is shown, as a text.
func (w *window) harmless() {
	w.Helper()
	if !value[bool](w, fmt.Sprintf(`document.querySelector("main").textContent.includes(%q)`, hostile)) {
		w.Error("the hostile id is not shown")
	}
	if value[bool](w, `document.title === "harmed" || document.querySelector("main img") !== null`) {
		w.Error("the hostile id was taken for HTML")
	}
}

// openEach opens all that can be opened.
func (w *window) openEach() {
	w.Helper()
	value[bool](w, `document.querySelectorAll("main details").forEach((d) => { d.open = true; }) ?? true`)
	w.until(`[...document.querySelectorAll("main details .inside")].every((e) => !e.textContent.startsWith("Reading"))`)
}

// TestDocumentsFilesAndFieldsComeBack takes back a run that deletes documents and files, changes fields, and tells people.
func TestDocumentsFilesAndFieldsComeBack(t *testing.T) {
	w := open(t)
	p := w.project()
	before := w.state(p)
	w.choose("checkGhostCircles")
	w.tabTo(labelled("Preview"))
	w.run(true)
	after := w.state(p)
	if len(after.Objects) >= len(before.Objects) || reflect.DeepEqual(before, after) {
		t.Fatal("the run deleted no file")
	}
	if got := w.numbers("files in circles/"); !strings.Contains(got, "−") {
		t.Errorf("of the files the page says %q, want that there are fewer", got)
	}
	w.undo()
	now := w.state(p)
	maps.DeleteFunc(now.Documents, func(path string, _ map[string]any) bool { // they were sent
		return strings.Contains(path, "/notifications/") && before.Documents[path] == nil
	})
	if suite { // its Storage keeps nothing
		w.until(`document.querySelector("main").textContent.includes("Files do not come back here.")`)
		if len(now.Objects) != len(after.Objects) {
			t.Errorf("there are %d files, want the %d that were left", len(now.Objects), len(after.Objects))
		}
		now.Objects = before.Objects
	}
	if different := differences(before, now); len(different) > 0 {
		t.Errorf("not all is back: %v", different)
	}
	if !value[bool](w, `[...document.querySelectorAll("main h4")].some((e) => e.textContent.startsWith("stays: it was sent"))`) {
		t.Error("the page does not say that what was sent stays")
	}
	w.release()
	w.putBack(p, before)
}

// putBack makes the documents what they were.
func (w *window) putBack(p *sampledata.Project, before sampledata.State) {
	w.Helper()
	now := w.state(p)
	for path, fields := range before.Documents {
		if !reflect.DeepEqual(fields, now.Documents[path]) {
			if _, err := p.Firestore.Doc(path).Set(w.Context(), fields); err != nil {
				w.Fatal(err)
			}
		}
	}
	for path := range now.Documents {
		if before.Documents[path] == nil {
			if _, err := p.Firestore.Doc(path).Delete(w.Context()); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// differences names what two states do not share.
func differences(before, now sampledata.State) map[string]bool {
	return enginetest.Changes(before.Names("bucket"), now.Names("bucket"))
}
