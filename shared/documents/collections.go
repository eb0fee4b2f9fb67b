package documents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Collections returns the names of the collections below a document, sorted, be there such a document or not. It costs one read
// for each, at least one.
func (r Reader) Collections(ctx context.Context, document Ref) (names []string, err error) {
	ref, err := r.c.doc(document.Path())
	if err == nil {
		err = retry.Do(ctx, func(ctx context.Context) error {
			names, err = collectionsOf(ref.Collections(ctx))
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list the collections below %s: %w", document.Path(), err)
	}
	slices.Sort(names)
	return names, nil
}

func collectionsOf(all *firestore.CollectionIterator) (names []string, err error) {
	for {
		c, err := all.Next()
		if errors.Is(err, iterator.Done) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, c.ID)
	}
}
