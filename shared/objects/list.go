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
	return PagesOf(ctx, r, prefix, names, whole)
}

func whole(o Object) Object { return o }

// PagesOf is [Reader.Pages] for a caller that needs only part of an object, or what follows from it. It calls of in other
// goroutines and in any order, and keeps nothing else while objects wait for their turn.
func PagesOf[T any](ctx context.Context, r Reader, prefix string, names Names, of func(Object) T) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		goes := true
		page := make([]T, 0, pageSize)
		give := func(found []T) bool {
			for len(found) > 0 && goes {
				n := min(len(found), pageSize-len(page))
				page, found = append(page, found[:n]...), found[n:]
				if len(page) == pageSize {
					goes = yield(page, nil)
					page = make([]T, 0, pageSize)
				}
			}
			return goes
		}
		l := newListing(r.list, r.folders, prefix, names, of)
		err := l.read(ctx, give)
		if errors.Is(err, errNoOffsets) {
			if l.last != "" {
				names.From, names.After = l.last, true
			}
			err = r.oneByOne(ctx, prefix, names, func(objects []Object) bool {
				found := make([]T, len(objects))
				for i, o := range objects {
					found[i] = of(o)
				}
				return give(found)
			})
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

// PagesOfNames is [Reader.Pages] for a caller that needs nothing but names. It costs as many requests, with smaller answers.
func (r Reader) PagesOfNames(ctx context.Context, prefix string, names Names) iter.Seq2[[]string, error] {
	r.namesOnly = true
	return PagesOf(ctx, r, prefix, names, func(o Object) string { return o.Name })
}

// errNoOffsets says that a bucket returned objects outside of the range that it was asked for: the Firebase Emulator Suite
// does not support offsets.
var errNoOffsets = errors.New("the bucket does not support offsets")

func (r Reader) query(prefix string) *storage.Query {
	q := &storage.Query{Prefix: prefix, Projection: storage.ProjectionNoACL}
	attributes := []string{"Name", "Metadata", "Created", "Generation", "Metageneration"}
	if r.namesOnly {
		attributes = attributes[:1]
	}
	_ = q.SetAttrSelection(attributes) // it fails only for attributes that do not exist
	return q
}

// list reads the first page of the objects of a range.
func (r Reader) list(ctx context.Context, prefix string, names Names) (page []Object, more bool, err error) {
	// An offset is inclusive. The first name behind another cannot be sent as an offset: it would end in a zero byte, and be
	// too long behind one of the longest names.
	q := r.query(prefix)
	q.StartOffset, q.EndOffset = names.From, names.Before
	var attrs []*storage.ObjectAttrs
	next, err := iterator.NewPager(r.c.bucket.Objects(ctx, q), pageSize, "").NextPage(&attrs)
	if err != nil {
		return nil, false, err
	}
	page = make([]Object, 0, len(attrs))
	for _, a := range attrs {
		if a.Name < names.From || names.Before != "" && a.Name >= names.Before {
			return nil, false, errNoOffsets
		}
		if !names.After || a.Name != names.From {
			page = append(page, objectOf(a))
		}
	}
	return page, next != "", nil
}

// folders reads the first page of the names directly in a folder, those of folders too, from one name on.
func (r Reader) folders(ctx context.Context, parent, from string) (names []string, more bool, err error) {
	r.namesOnly = true
	q := r.query(parent)
	q.StartOffset, q.Delimiter = from, "/"
	var attrs []*storage.ObjectAttrs
	next, err := iterator.NewPager(r.c.bucket.Objects(ctx, q), pageSize, "").NextPage(&attrs)
	for _, a := range attrs {
		names = append(names, a.Prefix+a.Name) // a folder has no name, an object no prefix
	}
	return names, next != "", err
}

// oneByOne reads one page after the other, each with the token of the page before.
func (r Reader) oneByOne(ctx context.Context, prefix string, names Names, give func([]Object) bool) error {
	pager := iterator.NewPager(r.c.bucket.Objects(ctx, r.query(prefix)), pageSize, "")
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
