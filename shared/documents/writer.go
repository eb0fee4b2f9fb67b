package documents

import (
	"context"
	"errors"
	"slices"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/firesweep/firesweep/shared/documents/retry"
)

// ErrChanged says that something is no longer what was judged, so nothing was done to it.
var ErrChanged = errors.New("changed since it was judged")

// Writer writes. Only the engine holds one.
type Writer struct {
	Reader
	InTime func() error // if set, is asked right before a transaction's writes are sent; its error is that of [Transaction.Apply]
	pace   Pace
}

// Writer returns the writing side of the database for one run. Its writes keep to the pace.
func (c *Client) Writer(p Pace) Writer {
	return Writer{Reader: c.Reader(), pace: p}
}

// Name returns the full name of a document, as requests in the form of Firestore's API have it.
func (r Reader) Name(path string) string { return r.c.root + "/documents/" + path }

// Commit makes writes in the form of Firestore's API at the run's pace: all or none, each on its own condition. The error is
// [ErrChanged] if one does not hold. After a [retry.Transient] error they may have taken effect. What to do then depends on
// what is there now, so Commit sends nothing twice: callers look again.
func (w Writer) Commit(ctx context.Context, writes []*firestorepb.Write) error {
	if err := w.pace.WaitN(ctx, len(writes)); err != nil {
		return err
	}
	_, err := w.c.raw.Commit(metadata.AppendToOutgoingContext(ctx, DatabaseHeader, w.c.root),
		&firestorepb.CommitRequest{Database: w.c.root, Writes: writes})
	if refusedByCondition(err) {
		return ErrChanged
	}
	return err
}

// refusedByCondition reports whether a write's condition did not hold.
func refusedByCondition(err error) bool {
	refused := []codes.Code{codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists}
	return err != nil && slices.Contains(refused, retry.Code(err))
}
