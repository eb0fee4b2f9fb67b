// Package harmless makes texts that users wrote fit to be shown.
package harmless

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Text returns a text of one line in which no character is a command to a terminal, turns others around, or is invisible: they are
// escaped, as in \u202e.
func Text(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch quoted := strconv.QuoteRuneToASCII(r); {
		case r == '\n', r == '\t':
			b.WriteByte(' ')
		case harmful(r):
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func harmful(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// JSON returns a JSON text, which may have several lines, with such characters escaped, so that its values are the same.
func JSON(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		if r == '\n' || !harmful(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}
