package browsertest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of the page to this `FOLDER`")

// TestPictures writes docs/page-light.png and docs/page-dark.png, for README: go test ./emulator/page/browsertest -run Pictures -pictures
// ../../../docs
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("without -pictures")
	}
	w := open(t, 1180, 860)
	for _, scheme := range []string{"light", "dark"} {
		w.scheme(scheme)
		w.do(chromedp.Navigate(w.address + "?" + scheme + "#checkGhostCircles"))
		w.until(`document.querySelector("main article button")`)
		w.press("Preview")
		w.until(`document.querySelector("main details")`)
		value[bool](w, `document.querySelectorAll("main details")[1].open = true`)
		w.until(`document.querySelector("main .fields")`)
		picture, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*pictures, "page-"+scheme+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scheme makes the browser prefer light or dark.
func (w *window) scheme(name string) {
	w.Helper()
	call(w, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

// press clicks the visible button of that text.
func (w *window) press(text string) {
	w.Helper()
	value[bool](w, `[...document.querySelectorAll("main button")].find((b) => b.textContent === "`+text+`" && b.checkVisibility()).click() ?? true`)
}
