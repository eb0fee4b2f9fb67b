package documents

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
)

// maxDisjunctions is how many ids one condition may list: Firestore's limit.
const maxDisjunctions = 30

// groupSize is how many ids are counted together, to find out in which groups ids are missing.
const groupSize = 5

// Missing returns the ids that name no document of the collection, in order. The ids must be valid (see [ValidName]) and
// distinct. If all exist, or none does, it costs one read per 30 ids, and one round trip. If only some exist, it takes at
// most two more round trips.
//
// An id is reported as missing only if an answer of Firestore says so: it was counted among ids none of which exists, or it
// was asked for and not found. It is never inferred from two counts, because somebody may write between them.
//
// For 30 ids, the reads are at most
//
//	missing      1   2   3   4   5   6 … 29       none or all
//	reads        7  14  18  22  26  31 - missing  1
func (r Reader) Missing(ctx context.Context, collection string, ids []string) ([]string, error) {
	chunks := slices.Collect(slices.Chunk(ids, maxDisjunctions))
	missing := make([][]string, len(chunks))
	lookups, ctx := errgroup.WithContext(ctx)
	for i, chunk := range chunks {
		lookups.Go(func() (err error) {
			if err := r.c.lookups.begin(ctx); err != nil {
				return err
			}
			defer r.c.lookups.end()
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
	if err != nil {
		return nil, err
	}
	n, missing := len(ids), len(ids)-found
	groups := (n + groupSize - 1) / groupSize
	switch {
	case missing <= 0:
		return nil, nil
	case found == 0:
		return ids, nil
	case missing == 1 && halves(n)+1 < found: // the counts and the last lookup are cheaper than reading all that exist
		return r.missingOne(ctx, collection, refs)
	case groups > 1 && groups-1+missing*groupSize <= n: // a count for each group, and a lookup of each group with a missing id
		return r.missingByGroup(ctx, collection, refs, missing)
	default:
		return r.missingByName(ctx, collection, refs)
	}
}

// halves returns how many binary digits the indexes of n ids have, and so how many halves identify each id.
func halves(n int) int { return bits.Len(uint(n - 1)) }

// missingOne finds the only missing id. Each half holds the ids that have a 1 at one binary digit of their index. All halves
// are counted at once. A half with one document too few holds the missing id, so together they give its index. That is an
// inference, so the id is then looked up by itself.
func (r Reader) missingOne(ctx context.Context, collection string, refs []*firestore.DocumentRef) ([]string, error) {
	asked := make([][]*firestore.DocumentRef, halves(len(refs)))
	for i, ref := range refs {
		for digit := range asked {
			if i>>digit&1 != 0 {
				asked[digit] = append(asked[digit], ref)
			}
		}
	}
	found, err := r.countEach(ctx, collection, asked)
	if err != nil {
		return nil, err
	}
	at := 0
	for digit, n := range found {
		at |= (len(asked[digit]) - n) << digit
	}
	if at >= 0 && at < len(refs) {
		n, err := r.countRefs(ctx, collection, refs[at:at+1])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return []string{refs[at].ID}, nil
		}
	}
	return r.missingByName(ctx, collection, refs) // somebody wrote between the counts
}

// missingByGroup finds a few missing ids. It counts groups of ids, all at once, and looks up the groups that are incomplete.
// The last group is not counted: the other counts tell how many of its ids are missing.
func (r Reader) missingByGroup(ctx context.Context, collection string,
	refs []*firestore.DocumentRef, missing int) ([]string, error) {
	groups := slices.Collect(slices.Chunk(refs, groupSize))
	last := len(groups) - 1
	found, err := r.countEach(ctx, collection, groups[:last])
	if err != nil {
		return nil, err
	}
	lists := make([][]string, len(groups))
	lookups, ctx := errgroup.WithContext(ctx)
	for i, group := range groups {
		if i < last {
			missing -= len(group) - found[i]
		}
		switch {
		case i < last && found[i] == 0:
			for _, ref := range group {
				lists[i] = append(lists[i], ref.ID)
			}
		case i < last && found[i] < len(group), i == last && missing > 0:
			lookups.Go(func() (err error) {
				lists[i], err = r.missingByName(ctx, collection, group)
				return err
			})
		}
	}
	if err := lookups.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(lists...), nil
}

// countEach counts, for each list, the documents that exist. It sends all requests at once.
func (r Reader) countEach(ctx context.Context, collection string, lists [][]*firestore.DocumentRef) ([]int, error) {
	found := make([]int, len(lists))
	lookups, ctx := errgroup.WithContext(ctx)
	for i, refs := range lists {
		lookups.Go(func() (err error) {
			found[i], err = r.countRefs(ctx, collection, refs)
			return err
		})
	}
	return found, lookups.Wait()
}

func (r Reader) refs(collection string, ids []string) ([]*firestore.DocumentRef, error) {
	c := r.c.firestore.Collection(collection)
	if c == nil {
		return nil, fmt.Errorf("%q is not a collection's path", collection)
	}
	refs := make([]*firestore.DocumentRef, len(ids))
	for i, id := range ids {
		if !ValidName(id) {
			return nil, fmt.Errorf("%q is not a valid id", id)
		}
		refs[i] = c.Doc(id)
	}
	return refs, nil
}

func (r Reader) countRefs(ctx context.Context, collection string, refs []*firestore.DocumentRef) (n int, err error) {
	q := r.c.firestore.Collection(collection).Where(firestore.DocumentID, "in", refs)
	err = retry(ctx, func(ctx context.Context) (err error) {
		sent := r.c.clock()
		n, err = count(ctx, q)
		r.c.lookups.answered(sent, err)
		return err
	})
	return n, err
}

// missingByName looks up the names of all ids. Each document that exists costs one read.
func (r Reader) missingByName(ctx context.Context, collection string,
	refs []*firestore.DocumentRef) (missing []string, err error) {
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
