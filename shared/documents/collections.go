package documents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/iterator"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Everywhere ends a [Query.Collection] of all collections below a document, however deep and be there documents between or not.
// No collection can have the name.
const Everywhere = "__all__"

// askEverywhere makes a query for what no collection is named of: Go's client asks for none without a name.
func askEverywhere(_ context.Context, _ string, message any) error {
	q, _ := message.(*firestorepb.RunQueryRequest)
	for _, from := range q.GetStructuredQuery().GetFrom() {
		if from.CollectionId == Everywhere {
			from.CollectionId, from.AllDescendants = "", true
		}
	}
	return nil
}

// Collections returns the names of the collections below a document, sorted, be there such a document or not, or with no document
// of those at the top of the database. It costs one read for each, at least one.
func (r Reader) Collections(ctx context.Context, document Ref) (names []string, err error) {
	list, below := r.c.firestore.Collections, ""
	if path := document.Path(); path != "" {
		ref, err := r.c.doc(path)
		if err != nil {
			return nil, fmt.Errorf("list the collections below %s: %w", document, err)
		}
		list, below = ref.Collections, " below "+document.String()
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

// Listed returns the documents of a collection, and the paths in it where there is no document, but others are below: the first
// ones, at most so many. It costs a read for each.
func (r Reader) Listed(ctx context.Context, collection string, most int) (all []Ref, err error) {
	in := r.c.firestore.Collection(collection)
	if in == nil {
		return nil, fmt.Errorf("list %s: it is not a collection's path", Shown(collection))
	}
	err = retry.Do(ctx, func(ctx context.Context) error {
		listed := in.DocumentRefs(ctx)
		listed.PageInfo().MaxSize = min(most, defaultPageSize)
		for all = nil; len(all) < most; {
			ref, err := listed.Next()
			if errors.Is(err, iterator.Done) {
				return nil
			}
			if err != nil {
				return err
			}
			all = append(all, Ref{Collection: collection, ID: ref.ID})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the documents of %s: %w", Shown(collection), err)
	}
	return all, nil
}
