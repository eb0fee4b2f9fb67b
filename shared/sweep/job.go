// Package sweep is the engine that every cleanup runs on. A job plans: it reads, and says what should be done to what,
// and why. The engine applies: one at a time, previewed or for real, within its belts, its time and Firestore's rate,
// each action only if its target is still what was judged, and reports on it.
//
// The order to read it in: job.go (what a job is), run.go (what a run does), planner.go, announce.go, belts.go, apply.go,
// lease.go, report.go, and function.go with request.go (the HTTP side).
package sweep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/tasks"
)

// Job is a cleanup: a name and how to plan it.
type Job struct {
	// Name is the HTTP entry point, the key in functions/schedule.json and the id in cleanupJobs.
	Name string
	// Settings reads what the function alone is told by its environment, which then is [config.Config.Own]; nil if that is nothing.
	Settings func(*config.Loader) any
	// Plan reads and proposes. It goes through what there is in a stable order, from [Planner.Position] on, and
	// returns the error of any Planner method at once. It has nothing to write with.
	Plan func(ctx context.Context, p *Planner) error
	// Rules are those of its items that a commit may leave for later ([Change.Next]), so that the journal finds them.
	Rules []AnyRule
	// Earlier are records of unfinished work that earlier versions of the program may have left.
	Earlier []Earlier
	// Task makes it a worker, which Cloud Tasks calls with one thing to do; nil for what Cloud Scheduler calls.
	Task *Task
}

// Task says what a worker is called with. A worker takes no lease and saves no report, because many may run at once: its
// actions are such that doing them twice, or at the same time, comes to the same. What it did is in its answer and in the
// log. Anything but a completed run is an error, for Cloud Tasks to try again.
type Task struct {
	Fields []string                           // of the body, all of which must be there, strings and not empty
	Check  func(task map[string]string) error // says what is wrong with their values
}

// Action is one thing that a run proposes to do. The actions of a plan do not depend on each other: they are applied
// many at a time.
type Action struct {
	Kind   string // what is done, the key under which the report counts it, e.g. "delete report"
	Target string // what it is done to, e.g. "reports/abc"
	Reason string // why, for the person who reads the plan
	Effect Effect // how

	Writes []string // what it would write, where a preview has worked that out
	More   bool     // that is not all
}

// Effect is how an action is done: [DeleteDocument], [DeleteObject], [Steps] or [Batched].
type Effect interface{ effect() }

// DeleteDocument deletes a document if it is still as it was when it was read.
type DeleteDocument documents.Deletion

// DeleteObject deletes an object if it is still as it was when it was listed.
type DeleteObject struct {
	media.Deletion
	// Absent, where set, is the document whose absence is the reason, e.g. "posts/p1": that it is still absent is asked
	// again, for many objects at a time, right before they are deleted.
	Absent string
}

// Steps does something that takes more than one write, or a transaction. It returns nil when it is done, [ErrChanged]
// when its target is no longer what was judged, [ErrOutOfTime] when it stopped between two steps, [ErrLater] when the rest is
// for a later run, and any other error when it failed. It must be able to go on where an earlier, interrupted call ended.
type Steps func(ctx context.Context, w *Writers) error

// ruled changes an item by its rule.
type ruled struct{ Item }

// Batched does something that is done for many items in one request. Actions that follow each other and have the same
// Batch are handed to it together.
type Batched struct {
	Batch *Batch
	Item  any
}

// Batch is what the items of [Batched] actions are done with. Do returns an error for each item, with the meaning that
// [Steps] gives it.
type Batch struct {
	Size int // items at a time, at most
	Do   func(ctx context.Context, w *Writers, items []any) []error
}

func (DeleteDocument) effect() {}
func (DeleteObject) effect()   {}
func (Steps) effect()          {}
func (Batched) effect()        {}
func (ruled) effect()          {}
func (replayed) effect()       {}

// Writers are what [Steps] and [Batch] write with. Nothing but the engine makes them, and only once a plan has passed its
// belts.
type Writers struct {
	Job       string    // the job's name
	Now       time.Time // the run's now
	Started   time.Time // the wall clock's time when the run began
	Config    config.Config
	Documents documents.Writer
	Objects   media.Writer    // of no use in a function that does not use Storage
	Accounts  accounts.Writer // of no use in a function that does not use Authentication
	Log       *slog.Logger

	run   *run
	tasks tasks.Writer
}

// decidedAt returns the headers of a task that a run of this now decided on.
func decidedAt(now time.Time) map[string]string {
	return map[string]string{nowHeader: now.Format(time.RFC3339Nano)}
}

// Enqueue hands a task to the function's worker, as [tasks.Writer.Enqueue] does. The worker's now is this run's now, unless
// the task has headers that say otherwise.
func (w *Writers) Enqueue(ctx context.Context, t tasks.Task) error {
	if t.Headers == nil {
		t.Headers = decidedAt(w.Now)
	}
	return w.tasks.Enqueue(ctx, t)
}

// Keep counts something that turned out, while an action was being done, to be kept.
func (w *Writers) Keep(reason string, n int) {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	w.run.report.Kept[reason] += n
}

// CheckTime returns [ErrOutOfTime] when no further step should be begun.
func (w *Writers) CheckTime() error {
	if w.run.timeIsUp() {
		return ErrOutOfTime
	}
	return nil
}

// ErrChanged says that a target is no longer what was judged: the action was left undone, which is no failure.
var ErrChanged = documents.ErrChanged

// ErrOutOfTime says that the run must end before its function's timeout. What it got to is saved.
var ErrOutOfTime = errors.New("out of time")
