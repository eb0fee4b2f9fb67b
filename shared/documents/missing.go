package documents

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
)

// maxDisjunctions is how many ids one condition may list.
const maxDisjunctions = 30

// maxLookups is how many lookups are under way at once.
const maxLookups = 8

// maxBisected bounds how many missing ids are looked for by halving, which costs some ten reads each at most; for more it
// is cheaper to read the names of those that exist.
const maxBisected = 3

// Missing returns those of the ids that name no document of the collection, in order. The ids must be valid (see
// [ValidID]) and distinct. While all exist, or none does, it costs one read per 30 ids.
func (r Reader) Missing(ctx context.Context, collection string, ids []string) ([]string, error) {
	chunks := slices.Collect(slices.Chunk(ids, maxDisjunctions))
	missing := make([][]string, len(chunks))
	lookups, ctx := errgroup.WithContext(ctx)
	lookups.SetLimit(maxLookups)
	for i, chunk := range chunks {
		lookups.Go(func() (err error) {
			missing[i], err = r.missingOf(ctx, collection, chunk)
			return err
		})
	}
	if err := lookups.Wait(); err != nil {
		return nil, fmt.Errorf("look up %d ids in %s: %w", len(ids), collection, err)
	}
	return slices.Concat(missing...), nil
}

// missingOf looks up at most [maxDisjunctions] ids.
func (r Reader) missingOf(ctx context.Context, collection string, ids []string) ([]string, error) {
	refs, err := r.refs(collection, ids)
	if err != nil {
		return nil, err
	}
	found, err := r.countRefs(ctx, collection, refs)
	switch {
	case err != nil:
		return nil, err
	case found == len(ids):
		return nil, nil
	case found == 0:
		return ids, nil
	case len(ids)-found <= maxBisected && len(ids) > 2*maxBisected:
		half := len(ids) / 2
		first, err := r.missingOf(ctx, collection, ids[:half])
		if err != nil {
			return nil, err
		}
		second, err := r.missingOf(ctx, collection, ids[half:])
		return slices.Concat(first, second), err
	default:
		return r.missingByName(ctx, collection, refs)
	}
}

func (r Reader) refs(collection string, ids []string) ([]*firestore.DocumentRef, error) {
	c := r.c.firestore.Collection(collection)
	if c == nil {
		return nil, fmt.Errorf("%q is not a collection's path", collection)
	}
	refs := make([]*firestore.DocumentRef, len(ids))
	for i, id := range ids {
		if !ValidID(id) {
			return nil, fmt.Errorf("%q is not a valid id", id)
		}
		refs[i] = c.Doc(id)
	}
	return refs, nil
}

func (r Reader) countRefs(ctx context.Context, collection string, refs []*firestore.DocumentRef) (n int, err error) {
	q := r.c.firestore.Collection(collection).Where(firestore.DocumentID, "in", refs)
	err = retry(ctx, func(ctx context.Context) (err error) {
		n, err = count(ctx, q)
		return err
	})
	return n, err
}

// missingByName reads the names of those that exist, at one read each.
func (r Reader) missingByName(ctx context.Context, collection string, refs []*firestore.DocumentRef) (missing []string, err error) {
	q := r.c.firestore.Collection(collection).Where(firestore.DocumentID, "in", refs).Select()
	var snapshots []*firestore.DocumentSnapshot
	err = retry(ctx, func(ctx context.Context) (err error) {
		snapshots, err = q.Documents(ctx).GetAll()
		return err
	})
	if err != nil {
		return nil, err
	}
	exist := map[string]bool{}
	for _, s := range snapshots {
		exist[s.Ref.ID] = true
	}
	for _, ref := range refs {
		if !exist[ref.ID] {
			missing = append(missing, ref.ID)
		}
	}
	return missing, nil
}

func count(ctx context.Context, q firestore.Query) (int, error) {
	result, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
	if err != nil {
		return 0, err
	}
	v, ok := result["n"].(*firestorepb.Value)
	if !ok {
		return 0, fmt.Errorf("the answer holds no count: %v", result)
	}
	return int(v.GetIntegerValue()), nil
}
