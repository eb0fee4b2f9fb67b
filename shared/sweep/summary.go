package sweep

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/firesweep/firesweep/shared/logging"
)

// maxPartialRuns is from how many partial runs in a row on somebody is told.
const maxPartialRuns = 3

// logBehind has somebody told of a job that does not keep up: it ended partial again and again, or it reached the time that
// it was given to stop after, which is less than its function's, or it does not go on by itself any longer.
func (r *run) logBehind(ctx context.Context) {
	reached := r.ownStop && !r.clock().Before(r.stopAt)
	if r.report.Status != Partial || r.report.DryRun || r.report.Stopped || r.report.Continued {
		return
	}
	var message string
	switch left := r.report.left(); {
	case r.stays != "":
		message = fmt.Sprintf("%s does not keep up, and does not go on by itself: %s; %d planned actions left: "+
			"run it more often (Terraform: schedules), give it more time (timeouts) or let it go on for longer (continue_for)", r.job.Name, r.stays, left)
	case reached, r.report.PartialRuns >= maxPartialRuns:
		message = fmt.Sprintf("%s does not keep up: partial %d times in a row, this time %s, %d planned actions left: "+
			"let it run more often (Terraform: schedules) or give it more time (timeoutSeconds in functions/schedule.json)",
			r.job.Name, r.report.PartialRuns, r.why(), left)
	default:
		return
	}
	r.log.WarnContext(ctx, message, logging.Alert(logging.AlertBehind), slog.Int("partialRuns", r.report.PartialRuns), slog.Int("left", r.report.left()))
}

// why says why a run ended partial.
func (r *run) why() string {
	if r.report.Stopped {
		return "stopped, as it was told to, after " + r.duration()
	}
	if r.canceled() {
		return "canceled by its caller or by the platform after " + r.duration()
	}
	return "out of time after " + r.duration()
}

func (r *run) duration() string {
	return (time.Duration(r.report.DurationMs) * time.Millisecond).Round(time.Second).String()
}

func (r *run) logSummary(ctx context.Context) {
	message := r.report.summary(r.why())
	attributes := []any{slog.Any("report", r.report.forLog())}
	problem := r.report.problem()
	if problem != "" {
		attributes = append(attributes, logging.Problem(clip(problem, maxProblem)))
	}
	switch {
	case problem == "":
		r.log.InfoContext(ctx, message, attributes...)
	case r.report.DryRun: // whoever previews sees it; nobody is to be woken
		r.log.WarnContext(ctx, message, attributes...)
	default:
		r.log.ErrorContext(ctx, message, append(attributes, logging.Reported())...)
	}
}
