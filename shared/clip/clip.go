// Package clip bounds texts that others wrote before they are repeated to people: in notifications, e-mails and the log.
package clip

import (
	"strings"
	"unicode"
)

// Text returns a text of at most so many characters, a longer one cut and with an ellipsis. What users wrote may be of any
// length, and a notification that does not fit into a document would fail for ever.
func Text(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// Line is [Text] on one line, whatever the text holds: a space stands for each control character and separator of lines.
func Line(text string, most int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, Text(text, most))
}
