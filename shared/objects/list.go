package objects

import (
	"context"
	"fmt"
	"iter"

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

// hold reports whether a name lies in the range.
func (n Names) hold(name string) bool {
	return name >= n.From && (!n.After || name != n.From) && (n.Before == "" || name < n.Before)
}

// Pages lists the objects whose names begin with prefix and lie in a range, in the order of their names, page after page; none is
// empty. It ends after the last page or the first error. While the caller is busy with a page, the next ones are read; reading
// has ended when Pages returns.
func (r Reader) Pages(ctx context.Context, prefix string, names Names) iter.Seq2[[]Object, error] {
	return PagesOf(ctx, r, prefix, names, nil, func(o Object) Object { return o })
}

// PagesOf is [Reader.Pages] for a caller that needs only part of an object, or what follows from it. It calls of in other
// goroutines and in any order, and keeps nothing else while objects wait for their turn. It reads what lies between cuts side by
// side; see [Cutter].
func PagesOf[T any](
	ctx context.Context, r Reader, prefix string, names Names, cuts []string, of func(Object) T,
) iter.Seq2[[]T, error] {
	l := listing[T]{of: of, open: func(ctx context.Context, names Names) pager { return r.pager(ctx, prefix, names) }}
	return func(yield func([]T, error) bool) {
		goes := true
		err := l.read(ctx, divide(prefix, names, cuts), func(page []T) bool {
			goes = len(page) == 0 || yield(page, nil)
			return goes
		})
		if err != nil && goes {
			yield(nil, fmt.Errorf("list %s of bucket %s: %w", prefix, r.c.name, err))
		}
	}
}

// First returns the first objects whose names begin with prefix, at most n, with their names and when they were created alone;
// with folders, those at the top, and the folders there, whose names end with a slash. It costs one class A operation.
func (r Reader) First(ctx context.Context, prefix string, folders bool, n int) (first []Object, err error) {
	q := &storage.Query{Prefix: prefix}
	if folders {
		q.Delimiter = "/"
	}
	_ = q.SetAttrSelection([]string{"Name", "Created"}) // it fails for those that do not exist
	var page []*storage.ObjectAttrs
	if _, err := iterator.NewPager(r.c.bucket.Objects(ctx, q), n, "").NextPage(&page); err != nil {
		return nil, fmt.Errorf("list %s of bucket %s: %w", prefix, r.c.name, err)
	}
	for _, a := range page {
		first = append(first, Object{Name: a.Name + a.Prefix, Created: a.Created})
	}
	return first, nil
}

// fewNames is how many names [Reader.Names] returns at most.
const fewNames = 100

// Names returns the first names that begin with prefix; with "", those at the top of the bucket, and the folders there.
func (r Reader) Names(ctx context.Context, prefix string) (names []string, err error) {
	first, err := r.First(ctx, prefix, prefix == "", fewNames)
	for _, o := range first {
		names = append(names, o.Name)
	}
	return names, err
}

// pager reads the next page of a range.
type pager func() (page []Object, more bool, err error)

// pager returns what reads a range page after page. The Firebase Emulator Suite heeds no offsets, so the names are looked at,
// too.
func (r Reader) pager(ctx context.Context, prefix string, names Names) pager {
	// An offset is inclusive. The first name behind another cannot be sent as an offset: it would end in a zero byte, and be
	// too long behind one of the longest names.
	q := &storage.Query{Prefix: prefix, Projection: storage.ProjectionNoACL, StartOffset: names.From, EndOffset: names.Before}
	// it fails for those that do not exist
	_ = q.SetAttrSelection([]string{"Name", "Metadata", "Created", "Generation", "Metageneration"})
	pages := iterator.NewPager(r.c.bucket.Objects(ctx, q), pageSize, "")
	return func() (page []Object, more bool, err error) {
		var attrs []*storage.ObjectAttrs
		next, err := pages.NextPage(&attrs)
		page = make([]Object, 0, len(attrs))
		for _, a := range attrs {
			if names.hold(a.Name) {
				page = append(page, objectOf(a))
			}
		}
		behind := names.Before != "" && len(attrs) > 0 && attrs[len(attrs)-1].Name >= names.Before
		return page, next != "" && !behind, err
	}
}
