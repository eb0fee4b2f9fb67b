// Package missing finds which of some ids name no document, with few reads and round trips: it counts before it reads names.
package missing

import (
	"context"
	"math/bits"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Most is how many ids one condition may list: Firestore's limit.
const Most = 30

// groupSize is how many ids are counted together, to find out in which groups ids are missing.
const groupSize = 5

// Lookup asks for documents by their ids, at most [Most] at once.
type Lookup struct {
	Count func(ctx context.Context, ids []string) (int, error)      // how many exist: one read
	Find  func(ctx context.Context, ids []string) ([]string, error) // those that do not: one read for each that does
}

// Of returns those of at most [Most] distinct ids that name no document, in order. If all exist, or none does, that costs one
// read and one round trip. If only some exist, it takes at most two more round trips.
//
// An id is reported as missing only if an answer says so: it was counted among ids none of which exists, or it was asked for
// and not found. It is never inferred from two counts, because somebody may write between them.
//
// For 30 ids, the reads are at most
//
//	missing      1   2   3   4   5   6 … 29       none or all
//	reads        7  14  18  22  26  31 - missing  1
func (l Lookup) Of(ctx context.Context, ids []string) ([]string, error) {
	found, err := l.Count(ctx, ids)
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
		return l.one(ctx, ids)
	case groups > 1 && groups-1+missing*groupSize <= n: // a count for each group, and a lookup of each group with a missing id
		return l.byGroup(ctx, ids, missing)
	default:
		return l.Find(ctx, ids)
	}
}

// halves returns how many binary digits the indexes of n ids have, and so how many halves identify each id.
func halves(n int) int { return bits.Len(uint(n - 1)) }

// one finds the only missing id. Each half holds the ids that have a 1 at one binary digit of their index. All halves are
// counted at once. A half with one document too few holds the missing id, so together they give its index. That is an
// inference, so the id is then counted by itself.
func (l Lookup) one(ctx context.Context, ids []string) ([]string, error) {
	asked := make([][]string, halves(len(ids)))
	for i, id := range ids {
		for digit := range asked {
			if i>>digit&1 != 0 {
				asked[digit] = append(asked[digit], id)
			}
		}
	}
	found, err := l.countEach(ctx, asked)
	if err != nil {
		return nil, err
	}
	at := 0
	for digit, n := range found {
		at |= (len(asked[digit]) - n) << digit
	}
	if at >= 0 && at < len(ids) {
		n, err := l.Count(ctx, ids[at:at+1])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return ids[at : at+1], nil
		}
	}
	return l.Find(ctx, ids) // somebody wrote between the counts
}

// byGroup finds a few missing ids. It counts groups of ids, all at once, and looks up the groups that are incomplete. The last
// group is not counted: the other counts tell how many of its ids are missing.
func (l Lookup) byGroup(ctx context.Context, ids []string, missing int) ([]string, error) {
	groups := slices.Collect(slices.Chunk(ids, groupSize))
	last := len(groups) - 1
	found, err := l.countEach(ctx, groups[:last])
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
			lists[i] = group
		case i < last && found[i] < len(group), i == last && missing > 0:
			lookups.Go(func() (err error) {
				lists[i], err = l.Find(ctx, group)
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
func (l Lookup) countEach(ctx context.Context, lists [][]string) ([]int, error) {
	found := make([]int, len(lists))
	lookups, ctx := errgroup.WithContext(ctx)
	for i, ids := range lists {
		lookups.Go(func() (err error) {
			found[i], err = l.Count(ctx, ids)
			return err
		})
	}
	return found, lookups.Wait()
}
