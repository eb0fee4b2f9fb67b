package tell

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/logging"
)

// Announce implements [cleanup.Plan].
func (t *Teller) Announce(ctx context.Context, begun string, end func(cleanup.Ending) string) {
	if t.Report.DryRun {
		return
	}
	if t.closing == nil { // or else an unusable checkpoint made the run begin once more
		t.Logger.InfoContext(ctx, begun)
	}
	t.closing = end
}

// Close logs the line that the job announced for the run's end. ctx is the caller's; unfinished says that something was left.
func (t *Teller) Close(ctx context.Context, unfinished bool) {
	if t.closing == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			t.Logger.ErrorContext(ctx, t.Job+" panicked while writing its last log line; the run itself is not affected",
				logging.Reported(), logging.Stack(v, debug.Stack()))
		}
	}()
	t.Logger.InfoContext(ctx, t.closing(cleanup.Ending{
		Canceled: unfinished && errors.Is(ctx.Err(), context.Canceled),
		Duration: time.Duration(t.Report.DurationMs) * time.Millisecond,
		Figures:  t.figures,
	}), slog.String("status", string(t.Report.Status)))
}
