// Package screen writes to terminals: texts that fit the width, tables, with colours if there are any, and without characters
// that a terminal would take for a command.
package screen

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/firesweep/firesweep/shared/engine/report"
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

// On returns a printer for a stream. If it is a terminal, the printer is as wide and uses colours, unless NO_COLOR is set
// (https://no-color.org).
func On(out *os.File, getenv func(string) string) Printer {
	p := Printer{W: out, Width: DefaultWidth}
	if IsTerminal(out) {
		p.Colour = Obeys(out, getenv) && getenv("NO_COLOR") == ""
		if width, _, err := term.GetSize(int(out.Fd())); err == nil { //nolint:gosec // a descriptor fits
			p.Width = max(width, LeastWidth)
		}
	}
	return p
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) } //nolint:gosec // a descriptor fits

// Obeys reports whether a stream is a terminal that takes codes, such as those of styles, as commands. On Windows, its Terminal
// does.
func Obeys(f *os.File, getenv func(string) string) bool {
	return IsTerminal(f) && getenv("TERM") != "dumb" && (runtime.GOOS != "windows" || getenv("WT_SESSION") != "")
}

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

// Column is one column of a table. What may be long belongs into the last one.
type Column struct {
	Name  string
	Right bool // numbers
}

// Columns returns columns of texts.
func Columns(names ...string) (columns []Column) {
	for _, name := range names {
		columns = append(columns, Column{Name: name})
	}
	return columns
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
}

// Table writes rows under a heading.
func (p *Printer) Table(columns []Column, rows []Row) {
	head := Row{Style: Faint}
	for _, c := range columns {
		head.Cells = append(head.Cells, c.Name)
	}
	rows = slices.Insert(slices.Clone(rows), 0, head)
	widths := make([]int, len(columns))
	for i, c := range columns {
		for _, r := range rows {
			if c.Right {
				widths[i] = max(widths[i], len(r.Cells[i]))
			}
		}
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r.Cells))
		for i, cell := range r.Cells {
			cells[i] = fmt.Sprintf("%*s", widths[i], Plain(cell))
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

// Plan prints what a plan does: the first items of each kind, or all.
func (p *Printer) Plan(r *report.Report, all bool) {
	for _, kind := range slices.Sorted(maps.Keys(r.Actions)) {
		items := slices.DeleteFunc(slices.Clone(r.Plan), func(i report.Planned) bool { return i.Action != kind })
		n := r.Actions[kind].Planned
		p.Line("")
		same := sameReason(items)
		p.Say(Bold, 2, 2, "%s: %d%s", kind, n, prefixed(", because ", same))
		shown := items
		if !all {
			shown = items[:min(len(items), Listed)]
		}
		for _, item := range shown {
			p.Line("    " + Plain(item.Target))
			notes := []string{With(item)}
			if item.Reason != same {
				notes = []string{item.Reason, With(item)}
			}
			if note := strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; "); note != "" {
				p.Say(Faint, 6, 2, "%s", note)
			}
		}
		switch {
		case len(shown) < len(items):
			p.Say("", 4, 2, "and %d more: use --all", n-len(shown))
		case len(items) < n:
			p.Say("", 4, 2, "and %d more, which are not listed", n-len(items))
		}
	}
}

// sameReason returns the reason that all of several items have, to be said once; "" if there is none.
func sameReason(items []report.Planned) string {
	if len(items) < 2 || items[0].Reason == "" ||
		slices.ContainsFunc(items, func(i report.Planned) bool { return i.Reason != items[0].Reason }) {
		return ""
	}
	return items[0].Reason
}

func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// With says what a plan deletes and changes along with an item; "" if nothing, or if that was not worked out.
func With(item report.Planned) string {
	var with, not []string
	n := Tally{}
	for _, w := range item.Writes {
		verb, target, _ := strings.Cut(w, " ")
		switch {
		case verb == "nothing:":
			not = append(not, "but not done: "+target)
		case target == item.Target: // the item itself
		case verb == "delete":
			n.Add(target)
		default:
			with = append(with, w)
		}
	}
	if words := n.Words(); words != "" {
		with = slices.Insert(with, 0, "with "+words)
	}
	if len(with) > 3 {
		with, item.More = with[:3], true
	}
	if item.More {
		with = append(with, "and more")
	}
	return strings.Join(append(with, not...), ", ")
}

// Tally counts things by kinds, such as "document of posts".
type Tally map[string]int

// Add counts a document by its path, an object by gs://bucket/name, or an "account UID".
func (t Tally) Add(target string) {
	switch steps := strings.Split(target, "/"); {
	case strings.HasPrefix(target, "account "):
		t["account"]++
	case strings.HasPrefix(target, "objects under "): // as a plan says it
		t["folder of files"]++
	case strings.HasPrefix(target, "gs://"):
		t["file"]++
	case len(steps) > 1:
		t["document of "+steps[len(steps)-2]]++
	}
}

// Words says how many things of each kind there are, such as "2 documents of posts, 1 file"; "" if there are none.
func (t Tally) Words() string {
	var words []string
	for _, kind := range slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(t[b]-t[a], cmp.Compare(a, b)) }) {
		noun, of, _ := strings.Cut(kind, " ")
		if t[kind] != 1 {
			noun += "s"
		}
		words = append(words, strings.TrimSpace(fmt.Sprintf("%d %s %s", t[kind], noun, of)))
	}
	return strings.Join(words, ", ")
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
