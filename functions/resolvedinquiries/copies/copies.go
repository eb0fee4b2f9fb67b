// Package copies is for archives: the documents of one collection are copied to another, a part in each commit, and deleted
// when all are copied. The package reads such parts, and finds out which copies are current. A copy has its original's id.
package copies

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// How many documents the first request asks for. Documents: few, because it is not known yet how large they are.
const (
	firstDocuments = 10
	firstNames     = 1000
)

// Part reads the first documents of a collection from a cursor on, in the order of their names: at most limit, and not many
// more than have so many bytes. next is the cursor behind the last of them. complete says that these are all documents, and
// have no more bytes.
func Part(ctx context.Context, src cleanup.Source, collection string, from documents.Cursor, limit, bytes int) (
	found []documents.Document, next documents.Cursor, complete bool, err error,
) {
	return read(ctx, src, documents.Query{Collection: collection}, from, firstDocuments, limit, bytes)
}

func read(ctx context.Context, src cleanup.Source, q documents.Query, from documents.Cursor, first, limit, bytes int) (
	found []documents.Document, next documents.Cursor, complete bool, err error,
) {
	for n := min(first, limit); n > 0 && bytes >= 0; n = min(2*n, limit-len(found)) {
		asked, err := src.First(ctx, q, from, n)
		cut := errors.Is(err, documents.ErrTooMuch)
		if err != nil && !cut {
			return nil, "", false, err
		}
		for _, d := range asked {
			found = append(found, d)
			if bytes -= documents.ValueSize(d.Data); bytes < 0 {
				break
			}
		}
		if len(asked) < n && !cut && bytes >= 0 {
			return found, from, true, nil
		}
		if from, err = q.After(found[len(found)-1]); err != nil {
			return nil, "", false, err
		}
	}
	return found, from, false, nil
}

// Changed returns the documents that have no current copy in a collection.
func Changed(ctx context.Context, src cleanup.Source, originals []documents.Document,
	collection string) ([]documents.Document, error) {
	refs := make([]documents.Ref, len(originals))
	for i, d := range originals {
		refs[i] = documents.Ref{Collection: collection, ID: d.ID()}
	}
	found, err := src.Get(ctx, refs)
	current := currentOf(originals, slices.Collect(maps.Values(found)))
	return slices.DeleteFunc(slices.Clone(originals), current.has), err
}

// Compare compares the names of all documents of a collection with those of their copies in another. The documents of next
// are about to be copied. all says that with them every document has a current copy, and that there are no other copies;
// stale are the other copies.
func Compare(ctx context.Context, src cleanup.Source, from, to string,
	next []documents.Document) (all bool, stale []documents.Document, err error) {
	originals, err := names(ctx, src, from)
	if err != nil {
		return false, nil, err
	}
	copies, err := names(ctx, src, to)
	if err != nil {
		return false, nil, err
	}
	current := currentOf(originals, copies)
	for _, d := range next {
		current[d.ID()] = true
	}
	stale = slices.DeleteFunc(copies, current.has)
	return len(stale) == 0 && len(slices.DeleteFunc(originals, current.has)) == 0, stale, nil
}

// names reads the names of all documents of a collection, with their update times.
func names(ctx context.Context, src cleanup.Source, collection string) ([]documents.Document, error) {
	q := documents.Query{Collection: collection, Select: documents.NameOnly}
	all, _, _, err := read(ctx, src, q, "", firstNames, math.MaxInt, math.MaxInt)
	return all, err
}

// ids are the ids of documents that have a current copy.
type ids map[string]bool

func (i ids) has(d documents.Document) bool { return i[d.ID()] }

// currentOf returns the ids of the documents whose copy was written after their own last change. If both have the same time,
// the copy does not count as current.
func currentOf(originals, copies []documents.Document) ids {
	copied := make(map[string]time.Time, len(copies))
	for _, c := range copies {
		copied[c.ID()] = c.UpdateTime
	}
	current := ids{}
	for _, d := range originals {
		current[d.ID()] = copied[d.ID()].After(d.UpdateTime)
	}
	return current
}

// Free returns a document that does not exist, and has no documents in its subcollection: the given one or, if that is taken,
// one with a number behind its id.
func Free(ctx context.Context, src cleanup.Source, ref documents.Ref, subcollection string) (documents.Ref, error) {
	free := ref
	for n := 2; ; n++ {
		taken, err := src.Get(ctx, []documents.Ref{free})
		if err != nil {
			return free, err
		}
		below, err := src.First(ctx, documents.Query{Collection: free.Path() + "/" + subcollection, Select: documents.NameOnly}, "", 1)
		if err != nil || len(taken)+len(below) == 0 {
			return free, err
		}
		free.ID = fmt.Sprintf("%s-%d", ref.ID, n)
	}
}

// Set writes copies of documents to a collection.
func Set(all []documents.Document, collection string) []documents.Write {
	return written(documents.Set, all, collection)
}

// Move moves documents to a collection, and overwrites none there. Without a collection it deletes them.
func Move(all []documents.Document, collection string) []documents.Write {
	writes := cleanup.Delete(all...).Writes
	if collection == "" {
		return writes
	}
	return append(writes, written(documents.Create, all, collection)...)
}

func written(op documents.Op, all []documents.Document, collection string) []documents.Write {
	writes := make([]documents.Write, len(all))
	for i, d := range all {
		writes[i] = documents.Write{Op: op, Ref: documents.Ref{Collection: collection, ID: d.ID()}, Data: d.Data, CopyOf: d.Ref()}
	}
	return writes
}
