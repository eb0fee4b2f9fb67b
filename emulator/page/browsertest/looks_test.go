package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// contrasts returns each visible text whose contrast with what is behind it is less than WCAG's AA asks for: 4.5, and 3 for large
// texts.
const contrasts = `(() => {
	const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
	const parsed = new Map();
	const parse = (color) => {
		if (!parsed.has(color)) parsed.set(color, paint(color));
		return parsed.get(color);
	};
	const paint = (color) => {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = color;
		canvas.fillRect(0, 0, 1, 1);
		const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
		return { rgb: [r, g, b], a: a / 255 };
	};
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const color = parse(getComputedStyle(e).backgroundColor);
			if (color.a > 0.99) return color.rgb;
			if (color.a > 0) throw new Error("a background that is half transparent: " + e.className);
		}
		return [255, 255, 255];
	};
	const luminance = (rgb) => {
		const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const poor = [];
	let looked = 0;
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const e = texts.currentNode.parentElement;
		if (!texts.currentNode.textContent.trim() || !e.checkVisibility() || e.closest(".unseen, .skip, option, noscript, [aria-disabled]")) continue;
		const style = getComputedStyle(e);
		const [light, dark] = [luminance(parse(style.color).rgb), luminance(ground(e))].sort((a, b) => b - a);
		const contrast = (light + 0.05) / (dark + 0.05);
		const size = parseFloat(style.fontSize);
		looked++;
		if (contrast < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5)) poor.push(contrast.toFixed(2) + " " + e.className + ": " + texts.currentNode.textContent.slice(0, 40));
	}
	return looked < 20 ? ["only " + looked + " texts were looked at"] : [...new Set(poor)];
})()`

// wide returns each element that sticks out of the window or whose content sticks out of it, also where something hides that, and
// whether the page can be scrolled sideways.
const wide = `[...document.querySelectorAll("body *:not(.skip, .unseen)")]
	.filter((e) => e.checkVisibility() && (e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 ||
		e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && !e.matches("select")))
	.map((e) => e.tagName + " " + e.className + ": " + e.textContent.slice(0, 40))
	.concat(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ["the whole page"] : [])`

// TestLooks looks at the page where nothing is chosen, at a plan and the question before a run, at a run, and at an undo: light
// and dark, and as narrow as a telephone. One of the ids is long.
func TestLooks(t *testing.T) {
	w := open(t)
	long := w.project().Firestore.Doc("users/" + strings.Repeat("x", 120))
	if _, err := long.Set(t.Context(), map[string]any{"banStatus": "permanent",
		"permanentBanScheduledDeletionAt": time.Now()}); err != nil {
		t.Fatal(err)
	}
	look := func(what string) {
		t.Helper()
		for _, width := range []int64{1200, 360} {
			w.do(chromedp.EmulateViewport(width, 800))
			for _, scheme := range []string{"light", "dark"} {
				w.scheme(scheme)
				for _, bad := range value[[]string](w, contrasts) {
					t.Errorf("%s, %s, %d: contrast %s", what, scheme, width, bad)
				}
				w.picture(fmt.Sprintf("%s-%s-%d", what, scheme, width))
			}
			for _, bad := range value[[]string](w, wide) {
				t.Errorf("%s, %d: too wide: %s", what, width, bad)
			}
		}
		w.do(chromedp.EmulateViewport(1200, 900))
	}
	w.press("Preview all")
	w.until(`document.querySelectorAll("main .badge").length === document.querySelectorAll("main tbody tr").length`)
	look("start")
	w.choose("cleanupBannedUsers")
	w.tabTo(labelled("Run…"))
	w.enter()
	w.until(`document.querySelector(".ask")`)
	w.openEach()
	look("plan")
	w.press("Run it now")
	w.heading("Run completed")
	w.openEach()
	look("run")
	w.press("Undo…")
	w.heading("Undo would")
	look("undo")
	w.press("Bring it back")
	w.heading("Undone")
	look("undone")
	w.release()
	if _, err := long.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestNoMotion looks at the page as who wants no motion sees it.
func TestNoMotion(t *testing.T) {
	w := open(t)
	w.scheme("light")
	if moving := value[int](w, `[...document.querySelectorAll("body *")].filter((e) => {
		const s = getComputedStyle(e);
		return s.transitionDuration !== "0s" || s.animationName !== "none";
	}).length`); moving > 0 {
		t.Errorf("%d elements move although nobody wants them to", moving)
	}
}
