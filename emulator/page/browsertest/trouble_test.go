package browsertest

import (
	"maps"
	"strings"
	"testing"
)

// TestASafetyLimit previews the job that deletes files where the collections that say which to keep are empty.
func TestASafetyLimit(t *testing.T) {
	w := open(t)
	p := w.project()
	before := w.state(p)
	defer w.putBack(p, before)
	for path := range before.Documents {
		if strings.HasPrefix(path, "posts/") || strings.HasPrefix(path, "circles/") {
			if _, err := p.Firestore.Doc(path).Delete(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.choose("cleanupOrphanedMedia")
	w.tabTo(labelled("Preview"))
	w.enter()
	w.heading("Plan: ")
	const alert = `document.querySelector("main [role=alert]")`
	said := value[string](w, alert+`.innerText`)
	for _, want := range []string{"A safety limit tripped: nothing is deleted or changed.", "empty collection",
		"go run ./scripts/firesweep run --local cleanupOrphanedMedia --lift empty:posts --lift empty:circles"} {
		if !strings.Contains(said, want) {
			t.Errorf("the page says %q, want %q in it", said, want)
		}
	}
	if !value[bool](w, alert+`.previousElementSibling.matches(".hint")`) {
		t.Error("the cause does not come first")
	}
	w.tabTo(labelled("Run…"))
	w.enter()
	w.until(`!document.querySelector("main [aria-disabled]")`)
	if value[bool](w, `document.querySelector(".ask") !== null`) {
		t.Error("the page offers to run what a safety limit holds back")
	}
	w.tabTo(labelled("Show the whole plan all the same"))
	w.enter()
	w.until(`document.querySelectorAll("main details").length > 10`)
	if now := w.state(p); len(now.Objects) != len(before.Objects) {
		t.Errorf("%d files are left of %d", len(now.Objects), len(before.Objects))
	}
}

// TestWhatIsWrongIsSaidWhole looks at a job of which no run can begin, because its record is somebody else's.
func TestWhatIsWrongIsSaidWhole(t *testing.T) {
	w := open(t)
	w.choose("removeUnacceptedMemberInvites")
	w.press("Preview")
	w.heading("Plan: ")
	w.press("Run…")
	w.until(`document.querySelector(".ask")`)
	record := w.project().Firestore.Doc("cleanupJobs/removeUnacceptedMemberInvites")
	if _, err := record.Set(t.Context(), map[string]any{"ranges": hostile}); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = record.Delete(t.Context()) }() // another test would say so
	w.press("Run it now")
	w.heading("Run failed")
	w.until(`document.querySelector("#jobs [aria-current] .last").textContent.includes("cannot run")`)
	for _, said := range value[[]string](w, `[...document.querySelectorAll("main [role=alert]")].map((e) => e.innerText)`) {
		if !strings.Contains(said, "is not one that this program wrote") || !strings.Contains(said, "curl") {
			t.Errorf("the page says %q, want the cause and the request that mends it", said)
		}
	}
	if n := value[int](w, `document.querySelectorAll("main [role=alert]").length`); n != 2 {
		t.Errorf("%d places say what is wrong, want the job and its run", n)
	}
}

// TestHandedOver runs a job that deletes nothing itself, so nobody is asked, and looks at what its worker did.
func TestHandedOver(t *testing.T) {
	w := open(t)
	p := w.project()
	before := w.state(p)
	for path := range before.Documents { // one task is due at once, and each other a second after the one before
		if strings.HasPrefix(path, "import_placeholder_user_details/") && !strings.HasSuffix(path, "/detail-unused") {
			if _, err := p.Firestore.Doc(path).Delete(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.choose("cleanupPlaceholderUsers")
	w.tabTo(labelled("Run…"))
	w.enter()
	w.heading("Run completed")
	w.until(`document.querySelector("main section .note")?.textContent.includes("which has done them")`)
	after := w.state(p)
	gone := maps.Clone(before.Documents)
	maps.DeleteFunc(gone, func(path string, _ map[string]any) bool { return after.Documents[path] != nil })
	if len(gone) == 0 {
		t.Error("the worker deleted nothing")
	}
	w.until(`[...document.querySelectorAll("main .counts tr")].` +
		`some((e) => e.cells[0].textContent === "users" && e.innerText.includes("−"))`)
	w.choose("deletePlaceholderUser")
	w.until(`document.querySelectorAll("main .runs button").length > 0`)
	w.press("Look")
	w.until(`[...document.querySelectorAll("main button")].some((b) => b.textContent === "Undo…")`)
	w.openEach()
	if !value[bool](w, `document.querySelector("main .fields") !== null`) {
		t.Error("the page does not show what the worker deleted")
	}
	w.putBack(p, before)
}
