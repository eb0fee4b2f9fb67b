package main

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 5, ""}, {"one", 5, "one"}, {"one two", 7, "one two"}, {"one two", 6, "one|two"}, {"one  two", 4, "one|two"},
		{"a  b", 9, "a  b"}, {"abcdefgh x", 3, "abcdefgh|x"}, {"x abcdefgh", 3, "x|abcdefgh"}, {"山 山", 3, "山 山"},
	} {
		want(t, tt.text, tt.want, strings.Join(wrap(tt.text, tt.most), "|"))
	}
}

// TestPlain: no character of a text is a command, changes the direction of writing, or is seen by nobody.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, shown := range map[string]string{
		"posts/ä 山": "posts/ä 山", "a\x1b[2Jb\tc\nd": `a\x1b[2Jb c d`, "a\u202eb\u2066c\u200bd\u00ade\u2028f": `a\u202eb\u2066c\u200bd\u00ade\u2028f`,
		"a\xffb\u009b": "a\ufffdb" + `\u009b`,
	} {
		want(t, text, shown, plain(text))
	}
}

// TestTable: what is long is not cut, and a row has its notes below it.
func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := printer{to: &out, width: 40}
	p.Table([]tableRow{
		{Cells: []string{"delete post", "7", "posts/a\tb/" + strings.Repeat("x", 40)}, Notes: []string{"", "because"}},
		{Cells: []string{"warn", "12345", ""}},
	}, "WHAT", "DONE", "TARGET")
	want(t, "the table", "  WHAT         DONE   TARGET\n"+
		"  delete post  7      posts/a b/"+strings.Repeat("x", 40)+"\n    because\n"+
		"  warn         12345\n", out.String())
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for text, word := range map[string]string{
		"posts/p-1": "posts/p-1", "": "''", "a b": "'a b'", "a,b": "a,b", "$(x)": "'$(x)'", "x'; y; '": `'x'\''; y; '\'''`, `a\b`: `'a\b'`,
		"*": "'*'", "~": "'~'", "ä": "'ä'",
	} {
		want(t, text, word, quoted(text))
	}
}
