package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/usage"
)

// printer writes for people.
type printer struct {
	to       io.Writer
	width    int // in columns
	colour   bool
	given    string // flags that every command about the same runs needs, as they were given
	program  string // as it is typed
	where    string // the project that results are about
	emulated bool   // it is on emulators
}

func (a *app) printer() *printer {
	where, emulated := a.getenv("GOOGLE_CLOUD_PROJECT"), a.getenv("FIRESTORE_EMULATOR_HOST") != ""
	if emulated {
		where += " on emulators"
	}
	program := "firesweep"
	if a.getenv("npm_command") == "exec" { // npx started it: it is on nobody's PATH
		program = "npx firesweep"
	}
	return &printer{a.out, a.screen.width, a.screen.colour, a.given, program, where, emulated}
}

// aside returns the printer of what is said besides the result: with --json, standard output is for programs, and a person looks
// on only if somebody is asked.
func (a *app) aside(yes bool) *printer {
	p := a.printer()
	if a.json {
		p.to = a.errs
	}
	if a.json && (yes || !a.screen.in) {
		p.to = io.Discard
	}
	return p
}

// cmd is a command to type about the same runs as this one.
func (p *printer) cmd(verb string, args ...string) string {
	given := p.given
	if slices.Contains(args, ofThen) {
		given, _, _ = strings.Cut(given, " --rules ")
	}
	return strings.Join(append([]string{p.program + " " + verb + given}, args...), " ")
}

// cmd is [printer.cmd], for errors.
func (a *app) cmd(verb string, args ...string) string { return a.printer().cmd(verb, args...) }

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
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	if err == nil {
		_, err = to.Write(harmless.JSON(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// firstOf returns the first of a list, or all.
func firstOf[T any](list []T, all bool) []T {
	if all {
		return list
	}
	return list[:min(len(list), listed)]
}

// more says how many things are not listed.
func (p *printer) more(n int, what string) {
	if n > 0 {
		p.Say("", 2, 2, "and %s more: use --all", plural(n, what))
	}
}

// when says a time to the minute, or to the second if that matters, in UTC.
func when(t time.Time) string { return strings.TrimSuffix(t.UTC().Format(time.DateTime), ":00") }

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

// progressEvery is how often the progress of long work is said.
const progressEvery = 5 * time.Second

// progress is how far long work is.
type progress struct {
	at   atomic.Value // a function that says it
	stop func()       // ends what says it; may be called more than once
}

// progress says on standard error, if that is a terminal, how far long work is, until it is stopped.
func (a *app) progress(ctx context.Context, text string) *progress {
	p := &progress{stop: func() {}}
	p.set("%s", text)
	if !a.screen.errs {
		return p
	}
	begun := a.clock()
	ctx, cancel := context.WithCancel(ctx)
	var said sync.WaitGroup
	said.Go(func() {
		for a.sleep(ctx, progressEvery) == nil {
			fmt.Fprintf(a.errs, "%s (%s so far)\n", harmless.Text(p.now()), short(a.clock().Sub(begun).Round(time.Second)))
		}
	})
	p.stop = func() {
		cancel()
		said.Wait()
	}
	return p
}

// set changes what is said.
func (p *progress) set(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.at.Store(func() string { return text })
}

func (p *progress) now() string { return p.at.Load().(func() string)() }

// watch returns what is given each of the engine's plans or runs for this work.
func (p *progress) watch() engine.Watch {
	text := p.now()
	return func(far func() report.Progress) { p.at.Store(func() string { return text + counts(far()) }) }
}

// counts says how far the plan or run is that the engine does, such as ": 1200 of about 14000 looked at, 31 due".
func counts(p report.Progress) string {
	of, done := "", ""
	if p.About > 0 && p.Looked <= p.About {
		of = fmt.Sprintf(" of about %d", p.About)
	}
	if p.Done > 0 {
		done = fmt.Sprintf(", %d done", p.Done)
	}
	return fmt.Sprintf(": %d%s looked at, %d due%s", p.Looked, of, p.Due, done)
}
