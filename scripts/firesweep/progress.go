package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/usage"
)

// progressAfter is how long work takes before its progress is shown, and progressEvery how often it is shown.
const (
	progressAfter = 2 * time.Second
	progressEvery = 500 * time.Millisecond
)

// progress shows the progress of long work on standard error, if that is a terminal, until the returned function is called.
// line describes the progress after a time; progress adds that time. The functions of meanwhile run beside the work, to find
// out what line needs.
func (a *app) progress(ctx context.Context, line func(passed time.Duration) string, meanwhile ...func(context.Context),
) (stop func()) {
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
			passed := a.clock().Sub(begun)
			text := screen.Plain(line(passed) + " (" + short(passed.Round(time.Second)) + " so far)")
			fmt.Fprintf(a.errs, "\r\x1b[K%s", screen.WrapPath(text, a.screen.width-1)[0]) // a single line, so that it can be overwritten
		}
		fmt.Fprint(a.errs, "\r\x1b[K")
	})
	return func() {
		cancel()
		shown.Wait()
	}
}

// estimate says how much of the work is done, and how long the rest may take; "" if that cannot be known.
func estimate(passed time.Duration, done, total int64) string {
	if done <= 0 || done >= total {
		return ""
	}
	left := time.Duration(float64(passed) * float64(total-done) / float64(done))
	return fmt.Sprintf(", about %d %%, %s left", done*100/total, short(left.Round(time.Second)))
}

// share is how much of the work is done.
type share struct{ done, total atomic.Int64 }

func (s *share) set(done, total int) {
	s.total.Store(int64(total))
	s.done.Store(int64(done))
}

func (s *share) estimate(passed time.Duration) string {
	return estimate(passed, s.done.Load(), s.total.Load())
}

// steps is the progress of work with a known number of steps.
type steps struct {
	what  string // is done
	total int
	now   atomic.Pointer[step]
}

type step struct {
	n    int
	name string
}

// begin sets the step that begins, counted from 0.
func (s *steps) begin(n int, name string) { s.now.Store(&step{n, name}) }

func (s *steps) line(passed time.Duration) string {
	now := s.now.Load()
	if now == nil {
		return s.what
	}
	return fmt.Sprintf("%s: %s (%d of %d)%s", s.what, now.name, now.n+1, s.total, estimate(passed, int64(now.n), int64(s.total)))
}

// planning is the progress of a plan.
type planning struct {
	job         string
	index, jobs int
	served      bool // by functions elsewhere, so what it reads is not known here
	meter       *usage.Meter
	expected    atomic.Int64 // reads of the job's last run; 0: not known
}

// line describes the progress in one line. The estimate compares with the reads of the job's last run.
func (p *planning) line(passed time.Duration) string {
	text := fmt.Sprintf("%s (%d of %d)", p.job, p.index+1, p.jobs)
	if p.served {
		return text
	}
	u := p.meter.Usage()
	text += ": " + plural(int(u.FirestoreReads), "document") + " read"
	if pages := u.StorageClassA + u.StorageClassB; pages > 0 {
		text += ", " + plural(int(pages), "request") + " to Storage"
	}
	return text + estimate(passed, u.FirestoreReads, p.expected.Load())
}
