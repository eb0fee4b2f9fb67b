package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/scripts/firesweep/advice"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/manifest"
)

// printer writes for people.
type printer struct {
	screen.Printer
	here  bool // what is advised runs in this process
	given advice.Given
	npx   bool // npx started the command: it is on nobody's PATH
}

func (a *app) printer() *printer {
	return &printer{Printer: screen.Printer{W: a.out, Width: a.screen.width, Colour: a.screen.colour}, here: a.here, given: a.given,
		npx: a.getenv("npm_command") == "exec"}
}

// Say prints a text. The commands in it are about what this one was about.
func (p *printer) Say(style string, indent, hang int, format string, args ...any) {
	p.Printer.Say(style, indent, hang, "%s", p.given.In(fmt.Sprintf(format, args...)))
}

// Command prints a command to type, or how it begins where the rest would be unsafe to paste.
func (p *printer) Command(format string, args ...any) {
	command := fmt.Sprintf(format, args...)
	if p.npx && strings.HasPrefix(command, "firesweep ") {
		command = "npx " + command
	}
	begin, all := toPaste(runtime.GOOS, command)
	if !all {
		p.Printer.Say("", 4, 2, "Type it, and the rest in quotes of your shell: %s", begin)
		return
	}
	p.Printer.Command("%s", command)
}

// toPaste returns a command, or its part before the first quoted text, and whether that is all of it: on Windows nobody knows whether
// it is pasted into PowerShell or into cmd.exe, which runs what follows an & in PowerShell's quotes.
func toPaste(system, command string) (begin string, all bool) {
	if system != "windows" || !strings.ContainsAny(command, `&|<>^%"`) {
		return command, true
	}
	begin, _, _ = strings.Cut(command, " '")
	return begin, false
}

// typed returns advice with its commands as they are typed here.
func (p *printer) typed(text string) string {
	if p.here {
		return advice.Here(text)
	}
	return text
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
	} else if err := encode(a.out, result); err != nil {
		return err
	}
	if bad {
		return errSaid
	}
	return nil
}

// shown is for what has been printed already, one result after the other.
func shown(*printer) {}

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

// cells are the texts of values in a row of a table.
func cells(values ...any) (texts []string) {
	for _, value := range values {
		texts = append(texts, fmt.Sprint(value))
	}
	return texts
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

// progressAfter is how long work takes before its progress is shown, and progressEvery how often it is shown.
const (
	progressAfter = 2 * time.Second
	progressEvery = 500 * time.Millisecond
)

// stage is how far long work is.
type stage struct {
	text        string // what is done
	done, total int64  // of it; the rest is not estimated unless some is done, and not all
}

// line describes the stage after a time.
func (s stage) line(passed time.Duration) string {
	text := s.text
	if 0 < s.done && s.done < s.total {
		left := time.Duration(float64(passed) * float64(s.total-s.done) / float64(s.done))
		text += fmt.Sprintf(", about %d %%, %s left", s.done*100/s.total, short(left.Round(time.Second)))
	}
	return screen.Plain(text + " (" + short(passed.Round(time.Second)) + " so far)")
}

// doing is work of which only what it is can be said.
func doing(text string) func() stage { return func() stage { return stage{text: text} } }

// waiting is work that ends at a time, if not before.
func (a *app) waiting(what string, until time.Time) func() stage {
	return func() stage {
		left := max(0, until.Sub(a.clock())).Round(time.Second)
		return stage{text: fmt.Sprintf("waiting for %s, %s left at most", what, short(left))}
	}
}

// far is a stage that work sets while it is shown.
type far struct{ at atomic.Pointer[stage] }

func (f *far) set(text string, done, total int) { f.at.Store(&stage{text, int64(done), int64(total)}) }

// step says that step i of n begins, counted from 0.
func (f *far) step(what, name string, i, n int) {
	f.set(fmt.Sprintf("%s: %s (%d of %d)", what, name, i+1, n), i, n)
}

func (f *far) now() stage {
	if at := f.at.Load(); at != nil {
		return *at
	}
	return stage{text: "beginning"}
}

// ofEach returns what f returns for each job, and shows how far it is. The first error ends it.
func ofEach[T any](ctx context.Context, a *app, what string, jobs []manifest.Entry, f func(manifest.Entry) (T, error)) ([]T, error) {
	var at far
	defer a.progress(ctx, at.now)()
	all := make([]T, len(jobs))
	for i, job := range jobs {
		at.step(what, job.Name, i, len(jobs))
		var err error
		if all[i], err = f(job); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// progress shows how far long work is on standard error, if that is a terminal, until the returned function is called.
func (a *app) progress(ctx context.Context, now func() stage) (stop func()) {
	if !a.screen.errs {
		return func() {}
	}
	begun := a.clock()
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() {
		for wait := progressAfter; a.sleep(ctx, wait) == nil; wait = progressEvery {
			// A single line, so that it can be overwritten.
			fmt.Fprintf(a.errs, "\r\x1b[K%s", screen.WrapPath(now().line(a.clock().Sub(begun)), a.screen.width-1)[0])
		}
		fmt.Fprint(a.errs, "\r\x1b[K")
	})
	return func() {
		cancel()
		shown.Wait()
	}
}

// warnings is the log of a plan. It keeps the messages of warnings and errors, without the summary, which repeats the report.
type warnings struct {
	mu       sync.Mutex
	messages []string
}

// Write implements io.Writer. Each call is one line, as slog writes them.
func (w *warnings) Write(line []byte) (int, error) {
	var entry struct {
		Severity, Message string
		Report            json.RawMessage
	}
	err := json.Unmarshal(bytes.TrimSpace(line), &entry)
	if err == nil && entry.Report == nil && (entry.Severity == "WARNING" || entry.Severity == "ERROR") {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.messages = append(w.messages, strings.TrimSpace(entry.Message))
	}
	return len(line), nil
}

func (w *warnings) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.messages
}
