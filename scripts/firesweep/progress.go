package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/manifest"
)

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

// progress shows how far long work is on standard error, if that is a terminal, until the returned function is called. The
// functions of meanwhile run beside the work, to find out what now needs.
func (a *app) progress(ctx context.Context, now func() stage, meanwhile ...func(context.Context)) (stop func()) {
	if !a.screen.errs {
		return func() {}
	}
	begun := a.clock()
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	for _, f := range meanwhile {
		shown.Go(func() { f(ctx) })
	}
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
