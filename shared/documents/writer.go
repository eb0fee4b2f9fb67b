package documents

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/judged"
)

// ErrChanged says that a document changed after it was judged, so nothing was done to it.
var ErrChanged = judged.ErrChanged

// Pace says when writes may be sent; [pace.NewRate] is the one to use on Google's service.
type Pace interface {
	WaitN(ctx context.Context, n int) error
}

// Writer writes. Only the engine holds one.
type Writer struct {
	Reader
	// Written, if set, is called after every commit with the writes that took effect, and with those that may have, because
	// the answer was lost.
	Written func(ctx context.Context, writes []Written)
	InTime  func() error // if set, is asked right before a transaction's writes are sent; its error is that of [Transaction.Apply]
	pace    Pace
}

// Writer returns the writing side of the database for one run. Its writes keep to the pace.
func (c *Client) Writer(p Pace) Writer {
	return Writer{Reader: c.Reader(), pace: p}
}

// Name returns the full name of a document, as requests in the form of Firestore's API have it.
func (r Reader) Name(path string) string { return r.c.root + "/documents/" + path }

// BatchWrite makes writes in the form of Firestore's API, each independently of the others and on its own condition, [together] in a
// request. It returns one error per write: nil if it took effect,
// [ErrChanged] if its condition does not hold. After a [Transient] error it may have taken effect. What to do then depends on
// what is there now, so BatchWrite sends nothing twice: callers look again, within [Retry].
func (w Writer) BatchWrite(ctx context.Context, writes []*firestorepb.Write) []error {
	results := make([]error, 0, len(writes))
	for some := range slices.Chunk(writes, together) {
		results = append(results, w.batchWrite(ctx, some)...)
	}
	for i, err := range results {
		if refusedByCondition(err) {
			results[i] = ErrChanged
		}
	}
	return results
}

// together is how many writes go into one request of [Writer.BatchWrite]: if its answer is lost, all are looked at again.
const together = 50

// refusedByCondition reports whether a write's condition did not hold.
func refusedByCondition(err error) bool {
	refused := []codes.Code{codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists}
	return err != nil && slices.Contains(refused, retry.Code(err))
}

// batchWrite sends one request at the run's pace and returns the outcome of each write.
func (w Writer) batchWrite(ctx context.Context, writes []*firestorepb.Write) []error {
	outcomes := make([]error, len(writes))
	fail := func(err error) []error {
		for i := range outcomes {
			outcomes[i] = err
		}
		return outcomes
	}
	if err := w.pace.WaitN(ctx, len(writes)); err != nil {
		return fail(err)
	}
	resp, err := w.c.batch.BatchWrite(metadata.AppendToOutgoingContext(ctx, DatabaseHeader, w.c.root),
		&firestorepb.BatchWriteRequest{Database: w.c.root, Writes: writes})
	if err != nil {
		return fail(err)
	}
	if len(resp.GetStatus()) != len(writes) {
		return fail(fmt.Errorf("BatchWrite answered %d statuses for %d writes", len(resp.GetStatus()), len(writes)))
	}
	for i, s := range resp.GetStatus() {
		outcomes[i] = status.FromProto(s).Err()
	}
	return outcomes
}
