package documents

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/googleapis/gax-go/v2"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Exchange reads a document and writes the top-level fields that f returns, if the document did not change since it was read. If
// it did, Exchange reads it again and calls f again. That takes two requests, a transaction takes three. f must also return the
// right fields when an earlier attempt took effect and its answer was lost. If f returns an error, Exchange returns it and writes
// nothing. at is when the document was written, as its next reader sees it; zero if it was not. It is for the bundle's own
// records.
//
// f may also return further documents, by path: maps or structs, written whole in the same commit, whatever is there. Where f
// returns no fields, they alone are written, whatever became of the document meanwhile.
//
// known is what an earlier exchange is known to have left: it need not be read, unless it has changed since; the zero value if
// nothing is known.
func (w Writer) Exchange(
	ctx context.Context, path string, known Document, f func(d Document, found bool) (fields, also map[string]any, err error),
) (at time.Time, err error) {
	ref, err := w.c.doc(path)
	if err != nil {
		return at, err
	}
	// Another writer was faster, so somebody made progress: that does not count as an attempt of retry.
	err = retry.Do(ctx, func(ctx context.Context) error {
		backoff := gax.Backoff{Initial: 50 * time.Millisecond, Max: time.Second, Multiplier: 1.5}
		for attempt := 1; ; attempt++ {
			d, found := known, !known.UpdateTime.IsZero()
			known = Document{} // which counts once
			if !found {
				if d, found, err = w.Get(ctx, path); err != nil {
					return err
				}
			}
			var outrun bool
			at, outrun, err = w.exchange(ctx, ref, d, found, f)
			if !outrun || attempt == maxOutrun || gax.Sleep(ctx, backoff.Pause()) != nil {
				return err
			}
		}
	})
	return at, err
}

// maxOutrun bounds how often in a row another writer may be faster.
const maxOutrun = 64

// exchange is one attempt. outrun says that another writer changed the document meanwhile.
func (w Writer) exchange(
	ctx context.Context, ref *firestore.DocumentRef, d Document, found bool,
	f func(d Document, found bool) (fields, also map[string]any, err error),
) (at time.Time, outrun bool, err error) {
	fields, also, err := f(d, found)
	if err != nil || len(fields)+len(also) == 0 {
		return at, false, err
	}
	b := w.newBatch()
	switch {
	case len(fields) == 0:
	case found:
		b.Update(ref, updates(fields), firestore.LastUpdateTime(d.UpdateTime))
	default:
		b.Create(ref, fields)
	}
	for path, data := range also {
		if err := b.add(Set, path, data); err != nil {
			return at, false, err
		}
	}
	results, err := b.Commit(ctx)
	if err == nil && len(fields) > 0 {
		at = results[0].UpdateTime
	}
	return at, refusedByCondition(err), err
}

// Put sets, updates and deletes documents: all of them or none, in one request, where a transaction takes two. These may be
// repeated, so it sends them again when an answer was lost. It is for records of the program's own.
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

// add adds a write that may be repeated. data is what [Set] writes, or the fields of an [Update].
func (b batch) add(op Op, path string, data any) error {
	ref, err := b.c.doc(path)
	fields, _ := data.(map[string]any)
	switch {
	case err != nil:
		return err
	case op == Set:
		b.Set(ref, data)
	case op == Update:
		b.Update(ref, updates(fields))
	case op == Delete:
		b.Delete(ref)
	default:
		return fmt.Errorf("%s %s: only a %s, an %s and a %s may be repeated: this is a bug", op, Shown(path), Set, Update, Delete)
	}
	return nil
}
