package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/tasks"
)

// A run that is out of time hands what is left to its own function through Cloud Tasks (CONTINUE_FOR), so that a pass over any
// size ends the same night. A job that looks through very much may be split (SHARDS): its scheduled run divides the names into
// ranges and hands out each. A task says which range of which run it continues, after which call, and a digest of what that was
// told, so that neither it nor the state decides alone. If another run comes first, such as the next scheduled one, the task ends
// as skipped: so nothing is done twice, however often a task is delivered.

// continuesHeader holds the run that a task continues, the number of its range, the call after which, and [state.Told].
const continuesHeader = "Firesweep-Continues"

// queueHeader is on each request of Cloud Tasks, which sets it whatever the task says.
const queueHeader = "X-CloudTasks-QueueName"

// taskMargin is how much longer than the function's timeout Cloud Tasks waits for it.
const taskMargin = 30 * time.Second

func headerOf(t state.Task) string {
	return fmt.Sprintf("%s %d %s %s", t.Run, t.Range, t.Token, t.Told)
}

// continues returns what a request to a job continues; nil if it continues nothing, which no task may. A worker's request never
// does.
func continues(h http.Header, j cleanup.Job) (*state.Task, error) {
	text := h.Get(continuesHeader)
	switch {
	case j.Task != nil:
		return nil, nil
	case text == "" && h.Get(queueHeader) != "":
		return nil, fmt.Errorf("the task of queue %q names no run to continue (header %s), and Cloud Tasks begins none",
			report.Clip(h.Get(queueHeader), maxQuoted), continuesHeader)
	case text == "":
		return nil, nil
	}
	var t state.Task
	_, err := fmt.Sscanf(text, "%s %d %s %s", &t.Run, &t.Range, &t.Token, &t.Told)
	ours := state.IsRunOf(t.Run, j.Name) && state.IsRunOf(t.Token, j.Name)
	if err != nil || t.Range < 0 || text != headerOf(t) || !ours {
		return nil, fmt.Errorf("header %s is %q, which is not a run of %s, the number of a range, a call of the run, and what it was told",
			continuesHeader, report.Clip(text, maxQuoted), j.Name)
	}
	return &t, nil
}

// split finds the ranges that the run hands out; none if it does all by itself. What an earlier split run did not get to comes
// before all else, as a checkpoint does.
func (r *run) split(ctx context.Context) {
	switch {
	case r.continues != nil || !r.leased || r.stop.told.Load(), r.decider.Approved != nil:
	case r.saved.Divided():
		for _, left := range r.saved.Ranges {
			r.ranges = append(r.ranges, left.Bounds)
		}
	case r.job.Split != nil && r.config.Shards > 1:
		ranges, err := r.cut(ctx)
		if err != nil {
			r.Fail(ctx, r.job.Name, "split", err)
		}
		if len(ranges) >= 2 {
			r.ranges = ranges
		}
	}
}

// tellOfShards says what becomes of shards that an earlier run left.
func (r *run) tellOfShards(ctx context.Context, of string, left int) {
	switch {
	case r.saved.Divided():
		r.Logger.InfoContext(ctx, fmt.Sprintf("%s continues the %d shards that run %s left", r.job.Name, left, of))
	case r.config.ContinueFor == 0:
		r.Logger.WarnContext(ctx, fmt.Sprintf("%s starts from the beginning: run %s left %d shards, "+
			"and without CONTINUE_FOR none can be handed over", r.job.Name, of, left))
	case r.job.Split == nil:
		r.Logger.WarnContext(ctx, fmt.Sprintf("%s starts from the beginning: run %s left %d shards, "+
			"and a job that is not about objects has none", r.job.Name, of, left))
	}
}

