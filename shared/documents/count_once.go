package documents

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
)

// CountOnce is [Reader.Count] with a single attempt, for a figure that nothing depends on: a count that Firestore gives up
// after a minute takes that minute again.
func (r Reader) CountOnce(ctx context.Context, q Query) (int, error) {
	fq, err := q.unordered(r.c.firestore)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", q.Collection, err)
	}
	for _, field := range q.OrderBy {
		fq = fq.OrderBy(field, firestore.Asc)
	}
	n, err := count(ctx, fq)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", q.Collection, err)
	}
	return n, nil
}
