package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/logging"
)

// maxPartialRuns is from how many partial runs in a row on somebody is told.
const maxPartialRuns = 3

// maxProblem is how many bytes the log's field problem has, which goes into an alert's message.
const maxProblem = 300

// logBehind has somebody told of a job that does not keep up: it ended partial again and again, or it reached the time that
// it was given to stop after, which is less than its function's, or it does not continue by itself any longer.
func (r *run) logBehind(ctx context.Context, of *report.Report, stays string) {
	reached := r.ownStop && !r.clock().Before(r.stopAt)
	if of.Status != report.Partial || of.DryRun || of.Stopped || of.Continued {
		return
	}
	var message string
	switch left := of.Left(); {
	case stays != "":
		message = fmt.Sprintf("%s does not keep up, and does not continue by itself: %s; %d planned actions left: "+
			"run it more often (Terraform: schedules), give it more time (timeouts) or let it continue for longer (continue_for)", r.job.Name, stays, left)
	case reached, of.PartialRuns >= maxPartialRuns:
		message = fmt.Sprintf("%s does not keep up: partial %d times in a row, this time %s, %d planned actions left: "+
			"run it more often (Terraform: schedules) or give it more time (timeouts)",
			r.job.Name, of.PartialRuns, r.why(of), left)
	default:
		return
	}
	r.Logger.WarnContext(ctx, message, logging.Alert(logging.AlertBehind), slog.Int("partialRuns", of.PartialRuns), slog.Int("left", of.Left()))
}

// why says why a run ended partial.
func (r *run) why(of *report.Report) string {
	duration := (time.Duration(of.DurationMs) * time.Millisecond).Round(time.Second).String()
	switch {
	case of.Stopped:
		return "stopped, as it was told to, after " + duration
	case len(r.ranges) > 0:
		return fmt.Sprintf("split into %d shards after %s", len(r.ranges), duration)
	case r.canceled():
		return "canceled by its caller or by the platform after " + duration
	}
	return "out of time after " + duration
}

// logEnd logs the line of a call's end. That of a task's call is one that no alert or chart is made from; the last of all calls of a run
// logs that of the whole.
func (r *run) logEnd(ctx context.Context) {
	part := r.Report.Part
	if part == nil {
		r.logBehind(ctx, r.Report, r.stays)
		r.logSummary(ctx, r.Report)
		return
	}
	text := r.Report.Summary(r.why(r.Report))
	if r.saved.Divided() {
		text = fmt.Sprintf("shard %d of %d: %s", part.Number, part.Shards, text)
	} else {
		text = "continued: " + text
	}
	r.Logger.InfoContext(ctx, text, slog.Any("shardReport", r.Report.ForLog()))
	if r.leased && r.saved.Settled() {
		whole := r.saved.Report()
		r.logBehind(ctx, whole, r.saved.Why())
		r.logSummary(ctx, whole)
	}
}

func (r *run) logSummary(ctx context.Context, of *report.Report) {
	message := of.Summary(r.why(of))
	attributes := []any{slog.Any("report", of.ForLog())}
	problem := of.Problem()
	if problem != "" {
		attributes = append(attributes, logging.Problem(report.Clip(problem, maxProblem)))
	}
	switch {
	case problem == "":
		r.Logger.InfoContext(ctx, message, attributes...)
	case of.DryRun: // whoever previews sees it; nobody is to be woken
		r.Logger.WarnContext(ctx, message, attributes...)
	default:
		r.Logger.ErrorContext(ctx, message, append(attributes, logging.Reported())...)
	}
}

// logFirstLine logs the job's own first line.
func (r *run) logFirstLine(ctx context.Context) {
	if r.announced = r.job.LastLine != nil && !r.Report.DryRun; r.announced {
		r.Logger.InfoContext(ctx, r.job.FirstLine)
	}
}

// logLastLine logs the job's own last line. ctx is the caller's.
func (r *run) logLastLine(ctx context.Context) {
	if !r.announced {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			r.Logger.ErrorContext(ctx, r.job.Name+" panicked while writing its last log line; the run itself is not affected",
				logging.Reported(), logging.Stack(v, debug.Stack()))
		}
	}()
	r.Logger.InfoContext(ctx, r.job.LastLine(r.unfinished && errors.Is(ctx.Err(), context.Canceled),
		time.Duration(r.Report.DurationMs)*time.Millisecond, r.Written()), slog.String("status", string(r.Report.Status)))
}
