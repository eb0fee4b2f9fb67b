package engine

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/firesweep/firesweep/shared/logging"
)

// Ending is how a run ended.
type Ending struct {
	// Canceled says that the caller went away before everything was done. A run that is out of time was not canceled.
	Canceled bool
	Duration time.Duration // in whole milliseconds, as in the report
	// Figures are the sums of [Change.Tally] over all commits.
	Figures map[string]int
}

// Announce logs a line of the job's own now, at the beginning of the run, and the line that end returns when the run has ended,
// however it ended. It is for a job whose log lines are prescribed word for word; the engine logs its own lines besides. A dry
// run logs neither line, because they say what was done; a skipped run never gets here.
func (p *Planner) Announce(ctx context.Context, begun string, end func(Ending) string) {
	if p.run.report.DryRun {
		return
	}
	if p.run.closing == nil { // or else an unusable checkpoint made the run begin once more
		p.run.log.InfoContext(ctx, begun)
	}
	p.run.closing = end
}

// close logs the line that the job announced for the run's end. ctx is the caller's.
func (r *run) close(ctx context.Context) {
	if r.closing == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			r.log.ErrorContext(ctx, r.job.Name+" panicked while writing its last log line; the run itself is not affected",
				logging.Reported(), logging.Stack(v, debug.Stack()))
		}
	}()
	r.log.InfoContext(ctx, r.closing(Ending{
		Canceled: r.unfinished && errors.Is(ctx.Err(), context.Canceled),
		Duration: time.Duration(r.report.DurationMs) * time.Millisecond,
		Figures:  r.figures,
	}), slog.String("status", string(r.report.Status)))
}
