package documents

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
)

// FirstPage returns the first page of a query from a cursor on.
func (r Reader) FirstPage(ctx context.Context, q Query, from Cursor) (Page, error) {
	size := q.PageSize
	if size == 0 {
		size = DefaultPageSize
	}
	page, err := r.page(ctx, q, from, size)
	if err != nil {
		return Page{}, fmt.Errorf("query %s: %w", q.Collection, err)
	}
	return page, nil
}

// Empty reports whether a collection holds no document at all, for one read.
func (r Reader) Empty(ctx context.Context, collection string) (bool, error) {
	c := r.c.firestore.Collection(collection)
	if c == nil {
		return false, fmt.Errorf("query %q: not a collection's path", collection)
	}
	var found int
	err := retry(ctx, func(ctx context.Context) error {
		snapshots, err := c.Select(firestore.DocumentID).Limit(1).Documents(ctx).GetAll()
		found = len(snapshots)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("query %s: %w", collection, err)
	}
	return found == 0, nil
}
