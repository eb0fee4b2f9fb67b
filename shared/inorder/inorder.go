// Package inorder has things come and be asked about beside all else, and takes them one after the other in their order: a run
// that waits for answers has others under way meanwhile, and decides as if it had not.
package inorder

import (
	"context"
	"iter"
	"sync"

	"github.com/firesweep/firesweep/shared/guard"
)

// Flow has items under way.
type Flow[T, R any] struct {
	most     int // items under way
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

// Begin begins a flow, which is to be stopped in the end. items come in a goroutine of their own; ask, which runs beside all
// else, asks for what an item needs. Until [Flow.Each] is called two items are under way, and then as many as are said, or three
// if that is more.
func Begin[T, R any](
	ctx context.Context, most int, items func(context.Context) iter.Seq2[T, error], ask func(context.Context, T) (R, error),
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
						s.got, err = ask(ctx, s.item)
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

// Each calls end with what came of each item, one after the other in their order and in the caller's goroutine. So what end does
// is the same as if nothing ran beside anything. The first error, in the order of the items, ends it.
func (f *Flow[T, R]) Each(end func(T, R) error) error {
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
			if err := end(s.item, s.got); err != nil {
				return err
			}
		}
	}
	return f.cut
}

// Stop ends what is under way, and returns when nothing is any more.
func (f *Flow[T, R]) Stop() {
	f.cancel()
	f.underWay.Wait()
}

// All calls functions beside each other and returns the error of each, in their order, when all have returned.
func All(functions ...func() error) []error {
	errs := make([]error, len(functions))
	var underWay sync.WaitGroup
	for i, f := range functions {
		underWay.Go(func() { errs[i] = guard.Call(f) })
	}
	underWay.Wait()
	return errs
}

// One is [Begin] for one item, which is there already.
func One[T, R any](ctx context.Context, item T, ask func(context.Context, T) (R, error)) *Flow[T, R] {
	return Begin(ctx, 1, func(context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) { yield(item, nil) }
	}, ask)
}
