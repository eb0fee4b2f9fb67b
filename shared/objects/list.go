package objects

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"
)

// pageSize is how many objects a page of a listing holds: the most that one class A operation gives.
const pageSize = 1000

// A long listing is read as ranges of names side by side.
const (
	maxRanges   = 16 // under way, or read and waiting for those before them: twice that many pages are held at most
	maxAnswers  = 2*maxRanges + 1
	rangeTarget = 850 // objects a range is to hold: fewer than a page, for where a range ends is a guess
	guessAfter  = 2   // pages that are read one after the other first: most folders hold no more, and those cost no request in vain
)

// Names is a stretch of names, in their order. The zero value holds all.
type Names struct {
	From   string // the first, or where the first would be; empty: the beginning
	After  bool   // without From itself
	Before string // the first name behind it; empty: the end
}

// Pages lists the objects whose names begin with prefix and lie in a stretch, in the order of their names, and ends after the
// last page or the first error. While the caller is busy with a page, the next ones are read; when it stops, that ends before
// Pages does.
func (r Reader) Pages(ctx context.Context, prefix string, names Names) iter.Seq2[[]Object, error] {
	return func(yield func([]Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		l := listing{
			list: r.list, ctx: ctx, prefix: prefix, answers: make(chan *part, maxAnswers),
			parts: []*part{{from: names.From, behind: names.After, end: names.Before}},
		}
		defer l.underWay.Wait()
		defer cancel()
		goes := true
		page := make([]Object, 0, pageSize)
		give := func(objects []Object) bool {
			for len(objects) > 0 && goes {
				n := min(len(objects), pageSize-len(page))
				page, objects = append(page, objects[:n]...), objects[n:]
				if len(page) == pageSize {
					names.From, names.After = page[pageSize-1].Name, true
					goes = yield(page, nil)
					page = make([]Object, 0, pageSize)
				}
			}
			return goes
		}
		err := l.read(give)
		if errors.Is(err, ErrNoOffsets) {
			page = page[:0]
			err = r.oneByOne(ctx, prefix, names, give)
		}
		switch {
		case !goes:
		case err != nil:
			yield(nil, fmt.Errorf("list %s of bucket %s: %w", prefix, r.c.name, err))
		case len(page) > 0:
			yield(page, nil)
		}
	}
}

// First lists the first objects that [Reader.Pages] would, in one request, up to a thousand. more says that there are others. The
// error is an [ErrNoOffsets] where the stretch cannot be asked for.
func (r Reader) First(ctx context.Context, prefix string, names Names) (page []Object, more bool, err error) {
	page, more, err = r.list(ctx, prefix, &part{from: names.From, behind: names.After, end: names.Before})
	if err != nil {
		return nil, false, fmt.Errorf("list the first of %s of bucket %s: %w", prefix, r.c.name, err)
	}
	return page, more, nil
}

// ErrNoOffsets says that a bucket answers with objects of other names than it was asked for: the Firebase Emulator Suite
// knows no offsets.
var ErrNoOffsets = errors.New("the bucket does not support offsets")

func query(prefix string) *storage.Query {
	q := &storage.Query{Prefix: prefix, Projection: storage.ProjectionNoACL}
	_ = q.SetAttrSelection([]string{"Name", "Metadata", "Created", "Generation", "Metageneration"}) // fails for other names only
	return q
}

// list reads one page of the objects of a range.
func (r Reader) list(ctx context.Context, prefix string, p *part) (page []Object, more bool, err error) {
	// An offset is inclusive. The first name behind another cannot be sent: it would end in a zero byte, and the longest
	// names are as long as an offset can be.
	q := query(prefix)
	q.StartOffset, q.EndOffset = p.from, p.end
	var attrs []*storage.ObjectAttrs
	next, err := iterator.NewPager(r.c.bucket.Objects(ctx, q), pageSize, "").NextPage(&attrs)
	if err != nil {
		return nil, false, err
	}
	page = make([]Object, 0, len(attrs))
	for _, a := range attrs {
		if a.Name < p.from || p.end != "" && a.Name >= p.end {
			return nil, false, ErrNoOffsets
		}
		if !p.behind || a.Name != p.from {
			page = append(page, objectOf(a))
		}
	}
	return page, next != "", nil
}

// oneByOne reads page by page, each from where the one before it says.
func (r Reader) oneByOne(ctx context.Context, prefix string, names Names, give func([]Object) bool) error {
	pager := iterator.NewPager(r.c.bucket.Objects(ctx, query(prefix)), pageSize, "")
	for {
		var attrs []*storage.ObjectAttrs
		next, err := pager.NextPage(&attrs)
		if err != nil {
			return err
		}
		page := make([]Object, 0, len(attrs))
		for _, a := range attrs {
			if a.Name > names.From || a.Name == names.From && !names.After {
				page = append(page, objectOf(a))
			}
		}
		behind := func(o Object) bool { return names.Before != "" && o.Name >= names.Before }
		last := slices.ContainsFunc(page, behind)
		if !give(slices.DeleteFunc(page, behind)) || next == "" || last {
			return nil
		}
	}
}

// listing reads ranges of names side by side and gives their objects in order. Where a range ends is guessed from how close
// together the names before it are; a range that holds more than a page is divided again, one that holds nothing costs a
// request. So each object is listed once, whatever the names are, and where guessing fails it is as slow as page after page.
type listing struct {
	list     func(ctx context.Context, prefix string, p *part) ([]Object, bool, error)
	ctx      context.Context // of the one call of [Reader.Pages]
	prefix   string
	parts    []*part // what has not been given yet, in order and without gaps
	answers  chan *part
	underWay sync.WaitGroup
	received int // objects
	answered int // requests
	letters  letters
	before   *part // the last that was given
}

// part is a range of names, or the rest of one.
type part struct {
	from, end string // its names begin with the one and end before the other; "" is no bound
	behind    bool   // the name from is not one of them
	asked     bool
	done      bool
	objects   []Object
	more      bool // than these
	err       error
	span      span // of names that were looked through
}

// read gives all objects, some at a time, until give returns false.
func (l *listing) read(give func([]Object) bool) error {
	for len(l.parts) > 0 {
		l.ask()
		first := l.parts[0]
		for !first.done {
			l.receive(<-l.answers)
			l.ask()
		}
		if first.err != nil {
			return first.err
		}
		l.parts, l.before = l.parts[1:], first
		if len(first.objects) > 0 && !give(first.objects) {
			return nil
		}
		first.objects = nil
		for more := true; more; { // what came while the caller was busy
			select {
			case p := <-l.answers:
				l.receive(p)
			default:
				more = false
			}
		}
	}
	return nil
}

// ask sends requests for the first parts that were not asked for, as many as may be under way: no more than pages have been
// received, so that a short listing costs few in vain. Where a range turns out to be long, what lies behind it waits, and
// counts as well.
func (l *listing) ask() {
	most := min(maxRanges, 1+l.received/pageSize)
	held := 0
	for _, p := range l.parts {
		if p.asked {
			held++
		}
	}
	for i := 0; i < len(l.parts) && i < most; i++ {
		p := l.parts[i]
		if p.asked {
			continue
		}
		if i > 0 && held >= 2*maxRanges {
			return
		}
		if end := l.guess(i); end > p.from && (p.end == "" || end < p.end) {
			l.parts = slices.Insert(l.parts, i+1, &part{from: end, end: p.end})
			p.end = end
		}
		p.asked = true
		held++
		l.underWay.Go(func() {
			p.objects, p.more, p.err = l.list(l.ctx, l.prefix, p)
			select {
			case l.answers <- p:
			case <-l.ctx.Done(): // nobody waits for it any more
			}
		})
	}
}

// receive takes an answer. What is left of a range that held more than a page is a range of its own.
func (l *listing) receive(p *part) {
	p.done = true
	if p.err != nil {
		return
	}
	l.received, l.answered = l.received+len(p.objects), l.answered+1
	p.span = span{from: p.from, to: p.end, n: len(p.objects)}
	if n := len(p.objects); n > 0 {
		if p.more || p.end == "" {
			p.span.to = p.objects[n-1].Name
		}
		if p.from == "" {
			p.span.from = p.objects[0].Name
		}
	}
	for i := 0; i < len(p.objects); i += learnEach {
		l.letters.learn(p.objects[i].Name[len(l.prefix):])
	}
	if p.more {
		rest := &part{from: p.from, behind: p.behind, end: p.end}
		if n := len(p.objects); n > 0 { // or the page held nothing but the name to leave out
			rest.from, rest.behind = p.objects[n-1].Name, true
		}
		at := slices.Index(l.parts, p)
		l.parts = slices.Insert(l.parts, at+1, rest)
		p.end = rest.from
	}
}

// guess returns where a range might end that begins with the i-th part: so far behind it as holds [rangeTarget] objects where
// names are as close together as in the nearest part before it that is known. It returns "" if nothing can be said, or if guessing costs
// too much: where names cannot be guessed, no more than twice as many requests are made as page after page would take.
func (l *listing) guess(i int) string {
	if pages := l.received / pageSize; pages < guessAfter || l.answered > 2*pages+guessAfter {
		return ""
	}
	known := l.before
	for _, p := range l.parts[:i] {
		if p.done && p.err == nil {
			known = p
		}
	}
	if known == nil || known.span.from == "" || known.span.to == "" {
		return ""
	}
	end := l.letters.behind(l.parts[i].from[min(len(l.prefix), len(l.parts[i].from)):], known.span, len(l.prefix))
	if end == "" {
		return ""
	}
	return l.prefix + end
}
