package documents

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
)

// First returns the first documents that a query matches, at most n. It needs no cursor, so the order may be by values of
// any type.
func (r Reader) First(ctx context.Context, q Query, n int) ([]Document, error) {
	fq, err := q.firestore(r.c.firestore, "")
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
