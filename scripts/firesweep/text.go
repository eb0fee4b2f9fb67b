package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// Columns of a screen.
const (
	defaultWidth = 80
	leastWidth   = 40 // what is narrower is written as if it were so wide
)

// plain returns a text without anything that a terminal would take for a command. Names and reasons hold what users wrote.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// columns returns how many columns a terminal shows a text in.
func columns(s string) int {
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

// wrapPath divides a path into lines of at most so many columns: after a slash where it can, else anywhere. Nothing is left
// out, so that the lines together are the path.
func wrapPath(s string, most int) []string {
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

// wrap divides a text into lines of at most so many columns: at spaces where it can, else within a word.
func wrap(s string, most int) []string {
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

// printer writes for people.
type printer struct {
	w      io.Writer
	width  int
	colour bool
}

func (a *app) printer() *printer {
	return &printer{w: a.out, width: a.screen.width, colour: a.screen.colour}
}

// Styles, as terminals know them.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	yellow = "33"
)

// style returns a text in a style, where there are colours.
func (p *printer) style(style, s string) string {
	if !p.colour || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// line writes one line as it is.
func (p *printer) line(s string) { fmt.Fprintln(p.w, s) }

// say writes a text in a style after an indent, in as many lines as it takes; further ones are indented by hang more.
func (p *printer) say(style string, indent, hang int, format string, args ...any) {
	text := plain(fmt.Sprintf(format, args...))
	for i, line := range wrap(text, max(p.width-indent-hang, leastWidth/2)) {
		if i == 1 {
			indent += hang
		}
		p.line(strings.Repeat(" ", indent) + p.style(style, line))
	}
}

// command writes a command on a line of its own, whole, so that it can be copied.
func (p *printer) command(format string, args ...any) {
	p.line("    " + plain(fmt.Sprintf(format, args...)))
}

// when says a time to the minute, or to the second if that matters, in UTC.
func when(t time.Time) string {
	t = t.UTC()
	if t.Second() == 0 {
		return t.Format("2006-01-02 15:04")
	}
	return t.Format("2006-01-02 15:04:05")
}

// short says a duration in at most six characters or so.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
