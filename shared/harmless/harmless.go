// Package harmless makes texts that others wrote fit to be shown: in errors, the log, notifications and e-mails.
package harmless

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Text returns a text of one line in which no character is a command to a terminal, turns others around, or is invisible: they
// are escaped, as in \u202e.
func Text(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n', r == '\t':
			b.WriteByte(' ')
		case harmful(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func harmful(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || invisible(r) }

// invisible reports whether a character shows nothing, such as U+3164, a Hangul filler, which counts as a letter. Variation
// selectors, which emoji have, are none of these.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

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

// Cut returns a text of at most so many characters, a longer one cut and with an ellipsis. What users wrote may be of any
// length, and a notification that does not fit into a document would fail for ever.
func Cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// Clip returns a text of at most so many bytes, a longer one cut at the end of a character and with an ellipsis.
func Clip(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}

// Line is [Cut] on one line, whatever the text holds: a space stands for each control character and separator of lines.
func Line(text string, most int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, Cut(text, most))
}

// What programs take for the address of a site: a dot between two characters of words, the second a letter; four numbers with
// dots between; two slashes behind a colon. Browsers fold other dots, slashes, colons and letters to these. A sentence may end
// with 。 and the next begin right behind, so that counts before Latin letters alone.
var (
	dotted  = regexp.MustCompile(`([\p{L}\p{M}\p{N}\p{So}_-][.．․﹒｡])([\p{L}\p{So}])|([\p{L}\p{M}\p{N}\p{So}_-]。)([\p{Latin}\p{So}])`)
	numbers = regexp.MustCompile(`(\p{N}[.．․﹒｡。])(\p{N}+[.．․﹒｡。]\p{N}+[.．․﹒｡。]\p{N})`)
	scheme  = regexp.MustCompile(`([:：﹕])([/／⁄∕\\]{2})`)
)

// Name is [Line] for a name that is repeated in the application's own words, as in an e-mail. It holds nothing that a program
// shows as a link (a space breaks "https://" and "example.com"), and no characters that are not seen but change how others look.
func Name(text string, most int) string {
	seen := strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, Line(text, most))
	seen = scheme.ReplaceAllString(seen, "$1 $2")
	for numbers.MatchString(seen) { // of five numbers, four are left
		seen = numbers.ReplaceAllString(seen, "$1 $2")
	}
	for dotted.MatchString(seen) { // "a.b.c" overlaps
		seen = dotted.ReplaceAllString(seen, "$1$3 $2$4")
	}
	return Cut(strings.TrimSpace(seen), most)
}
