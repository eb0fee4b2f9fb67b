package objects

import (
	"context"
	"slices"
	"sync"

	"github.com/firesweep/firesweep/shared/guard"
)

// A long listing is read as ranges of names side by side.
const (
	maxRanges   = 40  // requests under way
	maxHeld     = 48  // pages that were asked for and not given yet
	rangeTarget = 920 // objects a range is to hold: fewer than a page, for where a range ends is a guess
	guessAfter  = 1   // pages that are read one after the other first
	atFirst     = 16  // requests under way before it is known that the listing is long, and wanted
	wanted      = 4   // pages that were given tell that: what has only been begun takes three
)

// listing reads ranges of names side by side and gives their objects in order. Where a range ends is guessed from how close
// together the names before it are; a range that holds more than a page is divided again, one that holds nothing costs a
// request. So each object is listed once, whatever the names are, and where guessing fails it is as slow as page after page.
type listing[T any] struct {
	list     func(ctx context.Context, prefix string, names Names) ([]Object, bool, error)
	of       func(Object) T // what is kept of an object
	prefix   string
	parts    []*part[T] // what has not been given yet, in order and without gaps
	answers  chan *part[T]
	underWay sync.WaitGroup
	waiting  int    // requests that were not answered yet
	vain     bool   // the last part that was given held nothing
	held     int    // parts that were asked for
	given    int    // objects
	received int    // objects
	last     string // the last name that was given
	answered int    // requests
	letters  letters
	before   []span // of the last parts that were given
}

// part is a range of names, or the rest of one.
type part[T any] struct {
	Names
	asked bool
	done  bool
	found []T
	names []string // one of [learnEach], the first one among them
	last  string   // name
	more  bool     // than these
	err   error
	span  span // of names that were looked through
}

// newListing returns the listing of a range of names.
func newListing[T any](
	list func(ctx context.Context, prefix string, names Names) ([]Object, bool, error), prefix string, names Names, of func(Object) T,
) *listing[T] {
	return &listing[T]{list: list, of: of, prefix: prefix, parts: []*part[T]{{Names: names}}, answers: make(chan *part[T])}
}

// read gives all objects, some at a time, until give returns false. While the caller is busy with some, others are asked for.
func (l *listing[T]) read(ctx context.Context, give func([]T) bool) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer l.underWay.Wait()
	defer cancel()
	found := make(chan []T)
	l.underWay.Go(func() {
		defer close(found)
		defer guard.Recover(&err)
		err = l.run(ctx, found)
	})
	for objects := range found {
		if !give(objects) {
			cancel()
			for range found { // until it has ended
			}
			return nil
		}
	}
	return err
}

