package documents

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/documents/missing"
	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Missing returns the ids that name no document of the collection, in order. The ids must be valid (see [ValidName]) and
// distinct. [missing.Lookup.Of] says what that costs for each 30 of them, which are looked up at once.
func (r Reader) Missing(ctx context.Context, collection string, ids []string) ([]string, error) {
	chunks := slices.Collect(slices.Chunk(ids, missing.Most))
	none := make([][]string, len(chunks))
	all := r.c.firestore.Collection(collection)
	if all == nil {
		return nil, fmt.Errorf("look up %d ids in %q: not a collection's path", len(ids), collection)
	}
	lookup := missing.Lookup{
		Count: func(ctx context.Context, ids []string) (int, error) { return r.countNames(ctx, all, ids) },
		Find:  func(ctx context.Context, ids []string) ([]string, error) { return r.missingNames(ctx, all, ids) },
	}
	lookups, ctx := errgroup.WithContext(ctx)
	for i, chunk := range chunks {
		lookups.Go(func() (err error) {
			if at := slices.IndexFunc(chunk, func(id string) bool { return !ValidName(id) }); at >= 0 {
				return fmt.Errorf("%q is not a valid id", chunk[at])
			}
			if err := r.c.lookups.Acquire(ctx, 1); err != nil {
				return err
			}
			defer r.c.lookups.Release(1)
			none[i], err = lookup.Of(ctx, chunk)
			return err
		})
	}
	if err := lookups.Wait(); err != nil {
		return nil, fmt.Errorf("look up %d ids in %s: %w", len(ids), collection, err)
	}
	return slices.Concat(none...), nil
}

// named returns the query for the documents of some ids.
func named(in *firestore.CollectionRef, ids []string) firestore.Query {
	refs := make([]*firestore.DocumentRef, len(ids))
	for i, id := range ids {
		refs[i] = in.Doc(id)
	}
	return in.Where(firestore.DocumentID, "in", refs)
}

func (r Reader) countNames(ctx context.Context, in *firestore.CollectionRef, ids []string) (n int, err error) {
	err = retry.Do(ctx, func(ctx context.Context) (err error) {
		n, err = count(ctx, named(in, ids))
		return err
	})
	return n, err
}

// missingNames reads the names of the documents that exist, and returns the other ids.
func (r Reader) missingNames(ctx context.Context, in *firestore.CollectionRef, ids []string) ([]string, error) {
	found, err := r.all(ctx, named(in, ids).Select())
	exist := map[string]bool{}
	for _, d := range found {
		exist[d.ID()] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return exist[id] }), err
}
