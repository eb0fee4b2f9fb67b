package objects_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/objects"
)

// TestReadings: of the objects that there are, a text leads to those that it means, however it was written, and to no other.
func TestReadings(t *testing.T) {
	t.Parallel()
	const download = "https://firebasestorage.googleapis.com/v0/b/my.app/o/"
	texts := objects.Texts{Bucket: "my.app", EmulatorHost: "127.0.0.1:9199", Folder: "p/"}
	there := []string{"p/a.png", "p/b.png", "p/B.png", "p/c d.png", "p/e%20f.png", "p/e f.png", "p/Café.png", "p/q/g.png", "q/p/b.png", "q/h.png", "p/i", "p/i j", "p/k+l.png"}
	for text, want := range map[string]string{
		"p/b.png": "p/b.png", " p/b.png": "p/b.png", "p/b.png\n": "p/b.png", "/p/b.png": "p/b.png", "./p/b.png": "p/b.png", "p//b.png": "p/b.png",
		"p/./b.png": "p/b.png", `p\b.png`: "p/b.png", "p/B.png": "p/B.png", "\ufeffp/b.png": "p/b.png", "p/\u200bb.png": "p/b.png",
		"p%2Fb.png": "p/b.png", "p%252Fb.png": "p/b.png", "p/b%2Epng": "p/b.png", "p/b.png?alt=media&token=1f": "p/b.png", "p/b.png#t=1": "p/b.png",
		"p/b.png?a#b": "p/b.png", "p/b.png,p/a.png": "p/a.png p/b.png", "p/a.png; p/b.png": "p/a.png p/b.png", "p/a.png|p/q/g.png": "p/a.png p/q/g.png",
		`["p/a.png","p/b.png"]`: "p/a.png p/b.png", `<img src="p/b.png">`: "p/b.png", "![](p/b.png)": "p/b.png", "url('p/b.png')": "p/b.png",
		"p\\u002Fb.png": "p/b.png", "p&#47;b.png": "p/b.png", "p/b.png.": "p/b.png", "(p/b.png)": "p/b.png",
		download + "p%2Fb.png?alt=media&token=1": "p/b.png", download + "p%2Fa.png?alt=media," + download + "p%2Fb.png?alt=media": "p/a.png p/b.png",
		" " + download + "p%2Fb.png ": "p/b.png", strings.ReplaceAll(download, "/", `\/`) + "p%2Fb.png": "p/b.png", "gs://my.app/p/b.png": "p/b.png",
		"https://storage.googleapis.com/my.app/p/c%20d.png": "p/c d.png", "https://my.app.storage.googleapis.com/p/b.png?x=1": "p/b.png",
		"http://127.0.0.1:9199/v0/b/my.app/o/p%2Fb.png?alt=media": "p/b.png", "p/c d.png": "p/c d.png", "p/c%20d.png": "p/c d.png", "p/c+d.png": "p/c d.png",
		"p/Cafe\u0301.png": "p/Café.png", "p/i j": "p/i j", "p/i k": "p/i", "p/k+l.png": "p/k+l.png", "gs://my.app/p/c%20d.png": "p/c d.png",

		"p/e%20f.png": "?", "gs://my.app/p/e%20f.png": "?", // there are both
		"": "", "b.png": "", "p/": "", "p/none.png": "", "q/p/b.png": "", "q/h.png": "", "x/p/b.png": "", "p/../q/h.png": "", "gs://y/p/b.png": "", "P/b.png": "",
		"https://example.com/p/b.png": "", "https://example.com/?x=p/b.png p/a.png": "", "gs://y/p/b.png,p/a.png": "",
		"https://firebasestorage.googleapis.com/v0/b/y/o/p%2Fb.png": "", "https://firebasestorage.googleapis.com/v0/b/y/o/x%2Fx%2Fp%2Fb.png": "",
	} {
		var asked []string
		none := func(name string) bool { asked = append(asked, name); return false }
		if found, ok := texts.Objects(text, none); len(found) > 0 || !ok {
			t.Errorf("%q leads to %q where there are none (%t)", text, found, ok)
		}
		names, ok := texts.Objects(text, func(name string) bool {
			if !slices.Contains(asked, name) {
				t.Errorf("%q asks about %q only where others are there", text, name)
			}
			return slices.Contains(there, name)
		})
		if got := strings.Join(names, " "); ok == (want == "?") || ok && got != want {
			t.Errorf("%q leads to %q (%t), want %q; it asks about %q", text, got, ok, want, asked)
		}
		slices.Sort(asked)
		if asked = slices.Compact(asked); len(asked) > 12 || slices.ContainsFunc(asked, func(name string) bool { return !strings.HasPrefix(name, "p/") }) {
			t.Errorf("%q is looked up by %q", text, asked)
		}
	}
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, "p/%d.png,", i)
	}
	for text, all := range map[string]bool{strings.Repeat("p/x,", 10) + strings.Repeat("p/y y/", 10_000): true, many.String(): false} {
		n := 0
		if _, ok := texts.Objects(text, func(string) bool { n++; return false }); ok != all || n > 60 {
			t.Errorf("%.20s: %d names are looked up, and that is all: %t", text, n, ok)
		}
	}
}

