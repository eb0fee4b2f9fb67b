package harmless

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
)

// TestJSON: the text is shown as it is, and its values are the same.
func TestJSON(t *testing.T) {
	t.Parallel()
	want := "a\nb\u009b\u007f\u202e\U000e0041 丸<"
	text, err := json.MarshalIndent([]string{want}, "", " ")
	check.OK(t, err)
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
		"":                         "",
		"丸い ken@example.com <b>":   "丸い ken@example.com <b>",
		"a\nb\tc":                  "a b c",
		"\x1b[31m":                 `\x1b[31m`,
		"\u009b\u007f":             `\u009b\x7f`,
		"x\u202ey\u200bz":          `x\u202ey\u200bz`,
		"\u2028\u2029":             `\u2028\u2029`,
		"\U000e0041":               `\U000e0041`,
		`\u202e`:                   `\u202e`,
		"posts/\u3164":             `posts/\u3164`, // of which one would see posts/
		"\u034f\u115f\uffa0\u17b4": `\u034f\u115f\uffa0\u17b4`,
		"❤\ufe0f":                  "❤\ufe0f",
	} {
		check.Same(t, text+" is shown as", want, Text(text))
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "長い": "長い", "長い名": "長い名", "長い名前": "長い名…", "a\nb": "a\nb", strings.Repeat("😀", 300): "😀😀😀…",
	} {
		check.Same(t, text+" is cut to", want, Cut(text, 3))
	}
}

// TestClip: a text is cut at the end of a character; bytes that are no character are left out of it, and nothing else is.
func TestClip(t *testing.T) {
	letters := strings.Repeat("x", 100)
	for text, want := range map[string]string{
		"": "", letters[:64]: letters[:64], letters: letters[:61] + "…",
		"\xff" + letters: letters[:60] + "…", letters[:60] + "長" + letters: letters[:60] + "…",
		letters[:58] + "長" + letters: letters[:58] + "長…", "a\xffb": "a\xffb",
	} {
		check.Same(t, fmt.Sprintf("%q is clipped to", text), want, Clip(text, 64))
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"a b": "a b", "a\r\n\tb": "a   b", "a\u2028b\u2029c\u0085d\x00e": "a b c d e", "50 %s": "50 %s", "x\n" + strings.Repeat("長", 19): "x " + strings.Repeat("長", 18) + "…",
	} {
		check.Same(t, text+" is as a line", want, Line(text, 20))
	}
}

func TestName(t *testing.T) {
	long := strings.Repeat("長", 99)
	for text, want := range map[string]string{
		"": "", "読書会": "読書会", "50 %s off": "50 %s off", " a\r\nb\t": "a  b",
		"v1.2, 3.5 km. 文。次の": "v1.2, 3.5 km. 文。次の", "Node.js": "Node. js",
		"https://evil.example/keep?x=1":    "https: //evil. example/keep?x=1",
		"HTTP://203.0.113.7/":              "HTTP: //203. 0.113.7/",
		"https://localhost/":               "https: //localhost/",
		"htthttp://p://x":                  "htthttp: //p: //x",
		"evil。example, 会。次は":               "evil。 example, 会。次は",
		"evil．example ｅｖｉｌ．ｘ ⓔ.ⓒ":          "evil． example ｅｖｉｌ． ｘ ⓔ. ⓒ",
		`http:⁄⁄evil ftp：／／x http:\\evil`:  `http: ⁄⁄evil ftp： ／／x http: \\evil`,
		"1.2.3.4/x v1.2.3 5.1.2.3.4.5":     "1. 2.3.4/x v1.2.3 5. 1. 2. 3.4.5",
		"www.a.b.example":                  "www. a. b. example",
		"例え.テスト":                           "例え. テスト",
		"mailto:keep@evil.example":         "mailto:keep@evil. example",
		"https:\u200b//evil\u200b.example": "https: //evil. example",
		"a\u202egnp.exe\u2066":             "agnp. exe", // no letter is turned round
		"a\u00adb\ufeff\u200dc\u2060":      "abc",
		"\u200b\u200f ":                    "",
		"\u3164\u115f\uffa0 ":              "",
		"evil.\u034fexample":               "evil. example",
		"❤\ufe0f":                          "❤\ufe0f",
		long + "長い":                        long + "長…",
		long + ".example":                  long + ".…",
	} {
		got := Name(text, 100)
		check.Same(t, "Name of "+text+", and of that", []string{want, want}, []string{got, Name(got, 100)})
	}
}
