// Package screen writes to terminals: tables and texts that fit the terminal's width, with colours if it has any, and without
// characters that a terminal would take for a command.
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
	LeastWidth   = 40 // of a narrower screen, too
)

// Plain returns a text without characters that a terminal would take for a command. Names and reasons contain what users wrote.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// Columns returns how many columns a text takes on a terminal.
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

// WrapPath divides a path into lines of at most that many columns, after a slash if possible. Joined, the lines are the whole
// path.
func WrapPath(s string, most int) []string {
	var lines []string
	for {
		end := fits(s, most)
		if end == len(s) {
			return append(lines, s)
		}
		if slash := strings.LastIndexByte(s[:end], '/') + 1; slash > end/2 {
			end = slash
		}
		lines = append(lines, s[:end])
		s = s[end:]
	}
}

// Wrap divides a text into lines of at most that many columns, at spaces if possible.
func Wrap(s string, most int) []string {
	var lines []string
	for rest := strings.TrimSpace(s); ; {
		end := fits(rest, most)
		if end == len(rest) {
			return append(lines, rest)
		}
		if space := strings.LastIndexByte(rest[:end+1], ' '); space > 0 {
			end = space
		}
		lines = append(lines, strings.TrimRight(rest[:end], " "))
		rest = strings.TrimLeft(rest[end:], " ")
	}
}

// fits returns how many bytes of a text fit into that many columns: those of one character, at least.
func fits(s string, most int) int {
	used := 0
	for i, r := range s {
		if used += columnsOf(r); used > most && i > 0 {
			return i
		}
	}
	return len(s)
}

// Printer writes for people.
type Printer struct {
	W      io.Writer
	Width  int // in columns
	Colour bool
}

// On returns a printer for a stream. If it is a terminal, the printer is as wide and uses colours, unless NO_COLOR is set
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

// Styles, as terminals code them.
const (
	Bold   = "1"
	Faint  = "2"
	Red    = "31"
	Yellow = "33"
)

// Style returns a text in a style if the printer uses colours.
func (p *Printer) Style(style, s string) string {
	if !p.Colour || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// Line writes one line as it is.
func (p *Printer) Line(s string) { fmt.Fprintln(p.W, s) }

// Say writes a text in a style, in as many lines as it takes. The first is indented by indent, the others by hang more.
func (p *Printer) Say(style string, indent, hang int, format string, args ...any) {
	text := Plain(fmt.Sprintf(format, args...))
	for i, line := range Wrap(text, max(p.Width-indent-hang, LeastWidth/2)) {
		if i == 1 {
			indent += hang
		}
		p.Line(strings.Repeat(" ", indent) + p.Style(style, line))
	}
}

// Command writes a command on a single line, so that it can be copied.
func (p *Printer) Command(format string, args ...any) {
	p.Line("    " + Plain(fmt.Sprintf(format, args...)))
}
