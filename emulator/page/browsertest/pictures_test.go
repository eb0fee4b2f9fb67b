package browsertest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var (
	pictures = flag.String("pictures", "", "write README's pictures of the page to this `FOLDER`")
	looks    = flag.String("looks", "", "write a picture of each state that TestLooks looks at to this `FOLDER`")
)

// TestPictures writes README's pictures, page-light.png and page-dark.png:
//
//	go test ./emulator/page/browsertest -run Pictures -pictures ../../../docs
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("it writes pictures: say -pictures FOLDER")
	}
	w := open(t)
	w.do(chromedp.EmulateViewport(1200, 1000))
	w.choose("cleanupReports")
	w.tabTo(labelled("Preview"))
	w.run(false)
	w.until(`document.querySelector("#jobs [aria-current] .last").textContent.includes("4 done")`)
	value[bool](w, `document.querySelectorAll("main .group details")[0].open = true`)
	w.until(`document.querySelector("main .fields")`)
	value[bool](w, `(document.activeElement.blur(), scrollTo(0, 0), true)`)
	for _, scheme := range []string{"light", "dark"} {
		w.scheme(scheme)
		w.save(filepath.Join(*pictures, "page-"+scheme+".png"))
	}
}

// picture keeps a picture for who wants to look.
func (w *window) picture(name string) {
	w.Helper()
	if *looks != "" {
		w.save(filepath.Join(*looks, name+".png"))
	}
}

func (w *window) save(file string) {
	w.Helper()
	picture, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(file, picture, 0o644)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// scheme makes the browser prefer light or dark, and no motion: nobody has to wait until colours have changed.
func (w *window) scheme(name string) {
	w.Helper()
	call(w, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// press clicks the visible button of that text.
func (w *window) press(text string) {
	w.Helper()
	value[bool](w,
		`[...document.querySelectorAll("main button")].`+
			`find((b) => b.textContent === "`+text+`" && b.checkVisibility()).click() ?? true`)
}
