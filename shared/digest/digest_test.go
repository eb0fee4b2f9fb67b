package digest

import (
	"regexp"
	"testing"
)

func TestOf(t *testing.T) {
	if first, again := Of("x", "y"), Of("x", "y"); first != again {
		t.Error("the same texts have two digests")
	}
	seen := map[string][]string{}
	for _, texts := range [][]string{{"x", "y"}, {"y", "x"}, {"xy"}, {"x", "y", ""}, {"", "x", "y"}, {"x/y"}, {""}, {"", ""}, {}} {
		d := Of(texts...)
		if other, twice := seen[d]; twice {
			t.Errorf("%q and %q have the same digest", texts, other)
		}
		seen[d] = texts
		if !regexp.MustCompile(`^[0-9a-f]{24}$`).MatchString(d) {
			t.Errorf("Of(%q) = %q", texts, d)
		}
	}
}
