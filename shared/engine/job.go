// Package engine is what every cleanup runs on. A job plans: it reads, and says what should be done to what,
// and why. The engine applies: one at a time, previewed or for real, within its safety limits, its time and Firestore's rate,
// each action only if its target is still what was judged, and reports on it.
//
// The order to read it in:
//   - job.go (what a job is), rule.go (what a rule is), reach.go (what it can do at most) and source.go (what it reads from);
//   - run.go (what a run does) with underlease.go, reading.go (it reads ahead), planner.go, consider.go (rules judge), kept.go (what
//     is kept is counted) and limits.go;
//   - pass.go (what runs remember), unset.go and referred.go (a field is missing, something refers to a document);
//   - apply.go, group.go (items that share a commit), commit.go, save.go, follow.go with accounts.go (what follows a commit) and
//     todo.go (what an interrupted run left), written.go (what the log says of it);
//   - accountrule.go (accounts that are items themselves);
//   - foresee.go (what a preview says would be written);
//   - lease.go, continue.go (a run continues), shard.go with split.go and shardlease.go (one is split);
//   - report.go, summary.go, announce.go, and function.go with request.go (the HTTP side).
package engine

import (
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/objects"
)

// Job is a cleanup: a name and how to plan it.
type Job struct {
	// Name is the HTTP entry point, the key in functions/manifest.json and the id in cleanupJobs.
	Name string
	// Settings are those of this function alone, a [config.Own]; nil if it has none.
	Settings config.Settings
	// Plan reads and proposes. It goes through the items in a stable order, from [Planner.Checkpoint] on, and returns the error
	// of any Planner method at once. It has nothing to write with. A worker has no Plan: its task says what to judge.
	Plan func(ctx context.Context, p *Planner) error
	// Begin is for a job, instead of Plan, that can read ahead: the run begins while it still takes its lease. Until the returned
	// Plan is called, nothing is proposed or reported.
	Begin func(ctx context.Context, p *Planner) Reading
	// Split divides what Plan goes through into at most n ranges of about the same size, in order and without gaps, for a job that
	// may be run in shards (SHARDS); nil for one that may not. Fewer than two mean that it is not worth it. A range's ends are
	// checkpoints; Plan then ends at [Planner.End]. It asks [Planner.CheckTime] whether it may go on. If not, it returns that error
	// with ranges, of which the last may be much larger than the others.
	Split func(ctx context.Context, p *Planner, n int) ([]Range, error)
	// Rules are those of its items, by which it also does what earlier runs left to do.
	Rules []AnyRule
	// Reach says which objects and accounts Plan itself may propose to delete.
	Reach Reach
	// Accounts says that Plan reads accounts, so planning needs the right to.
	Accounts bool
	// Task makes it a worker, which Cloud Tasks calls with one thing to do; nil for what Cloud Scheduler calls.
	Task *Task
}

// Task says what a worker is called with. A worker takes no lease and saves no report, because many may run at once: doing its
// actions twice, or at the same time, has the same result. Its answer and the log say what it did. Any run that is not
// completed is an error, so that Cloud Tasks tries again.
type Task struct {
	// Fields of the body, all of which must be there, strings and not empty. The first is the id of the document that the task is about.
	Fields     []string
	Collection string                             // where that document is
	Rule       AnyRule                            // judges it, whether it exists or not
	Check      func(task map[string]string) error // says what else is wrong with the values; nil if nothing can be
	// Guard is asked if the document is to be changed. Its error, such as a [*LimitError], ends the run; nil: nothing is asked.
	Guard func(ctx context.Context, p *Planner) error
}

// Reading is what a job plans by, as it is being read.
type Reading struct {
	Plan func() error // does what [Job.Plan] does
	Stop func()       // ends the reading, and returns when it has ended; it may be called after Plan as well
}

// begin begins to read what the job plans by, or what a worker's task is about.
func (j Job) begin(ctx context.Context, p *Planner) Reading {
	switch {
	case j.Task != nil:
		ref := documents.Ref{Collection: j.Task.Collection, ID: p.Task[j.Task.Fields[0]]}
		subject := flow.One(ctx, ref, func(ctx context.Context, ref documents.Ref) ([]documents.Document, error) { return p.read(ctx, ref) })
		return Reading{Stop: subject.Stop, Plan: func() error {
			before := p.Planned()
			err := subject.Each(func(_ documents.Ref, found []documents.Document) error { return p.Consider(ctx, j.Task.Rule, found) })
			if err == nil && j.Task.Guard != nil && p.Planned() > before {
				err = j.Task.Guard(ctx, p)
			}
			return err
		}}
	case j.Begin != nil:
		return j.Begin(ctx, p)
	default:
		return Reading{Stop: func() {}, Plan: func() error { return j.Plan(ctx, p) }}
	}
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

	also int // how many actions more it counts as, for MAX_ACTIONS
}

// Effect is how an action is done. Those of rules are proposed by [Planner.Consider] and [Planner.ConsiderAccounts]; [DeleteObject] is
// the one that others make, such as shared/orphans.
type Effect interface{ effect() }

// deleteDocument deletes a document if it is still as it was when it was read.
type deleteDocument struct {
	documents.Deletion
	original []byte // see [documents.Document]; nil: it is to be read for the undo log
}

// DeleteObject deletes an object if it is still as it was when it was listed.
type DeleteObject struct {
	objects.Deletion
	// Absent, where set, is the document whose absence is the reason: that it is still absent is asked
	// again, for many objects at a time, right before they are deleted.
	Absent documents.Ref
}

// ruled changes an item by its rule.
type ruled struct{ Item }

func (deleteDocument) effect() {}
func (DeleteObject) effect()   {}
func (deleteAccount) effect()  {}
func (ruled) effect()          {}
func (pendingTodo) effect()    {}

// ErrChanged says that a target is no longer what was judged: the action was left undone, which is no failure.
var ErrChanged = documents.ErrChanged

// ErrOutOfTime says that the run must end before its function's timeout. Its checkpoint is saved.
var ErrOutOfTime = errors.New("out of time")

// errLater says that an item did what it could, and that a later run will find the rest by itself. The item is not done, and
// not a failure, for which Cloud Scheduler would call again at once. The reason is counted under what is kept.
var errLater = errors.New("left to a later run")
