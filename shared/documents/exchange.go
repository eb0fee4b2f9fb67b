package documents

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
)

// Exchange reads a document and writes the top-level fields of it that f returns, if the document is still as it was read. If
// it is not, that begins anew. These are two requests, where a transaction takes three. f must also come to the right end
// when an earlier attempt took effect and its answer was lost. An error of f ends it, and nothing is written. It is for
// records of the program's own, which [Writer.Written] is not told.
func (w Writer) Exchange(ctx context.Context, path string, f func(d Document, found bool) (map[string]any, error)) error {
	ref := w.c.firestore.Doc(path)
	if ref == nil {
		return fmt.Errorf("%q is not a document's path", path)
	}
	var outrun bool // somebody else wrote to the document meanwhile
	again := func(err error) bool { return outrun || transient(err) }
	return retryIf(ctx, again, func(ctx context.Context) error {
		outrun = false
		d, found, err := w.Get(ctx, path)
		if err != nil {
			return err
		}
		fields, err := f(d, found)
		if err != nil {
			return err
		}
		if found {
			updates := make([]firestore.Update, 0, len(fields))
			for field, value := range fields {
				updates = append(updates, firestore.Update{FieldPath: firestore.FieldPath{field}, Value: value})
			}
			_, err = ref.Update(ctx, updates, firestore.LastUpdateTime(d.UpdateTime))
		} else {
			_, err = ref.Create(ctx, fields)
		}
		outrun = slices.Contains([]codes.Code{codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists}, codeOf(err))
		return err
	})
}
