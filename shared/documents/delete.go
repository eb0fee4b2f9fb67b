package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/googleapis/gax-go/v2"
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
	case err != nil:
		return err
	case found:
		return ErrChanged
	default:
		return nil
	}
}
