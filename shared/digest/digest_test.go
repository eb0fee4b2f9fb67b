package digest

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
)

func TestOf(t *testing.T) {
	if first, again := Of("x", "y"), Of("x", "y"); first != again {
		t.Error("the same texts have two digests")
	}
	seen := map[string][]string{}
	for _, texts := range [][]string{{"x", "y"}, {"y", "x"}, {"xy"}, {"x", "y", ""}, {"", "x", "y"}, {"x/y"}, {""}, {"", ""}, {}} {
		d := Of(texts...)
		other, twice := seen[d]
		check.Same(t, fmt.Sprintf("that %q and %q have the same digest", texts, other), false, twice)
		seen[d] = texts
		if !regexp.MustCompile(`^[0-9a-f]{24}$`).MatchString(d) {
			t.Errorf("Of(%q) = %q", texts, d)
		}
	}
}