// run asks for all parts and hands over what is found, in order.
func (l *listing[T]) run(ctx context.Context, found chan<- []T) error {
	for len(l.parts) > 0 {
		l.ask(ctx)
		first := l.parts[0]
		var to chan<- []T
		var objects []T
		switch {
		case !first.done:
		case first.err != nil:
			return first.err
		case len(first.found) == 0:
			l.pop(first)
			continue
		default:
			to, objects = found, first.found
		}
		select {
		case to <- objects:
			l.pop(first)
		case p := <-l.answers:
			l.receive(p)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pop takes away the first part, which was given.
func (l *listing[T]) pop(first *part[T]) {
	l.parts = l.parts[1:]
	if first.span.from != "" && first.span.to != "" {
		l.before = append(l.before[max(0, len(l.before)+1-mostSpans):], first.span)
	}
	l.held--
	l.vain = len(first.found) == 0
	l.given += len(first.found)
	if !l.vain {
		l.last = first.last
	}
	first.found = nil
}

// ask sends requests for the first parts that were not asked for, as many as may be under way: the more pages have been given, so
// that a short listing costs few in vain, and one that nobody wants yet as well. Where a range turns out to be long, what lies
// behind it waits.
func (l *listing[T]) ask(ctx context.Context) {
	requests, pages := atFirst, atFirst
	if l.given >= wanted*pageSize {
		requests, pages = maxRanges, maxHeld
	}
	for i := 0; i < len(l.parts) && l.waiting < requests; i++ {
		p := l.parts[i]
		if p.asked {
			continue
		}
		if i > 0 && l.held >= pages {
			return
		}
		end := l.guess(i)
		if l.vainSoFar() {
			end = "" // all the rest: that finds whatever comes next, or that nothing does
		}
		if end > p.From && (p.Before == "" || end < p.Before) {
			l.parts = slices.Insert(l.parts, i+1, &part[T]{Names: Names{From: end, Before: p.Before}})
			p.Before = end
		}
		p.asked = true
		l.held++
		l.waiting++
		l.underWay.Go(func() {
			p.err = guard.Call(func() error { return l.fill(ctx, p) })
			select {
			case l.answers <- p:
			case <-ctx.Done(): // nobody waits for it any more
			}
		})
	}
}

// fill lists the first page of a part. Only what is kept of its objects stays in memory until it is their turn.
func (l *listing[T]) fill(ctx context.Context, p *part[T]) error {
	objects, more, err := l.list(ctx, l.prefix, p.Names)
	if err != nil {
		return err
	}
	p.more, p.found = more, make([]T, len(objects))
	for i, o := range objects {
		p.found[i] = l.of(o)
		if i%learnEach == 0 {
			p.names = append(p.names, o.Name)
		}
		p.last = o.Name
	}
	return nil
}

// vainSoFar reports whether the furthest part that was answered held nothing. The order of the names counts and not that of the
// answers, which chance decides.
func (l *listing[T]) vainSoFar() bool {
	for _, p := range slices.Backward(l.parts) {
		if p.done {
			return len(p.found) == 0
		}
	}
	return l.vain
}

// receive takes an answer. What is left of a range that held more than a page is a range of its own.
func (l *listing[T]) receive(p *part[T]) {
	p.done = true
	l.waiting--
	if p.err != nil {
		return
	}
	n := len(p.found)
	l.received, l.answered = l.received+n, l.answered+1
	p.span = span{from: p.From, to: p.Before, n: n}
	if n > 0 {
		if p.more || p.Before == "" {
			p.span.to = p.last
		}
		if p.From == "" {
			p.span.from = p.names[0]
		}
	}
	l.letters.learnAll(p.names, len(l.prefix))
	p.names = nil
	if p.more {
		rest := &part[T]{Names: p.Names}
		if n > 0 { // or the page held nothing but the name to leave out
			rest.From, rest.After = p.last, true
		}
		at := slices.Index(l.parts, p)
		l.parts = slices.Insert(l.parts, at+1, rest)
		p.Before = rest.From
	}
}

// guess returns where a range might end that begins with the i-th part: so far behind it as holds [rangeTarget] objects where
// names are as close together as in what is known before it. It returns "" if nothing can be said, or if guessing costs too much:
// where names cannot be guessed, no more than twice as many requests are made as page after page would take.
func (l *listing[T]) guess(i int) (end string) {
	if pages := l.received / pageSize; pages < guessAfter || l.answered > 2*pages+guessAfter {
		return ""
	}
	near := l.known(i)
	if near.from == "" || near.to == "" {
		return ""
	}
	end = l.letters.behind(l.parts[i].From[min(len(l.prefix), len(l.parts[i].From)):], near, len(l.prefix))
	if end == "" {
		return ""
	}
	return l.prefix + end
}

// Spans side by side that tell how close together names are: one alone holds too few for that, beyond many they may be of other
// names.
const (
	enoughSpans = 4
	mostSpans   = 8
)

// known returns the span nearest before the i-th part that has been looked through, if it is of enough pages, or else the
// largest.
func (l *listing[T]) known(i int) (best span) {
	run, parts := slices.Clone(l.before), 0
	consider := func() {
		if n := len(run); n > 0 && (n >= enoughSpans || n >= parts) {
			run = run[max(0, n-mostSpans):]
			best, parts = span{from: run[0].from, to: run[len(run)-1].to}, len(run)
			for _, s := range run {
				best.n += s.n
			}
		}
		run = nil
	}
	for _, p := range l.parts[:i] {
		if p.done && p.err == nil && p.span.from != "" && p.span.to != "" {
			run = append(run, p.span)
		} else {
			consider()
		}
	}
	consider()
	return best
}
