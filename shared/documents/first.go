package documents

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
)

// First returns the first documents that a query matches from a cursor on, at most n. It makes no cursor for the next page,
// so OrderBy may name fields of any type.
func (r Reader) First(ctx context.Context, q Query, from Cursor, n int) ([]Document, error) {
	fq, err := q.firestore(r.c.firestore, from)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", q.Collection, err)
	}
	var snapshots []*firestore.DocumentSnapshot
	err = retry(ctx, func(ctx context.Context) (err error) {
		snapshots, err = fq.Limit(n).Documents(ctx).GetAll()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", q.Collection, err)
	}
	found := make([]Document, len(snapshots))
	for i, s := range snapshots {
		found[i] = documentOf(s)
	}
	return found, nil
}

// Empty reports whether a collection has no document at all. It costs one read.
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
