package objects_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/objects"
)

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
