package documents

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// mostNames is how many ids one condition may list: Firestore's limit.
const mostNames = 30

// Missing returns the ids that name no document of the collection, in order. The ids must be valid (see [ValidName]) and
// distinct. Of each 30 it counts those that exist, which costs a read. If that is all or none, nothing more is asked; else it
// reads their names, a read each. So an id is reported as missing only if an answer says so. It is never inferred from two
// counts, because somebody may write between them.
func (r Reader) Missing(ctx context.Context, collection string, ids []string) ([]string, error) {
	chunks := slices.Collect(slices.Chunk(ids, mostNames))
	none := make([][]string, len(chunks))
	all := r.c.firestore.Collection(collection)
	if all == nil {
		return nil, fmt.Errorf("look up %d ids in %s: not a collection's path", len(ids), Shown(collection))
	}
	lookups, ctx := errgroup.WithContext(ctx)
	for i, chunk := range chunks {
		lookups.Go(func() (err error) {
			if at := slices.IndexFunc(chunk, func(id string) bool { return !ValidName(id) }); at >= 0 {
				return fmt.Errorf("%s is not a valid id", shownID(chunk[at]))
			}
			if err := r.c.lookups.Acquire(ctx, 1); err != nil {
				return err
			}
			defer r.c.lookups.Release(1)
			switch n, err := r.countNames(ctx, all, chunk); {
			case err != nil:
				return err
			case n == 0:
				none[i] = chunk
			case n < len(chunk):
				none[i], err = r.missingNames(ctx, all, chunk)
				return err
			}
			return nil
		})
	}
	if err := lookups.Wait(); err != nil {
		return nil, fmt.Errorf("look up %d ids in %s: %w", len(ids), Shown(collection), err)
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
		q := named(in, ids)
		n, err = count(ctx, q.NewAggregationQuery())
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
