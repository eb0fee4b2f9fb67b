// Package missing finds which of some ids name no document, with few reads and round trips: it counts before it reads names.
package missing

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Most is how many ids one condition may list: Firestore's limit.
const Most = 30

// groupSize is how many ids make a group.
const groupSize = 5

// Lookup asks for documents by their ids, at most [Most] at once.
type Lookup struct {
	Count func(ctx context.Context, ids []string) (int, error)      // how many exist: one read
	Find  func(ctx context.Context, ids []string) ([]string, error) // those that do not: one read for each that does
}

// Of returns those of at most [Most] distinct ids that name no document, in order. It counts those that exist. If all do, or
// none, that costs one read and one round trip. If not, it counts groups of a few ids, all at once, and reads the names in those
// groups that are incomplete: at most two more round trips. If that costs more than to read all names, it does so.
//
// An id is reported as missing only if an answer says so: it was counted among ids none of which exists, or it was asked for
// and not found. It is never inferred from two counts, because somebody may write between them.
//
// For 30 ids, the reads are at most
//
//	missing       1   2   3   4   5 … 29       none or all
//	reads        11  15  19  23  31 - missing  1
func (l Lookup) Of(ctx context.Context, ids []string) ([]string, error) {
	found, err := l.Count(ctx, ids)
	if err != nil {
		return nil, err
	}
	groups := slices.Collect(slices.Chunk(ids, groupSize))
	switch missing := len(ids) - found; {
	case missing <= 0:
		return nil, nil
	case found == 0:
		return ids, nil
	case len(groups)+missing*groupSize > len(ids):
		return l.Find(ctx, ids)
	}
	lists := make([][]string, len(groups))
	lookups, ctx := errgroup.WithContext(ctx)
	for i, group := range groups {
		lookups.Go(func() (err error) {
			lists[i], err = l.Of(ctx, group)
			return err
		})
	}
	if err := lookups.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(lists...), nil
}
