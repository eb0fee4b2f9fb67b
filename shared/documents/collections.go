package documents

import (
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Collections returns the names of the collections below a document, sorted, be there such a document or not, or with no document
// of those at the top of the database. It costs one read for each, at least one.
func (r Reader) Collections(ctx context.Context, document Ref) (names []string, err error) {
	list, below := r.c.firestore.Collections, ""
	if path := document.Path(); path != "" {
		ref, err := r.c.doc(path)
		if err != nil {
			return nil, fmt.Errorf("list the collections below %s: %w", path, err)
		}
		list, below = ref.Collections, " below "+path
	}
	err = retry.Do(ctx, func(ctx context.Context) error {
		all, err := list(ctx).GetAll()
		names = nil
		for _, c := range all {
			names = append(names, c.ID)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the collections%s: %w", below, err)
	}
	slices.Sort(names)
	return names, nil
}
