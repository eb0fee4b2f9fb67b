package documents

import (
	"context"
	"errors"
	"iter"

	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// Stream returns the first documents that a query matches from a cursor on: at most limit, or all if limit is 0. It holds one
// at a time, however large they are. A caller that stops early is still billed for the rest up to the limit. The commit fails
// if another writer changes these documents, or adds one between them, before.
func (t *Transaction) Stream(ctx context.Context, q Query, from Cursor, limit int) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		fq, err := q.firestore(t.w.c.firestore, from)
		if err != nil {
			yield(Document{}, q.failed("query", err))
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
					yield(Document{}, q.failed("query", err))
				}
				return
			}
			// Canceling a stream of large documents would break the emulator's connection, with all other requests on it. So
			// the rest is received and dropped.
			if wanted {
				wanted = yield(t.w.documentOf(ctx, s))
			}
		}
	}
}

// Count is [Reader.Count] in the transaction.
func (t *Transaction) Count(ctx context.Context, q Query) (n int, err error) {
	fq, err := q.matching(t.w.c.firestore)
	if err == nil {
		n, err = count(ctx, fq.NewAggregationQuery().Transaction(t.tx))
	}
	if err != nil {
		return 0, q.failed("count", err)
	}
	return n, nil
}

// Wait waits until n more writes may be sent. A transaction does not wait by itself, because it would hold its locks
// meanwhile: callers that write much in transactions wait between them.
func (w Writer) Wait(ctx context.Context, n int) error {
	for ; n > 0; n -= MaxBatch {
		if err := w.pace.WaitN(ctx, min(n, MaxBatch)); err != nil {
			return err
		}
	}
	return nil
}

// Refused reports whether Firestore refused the writes as they were: a document is too large, too deep or has too many index
// entries, or the commit is too large. The size of a commit includes the deleted documents and all index entries. A smaller
// commit may succeed.
func Refused(err error) bool { return retry.Code(err) == codes.InvalidArgument }
