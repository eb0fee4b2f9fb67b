package objects

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/guard"
)

// A long listing is read as ranges of names side by side.
const (
	maxRanges = 40  // requests under way
	maxHeld   = 208 // pages that were asked for and not given yet
	atFirst   = 16  // both, before it is known that the listing is long, and wanted
	wanted    = 4   // pages that were given tell that: what has only been begun takes three
	inTime    = 28  // pages that may be taken while one is answered
	full      = 0.95
	patience  = 3 * time.Second // for an answer about folders: without it, the listing goes on
)

// Bounds of the requests that cuts may cost.
const (
	mayWaste  = 0.05 // to each page
	wasteMore = 14   // and so many
	starving  = 0.25 // to each besides, while few requests are under way
	few       = 16
	unlikely  = 3 // how much farther a cut is from the last known name than the one before it, where no cut was right so far
)

// listing reads ranges of names side by side and gives their objects in order. Each range is read page after page, so it is cut to
// the pages that can be read before those ahead of it are given. It is cut where a known folder begins ([tree]), or else by a guess
// ([spread]): a range may hold more, and what is left of it is cut again, or nothing. As each cut costs half a request on average,
// there are fewer as more was in vain. So each object is listed once, whatever the names are.
type listing[T any] struct {
	list     func(ctx context.Context, prefix string, names Names) ([]Object, bool, error)
	folders  func(ctx context.Context, parent, from string) ([]string, bool, error)
	of       func(Object) T // what is kept of an object
	prefix   string
	parts    []*part[T]  // what has not been given yet, in order and without gaps
	answers  chan func() // each takes an answer
	underWay sync.WaitGroup
	waiting  int     // requests that were not answered yet
	cuts     int     // of these, behind a cut
	held     int     // parts that were asked for
	given    int     // objects
	last     string  // the last name that was given
	received int     // objects
	answered int     // requests
	waste    float64 // of a range's last page, on average
	unsure   float64 // part of the cuts behind which there was less than half of what was expected
	tree     tree
}

// part is a range of names, or the rest of one.
type part[T any] struct {
	Names
	cut    bool    // it begins with a cut
	near   *run    // of names before it; nil: nothing is known
	behind float64 // objects between these and the part, a guess
	size   float64 // pages, a guess until it is done
	asked  bool
	done   bool
	found  []T
	names  []string
	first  string // name
	last   string // name
	more   bool   // than these
	err    error
}

