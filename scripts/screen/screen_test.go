package screen

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/report"
)

func want(t *testing.T, what, want, got string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

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
		want(t, tt.text, tt.want, strings.Join(Wrap(tt.text, tt.most), "|"))
	}
}

// TestPlain: no character of a text is a command, changes the direction of writing, or is seen by nobody.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, plain := range map[string]string{
		"posts/ä 山": "posts/ä 山", "a\x1b[2Jb\tc\nd": "a [2Jb c d", "a\u202eb\u2066c\u200bd\u00ade\u2028f": "a b c d e f",
		"a\xffb\u009b": "a\ufffdb ",
	} {
		want(t, text, plain, Plain(text))
	}
}

// TestTable: numbers stand one below the other, what is long is not cut, and a row has its notes below it.
func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := Printer{W: &out, Width: 40}
	p.Table(append(append(Columns("WHAT"), Numbers("DONE")...), Columns("TARGET")...), []Row{
		{Cells: []string{"delete post", "7", "posts/a\tb/" + strings.Repeat("x", 40)}, Notes: []string{"", "because"}},
		{Cells: []string{"warn", "12345", ""}},
	})
	want(t, "the table", "  WHAT          DONE  TARGET\n"+
		"  delete post      7  posts/a b/"+strings.Repeat("x", 40)+"\n    because\n"+
		"  warn         12345\n", out.String())
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for text, quoted := range map[string]string{
		"posts/p-1": "posts/p-1", "": "''", "a b": "'a b'", "a,b": "a,b", "$(x)": "'$(x)'", "x'; y; '": `'x'\''; y; '\'''`, `a\b`: `'a\b'`,
		"*": "'*'", "~": "'~'", "ä": "'ä'",
	} {
		want(t, text, quoted, Quoted(text))
	}
}

// TestWith: what goes besides an item is counted by its kind, and what it is about is not.
func TestWith(t *testing.T) {
	t.Parallel()
	for want, item := range map[string]report.Planned{
		"": {Target: "posts/a", Writes: []string{"delete posts/a"}},
		"with 2 documents of comments, 1 file": {Target: "posts/a",
			Writes: []string{"delete posts/a", "delete posts/a/comments/1", "delete posts/a/comments/2", "delete gs://b/x.png"}},
		"with 1 account, 1 folder of files, and more": {Target: "users/a", More: true,
			Writes: []string{"delete users/a", "delete account a", "delete objects under gs://b/users/a/"}},
		"update users/a, hand over task t": {Target: "posts/a", Writes: []string{"update posts/a", "update users/a", "hand over task t"}},
		"but not done: it is pinned":       {Target: "posts/a", Writes: []string{"nothing: it is pinned"}},
	} {
		if got := With(item); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPlan: of each kind the first items are listed, and a reason that all have is said once.
func TestPlan(t *testing.T) {
	t.Parallel()
	r := &report.Report{Actions: map[string]report.Counts{"delete post": {Planned: Listed + 3}, "warn": {Planned: 1}}}
	for range Listed + 1 {
		r.Plan = append(r.Plan, report.Planned{Action: "delete post", Target: "posts/a", Reason: "old"})
	}
	r.Plan = append(r.Plan, report.Planned{Action: "warn", Target: "posts/b", Reason: "old"})
	for all, wanted := range map[bool]string{
		false: "\n  delete post: 53, because old\n" + strings.Repeat("    posts/a\n", Listed) + "    and 3 more: use --all\n",
		true:  "\n  delete post: 53, because old\n" + strings.Repeat("    posts/a\n", Listed+1) + "    and 2 more, which are not listed\n",
	} {
		var out strings.Builder
		p := Printer{W: &out, Width: 80}
		p.Plan(r, all)
		want(t, "the plan", wanted+"\n  warn: 1\n    posts/b\n      old\n", out.String())
	}
}
