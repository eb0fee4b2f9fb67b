// Package screen writes to terminals: tables and texts that fit the terminal's width, with colours if it has any, and without
// characters that a terminal would take for a command.
package screen

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/firesweep/firesweep/shared/engine/report"
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
	if Obeys(out) {
		p.Colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(out.Fd())); err == nil { //nolint:gosec // a descriptor fits
			p.Width = max(width, LeastWidth)
		}
	}
	return p
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) } //nolint:gosec // a descriptor fits

// Obeys reports whether a stream is a terminal that takes codes, such as those of styles, as commands.
func Obeys(out *os.File) bool { return IsTerminal(out) && obeys(out) }

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

// Quoted returns texts as this system's shell takes them.
func Quoted(texts ...string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quotedFor(runtime.GOOS, text)
	}
	return strings.Join(quoted, " ")
}

// quotedFor returns a text as the shell of a system takes it: on Windows PowerShell, whose quotes do not hold in cmd.exe,
// elsewhere sh.
func quotedFor(system, text string) string {
	also, quotes, inside := "@,", "'", `'\''`
	if system == "windows" { // PowerShell ends a text at any of these quotes
		also, quotes, inside = `\`, "'‘’‚‛", "$0$0"
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=+"+also, r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + regexp.MustCompile("["+quotes+"]").ReplaceAllString(text, inside) + "'"
}

// Column is one column of a table.
type Column struct {
	Name  string
	Right bool // numbers
	Path  bool // as wide as the screen allows, and wrapped at slashes
	Most  int  // the greatest width in columns; 0: as wide as its texts
}

// Numbers returns columns of numbers.
func Numbers(names ...string) (columns []Column) {
	for _, name := range names {
		columns = append(columns, Column{Name: name, Right: true})
	}
	return columns
}

// Row is a row of a table, with the notes below it.
type Row struct {
	Cells []string
	Style string   // of the cells
	Notes []string // texts below; an empty one is left out
	Paths []string // below the notes, one a line if it fits
}

const gap = "  "

// Table writes rows under a heading. Texts that do not fit their column are wrapped; nothing is cut.
func (p *Printer) Table(cols []Column, rows []Row) {
	const indent = 2
	widths := make([]int, len(cols))
	used := indent + len(gap)*(len(cols)-1)
	for i, c := range cols {
		widths[i] = Columns(c.Name)
		for _, r := range rows {
			widths[i] = max(widths[i], Columns(Plain(r.Cells[i])))
		}
		if c.Most > 0 {
			widths[i] = min(widths[i], max(c.Most, Columns(c.Name)))
		}
		if !c.Path {
			used += widths[i]
		}
	}
	for i, c := range cols {
		if c.Path {
			widths[i] = min(widths[i], max(p.Width-used, Columns(c.Name)))
		}
	}
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.Name
	}
	p.cells(indent, cols, widths, names, Faint)
	for _, r := range rows {
		p.cells(indent, cols, widths, r.Cells, r.Style)
		for _, note := range r.Notes {
			if note != "" {
				p.Say(Faint, indent+2, 2, "%s", note)
			}
		}
		for _, path := range r.Paths {
			for i, line := range WrapPath(Plain(path), max(p.Width-indent-4, LeastWidth/2)) {
				p.Line(strings.Repeat(" ", indent+2) + p.Style(Faint, []string{"- ", "  "}[min(i, 1)]+line))
			}
		}
	}
}

func (p *Printer) cells(indent int, cols []Column, widths []int, cells []string, style string) {
	wrapped, height := make([][]string, len(cells)), 1
	for i, cell := range cells {
		if wrapped[i] = Wrap(Plain(cell), widths[i]); cols[i].Path {
			wrapped[i] = WrapPath(Plain(cell), widths[i])
		}
		height = max(height, len(wrapped[i]))
	}
	for n := range height {
		var b strings.Builder
		for i := range cells {
			text := ""
			if n < len(wrapped[i]) {
				text = wrapped[i][n]
			}
			padding := strings.Repeat(" ", widths[i]-Columns(text))
			if cols[i].Right {
				text = padding + text
			} else {
				text += padding
			}
			if i > 0 {
				b.WriteString(gap)
			}
			b.WriteString(text)
		}
		p.Line(strings.Repeat(" ", indent) + p.Style(style, strings.TrimRight(b.String(), " ")))
	}
}

// Plan prints the actions of a plan, and how many there are.
func (p *Printer) Plan(r *report.Report, writes bool) {
	if len(r.Plan) == 0 && r.Status != report.Failed {
		p.Line("  nothing to do")
	}
	unknown := false
	rows := make([]Row, len(r.Plan))
	for i, planned := range r.Plan {
		rows[i] = Row{Cells: []string{planned.Action, planned.Target, writesOf(planned)}, Notes: []string{planned.Reason}}
		unknown = unknown || planned.Writes == nil
		if !writes {
			continue
		}
		if rows[i].Paths = planned.Writes; planned.More {
			rows[i].Paths = append(slices.Clone(planned.Writes), "and more")
		}
	}
	if len(rows) > 0 {
		p.Table([]Column{{Name: "ACTION", Most: p.Width / 3}, {Name: "TARGET", Path: true}, {Name: "WRITES", Right: true}}, rows)
	}
	var counts []string
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
		total += r.Actions[kind].Planned
		counts = append(counts, fmt.Sprintf("%d %s", r.Actions[kind].Planned, kind))
	}
	if len(counts) > 0 {
		p.Line("")
		p.Say("", 2, 2, "planned: %s", strings.Join(counts, ", "))
	}
	if total > len(r.Plan) {
		p.Say("", 2, 2, "the list above has the first %d of %d", len(r.Plan), total)
	}
	if unknown {
		p.Say(Faint, 2, 2, "writes ?: worked out for the first 100 actions only")
	}
}

// writesOf says how many writes an action makes: "3", "30+" if there are more, "?" if they were not worked out.
func writesOf(planned report.Planned) string {
	switch {
	case planned.Writes == nil && !planned.More:
		return "?"
	case planned.More:
		return fmt.Sprintf("%d+", len(planned.Writes))
	default:
		return fmt.Sprint(len(planned.Writes))
	}
}

// Kept prints how many items are kept and why, the largest number first.
func (p *Printer) Kept(r *report.Report) {
	reasons := slices.SortedFunc(maps.Keys(r.Kept), func(a, b string) int {
		return cmp.Or(r.Kept[b]-r.Kept[a], strings.Compare(a, b))
	})
	for _, reason := range reasons {
		p.Say("", 2, 2, "kept %d: %s", r.Kept[reason], reason)
	}
	for _, collection := range r.NotCounted {
		p.Say(Yellow, 2, 2, "not counted: %s; what is kept there is incomplete", collection)
	}
	for _, warning := range r.Warnings {
		p.Say(Yellow, 2, 2, "warning: %s", warning)
	}
}
