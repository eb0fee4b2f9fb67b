package documents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/shared/documents/pace"
	"github.com/firesweep/firesweep/shared/documents/retry"
	"github.com/firesweep/firesweep/shared/judged"
)

// ErrChanged says that a document changed after it was judged, so nothing was done to it.
var ErrChanged = judged.ErrChanged

// Pace says when writes may be sent; [pace.Rate] is the one to use on Google's service.
type Pace interface {
	Wait(ctx context.Context, n int) error
}

// Writer writes. Only the engine holds one.
type Writer struct {
	Reader
	// Written, if set, is called after every commit with the writes that took effect, and with those that may have, because
	// the answer was lost.
	Written func(ctx context.Context, writes []Written)
	InTime  func() error // if set, is asked right before a batch is sent; its error is that of the batch
	pace    Pace
	batch   *pace.BatchSize
}

// Writer returns the writing side of the database for one run. Its writes keep to the pace.
func (c *Client) Writer(p Pace) Writer {
	return Writer{Reader: c.Reader(), pace: p, batch: pace.NewBatchSize()}
}

// BatchSize returns how many documents a request should delete at present, at most [pace.MaxBatch].
func (w Writer) BatchSize() int { return w.batch.Get() }

// Deletion is a document to delete if it is still as it was when it was read.
type Deletion struct {
	Path           string
	LastUpdateTime time.Time
}

// Delete deletes documents, [Writer.BatchSize] in a request, each independently of the others. It returns one error per
// deletion: nil if this call deleted the document, [ErrChanged] if somebody else changed or deleted it since. Transient
// failures are sent again, with backoff.
func (w Writer) Delete(ctx context.Context, deletions []Deletion) []error {
	results := make([]error, len(deletions))
	pending := make([]int, len(deletions))
	for i := range deletions {
		pending[i] = i
	}
	// A deletion whose answer was lost may have taken effect: the next attempt then finds the document gone.
	unsure := map[int]bool{}
	defer func() { w.tellDeleted(ctx, deletions, results, unsure) }()
	backoff := retry.Backoff()
	for attempt := 1; ; attempt++ {
		writes := make([]*firestorepb.Write, len(pending))
		for n, i := range pending {
			at := timestamppb.New(deletions[i].LastUpdateTime)
			writes[n] = &firestorepb.Write{
				Operation:       &firestorepb.Write_Delete{Delete: w.Name(deletions[i].Path)},
				CurrentDocument: &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_UpdateTime{UpdateTime: at}},
			}
		}
		var again []int
		for n, err := range w.BatchWrite(ctx, writes) {
			i := pending[n]
			switch {
			case errors.Is(err, ErrChanged) && unsure[i]:
				err = w.goneOrChanged(ctx, deletions[i].Path)
			case err != nil && unsure[i] && !retry.Transient(err):
				// It was not sent again, or is denied by now, and may have taken effect all the same.
				continue
			case err != nil && !errors.Is(err, ErrChanged):
				if retry.Transient(err) {
					unsure[i] = true
					again = append(again, i)
				}
				err = fmt.Errorf("delete %s: %w", deletions[i].Path, err)
			}
			results[i] = err
		}
		pending = again
		if len(pending) == 0 || attempt == retry.Attempts || gax.Sleep(ctx, backoff.Pause()) != nil {
			return results
		}
	}
}

// goneOrChanged is for a deletion that failed its precondition after an attempt of unknown outcome. If the document is gone,
// this run deleted it, and the error is nil. If it exists, the error is [ErrChanged].
func (w Writer) goneOrChanged(ctx context.Context, path string) error {
	_, found, err := w.Get(ctx, path)
	switch {
	case err != nil: // whatever stands in the way of looking says nothing of the deletion
		return errors.New("look whether " + path + " was deleted: " + err.Error())
	case found:
		return ErrChanged
	default:
		return nil
	}
}

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
	err := w.pace.Wait(ctx, len(writes))
	if err == nil && w.InTime != nil {
		err = w.InTime()
	}
	if err != nil {
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