// cut asks the job where to cut; its panic is the run's failure.
func (r *run) cut(ctx context.Context) (ranges []cleanup.Bounds, err error) {
	defer guard.Recover(&err)
	ranges, err = r.ask(r.checkpoint).Split(ctx, r.config.Shards)
	outOfTime := errors.Is(err, cleanup.ErrOutOfTime)
	switch {
	case err != nil && !outOfTime:
		return nil, err
	case len(ranges) < 2, r.stop.told.Load():
		return nil, nil
	case outOfTime:
		r.Logger.WarnContext(ctx, r.job.Name+" had no time to find out how much there is: the last shard goes through "+
			"all that was not looked at, and may take much longer than the others; give the job more time (Terraform: timeouts)")
	}
	if len(ranges) > r.config.Shards {
		return nil, fmt.Errorf("the job made %d ranges, but at most %d are allowed", len(ranges), r.config.Shards)
	}
	ranges[0].Begin = r.checkpoint
	for i := range ranges[1:] { // what nobody goes through would be taken for looked at
		if ranges[i].End == "" || ranges[i].End != ranges[i+1].Begin {
			return nil, fmt.Errorf("range %d ends at %q, but the next one begins at %q", i, ranges[i].End, ranges[i+1].Begin)
		}
	}
	if end := ranges[len(ranges)-1].End; end != "" {
		return nil, fmt.Errorf("the last range ends at %q, not at the end", end)
	}
	return ranges, nil
}

// willContinue reports whether the ended call hands over what is left. If not, it returns the reason, if somebody should know it.
func (r *run) willContinue() (ok bool, why string) {
	canceled := r.continueHere != nil && r.canceled() // the process that would continue is about to end
	if r.config.ContinueFor == 0 || !r.unfinished || r.Report.Stopped || r.ownStop || !r.leased || canceled ||
		r.decider.Approved != nil {
		return false, ""
	}
	if len(r.ranges) > 0 {
		return true, ""
	}
	began := r.saved.Begun.StartedAt
	switch {
	case r.checkpoint == r.beganAt && r.Report.Done() == 0:
		return false, "it made no progress: it did nothing, and its checkpoint has not moved"
	case !r.clock().Before(began.Add(r.config.ContinueFor)):
		return false, fmt.Sprintf("it has continued since %s, and CONTINUE_FOR allows no longer", began.Format(time.RFC3339))
	}
	return true, ""
}

// continueInTasks hands what is left to Cloud Tasks. It is called after the release, which the task's call needs. If it fails,
// or the process ends before it, Cloud Scheduler or Cloud Tasks calls again.
func (r *run) continueInTasks(ctx context.Context) {
	if !r.Report.Continued {
		return
	}
	t := state.Task{Run: r.id(), Range: r.number(), Token: r.Report.RunID, Told: state.Told(*r.Report)}
	left := []state.Task{t}
	for t.Range = 1; t.Range < len(r.ranges); t.Range++ { // what is handed out is numbered from 0, as is the range of a run that begins
		left = append(left, t)
	}
	if err := r.handOut(ctx, left); err != nil {
		r.Fail(ctx, r.job.Name, "hand over what is left", err)
		r.complete(0)
		r.Report.Continued = false
	}
}

// handOut makes tasks.
func (r *run) handOut(ctx context.Context, all []state.Task) error {
	var errs []error
	for _, t := range all {
		if r.continueHere != nil {
			r.continueHere(t)
			continue
		}
		errs = append(errs, r.next.Enqueue(ctx, tasks.Task{
			Key: []string{"continue", t.Run, strconv.Itoa(t.Range), r.Report.RunID}, TargetURL: r.url, Deadline: r.timeout + taskMargin,
			Headers: map[string]string{continuesHeader: headerOf(t)},
		}))
	}
	return errors.Join(errs...)
}

// handOutAgain hands out the ranges of a run that is under way which no call has begun: perhaps whoever split it was killed, or
// could not reach Cloud Tasks. One that had been handed out ends where the other has come before it.
func (r *run) handOutAgain(ctx context.Context, e *state.LeasedError) {
	if len(e.Waiting) == 0 || r.job.Split == nil || r.next == (tasks.Writer{}) {
		return
	}
	if err := r.handOut(ctx, e.Waiting); err != nil {
		r.Report.Status = ""
		r.Fail(ctx, r.job.Name, "hand over shards", err)
		return
	}
	r.Logger.InfoContext(ctx, fmt.Sprintf("%s handed over %d shards of run %s again: they had not begun", r.job.Name, len(e.Waiting),
		e.Holder), slog.String("run", e.Holder), slog.Int("shards", len(e.Waiting)))
}
