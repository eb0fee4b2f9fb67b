package objects

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"
)

// pageSize is how many objects a page of a listing has: the most that one class A operation returns.
const pageSize = 1000

// Names is a range of names. The zero value is all names.
type Names struct {
	From   string // where the range begins, whether an object has this name or not; empty: at the first name
	After  bool   // the range begins behind From
	Before string // the range ends before this name; empty: after the last name
}

// Pages lists the objects whose names begin with prefix and lie in a range, in the order of their names. It ends after the
// last page or the first error. While the caller is busy with a page, the next ones are read; reading has ended when Pages
// returns.
func (r Reader) Pages(ctx context.Context, prefix string, names Names) iter.Seq2[[]Object, error] {
	return func(yield func([]Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		l := listing{
			list: r.list, prefix: prefix, answers: make(chan *part),
			parts: []*part{{from: names.From, behind: names.After, end: names.Before}},
		}
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
		err := l.read(ctx, give)
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

// First returns the first objects that [Reader.Pages] would list, up to a thousand, with one request. more says that there
// are others. The error is [ErrNoOffsets] if the bucket cannot list a range.
func (r Reader) First(ctx context.Context, prefix string, names Names) (page []Object, more bool, err error) {
	page, more, err = r.list(ctx, prefix, &part{from: names.From, behind: names.After, end: names.Before})
	if err != nil {
		return nil, false, fmt.Errorf("list the first of %s of bucket %s: %w", prefix, r.c.name, err)
	}
	return page, more, nil
}

// ErrNoOffsets says that a bucket returned objects outside of the range that it was asked for: the Firebase Emulator Suite
// does not support offsets.
var ErrNoOffsets = errors.New("the bucket does not support offsets")

func query(prefix string) *storage.Query {
	q := &storage.Query{Prefix: prefix, Projection: storage.ProjectionNoACL}
	_ = q.SetAttrSelection([]string{"Name", "Metadata", "Created", "Generation", "Metageneration"}) // it fails only for attributes that do not exist
	return q
}

// list reads the first page of the objects of a part.
func (r Reader) list(ctx context.Context, prefix string, p *part) (page []Object, more bool, err error) {
	// An offset is inclusive. The first name behind another cannot be sent as an offset: it would end in a zero byte, and be
	// too long behind one of the longest names.
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

// oneByOne reads one page after the other, each with the token of the page before.
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
