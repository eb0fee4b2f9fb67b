package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"golang.org/x/time/rate"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/shared/documents"
)

// HeldError says that Cloud Storage does not allow to delete an object at present, whoever asks. Nothing was done to it, and
// nothing went wrong.
type HeldError struct {
	Reason string // [HeldByHold] or [HeldByRetention]
}

// Error implements error.
func (e *HeldError) Error() string { return "kept: " + e.Reason }

// Why Cloud Storage keeps an object.
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

// Reader reads. It has no method that writes, so a planner cannot write.
type Reader struct{ c *Client }

// Writer writes. Only the engine holds one.
type Writer struct {
	Reader
	pace   *rate.Limiter
	InTime func() error // if set, is asked right before a deletion is sent, whose error its own is
}

// Writer returns the writing side of the bucket, and how fast it deletes.
func (c *Client) Writer(pace *rate.Limiter) Writer { return Writer{Reader: c.Reader(), pace: pace} }

// Wait waits until n deletions may be sent: before a last check on which they depend, so that no wait comes between.
func (w Writer) Wait(ctx context.Context, n int) error {
	if err := w.pace.WaitN(ctx, n); err != nil {
		return fmt.Errorf("wait to delete %d objects: %w", n, err)
	}
	return nil
}

// Get returns an object's attributes; found is false if there is no such object. It costs one class B operation.
func (r Reader) Get(ctx context.Context, name string) (o Object, found bool, err error) {
	a, err := r.c.bucket.Object(name).Attrs(ctx)
	switch {
	case errors.Is(err, storage.ErrObjectNotExist):
		return Object{}, false, nil
	case err != nil:
		return Object{}, false, fmt.Errorf("read object %s of bucket %s: %w", name, r.c.name, err)
	default:
		return objectOf(a), true, nil
	}
}

func objectOf(a *storage.ObjectAttrs) Object {
	return Object{Name: a.Name, Metadata: a.Metadata, Created: a.Created, Generation: a.Generation, Metageneration: a.Metageneration}
}

// Deletion is an object to delete if its content and its metadata have not changed since it was listed.
type Deletion struct {
	Name                       string
	Generation, Metageneration int64
}

// Delete deletes an object. It returns [documents.ErrChanged] if the object was replaced, given other metadata or deleted since
// it was listed, and a [HeldError] if it is under a hold or its retention period is not over. Transient failures are sent
// again, with backoff.
func (w Writer) Delete(ctx context.Context, d Deletion) error {
	object := w.c.bucket.Object(d.Name).
		If(storage.Conditions{GenerationMatch: d.Generation, MetagenerationMatch: d.Metageneration}).
		Retryer(storage.WithPolicy(storage.RetryNever)) // for the library looks at no clock after its pauses
	var err, before error // of the attempt before
	var backoff gax.Backoff
	attempts := 0
	for again := true; again; again = storage.ShouldRetry(err) && attempts < maxAttempts && gax.Sleep(ctx, backoff.Pause()) == nil {
		if w.InTime != nil {
			if late := w.InTime(); late != nil {
				return fmt.Errorf("delete object %s: %w", d.Name, cmp.Or(err, late)) // what was sent may have taken effect
			}
		}
		before, err = err, object.Delete(ctx)
		attempts++
	}
	var answer *googleapi.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrObjectNotExist):
		// A generation is never used twice. So after an earlier attempt that failed without a clear answer, it was this run
		// that deleted the object.
		if attempts > 1 {
			return nil
		}
		return documents.ErrChanged
	case errors.As(err, &answer) && answer.Code == http.StatusPreconditionFailed, Denied(err):
		if attempts > 1 { // no documentation says that this is not the answer to a deletion that is sent again
			switch _, found, look := w.Get(ctx, d.Name); {
			case look != nil: // it may have taken effect before
				return fmt.Errorf("delete object %s: %w", d.Name, before)
			case !found:
				return nil
			}
		}
		if !Denied(err) {
			return documents.ErrChanged
		}
		if held := w.held(ctx, d.Name, answer); held != nil {
			return held
		}
		fallthrough
	default:
		return fmt.Errorf("delete object %s: %w", d.Name, err)
	}
}

// Unsure reports whether a deletion that ended with an error may have taken effect, because the answer was lost.
func Unsure(err error) bool {
	return storage.ShouldRetry(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Denied reports whether Cloud Storage refused a request to the caller. An object that may not be deleted stays.
func Denied(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && answer.Code == http.StatusForbidden
}

// held returns a [HeldError] if a refusal to delete is due to the object, nil if it may be due to the caller. Cloud Storage
// answers with the same code for a hold as for a caller without the permission, so the object's attributes decide.
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
	now := time.Now()
	if err == nil && (a.RetentionExpirationTime.After(now) || a.Retention != nil && a.Retention.RetainUntil.After(now)) {
		return &HeldError{HeldByRetention}
	}
	return nil // the refusal says more than an error of Attrs
}
