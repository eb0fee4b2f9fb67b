package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/firesweep/firesweep/shared/harmless"
)

// Widths of a screen, in columns.
const (
	defaultWidth = 80
	leastWidth   = 40 // of a narrower screen, too
)

// wrap divides a text into lines of at most so many characters between its words.
func wrap(s string, most int) (lines []string) {
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

// outputOf returns how wide a stream is, and whether it takes codes, such as those of styles, as commands: on Windows, its
// Terminal does. NO_COLOR forbids them (https://no-color.org).
func outputOf(out *os.File, getenv func(string) string) (width int, colour bool) {
	width, _, err := term.GetSize(int(out.Fd())) //nolint:gosec // a descriptor fits
	if err != nil || width == 0 {                // which some terminals say that do not know
		return defaultWidth, false
	}
	return max(width, leastWidth), getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" &&
		(runtime.GOOS != "windows" || getenv("WT_SESSION") != "")
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) } //nolint:gosec // a descriptor fits

// Styles, as terminals code them.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	yellow = "33"
)

// Style returns a text in a style if the printer uses colours.
func (p *printer) Style(style, s string) string {
	if !p.colour || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// Line writes one line as it is.
func (p *printer) Line(s string) { fmt.Fprintln(p.to, s) }

// Say writes a text in a style, in as many lines as it takes. The first is indented by indent, the others by hang more.
func (p *printer) Say(style string, indent, hang int, format string, args ...any) {
	text := harmless.Text(fmt.Sprintf(format, args...))
	for i, line := range wrap(text, max(p.width-indent-hang, leastWidth/2)) {
		if i == 1 {
			indent += hang
		}
		p.Line(strings.Repeat(" ", indent) + p.Style(style, line))
	}
}

// Command prints a command to type on a single line, so that it can be copied.
func (p *printer) Command(format string, args ...any) {
	p.Line("    " + harmless.Text(fmt.Sprintf(format, args...)))
}

// Type prints a command to type about the same runs as this one.
func (p *printer) Type(verb string, args ...string) { p.Command("%s", p.cmd(verb, args...)) }

var unsafe = regexp.MustCompile(`[^A-Za-z0-9_./:=+@,-]`)

// quoted returns texts as a POSIX shell takes them.
func quoted(texts ...string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		if quoted[i] = text; text == "" || unsafe.MatchString(text) {
			quoted[i] = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// tableRow is a row of a table, with the notes below it.
type tableRow struct {
	Cells []string // what may be long is the last
	Style string   // of the cells
	Notes []string // texts below; an empty one is left out
}

// Table writes rows under the names of their columns.
func (p *printer) Table(rows []tableRow, columns ...string) {
	rows = slices.Insert(slices.Clone(rows), 0, tableRow{Style: faint, Cells: columns})
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r.Cells))
		for i, cell := range r.Cells {
			cells[i] = harmless.Text(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a buffer takes it
	for _, r := range rows {
		line, _ := text.ReadString('\n')
		p.Line("  " + p.Style(r.Style, strings.TrimRight(line, " \n")))
		for _, note := range r.Notes {
			if note != "" {
				p.Say(faint, 4, 2, "%s", note)
			}
		}
	}
}

// listed is how many things of a kind are shown, unless all are asked for.
const listed = 50
