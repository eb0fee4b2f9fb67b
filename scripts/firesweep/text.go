package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/usage"
)

// given are the flags that every command about the same runs needs, as they were given, each with a blank before it.
type given struct{ Project, Rules string }

func (g given) String() string { return g.Project + g.Rules }

// printer writes for people.
type printer struct {
	screen.Printer
	given given
	npx   bool   // npx started the command: it is on nobody's PATH
	where string // the project that results are about

	emulated bool // it is on emulators
}

func (a *app) printer() *printer {
	where, emulated := a.getenv("GOOGLE_CLOUD_PROJECT"), a.getenv("FIRESTORE_EMULATOR_HOST") != ""
	if emulated {
		where += " on emulators"
	}
	return &printer{Printer: screen.Printer{W: a.out, Width: a.screen.width, Colour: a.screen.colour}, given: a.given,
		npx: a.getenv("npm_command") == "exec", where: where, emulated: emulated}
}

// Command prints a command to type.
func (p *printer) Command(format string, args ...any) {
	command := fmt.Sprintf(format, args...)
	if p.npx && strings.HasPrefix(command, "firesweep ") {
		command = "npx " + command
	}
	p.Printer.Command("%s", command)
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
	if len(rows) > screen.Listed && !all {
		shown = rows[:screen.Listed]
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

// plural returns a number with its noun, whose first word tells how many there are.
func plural(n int, noun string) string {
	if n != 1 {
		first, rest, _ := strings.Cut(noun, " ")
		noun = strings.TrimSpace(first + "s " + rest)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// progressAfter is how long work takes before its progress is shown, and progressEvery how often it is shown.
const (
	progressAfter = 2 * time.Second
	progressEvery = 500 * time.Millisecond
)

// doing is work of which only what it is can be said.
func doing(text string) func() string { return func() string { return text } }

// waiting is work that ends at a time, if not before.
func (a *app) waiting(what string, until time.Time) func() string {
	return func() string {
		return fmt.Sprintf("waiting for %s, %s left at most", what, short(max(0, until.Sub(a.clock())).Round(time.Second)))
	}
}

// used says what was used, but for what was not.
func used(u usage.Usage) string {
	var all []string
	for _, of := range []struct {
		n    int64
		noun string
	}{
		{u.FirestoreReads, "read"}, {u.FirestoreWrites, "write"}, {u.FirestoreDeletes, "delete"},
		{u.StorageClassA + u.StorageClassB, "request to Storage"}, {u.StorageDeletes, "delete of files"},
		{u.AuthCalls, "call of Authentication"}, {u.Tasks, "task"},
	} {
		if of.n > 0 {
			all = append(all, plural(int(of.n), of.noun))
		}
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

// far is how far work is, which sets it while it is shown.
type far struct{ at atomic.Pointer[string] }

func (f *far) set(text string, done, total int) {
	text = fmt.Sprintf("%s (%d of %d)", text, done, total)
	f.at.Store(&text)
}

// step says that step i of n begins, counted from 0.
func (f *far) step(what, name string, i, n int) { f.set(what+": "+name, i+1, n) }

func (f *far) now() string {
	if at := f.at.Load(); at != nil {
		return *at
	}
	return "beginning"
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
func (a *app) progress(ctx context.Context, now func() string) (stop func()) {
	if !a.screen.errs {
		return func() {}
	}
	begun := a.clock()
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() {
		for wait := progressAfter; a.sleep(ctx, wait) == nil; wait = progressEvery {
			// A single line, so that it can be overwritten.
			passed := short(a.clock().Sub(begun).Round(time.Second))
			line := []rune(screen.Plain(now() + " (" + passed + " so far)"))
			fmt.Fprintf(a.errs, "\r\x1b[K%s", string(line[:min(len(line), a.screen.width-1)]))
		}
		fmt.Fprint(a.errs, "\r\x1b[K")
	})
	return func() {
		cancel()
		shown.Wait()
	}
}

// warnings is the log of a plan. It keeps warnings; errors are in the report.
type warnings struct {
	mu  sync.Mutex
	all []warning
}

// warning is a line of the log that warns.
type warning struct {
	Severity, Message, Reason string
	Kept                      int             // so many are kept for the reason
	Report                    json.RawMessage // of the summary, which repeats it
}

// Write implements io.Writer. Each call is one line, as slog writes them.
func (w *warnings) Write(line []byte) (int, error) {
	var one warning
	err := json.Unmarshal(bytes.TrimSpace(line), &one)
	if err == nil && one.Report == nil && one.Severity == "WARNING" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = append(w.all, one)
	}
	return len(line), nil
}

// lines returns the messages, without sums of what others name one by one.
func (w *warnings) lines() (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	named := map[string]bool{}
	for _, one := range w.all {
		named[one.Reason] = named[one.Reason] || one.Kept == 0
	}
	for _, one := range w.all {
		if one.Kept == 0 || !named[one.Reason] {
			lines = append(lines, strings.TrimSpace(one.Message))
		}
	}
	return lines
}
