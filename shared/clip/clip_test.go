package clip_test

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/clip"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "長い": "長い", "長い名": "長い名", "長い名前": "長い名…", "a\nb": "a\nb", strings.Repeat("😀", 300): "😀😀😀…",
	} {
		if got := clip.Text(text, 3); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"a b": "a b", "a\r\n\tb": "a   b", "a\u2028b\u2029c\u0085d\x00e": "a b c d e", "50 %s": "50 %s", "x\n" + strings.Repeat("長", 19): "x " + strings.Repeat("長", 18) + "…",
	} {
		if got := clip.Line(text, 20); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}
