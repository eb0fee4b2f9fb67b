package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/shared/usage"
)

// progress is how far a plan has got.
type progress struct {
	job         string
	index, jobs int
	begun       time.Time
	meter       *usage.Meter
	expected    atomic.Int64 // reads of the job's last run; 0: not known
}

// line says it in one line. The estimate compares with the reads of the last run, so it is one.
func (p *progress) line(now time.Time) string {
	u, passed := p.meter.Usage(), now.Sub(p.begun)
	text := fmt.Sprintf("%s (%d of %d): %d documents read", p.job, p.index+1, p.jobs, u.FirestoreReads)
	if pages := u.StorageClassA + u.StorageClassB; pages > 0 {
		text += fmt.Sprintf(", %d requests to Storage", pages)
	}
	text += ", " + short(passed.Round(time.Second))
	if expected := p.expected.Load(); u.FirestoreReads > 0 && u.FirestoreReads < expected {
		left := time.Duration(float64(passed) * float64(expected-u.FirestoreReads) / float64(u.FirestoreReads))
		text += fmt.Sprintf(", about %d %%, %s left", u.FirestoreReads*100/expected, short(left.Round(time.Second)))
	}
	return text
}

// show shows progress on standard error, where that is a terminal, until the function that it returns is called. lastRun
// returns how many documents the job's last run read, meanwhile.
func (a *app) show(ctx context.Context, p *progress, lastRun func(context.Context) int64) (stop func()) {
	p.begun = a.clock()
	if !a.screen.errs {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() { p.expected.Store(lastRun(ctx)) })
	shown.Go(func() {
		for wait := progressAfter; a.sleep(ctx, wait) == nil; wait = progressEvery {
			fmt.Fprintf(a.errs, "\r\x1b[K%s", wrapPath(p.line(a.clock()), a.screen.width-1)[0]) // one line, or it could not be overwritten
		}
		fmt.Fprint(a.errs, "\r\x1b[K")
	})
	return func() {
		cancel()
		shown.Wait()
	}
}
