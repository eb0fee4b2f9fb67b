package decide

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/documents"
)

func TestNaming(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, id := range map[string]string{
		"short": "p", "as long as a query can ask for": x(1499), "longest": x(1500), "of characters of three bytes": strings.Repeat("長", 500),
		"of characters of four bytes": strings.Repeat("😀", 375), "cut within a character": x(1493) + "長" + x(4), "with the last character at the cut": x(1495) + string(utf8.MaxRune) + "x",
		"with the last character over the cut": x(1494) + string(utf8.MaxRune) + "xx", "of last characters": x(1400) + strings.Repeat(string(utf8.MaxRune), 25),
	} {
		q, names := naming("comments", "postId", id)
		within := func(value string) bool {
			for _, f := range q.Where {
				bound := f.Value.(string)
				if !documents.Queryable(bound) || !utf8.ValidString(bound) {
					t.Fatalf("%s: a query cannot ask for %d bytes", name, len(bound))
				}
				switch f.Op {
				case "==":
					if value != bound {
						return false
					}
				case ">=":
					if value < bound {
						return false
					}
				case "<":
					if value >= bound {
						return false
					}
				default:
					t.Fatalf("%s: an operator %s", name, f.Op)
				}
			}
			return true
		}
		if !within(id) || !names(documents.Document{Data: map[string]any{"postId": id}}) {
			t.Errorf("%s: its own documents are not found", name)
		}
		for _, other := range []any{id[:len(id)-1], id + "x", nil, []any{id}} {
			if names(documents.Document{Data: map[string]any{"postId": other}}) {
				t.Errorf("%s: those of another are taken for its own", name)
			}
		}
		if within("w" + id) {
			t.Errorf("%s: what begins otherwise is found", name)
		}
	}
}
