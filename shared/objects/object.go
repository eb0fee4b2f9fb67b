package objects

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/shared/judged"
)

// ErrChanged says that an object is no longer what was judged, so nothing was done to it.
var ErrChanged = judged.ErrChanged

// HeldError says that Cloud Storage does not let an object go, now and for this caller or any other: nothing was done to
// it, and nothing went wrong.
type HeldError struct {
	Reason string // [HeldByHold] or [HeldByRetention]
}

// Error implements error.
func (e *HeldError) Error() string { return "kept: " + e.Reason }

// Why Cloud Storage keeps an object that was to be deleted.
const (
	HeldByHold      = "a file under a hold"
	HeldByRetention = "a file whose retention period is not over"
)

// Object is an object as it was listed.
type Object struct {
	Name           string
	Metadata       map[string]string
	Created        time.Time
	Generation     int64 // changes with the content
	Metageneration int64 // changes with the metadata
}

// Reader reads. It has nothing that writes, so that a planner cannot.
type Reader struct{ c *Client }

// Pace says when writes may be sent.
type Pace interface {
	WaitN(ctx context.Context, n int) error
}

// Writer writes. Only the engine holds one.
type Writer struct {
	Reader
	pace Pace
	// Written, where set, is called with every deletion that took effect, and, as unsure, with one that may have, because
	// the answer was lost.
	Written func(ctx context.Context, d Deletion, unsure bool)
}

// Writer returns the writing side of the bucket; its writes keep to the pace.
func (c *Client) Writer(pace Pace) Writer { return Writer{Reader: c.Reader(), pace: pace} }

// Ahead waits until n deletions may be sent, and returns a writer that sends them without waiting: so that nothing comes
// between what is looked at right before and the deletions that rest on it.
func (w Writer) Ahead(ctx context.Context, n int) (Writer, error) {
	if err := w.pace.WaitN(ctx, n); err != nil {
		return Writer{}, fmt.Errorf("wait to delete %d objects: %w", n, err)
	}
	w.pace = waited{}
	return w, nil
}

// waited is the pace of what has been waited for.
type waited struct{}

// WaitN implements [Pace].
func (waited) WaitN(context.Context, int) error { return nil }

// Deletion is an object to delete if its content and its metadata are still as they were when it was listed.
type Deletion struct {
	Name                       string
	Generation, Metageneration int64
}

// Delete deletes an object, or returns [ErrChanged] if it was replaced, given other metadata or deleted since, or a
// [HeldError] if it is under a hold or its retention period is not over. Transient failures are sent again, with backoff.
func (w Writer) Delete(ctx context.Context, d Deletion) error {
	err := w.delete(ctx, d)
	lost := err != nil && (storage.ShouldRetry(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
	if w.Written != nil && (err == nil || lost) {
		w.Written(ctx, d, lost)
	}
	return err
}

func (w Writer) delete(ctx context.Context, d Deletion) error {
	if err := w.pace.WaitN(ctx, 1); err != nil {
		return fmt.Errorf("delete object %s: %w", d.Name, err)
	}
	var attempts int
	err := w.c.bucket.Object(d.Name).
		If(storage.Conditions{GenerationMatch: d.Generation, MetagenerationMatch: d.Metageneration}).
		Retryer(storage.WithErrorFunc(func(err error) bool {
			if err != nil {
				attempts++
			}
			return storage.ShouldRetry(err)
		})).
		Delete(ctx)
	var answer *googleapi.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrObjectNotExist):
		// Generations are never used twice: if an earlier attempt failed without saying so, it was this run that
		// deleted the object.
		if attempts > 1 {
			return nil
		}
		return ErrChanged
	case errors.As(err, &answer) && answer.Code == http.StatusPreconditionFailed:
		return ErrChanged
	case errors.As(err, &answer) && answer.Code == http.StatusForbidden:
		if held := w.held(ctx, d.Name, answer); held != nil {
			return held
		}
		fallthrough
	default:
		return fmt.Errorf("delete object %s: %w", d.Name, err)
	}
}

// held tells from a refusal to delete an object whether it is the object's, and nil if it may be the caller's. A hold is
// refused with the same code as somebody without the permission, so the object is looked at.
func (w Writer) held(ctx context.Context, name string, refusal *googleapi.Error) error {
	for _, item := range refusal.Errors {
		switch item.Reason {
		case "retentionPolicyNotMet":
			return &HeldError{HeldByRetention}
		case "objectUnderActiveHold":
			return &HeldError{HeldByHold}
		}
	}
	a, err := w.c.bucket.Object(name).Attrs(ctx)
	if err == nil && (a.TemporaryHold || a.EventBasedHold) {
		return &HeldError{HeldByHold}
	}
	return nil // what was refused says more than why the object could not be looked at
}
