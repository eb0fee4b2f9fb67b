// Package retry sends requests to Firestore again after errors that are likely to pass.
package retry

import (
	"context"
	"errors"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/wire"
)

// Attempts bounds how often a request is sent. With [Backoff] the attempts spread over some 20 seconds.
const Attempts = 8

// Backoff returns the pauses between attempts, with jitter.
func Backoff() gax.Backoff {
	return gax.Backoff{Initial: 200 * time.Millisecond, Max: 10 * time.Second, Multiplier: 2}
}

// Transient reports whether the same request may succeed a little later. One that writes may have taken effect.
func Transient(err error) bool {
	switch Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded, codes.Internal:
		return true
	default:
		return false
	}
}

// Do calls f, and calls it again after a [Transient] error: [Attempts] times in all, and not after ctx ended. It must be safe to
// call f again after an attempt whose answer was lost.
func Do(ctx context.Context, f func(ctx context.Context) error) error { return If(ctx, Transient, f) }

// If is [Do] with another definition of transient errors.
func If(ctx context.Context, transient func(error) bool, f func(ctx context.Context) error) error {
	backoff := Backoff()
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		if err == nil || attempt == Attempts || !transient(err) {
			return err
		}
		if gax.Sleep(ctx, backoff.Pause()) != nil {
			return err // it says more than that the context ended
		}
	}
}

// ownRetryError hides the code of a failure that Google's client would retry by itself. The client's retries have no bound
// but the context's end. It repeats a commit within the same transaction, which Firestore refuses if the first attempt took
// effect. It repeats deletes without telling, so documents that the first attempt deleted would count as changed by somebody
// else. With another code the failure reaches [Do] or the loop of a delete, which begin again at the right place. Aborted keeps
// its code, because RunTransaction knows how to handle it.
type ownRetryError struct{ error }

// GRPCStatus gives the failure a code that no client retries.
func (e ownRetryError) GRPCStatus() *status.Status { return status.New(codes.Unknown, e.Error()) }

// Unwrap returns the failure as it was received.
func (e ownRetryError) Unwrap() error { return e.error }

// Code returns the code that was received.
func Code(err error) codes.Code {
	var own ownRetryError
	if errors.As(err, &own) {
		err = own.error
	}
	return status.Code(err)
}

// DialOptions make a connection leave all repetition to this package.
func DialOptions() []grpc.DialOption {
	return wire.After(func(_ string, _ any, err error) error {
		if err == nil || !Transient(err) || Code(err) == codes.Aborted {
			return err
		}
		return ownRetryError{err}
	})
}