// newListing returns the listing of a range of names.
func newListing[T any](
	list func(ctx context.Context, prefix string, names Names) ([]Object, bool, error),
	folders func(ctx context.Context, parent, from string) ([]string, bool, error), prefix string, names Names, of func(Object) T,
) *listing[T] {
	return &listing[T]{list: list, folders: folders, of: of, prefix: prefix, parts: []*part[T]{{Names: names, cut: !names.After, size: 1}},
		answers: make(chan func()), waste: 0.5, unsure: 0.4, tree: newTree(prefix)}
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
		if first.err != nil {
			return first.err
		}
		var to chan<- []T
		var objects []T
		if first.done { // until then, the request writes them
			to, objects = found, first.found
		}
		select {
		case to <- objects:
			l.parts = slices.Delete(l.parts, 0, 1)
			l.held--
			l.given += len(first.found)
			l.last = max(l.last, first.last)
		case receive := <-l.answers:
			receive()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// ask sends requests for the first parts that were not asked for, as many as may be under way, and cuts them before. A quarter of
// what may be held is left to what is given soon.
func (l *listing[T]) ask(ctx context.Context) {
	requests, pages := maxRanges, maxHeld
	if l.given < wanted*pageSize {
		requests, pages = atFirst, atFirst
	}
	ahead := 0.0
	for i := 0; i < len(l.parts) && l.waiting < requests; i++ {
		p := l.parts[i]
		if !p.asked {
			if i > 0 && (l.held >= pages || ahead > float64(pages)/4 && l.held >= pages*3/4) {
				return
			}
			if rest := l.split(p, ahead); rest != nil {
				l.parts = slices.Insert(l.parts, i+1, rest)
			}
			l.request(ctx, p)
		}
		ahead += p.size
	}
}

// split takes away and returns what of a part cannot be read while the pages ahead of it are given; nil if that is too little, or
// cannot be told. Far from known names, and if much was in vain, it leaves more.
func (l *listing[T]) split(p *part[T], ahead float64) (rest *part[T]) {
	if ahead > maxHeld {
		return nil
	}
	read := float64(l.received) / pageSize
	may := wasteMore + (mayWaste+starving*max(0, 1-float64(l.waiting)/few))*read
	spent := (float64(l.answered) - read + l.waste*float64(l.cuts)) / may
	if spent >= 1 {
		return nil
	}
	pages := math.Round(max(1, ahead/inTime, unlikely*l.unsure*p.behind/pageSize) / (1 - spent))
	if p.size < 1.5*pages {
		return nil
	}
	at, n := l.tree.behind(p.near, p.Before, p.behind+pages*full*pageSize)
	if at <= p.From || p.Before != "" && at >= p.Before {
		return nil
	}
	rest = &part[T]{
		Names: Names{From: at, Before: p.Before}, cut: true, near: p.near, behind: n, size: max(1, p.size*pageSize-n+p.behind) / pageSize,
	}
	p.Before, p.size = at, pages
	return rest
}

// begin sends a request, whose answer receive takes.
func (l *listing[T]) begin(ctx context.Context, request func() error, receive func(error)) {
	l.waiting++
	l.underWay.Go(func() {
		err := guard.Call(request)
		select {
		case l.answers <- func() { l.waiting--; l.answered++; receive(err) }:
		case <-ctx.Done(): // nobody waits for it any more
		}
	})
}

// request asks for the first page of a part. Only what is kept of its objects stays in memory until it is their turn.
func (l *listing[T]) request(ctx context.Context, p *part[T]) {
	p.asked = true
	l.held++
	if p.cut {
		l.cuts++
	}
	l.begin(ctx, func() error {
		objects, more, err := l.list(ctx, l.prefix, p.Names)
		p.more, p.found = more, make([]T, len(objects))
		for i, o := range objects {
			p.found[i] = l.of(o)
			p.names = append(p.names, o.Name)
		}
		return err
	}, func(err error) {
		if p.done, p.err = true, err; err == nil {
			l.receive(p)
			l.askFolders(ctx, p)
		}
	})
}

// receive takes a page. What is left of a range that held more is a range of its own.
func (l *listing[T]) receive(p *part[T]) {
	n := len(p.found)
	l.received += n
	if p.cut {
		l.cuts--
		little := 0.0
		if !p.more && float64(n) < p.size*pageSize/2 {
			little = 1
		}
		l.unsure += (little - l.unsure) / 8
	}
	if !p.more {
		l.waste += (1 - float64(n)/pageSize - l.waste) / 16
	}
	p.size = float64(n) / pageSize
	at := slices.Index(l.parts, p)
	if n == 0 && !p.more {
		l.parts = slices.Delete(l.parts, at, at+1)
		l.held--
		return
	}
	near := l.learn(p, at)
	if p.more {
		rest := &part[T]{Names: p.Names, near: near, size: 1}
		if n > 0 { // or the page held nothing but the name to leave out
			rest.From, rest.After = p.last, true
			_, objects := l.tree.behind(near, rest.Before, math.Inf(1))
			rest.size = max(1, objects) / pageSize
		}
		l.parts = slices.Insert(l.parts, at+1, rest)
		p.Before = rest.From
	}
}

// askFolders asks for folders behind what was just read, if there is more.
func (l *listing[T]) askFolders(ctx context.Context, p *part[T]) {
	if !p.more || p.last == "" {
		return
	}
	rest := l.parts[slices.Index(l.parts, p)+1]
	parent, from := l.tree.ask(p.last, rest.Before, float64(l.received)/pageSize)
	if from == "" {
		return
	}
	var names []string
	var more bool
	l.begin(ctx, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		names, more, err = l.folders(ctx, parent, from)
		return err
	}, func(err error) {
		if err != nil { // the listing itself fails too, or goes on without
			names, more = nil, true
		}
		l.tree.receive(parent, from, names, more, l.last)
	})
}

// learn learns from the names of a part, and from those beside them that are known. It returns the run that ends with them.
func (l *listing[T]) learn(p *part[T], at int) *run {
	near, before := p.near, p.From
	if p.cut {
		near, before = nil, l.last
		if at > 0 {
			before = l.parts[at-1].last
		}
	}
	if len(p.names) > 0 {
		p.first, p.last = p.names[0], p.names[len(p.names)-1]
		l.tree.count(before, p.From, p.names)
		near = l.tree.learn(near, before, p.names)
	}
	if next := at + 1; !p.more && next < len(l.parts) && l.parts[next].first != "" {
		l.tree.learn(near, p.last, []string{l.parts[next].first})
	}
	p.near, p.names = nil, nil
	return near
}
