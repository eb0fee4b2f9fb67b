package orphans

import (
	"context"
	"fmt"
	"iter"
	"sync"
)

// inOrder has n items under way at most. begin, which runs beside all else, asks for what an item needs; end is called with
// what came of it, one item after the other in their order, by the caller's goroutine, which the items come from as well. So
// what end does is the same as if nothing ran beside anything. The first error ends it, and nothing is under way any more
// when it returns.
func inOrder[T, R any](ctx context.Context, n int, items iter.Seq2[T, error], begin func(context.Context, T) (R, error), end func(T, R) error) error {
	type answer struct {
		item T
		got  R
		err  error
		came chan struct{}
	}
	ctx, cancel := context.WithCancel(ctx)
	var underWay sync.WaitGroup
	defer underWay.Wait()
	defer cancel()
	var queue []*answer
	endFirst := func() error {
		first := queue[0]
		queue = queue[1:]
		<-first.came
		if first.err != nil {
			return first.err
		}
		return end(first.item, first.got)
	}
	for item, err := range items {
		if err != nil {
			for len(queue) > 0 { // what came before it comes before it
				if err := endFirst(); err != nil {
					return err
				}
			}
			return err
		}
		a := &answer{item: item, came: make(chan struct{})}
		underWay.Go(func() {
			defer close(a.came)
			defer func() {
				if v := recover(); v != nil {
					a.err = fmt.Errorf("panic: %v", v)
				}
			}()
			a.got, a.err = begin(ctx, item)
		})
		if queue = append(queue, a); len(queue) > n-1 {
			if err := endFirst(); err != nil {
				return err
			}
		}
	}
	for len(queue) > 0 {
		if err := endFirst(); err != nil {
			return err
		}
	}
	return nil
}
