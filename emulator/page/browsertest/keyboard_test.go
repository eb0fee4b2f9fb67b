package browsertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

// maxTabs is how often the Tab key may be pressed to get somewhere.
const maxTabs = 60

// tabTo moves the focus by the Tab key to an element that a condition on e describes. The element shows that it has it.
func (w *window) tabTo(condition string, modifiers ...chromedp.Modifier) {
	w.Helper()
	for range maxTabs {
		w.do(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(modifiers...)))
		if value[bool](w, `((e) => `+condition+`)(document.activeElement)`) {
			if !value[bool](w, `getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
				w.Errorf("the focus on the element where %s cannot be seen", condition)
			}
			return
		}
	}
	w.Fatalf("%d times Tab lead to no element where %s", maxTabs, condition)
}

func (w *window) back(condition string) {
	w.Helper()
	w.tabTo(condition, chromedp.ModifierShift)
}

func (w *window) enter() {
	w.Helper()
	w.do(chromedp.KeyEvent(kb.Enter))
}

func link(job string) string { return fmt.Sprintf(`e.matches('nav a[href="#%s"]')`, job) }

func labelled(text string) string {
	return fmt.Sprintf(`e.matches("button") && e.textContent === %q`, text)
}

// heading waits for a heading that begins so.
func (w *window) heading(begins string) {
	w.Helper()
	w.until(fmt.Sprintf(
		`[...document.querySelectorAll("main h2, main h3")].some((e) => e.checkVisibility() && e.textContent.startsWith(%q))`, begins))
}

// TestEachJobIsPreviewed chooses each job and previews it, and looks at what the first action would write. Each has something to
// do. The first job is chosen and previewed by the keyboard, which then goes on to the others' links, one after the other: what
// is shown of them is made alike.
func TestEachJobIsPreviewed(t *testing.T) {
	w := open(t)
	jobs := slices.DeleteFunc(functions.All(), func(e manifest.Entry) bool { return e.Trigger != manifest.Schedule })
	w.choose(jobs[0].Name)
	w.tabTo(labelled("Preview"))
	w.enter()
	w.wantPlan(jobs[0].Name)
	if !value[bool](w, `((e) => `+labelled("Preview")+`)(document.activeElement)`) {
		t.Error("the button that was pressed has lost the focus")
	}
	w.tabTo(`e.matches("summary")`)
	w.enter()
	w.until(`document.querySelector("main details[open] .write")`)
	w.back(link(jobs[0].Name))
	for range functions.All()[1:] {
		w.tabTo(`e.matches("nav a")`)
	}
	if last := functions.All()[len(functions.All())-1].Name; !value[bool](w, `((e) => `+link(last)+`)(document.activeElement)`) {
		t.Errorf("Tab does not lead from each job's link to the next one's: not to that of %s", last)
	}
	for _, e := range jobs[1:] {
		value[bool](w, fmt.Sprintf(`document.querySelector('nav a[href="#%s"]').click() ?? true`, e.Name))
		w.heading(e.Name)
		w.press("Preview")
		w.wantPlan(e.Name)
		value[bool](w, `document.querySelector("main summary").click() ?? true`)
		w.until(`document.querySelector("main details[open] .write")`)
	}
}

// wantPlan waits for a job's plan and looks at what it says.
func (w *window) wantPlan(job string) {
	w.Helper()
	w.heading("Plan: ")
	if !value[bool](w,
		`document.querySelectorAll("main details .why").length > 0 && document.querySelector("main .kept") !== null`) {
		w.Errorf("%s: the plan has no action with a reason, or says of nothing that it is kept", job)
	}
	if said := value[string](w, `document.getElementById("live").textContent`); said != value[string](w,
		`"Plan of `+job+`: " + document.querySelector("main section h3").textContent.slice(6) + ", completed."`) {
		w.Errorf("%s: who cannot see hears %q", job, said)
	}
}

// TestWorkersSayWhyTheyCannotBeRun looks at each worker.
func TestWorkersSayWhyTheyCannotBeRun(t *testing.T) {
	w := open(t)
	for _, e := range functions.All() {
		if e.Trigger == manifest.Schedule {
			continue
		}
		w.back(link(e.Name))
		w.enter()
		w.heading(e.Name)
		if !value[bool](w, `document.querySelector("main .note").textContent.includes("cannot be run by hand") &&
			![...document.querySelectorAll("main button")].some((b) => /Run|Preview/.test(b.textContent))`) {
			t.Errorf("%s: it can be run, or does not say why it cannot", e.Name)
		}
	}
}
