package engine

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/tasks"
)

// A run that is out of time hands what is left to its own function through Cloud Tasks (CONTINUE_FOR), so that a pass over any
// size ends the same night. The task names the run that it continues. If another run comes first, such as the next scheduled
// one, it continues from the same checkpoint, and the task ends as skipped. So there is one chain, however often a task is
// delivered.

// continuesHeader names the run that a task continues.
const continuesHeader = "Firesweep-Continues"

// queueHeader is on each request of Cloud Tasks, which sets it whatever the task says.
const queueHeader = "X-CloudTasks-QueueName"

// continues returns the id of the run that a request to a job continues; empty if it continues none, which no task may. A worker's
// request never does.
func continues(h http.Header, j Job) (runID string, err error) {
	if j.Task != nil {
		return "", nil
	}
	job := j.Name
	runID = h.Get(continuesHeader)
	switch {
	case runID == "" && h.Get(queueHeader) != "":
		return "", fmt.Errorf("the task of queue %q names no run to continue (header %s), and Cloud Tasks begins none",
			clip(h.Get(queueHeader), maxQuoted), continuesHeader)
	case runID == "":
	case !isRunOf(runID, job):
		return "", fmt.Errorf("header %s is %q, which is not a run of %s", continuesHeader, clip(runID, maxQuoted), job)
	case h.Get(nowHeader) == "":
		return "", fmt.Errorf("header %s needs header %s, which is missing", continuesHeader, nowHeader)
	}
	return runID, nil
}

func isRunOf(runID, job string) bool {
	return strings.HasPrefix(runID, job+"-") && len(runID) <= maxQuoted
}

// An overtakenError says that the run that a task was to continue is not the last one any more, or left nothing.
type overtakenError struct{ continues, last string }

func (e *overtakenError) Error() string {
	return fmt.Sprintf("it was to continue run %s, which left nothing or which run %s has continued already", e.continues, e.last)
}

// continuation returns what the run knows of the runs that it continues, nil if it continues none. The error is an
// [*overtakenError] if there is nothing to continue.
func (r *run) continuation(last *Report) (*report.Continuation, error) {
	if r.continues == "" {
		return nil, nil
	}
	gone := &overtakenError{continues: r.continues}
	if last == nil {
		return nil, gone
	}
	gone.last = last.RunID
	c := last.Continues
	tried := c != nil && c.RunID == r.continues // by another delivery of the task
	if last.RunID != r.continues && !tried || last.Stopped || last.Status != Partial && last.Status != Failed {
		return nil, gone
	}
	next := report.Continuation{RunID: last.RunID, Began: last.StartedAt, Runs: 1, Done: last.Done()}
	if c != nil {
		next.Began, next.Runs, next.Done = c.Began, c.Runs+1, c.Done+next.Done
	}
	if tried {
		next.RunID = r.continues
	}
	return &next, nil
}

// willContinue reports whether the ended run hands over what is left. If not, it returns the reason, if somebody should know it.
func (r *run) willContinue() (ok bool, why string) {
	if r.config.ContinueFor == 0 || !r.unfinished || r.report.Stopped || r.report.DryRun || r.ownStop || r.job.Task != nil {
		return false, ""
	}
	if len(r.ranges) > 0 {
		return true, ""
	}
	began := r.report.StartedAt
	if c := r.report.Continues; c != nil {
		began = c.Began
	}
	switch {
	case r.checkpoint == r.beganAt && r.report.Done() == 0:
		return false, "it made no progress: it did nothing, and its checkpoint has not moved"
	case !r.clock().Before(began.Add(r.config.ContinueFor)):
		return false, fmt.Sprintf("it has continued since %s, and CONTINUE_FOR allows no longer", began.Format(time.RFC3339))
	}
	return true, ""
}

// continueInTask hands what is left to Cloud Tasks. It is called after the end of the lease, which the task's run needs. If it fails, or
// the process ends before it, Cloud Scheduler or Cloud Tasks calls again.
func (r *run) continueInTask(ctx context.Context) error {
	if n := len(r.ranges); n > 0 {
		return r.handOut(ctx, r.report.RunID, r.report.Now, n, func(int) bool { return false })
	}
	headers := map[string]string{nowHeader: r.report.Now.Format(time.RFC3339Nano), continuesHeader: r.report.RunID}
	if r.part != nil {
		headers[shardHeader] = headerOf(*r.part)
	}
	return r.next.Enqueue(ctx, tasks.Task{
		Key: []string{"continue", r.report.RunID}, TargetURL: r.url, Deadline: r.timeout + taskMargin, Headers: headers,
	})
}

// taskMargin is how much longer than the function's timeout Cloud Tasks waits for it.
const taskMargin = 30 * time.Second
