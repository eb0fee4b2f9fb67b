// Package screen writes for people who read it on a terminal: tables and texts as wide as that is, colours where there are any, and no
// character that a terminal would take for a command.
package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// Widths of a screen, in columns.
const (
	DefaultWidth = 80
	LeastWidth   = 40 // what is narrower is written as if it were so wide
)

// Plain returns a text without anything that a terminal would take for a command. Names and reasons hold what users wrote.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// Columns returns how many columns a terminal shows a text in.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// WrapPath divides a path into lines of at most so many columns: after a slash where it can, else anywhere. Nothing is left
// out, so that the lines together are the path.
func WrapPath(s string, most int) []string {
	var lines []string
	for {
		used, end, slash := 0, len(s), 0
		for i, r := range s {
			if used += columnsOf(r); used > most && i > 0 {
				end = i
				break
			}
			if r == '/' {
				slash = i + 1
			}
		}
		if end == len(s) {
			return append(lines, s)
		}
		if slash > end/2 {
			end = slash
		}
		lines = append(lines, s[:end])
		s = s[end:]
	}
}

// Wrap divides a text into lines of at most so many columns: at spaces where it can, else within a word.
func Wrap(s string, most int) []string {
	var lines []string
	for rest := strings.TrimSpace(s); ; {
		used, end, space := 0, len(rest), -1
		for i, r := range rest {
			if used += columnsOf(r); used > most && i > 0 {
				end = i
				break
			}
			if r == ' ' {
				space = i
			}
		}
		if end == len(rest) {
			return append(lines, rest)
		}
		if rest[end] == ' ' {
			space = end
		}
		if space > 0 {
			end = space
		}
		lines = append(lines, strings.TrimRight(rest[:end], " "))
		rest = strings.TrimLeft(rest[end:], " ")
	}
}

// Printer writes for people.
type Printer struct {
	W      io.Writer
	Width  int // in columns
	Colour bool
}

// On returns a printer for a stream: as wide as the terminal, if it is one. Colours are left out where NO_COLOR is set
// (https://no-color.org).
func On(out *os.File, getenv func(string) string) Printer {
	p := Printer{W: out, Width: DefaultWidth}
	if IsTerminal(out) {
		p.Colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(out.Fd())); err == nil { //nolint:gosec // a descriptor fits
			p.Width = max(width, LeastWidth)
		}
	}
	return p
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) } //nolint:gosec // a descriptor fits

// Styles, as terminals know them.
const (
	Bold   = "1"
	Faint  = "2"
	Red    = "31"
	Yellow = "33"
)

// Style returns a text in a style, where there are colours.
func (p *Printer) Style(style, s string) string {
	if !p.Colour || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// Line writes one line as it is.
func (p *Printer) Line(s string) { fmt.Fprintln(p.W, s) }

// Say writes a text in a style after an indent, in as many lines as it takes; further ones are indented by hang more.
func (p *Printer) Say(style string, indent, hang int, format string, args ...any) {
	text := Plain(fmt.Sprintf(format, args...))
	for i, line := range Wrap(text, max(p.Width-indent-hang, LeastWidth/2)) {
		if i == 1 {
			indent += hang
		}
		p.Line(strings.Repeat(" ", indent) + p.Style(style, line))
	}
}

// Command writes a command on a line of its own, whole, so that it can be copied.
func (p *Printer) Command(format string, args ...any) {
	p.Line("    " + Plain(fmt.Sprintf(format, args...)))
}
