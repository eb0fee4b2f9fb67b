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
)

// Name returns the full name of a document, as requests in the form of Firestore's API have it.
func (r Reader) Name(path string) string { return r.c.root + "/documents/" + path }

// BatchWrite makes writes in the form of Firestore's API, each independently of the others and on its own condition,
// [Writer.BatchSize] in a request. It returns one error per write: nil if it took effect, [ErrChanged] if its condition does not
// hold. After a [Transient] error it may have taken effect. What to do then depends on what is there now, so BatchWrite sends
// nothing twice: callers look again, within [Retry].
func (w Writer) BatchWrite(ctx context.Context, writes []*firestorepb.Write) []error {
	results := make([]error, 0, len(writes))
	for len(results) < len(writes) {
		rest := writes[len(results):]
		results = append(results, w.batchWrite(ctx, rest[:min(w.batch.Get(), len(rest))])...)
	}
	for i, err := range results {
		if refusedByCondition(err) {
			results[i] = ErrChanged
		}
	}
	return results
}

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
	if err := w.pace.Wait(ctx, len(writes)); err != nil {
		return fail(err)
	}
	began := w.c.clock()
	resp, err := w.c.batch.BatchWrite(metadata.AppendToOutgoingContext(ctx, DatabaseHeader, w.c.root),
		&firestorepb.BatchWriteRequest{Database: w.c.root, Writes: writes})
	if err != nil {
		if retry.Transient(err) {
			w.batch.Failed()
		}
		return fail(err)
	}
	w.batch.Answered(len(writes), w.c.clock().Sub(began))
	if len(resp.GetStatus()) != len(writes) {
		return fail(fmt.Errorf("BatchWrite answered %d statuses for %d writes", len(resp.GetStatus()), len(writes)))
	}
	for i, s := range resp.GetStatus() {
		outcomes[i] = status.FromProto(s).Err()
	}
	return outcomes
}
