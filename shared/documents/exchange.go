package documents

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
)

// Exchange reads a document and writes the top-level fields of it that f returns, if the document is still as it was read. If
// it is not, that begins anew. These are two requests, where a transaction takes three. f must also come to the right end
// when an earlier attempt took effect and its answer was lost. An error of f ends it, and nothing is written. It is for
// records of the program's own, which [Writer.Written] is not told.
func (w Writer) Exchange(ctx context.Context, path string, f func(d Document, found bool) (map[string]any, error)) error {
	return w.ExchangeAnd(ctx, path, func(d Document, found bool) (map[string]any, map[string]any, error) {
		fields, err := f(d, found)
		return fields, nil, err
	})
}

// ExchangeAnd is [Writer.Exchange] for f that also returns further documents, by path: maps or structs, written whole in the same
// commit, whatever is there. Where f returns no fields, they alone are written, whatever became of the document meanwhile.
func (w Writer) ExchangeAnd(
	ctx context.Context, path string, f func(d Document, found bool) (fields, also map[string]any, err error),
) error {
	ref := w.c.firestore.Doc(path)
	if ref == nil {
		return fmt.Errorf("%q is not a document's path", path)
	}
	// Whoever is outrun is so by somebody who got through: that is no failure, however many there are.
	return retry(ctx, func(ctx context.Context) error {
		backoff := gax.Backoff{Initial: 50 * time.Millisecond, Max: time.Second, Multiplier: 1.5}
		for attempt := 1; ; attempt++ {
			outrun, err := w.exchange(ctx, path, ref, f)
			if !outrun || attempt == maxOutrun || gax.Sleep(ctx, backoff.Pause()) != nil {
				return err
			}
		}
	})
}

// maxOutrun bounds how often somebody else may write to the document first, one after the other.
const maxOutrun = 64

// exchange is one attempt. outrun says that somebody else wrote to the document meanwhile.
func (w Writer) exchange(
	ctx context.Context, path string, ref *firestore.DocumentRef,
	f func(d Document, found bool) (fields, also map[string]any, err error),
) (outrun bool, err error) {
	d, found, err := w.Get(ctx, path)
	if err != nil {
		return false, err
	}
	fields, also, err := f(d, found)
	if err != nil || len(fields)+len(also) == 0 {
		return false, err
	}
	b := w.newBatch()
	switch {
	case len(fields) == 0:
	case found:
		updates := make([]firestore.Update, 0, len(fields))
		for field, value := range fields {
			updates = append(updates, firestore.Update{FieldPath: firestore.FieldPath{field}, Value: value})
		}
		b.Update(ref, updates, firestore.LastUpdateTime(d.UpdateTime))
	default:
		b.Create(ref, fields)
	}
	for path, data := range also {
		if err := b.add(Set, path, data); err != nil {
			return false, err
		}
	}
	err = b.commit(ctx)
	return slices.Contains([]codes.Code{codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists}, codeOf(err)), err
}