// TestReferences: whatever the console and the SDKs make of an object is among the ways in which documents refer to it.
func TestReferences(t *testing.T) {
	t.Parallel()
	texts := objects.Texts{Bucket: "my.app", Folder: "p/"}
	exact := texts.References(objects.Object{Name: "p/a (1)+ü.png", Metadata: map[string]string{"firebaseStorageDownloadTokens": "t1,t2"}})
	const escaped = "https://firebasestorage.googleapis.com/v0/b/my.app/o/p%2Fa%20(1)%2B%C3%BC.png"
	for _, text := range []string{"p/a (1)+ü.png", "/p/a (1)+ü.png", "gs://my.app/p/a (1)+ü.png", "https://storage.googleapis.com/my.app/p/a%20(1)%2B%C3%BC.png",
		escaped, escaped + "?alt=media", escaped + "?alt=media&token=t1", escaped + "?alt=media&token=t2",
		strings.Replace(escaped, "com/", "com:443/", 1) + "?alt=media&token=t1"} {
		if !slices.Contains(exact, text) {
			t.Errorf("%s is not among %q", text, exact)
		}
	}
	if len(exact) > 25 {
		t.Errorf("%d", len(exact))
	}
}

// TestMentioned: whatever people write for a name, it is among those that the text may mean.
func TestMentioned(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"p/b.png", " p/b.png", "p/b.png ", "p/b.png\n", "/p/b.png", "./p/b.png", "p//b.png", "p/./b.png", `p\b.png`, "P/B.PNG", "\ufeffp/b.png",
		"p/\u200bb.png", "p%2Fb.png", "p%252Fb.png", "p/b%2Epng", "p/b.png?alt=media&token=1f", "p/b.png#t=1", "p/b.png,p/c.png", "p/a.png;p/b.png",
		"p/a.png|p/b.png", "p/a.png b.png", `["p/a.png","p/b.png"]`, `<img src="p/b.png">`, "![](p/b.png)", "url('p/b.png')", "p\\u002Fb.png",
		"https://firebasestorage.googleapis.com/v0/b/x/o/p%2Fa.png?alt=media,https://firebasestorage.googleapis.com/v0/b/x/o/p%2Fb.png?alt=media",
		"gs://x/p/b.png", `https:\/\/firebasestorage.googleapis.com\/v0\/b\/x\/o\/p%2Fb.png`, "p&#47;b.png", "p/b.png.", "(p/b.png)",
	} {
		names, all := objects.Mentioned(text, "p/")
		if !all || !slices.Contains(names, "p/b.png") {
			t.Errorf("%q means %q", text, names)
		}
	}
	if names, _ := objects.Mentioned("p/Cafe\u0301+noir.png", "p/"); !slices.Contains(names, objects.Spelling("p/Café noir.png")) {
		t.Errorf("an accent: %q", names)
	}
	for _, text := range []string{"", "b.png", "q/b.png", "shop/b.png", "p", "p/", "https://example.com/b.png"} {
		if names, all := objects.Mentioned(text, "p/"); len(names) > 0 || !all {
			t.Errorf("%q means %q", text, names)
		}
	}
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "p/%d.png,", i)
	}
	if _, all := objects.Mentioned(many.String(), "p/"); all {
		t.Error("more names than anybody can hold are all")
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	sent := 0
	client := http.Client{Transport: objects.ReadOnly(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent++
		return answer(r, http.StatusNoContent, ""), nil
	}))}
	for _, tt := range []struct {
		method string
		sent   bool
	}{
		{http.MethodGet, true}, {http.MethodHead, true}, {http.MethodDelete, false}, {http.MethodPost, false},
		{http.MethodPut, false}, {http.MethodPatch, false},
	} {
		sent = 0
		var body io.Reader
		if !tt.sent {
			body = strings.NewReader("{}")
		}
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://storage.invalid/b/bucket/o/name", body)
		ok(t, err)
		response, err := client.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if (err == nil) != tt.sent || (sent == 1) != tt.sent {
			t.Errorf("%s: sent %d times, %v", tt.method, sent, err)
		}
		if err != nil && !strings.Contains(err.Error(), "only reads") {
			t.Errorf("%s: %v", tt.method, err)
		}
	}
}
