// Package harmlesstest feeds to packages what somebody may write where a name is expected, and looks at what they say of it.
package harmlesstest

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/harmless"
)

// Texts are such names.
var Texts = []string{
	"a\nFORGED line", "\x1b[2J\x1b]0;title\a", "\u202egnp.exe\u2066", "\u009b31m\u0085\u2028", "<!channel> `x` **y**\r",
	strings.Repeat("長", 500), "\u200b" + strings.Repeat("x", 1496),
}

// Check fails unless there is an error whose text is harmless.
func Check(t testing.TB, of string, err error) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s: no error, which would be looked at", of)
	case err.Error() != harmless.Text(err.Error()):
		t.Errorf("%s: a text that is not harmless: %q", of, err)
	}
}
