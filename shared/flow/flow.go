// Package flow runs lookups concurrently and delivers their results in input order.
package flow

import (
	"context"
	"iter"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/guard"
)

// Each looks up items side by side, and calls fn with each of them and its result, in input order, on the caller's goroutine.
// items runs in a goroutine of its own, and lookup in one for each item, at most most of them at once, or three if that is more.
// The first error, in input order, ends it: one of items, of a lookup or of fn. A panic of items or of a lookup is an error too.
// When Each returns, nothing is under way any more.
func Each[T, R any](
	ctx context.Context, most int, items func(context.Context) iter.Seq2[T, error], lookup func(context.Context, T) (R, error),
	fn func(T, R) error,
) error {
	type step struct {
		item T
		got  R
		err  error
		done chan struct{} // closed when got and err are there
	}
	var underWay sync.WaitGroup
	defer underWay.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	came := make(chan *step, max(1, most-2)) // besides the one that fn waits for, and the one that waits to be handed over
	var cut error                            // why not all items came, when came is closed
	underWay.Go(func() {
		defer close(came)
		cut = guard.Call(func() error {
			for item, err := range items(ctx) {
				if err != nil {
					return err
				}
				s := &step{item: item, done: make(chan struct{})}
				underWay.Go(func() {
					defer close(s.done)
					s.err = guard.Call(func() (err error) {
						s.got, err = lookup(ctx, s.item)
						return err
					})
				})
				select {
				case came <- s:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for s := range came {
		<-s.done
		if s.err != nil {
			return s.err
		}
		if err := fn(s.item, s.got); err != nil {
			return err
		}
	}
	return cut
}

// Many calls f concurrently with each number below n, at most most at once. When all have returned, it returns the error of each,
// or its panic, in their order.
func Many(most, n int, f func(i int) error) []error {
	errs := make([]error, n)
	var underWay errgroup.Group
	underWay.SetLimit(most)
	for i := range n {
		underWay.Go(func() error {
			errs[i] = guard.Call(func() error { return f(i) })
			return nil
		})
	}
	_ = underWay.Wait() // each error is in its place
	return errs
}
