package objects

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/firesweep/firesweep/shared/guard"
)

// Bounds of what a listing reads ahead.
const (
	atOnce   = 16       // ranges, and so requests
	maxBytes = 48 << 20 // of pages that wait; those that are asked for meanwhile come on top
	maxReady = 4        // pages that wait of the range that is being given
	overhead = 256      // bytes of an object besides its texts
)

// listing reads ranges of names side by side and gives their objects in order.
type listing[T any] struct {
	open  func(context.Context, Names) pager
	of    func(Object) T // what is kept of an object
	parts []part[T]

	mu      sync.Mutex
	changed *sync.Cond
	first   int // the range that is being given
	bytes   int // of the pages that wait
}

// part is what is known of a range: its pages that wait for their turn, and how it ended.
type part[T any] struct {
	pages []waiting[T]
	done  bool
	err   error
}

type waiting[T any] struct {
	found []T
	bytes int
}

// read gives the objects of all ranges in order, a page at a time, until give returns false.
func (l *listing[T]) read(ctx context.Context, ranges []Names, give func([]T) bool) error {
	l.changed, l.parts = sync.NewCond(&l.mu), make([]part[T], len(ranges))
	var underWay sync.WaitGroup
	defer underWay.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { l.change(func() {}) }) // whoever waits for room waits no longer
	var begun atomic.Int64
	for range min(atOnce, len(l.parts)) {
		underWay.Go(func() {
			for i := int(begun.Add(1)) - 1; i < len(l.parts); i = int(begun.Add(1)) - 1 {
				err := guard.Call(func() error { return l.readPart(ctx, i, ranges[i]) })
				l.change(func() { l.parts[i].done, l.parts[i].err = true, err })
			}
		})
	}
	for l.first < len(l.parts) {
		switch page, err := l.take(); {
		case err != nil:
			return err
		case !give(page):
			return nil
		}
	}
	return nil
}

// readPart reads a range page after page, as there is room.
func (l *listing[T]) readPart(ctx context.Context, i int, names Names) error {
	next, p := l.open(ctx, names), &l.parts[i]
	for more := true; more; {
		l.change(func() {
			for ctx.Err() == nil && !l.room(i) {
				l.changed.Wait()
			}
		})
		var page []Object
		var err error
		if page, more, err = next(); err != nil {
			return err
		}
		w := waiting[T]{found: make([]T, len(page))}
		for k, o := range page {
			w.found[k] = l.of(o)
			w.bytes += o.bytes()
		}
		l.change(func() {
			p.pages = append(p.pages, w)
			l.bytes += w.bytes
		})
	}
	return nil
}

// room reports whether the next page of a range may be asked for. For the one that all wait for, there always is room.
func (l *listing[T]) room(i int) bool {
	n := len(l.parts[i].pages)
	if i == l.first {
		return n == 0 || n < maxReady && l.bytes < maxBytes
	}
	return l.bytes < maxBytes
}

// take returns the next page; none where a range ends.
func (l *listing[T]) take() (page []T, err error) {
	l.change(func() {
		p := &l.parts[l.first]
		for len(p.pages) == 0 && !p.done {
			l.changed.Wait()
		}
		if len(p.pages) == 0 {
			l.first, err = l.first+1, p.err
			return
		}
		page, l.bytes = p.pages[0].found, l.bytes-p.pages[0].bytes
		p.pages = slices.Delete(p.pages, 0, 1) // so that it is in memory no longer
	})
	return page, err
}

// change calls f, and has everybody look again who waits.
func (l *listing[T]) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.changed.Broadcast()
}

// bytes returns how much memory an object takes, at most.
func (o Object) bytes() int {
	n := overhead + len(o.Name)
	for key, value := range o.Metadata {
		n += overhead/4 + len(key) + len(value)
	}
	return n
}
