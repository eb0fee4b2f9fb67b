package documents

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Put sets and deletes documents, whatever is there: all of them or none, in one request, where a transaction takes two. Both may
// be repeated, so it sends them again when an answer was lost. It is for records of the program's own, which [Writer.Written] is
// not told.
func (w Writer) Put(ctx context.Context, writes []Write) error {
	if len(writes) == 0 {
		return nil
	}
	return retry.Do(ctx, func(ctx context.Context) error {
		b := w.newBatch()
		for _, write := range writes {
			if err := b.add(write.Op, write.Ref.Path(), write.Data); err != nil {
				return err
			}
		}
		_, err := b.Commit(ctx)
		return err
	})
}

// batch is a commit without a transaction. What its writes depend on, their preconditions say.
type batch struct {
	c *Client
	// The client calls its WriteBatch deprecated in favor of transactions, which take a further request, and of BulkWriter, whose
	// writes are each on their own.
	*firestore.WriteBatch
}

func (w Writer) newBatch() batch {
	return batch{c: w.c, WriteBatch: w.c.firestore.Batch()} //nolint:staticcheck // see [batch]
}

// add adds a write that may be repeated. data is what [Set] writes.
func (b batch) add(op Op, path string, data any) error {
	ref, err := b.c.doc(path)
	switch {
	case err != nil:
		return err
	case op == Set:
		b.Set(ref, data)
	case op == Delete:
		b.Delete(ref)
	default:
		return fmt.Errorf("%s %s: only %s and %s may be repeated: this is a bug", op, path, Set, Delete)
	}
	return nil
}
