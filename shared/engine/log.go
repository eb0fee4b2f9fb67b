package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/logging"
)

// maxPartialRuns is from how many partial runs in a row on somebody is told.
const maxPartialRuns = 3

// maxProblem is how many bytes the log's field problem has, which goes into an alert's message.
const maxProblem = 300

// logBehind has somebody told of a job that does not keep up: it ended partial again and again, or it reached the time that it
// was given to stop after, which is less than its function's.
func (r *run) logBehind(ctx context.Context) {
	rep := r.Report
	reached := r.ownStop && !r.clock().Before(r.stopAt)
	if rep.Status != report.Partial || rep.DryRun || rep.Stopped || !reached && rep.PartialRuns < maxPartialRuns {
		return
	}
	r.Logger.WarnContext(ctx, fmt.Sprintf("%s does not keep up: partial %d times in a row, this time %s, %d planned actions left: "+
		"run it more often (Terraform: schedules) or give it more time (timeouts)", r.job.Name, rep.PartialRuns, r.why(), rep.Left()),
		logging.Alert(logging.AlertBehind), slog.Int("partialRuns", rep.PartialRuns), slog.Int("left", rep.Left()))
}

// why says why a run ended partial.
func (r *run) why() string {
	duration := (time.Duration(r.Report.DurationMs) * time.Millisecond).Round(time.Second).String()
	switch {
	case r.Report.Stopped:
		return "stopped, as it was told to, after " + duration
	case r.canceled():
		return "canceled by its caller or by the platform after " + duration
	}
	return "out of time after " + duration
}

// logEnd logs the line of a run's end.
func (r *run) logEnd(ctx context.Context) {
	r.logBehind(ctx)
	message := r.Report.Summary(r.why())
	attributes := []any{slog.Any("report", r.Report.ForLog())}
	problem := r.Report.Problem()
	if problem != "" {
		attributes = append(attributes, logging.Problem(harmless.Clip(problem, maxProblem)))
	}
	switch {
	case problem == "":
		r.Logger.InfoContext(ctx, message, attributes...)
	case r.Report.DryRun: // whoever previews sees it; nobody is to be woken
		r.Logger.WarnContext(ctx, message, attributes...)
	default:
		r.Logger.ErrorContext(ctx, message, append(attributes, logging.Reported())...)
	}
}

// logOwnEnd logs the job's own last line, which is Ghost's.
func (r *run) logOwnEnd(ctx context.Context, own *cleanup.Lines) {
	line := fmt.Sprintf(own.Ended, r.Wrote[own.Counted[0]], r.Wrote[own.Counted[1]], r.Report.DurationMs)
	if r.unfinished && r.canceled() {
		line = own.Canceled
	}
	r.Logger.InfoContext(ctx, line, slog.String("status", string(r.Report.Status)))
}
