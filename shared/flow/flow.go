// Package flow runs lookups concurrently and delivers their results in input order.
package flow

import (
	"context"
	"iter"
	"sync"

	"github.com/firesweep/firesweep/shared/guard"
)

// Flow has items whose lookups are under way.
type Flow[T, R any] struct {
	most     int // lookups under way
	came     chan *step[T, R]
	cut      error // why not all items came, when came is closed
	cancel   context.CancelFunc
	underWay sync.WaitGroup
}

// step is an item of a flow.
type step[T, R any] struct {
	item T
	got  R
	err  error
	done chan struct{} // closed when got and err are there
}

// Begin starts a flow. The caller must call [Flow.Each] or [Flow.Stop]. items runs in a goroutine of its own, and lookup in one
// for each item. Until Each is called, two lookups are under way; then at most most of them, or three if that is more.
func Begin[T, R any](
	ctx context.Context, most int, items func(context.Context) iter.Seq2[T, error], lookup func(context.Context, T) (R, error),
) *Flow[T, R] {
	f := &Flow[T, R]{most: most, came: make(chan *step[T, R], 1)}
	ctx, f.cancel = context.WithCancel(ctx)
	f.underWay.Go(func() {
		defer close(f.came)
		f.cut = guard.Call(func() error {
			for item, err := range items(ctx) {
				if err != nil {
					return err
				}
				s := &step[T, R]{item: item, done: make(chan struct{})}
				f.underWay.Go(func() {
					defer close(s.done)
					s.err = guard.Call(func() (err error) {
						s.got, err = lookup(ctx, s.item)
						return err
					})
				})
				select {
				case f.came <- s:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	return f
}

// Each calls fn with every item and its result, in input order, on the caller's goroutine. The first error, in that order, ends
// it: one of items, of a lookup or of fn. A panic of items or of a lookup is an error too.
func (f *Flow[T, R]) Each(fn func(T, R) error) error {
	defer f.Stop()
	var queue []*step[T, R]
	for came := f.came; came != nil || len(queue) > 0; {
		var next chan *step[T, R]
		if len(queue) < max(1, f.most-2) { // one more is handed over already, and another about to be
			next = came
		}
		var first chan struct{}
		if len(queue) > 0 {
			first = queue[0].done
		}
		select {
		case s, more := <-next:
			if more {
				queue = append(queue, s)
			} else {
				came = nil
			}
		case <-first:
			s := queue[0]
			queue = queue[1:]
			if s.err != nil {
				return s.err
			}
			if err := fn(s.item, s.got); err != nil {
				return err
			}
		}
	}
	return f.cut
}

// Stop cancels the lookups that are under way, and returns when they have ended.
func (f *Flow[T, R]) Stop() {
	f.cancel()
	f.underWay.Wait()
}

// All runs functions concurrently. When all have returned, it returns the error of each, in input order.
func All(functions ...func() error) []error {
	errs := make([]error, len(functions))
	var underWay sync.WaitGroup
	for i, f := range functions {
		underWay.Go(func() { errs[i] = guard.Call(f) })
	}
	underWay.Wait()
	return errs
}

// One is [Begin] for one item.
func One[T, R any](ctx context.Context, item T, lookup func(context.Context, T) (R, error)) *Flow[T, R] {
	return Begin(ctx, 1, func(context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) { yield(item, nil) }
	}, lookup)
}
