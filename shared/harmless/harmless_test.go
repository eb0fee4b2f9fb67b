package harmless

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestJSON: the text is shown as it is, and its values are the same.
func TestJSON(t *testing.T) {
	t.Parallel()
	want := "a\nb\u009b\u007f\u202e\U000e0041 丸<"
	text, err := json.MarshalIndent([]string{want}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	shown := JSON(text)
	if i := strings.IndexFunc(string(shown), func(r rune) bool { return r != '\n' && harmful(r) }); i >= 0 {
		t.Errorf("%q has a harmful character", shown)
	}
	var got []string
	if err := json.Unmarshal(shown, &got); err != nil || got[0] != want {
		t.Errorf("%s reads as %q, %v", shown, got, err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		"丸い ken@example.com <b>": "丸い ken@example.com <b>",
		"a\nb\tc":                "a b c",
		"\x1b[31m":               `\x1b[31m`,
		"\u009b\u007f":           `\u009b\x7f`,
		"x\u202ey\u200bz":        `x\u202ey\u200bz`,
		"\u2028\u2029":           `\u2028\u2029`,
		"\U000e0041":             `\U000e0041`,
		`\u202e`:                 `\u202e`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}
