package resolvedinquiries

import (
	"context"
	"errors"
	"math"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// messagesOf is the query for the messages of an inquiry or of an archive: by name, for one by createdAt would leave out
// messages without that field.
func messagesOf(path string) documents.Query {
	return documents.Query{Collection: path + "/messages"}
}

// namesOf is a query for no more than the names.
func namesOf(q documents.Query) documents.Query {
	q.Select = documents.NameOnly
	return q
}

// part is how much of what a query matches is read: limit documents at most, and not much more than so many bytes.
type part struct {
	from         documents.Cursor
	first        int // how many are asked for before it is known how large they are
	limit, bytes int
}

// read returns a part of what a query matches. complete says that there is no more.
func read(ctx context.Context, src sweep.Source, q documents.Query, p part) (found []documents.Document, complete bool, err error) {
	for n := min(p.first, p.limit); ; n = min(2*n, p.limit-len(found)) {
		asked, err := src.First(ctx, q, p.from, n)
		cut := errors.Is(err, documents.ErrTooMuch)
		if err != nil && !cut {
			return nil, false, err
		}
		for _, d := range asked {
			found = append(found, d)
			if p.bytes -= documents.ValueSize(d.Data); p.bytes < 0 {
				return found, false, nil
			}
		}
		if complete = len(asked) < n && !cut; complete || len(found) >= p.limit {
			return found, complete, nil
		}
		if p.from, err = q.After(found[len(found)-1]); err != nil {
			return nil, false, err
		}
	}
}

// names returns the names of all documents that a query matches, with the times of their last changes.
func names(ctx context.Context, src sweep.Source, q documents.Query) ([]documents.Document, error) {
	all, _, err := read(ctx, src, namesOf(q), part{first: 1000, limit: math.MaxInt, bytes: math.MaxInt})
	return all, err
}

func deletionsOf(all []documents.Document) []documents.Write {
	writes := make([]documents.Write, len(all))
	for i, d := range all {
		writes[i] = documents.Write{Op: documents.Delete, Ref: d.Ref()}
	}
	return writes
}
