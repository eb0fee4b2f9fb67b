package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/screen"
)

// printer writes for people.
type printer struct {
	screen.Printer
	here bool // what is advised runs in this process
}

func (a *app) printer() *printer {
	return &printer{Printer: screen.Printer{W: a.out, Width: a.screen.width, Colour: a.screen.colour}, here: a.here}
}

// advice says what to do about a failure of a job; "" if its text says it all.
func (p *printer) advice(job, text string) string {
	do := advice.On(job, text)
	if p.here {
		do = advice.Here(do)
	}
	return do
}

// aside returns the printer of what is said besides the result: with --json, standard output is for programs.
func (a *app) aside() *printer {
	p := a.printer()
	if a.json {
		p.W = a.errs
	}
	return p
}

// show writes a result as JSON or for people. The error is [errSaid] if the result is bad, so that the exit code is 1.
func (a *app) show(result any, write func(*printer), bad bool) error {
	if !a.json {
		write(a.printer())
	} else if err := a.writeJSON(result); err != nil {
		return err
	}
	if bad {
		return errSaid
	}
	return nil
}

// shown is for what has been printed already, one result after the other.
func shown(*printer) {}

func (a *app) writeJSON(v any) error { return encode(a.out, v) }

func encode(to io.Writer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// first prints a table of things: the first of them, unless all are to be listed.
func (p *printer) first(all bool, what string, columns []screen.Column, rows []screen.Row) {
	shown := rows
	if len(rows) > listed && !all {
		shown = rows[:listed]
	}
	p.Table(columns, shown)
	p.more(len(rows)-len(shown), what)
}

// cells are the texts of values in a row of a table, and numbers the columns of some.
func cells(values ...any) (texts []string) {
	for _, value := range values {
		texts = append(texts, fmt.Sprint(value))
	}
	return texts
}

func numbers(names ...string) (columns []screen.Column) {
	for _, name := range names {
		columns = append(columns, screen.Column{Name: name, Right: true})
	}
	return columns
}

// more says how many things are not listed.
func (p *printer) more(n int, what string) {
	if n > 0 {
		p.Say("", 2, 2, "and %s more: use --all", plural(n, what))
	}
}

// when says a time to the minute, or to the second if that matters, in UTC.
func when(t time.Time) string {
	t = t.UTC()
	if t.Second() == 0 {
		return t.Format("2006-01-02 15:04")
	}
	return t.Format("2006-01-02 15:04:05")
}

// short formats a duration in some six characters.
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
