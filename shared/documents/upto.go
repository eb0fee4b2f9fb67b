package documents

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// CountUpTo is [Reader.Count] for a caller who wants to know no more than that there are so many documents: Firestore stops
// reading there. OrderBy is ignored, so its fields must have a condition.
func (r Reader) CountUpTo(ctx context.Context, q Query, most int) (n int, err error) {
	fq, err := q.unordered(r.c.firestore)
	if err == nil {
		err = retry.Do(ctx, func(ctx context.Context) error {
			n, err = count(ctx, fq.Limit(most))
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", q.Collection, err)
	}
	return n, nil
}
