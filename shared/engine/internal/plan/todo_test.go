package plan

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
)

// TestSome: names are whole, so that they can be copied, but for one that is longer than the room.
func TestSome(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		"":                       nil,
		"posts/a, posts/b":       {"posts/a", "posts/b"},
		"posts/äöü and 2 more":   {"posts/äöü", "posts/abcdefg", "posts/c"},
		"posts/ääää… and 1 more": {"posts/" + strings.Repeat("ä", 9), "posts/b"},
	} {
		check.Same(t, want, want, some(names, 18))
	}
}
