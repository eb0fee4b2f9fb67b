// Package screen writes to terminals: texts that fit the width, tables, with colours if there are any, and without characters
// that a terminal would take for a command.
package screen

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Widths of a screen, in columns.
const (
	DefaultWidth = 80
	LeastWidth   = 40 // of a narrower screen, too
)

// Plain returns a text without characters that a terminal would take for a command, or that nobody sees. Names and reasons hold
// what users wrote.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
}

// Wrap divides a text into lines of at most so many characters between its words.
func Wrap(s string, most int) (lines []string) {
	line, used := "", 0
	for i, word := range strings.Split(strings.TrimSpace(s), " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			line, used = word, n
		case used+1+n > most && word != "":
			lines = append(lines, strings.TrimRight(line, " "))
			line, used = word, n
		default:
			line, used = line+" "+word, used+1+n
		}
	}
	return append(lines, line)
}

// Printer writes for people.
type Printer struct {
	W      io.Writer
	Width  int // in columns
	Colour bool
}

// On returns a printer for a stream. If it is a terminal, the printer is as wide, and uses colours if that takes codes as commands,
// as Windows' Terminal does, unless NO_COLOR is set (https://no-color.org).
func On(out *os.File, getenv func(string) string) Printer {
	p := Printer{W: out, Width: DefaultWidth}
	if width, _, err := term.GetSize(int(out.Fd())); err == nil { //nolint:gosec // a descriptor fits
		p.Width = max(width, LeastWidth)
		p.Colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && (runtime.GOOS != "windows" || getenv("WT_SESSION") != "")
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

var unsafe = regexp.MustCompile(`[^A-Za-z0-9_./:=+@,-]`)

// Quoted returns texts as a POSIX shell takes them.
func Quoted(texts ...string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		if quoted[i] = text; text == "" || unsafe.MatchString(text) {
			quoted[i] = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// Row is a row of a table, with the notes below it.
type Row struct {
	Cells []string // what may be long is the last
	Style string   // of the cells
	Notes []string // texts below; an empty one is left out
}

// Table writes rows under the names of their columns.
func (p *Printer) Table(rows []Row, columns ...string) {
	rows = slices.Insert(slices.Clone(rows), 0, Row{Style: Faint, Cells: columns})
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r.Cells))
		for i, cell := range r.Cells {
			cells[i] = Plain(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a buffer takes it
	for _, r := range rows {
		line, _ := text.ReadString('\n')
		p.Line("  " + p.Style(r.Style, strings.TrimRight(line, " \n")))
		for _, note := range r.Notes {
			if note != "" {
				p.Say(Faint, 4, 2, "%s", note)
			}
		}
	}
}

// Listed is how many things of a kind are shown, unless all are asked for.
const Listed = 50
