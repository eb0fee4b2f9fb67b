package screen

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/report"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 5, ""}, {"one", 5, "one"}, {"one two", 7, "one two"}, {"one two", 6, "one|two"}, {"one  two", 4, "one|two"},
		{"abcdefgh", 3, "abc|def|gh"}, {"ab cdefgh", 4, "ab|cdef|gh"}, {"山山山", 4, "山山|山"}, {"山", 1, "山"}, {"e\u0301e\u0301", 2,
			"e\u0301e\u0301"},
	} {
		want(t, tt.text, tt.want, strings.Join(Wrap(tt.text, tt.most), "|"))
	}
}

func TestWrapPath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 5, ""}, {"a/b", 3, "a/b"}, {"posts/user/file.png", 12, "posts/user/|file.png"}, {"p/of a user", 6,
			"p/of a| user"}, {"posts/of a user", 10, "posts/|of a user"},
		{"a/bcdefgh", 6, "a/bcde|fgh"}, {"gs://b/山山山", 9, "gs://b/|山山山"},
	} {
		got := WrapPath(tt.text, tt.most)
		want(t, tt.text, tt.want, strings.Join(got, "|"))
		want(t, "all of it", tt.text, strings.Join(got, ""))
	}
}

func want(t *testing.T, what, want, got string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	for text, p := range map[string]report.Planned{
		"?": {}, "1": {Writes: []string{"delete a/b"}}, "2+": {Writes: []string{"a", "b"},
			More: true}, "0+": {More: true}, "0": {Writes: []string{}},
	} {
		want(t, "writes", text, writesOf(p))
	}
}

// TestQuotedFor: what users wrote must not end the text in a command that is typed.
func TestQuotedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, sh, powerShell string }{
		{"posts/p-1", "posts/p-1", "posts/p-1"}, {"", "''", "''"}, {"a b", "'a b'", "'a b'"}, {"a,b", "a,b", "'a,b'"}, {"@a", "@a", "'@a'"},
		{`..\app\rules.json`, `'..\app\rules.json'`, `..\app\rules.json`}, {"$(x)", "'$(x)'", "'$(x)'"},
		{"x'; y; '", `'x'\''; y; '\'''`, "'x''; y; '''"}, {"x’; y", "'x’; y'", "'x’’; y'"},
	} {
		want(t, "in sh", tt.sh, quotedFor("linux", tt.text))
		want(t, "in PowerShell", tt.powerShell, quotedFor("windows", tt.text))
	}
}
