package ghostcircles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/firesweep/firesweep/shared/sweep"
)

// maxFailuresLogged is how many failing posts of a circle are named in the log; all are counted.
const maxFailuresLogged = 20

// postResults gathers what becomes of a circle's posts, which are deleted many at a time.
type postResults struct {
	mu       sync.Mutex
	halt     error // why no further post is begun
	failures int
	first    error // of the failures
}

// add notes what became of a post.
func (r *postResults) add(ctx context.Context, w *sweep.Writers, post string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errUnclaimed), errors.Is(err, sweep.ErrOutOfTime), ctx.Err() != nil:
		r.stop(err)
	case errors.Is(err, sweep.ErrChanged): // deleted by somebody else, or moved to another circle
	default:
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.failures++; r.failures == 1 {
			r.first = fmt.Errorf("%s: %w", post, err)
		}
		if r.failures <= maxFailuresLogged {
			w.Log.ErrorContext(ctx, "delete "+post+": failed, its circle stays: "+err.Error(), slog.String("target", post))
		}
	}
}

// stop keeps further posts from being begun.
func (r *postResults) stop(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.halt == nil {
		r.halt = err
	}
}

func (r *postResults) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.halt != nil
}

// err returns why posts are left, nil if none are that were there.
func (r *postResults) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.halt != nil:
		return r.halt
	case r.failures > 0:
		return fmt.Errorf("%d posts failed, the first: %w", r.failures, r.first)
	default:
		return nil
	}
}
