package documents

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
)

// Stream returns the first documents that a query matches from a cursor on, at most limit or, if that is 0, all of them. It
// holds one at a time, however large they are: whoever breaks off is billed for the rest up to the limit, but does not keep
// it. The transaction fails if another writer changes what was read, or what lies between, before the commit.
func (t *Transaction) Stream(q Query, from Cursor, limit int) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		fq, err := q.firestore(t.w.c.firestore, from)
		if err != nil {
			yield(Document{}, fmt.Errorf("query %s: %w", q.Collection, err))
			return
		}
		if limit > 0 {
			fq = fq.Limit(limit)
		}
		it := t.tx.Documents(fq)
		defer it.Stop()
		for wanted := true; ; {
			s, err := it.Next()
			if errors.Is(err, iterator.Done) {
				return
			}
			if err != nil {
				if wanted {
					yield(Document{}, fmt.Errorf("query %s: %w", q.Collection, err))
				}
				return
			}
			// To cancel a stream of large documents breaks the emulator's connection, and with it all that goes on there.
			wanted = wanted && yield(documentOf(s), nil)
		}
	}
}

// Wait waits until n more writes may be sent. A transaction does not wait by itself, for it would hold its locks
// meanwhile: whoever writes much in transactions waits between them.
func (w Writer) Wait(ctx context.Context, n int) error {
	for ; n > 0; n -= MaxBatch {
		if err := w.pace.Wait(ctx, min(n, MaxBatch)); err != nil {
			return err
		}
	}
	return nil
}

// Refused reports whether Firestore refuses what was to be written, as it is: a document that is too large, too deep or
// has too many index entries, or too much for one commit, which by Firestore's reckoning includes the deleted documents and
// the index entries of all. Less at a time may succeed.
func Refused(err error) bool { return codeOf(err) == codes.InvalidArgument }

// ErrTooMuch says that documents hold more bytes than should be read at once.
var ErrTooMuch = errors.New("too many bytes to read at once")
