// Package apply does what a plan says: it carries out actions many at a time, each on the condition of what was judged, saves for
// undo what goes, and does what follows a commit.
package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
)

// How much is under way at once: single actions, or batches, which weigh as much as several. Eight batches of deletions are under
// way, of up to 200 documents each: if a commit takes a second, they still reach Firestore's write rate.
const (
	maxWeight    = 32
	batchWeight  = 8
	deleteWeight = 4 // of a batch of deletions of documents or objects
	largeWeight  = 2 // of an item that is large, which its rule says
)

// Time says when to end.
type Time interface {
	Now() time.Time   // by the wall clock
	CheckTime() error // [cleanup.ErrOutOfTime] when nothing more may be begun
}

// Applier applies the plan of one call.
type Applier struct {
	*decide.Decider
	Time      Time
	Documents documents.Writer
	Own       documents.Writer // for the run's own documents, of which the log does not tell
	Objects   objects.Writer   // of no use in a function that does not use Storage
	Accounts  accounts.Writer  // of no use in a function that does not use Authentication
	Tasks     tasks.Writer     // of no use in a function that does not use Cloud Tasks
	Log       *runlog.Log      // what its commits leave

	gathered gathered
	named    namedByDocuments

	mu     sync.Mutex            // guards what follows
	sizes  map[string]*groupSize // by rule
	undone []documents.Ref       // items that something became of, but not what was planned
}

// New returns an applier, which needs something to write with.
func New(d *decide.Decider, t Time, l *runlog.Log) *Applier {
	return &Applier{Decider: d, Time: t, Log: l, sizes: map[string]*groupSize{}}
}

// Undone returns the items that were left undone, because something failed or because they changed meanwhile: the first 1000 of
// them, without those that are gone.
func (a *Applier) Undone() []documents.Ref { return a.undone }

// maxUndone is how many of these a run remembers.
const maxUndone = 1000

// Apply does the actions in order, many at a time, until all are done or time is up. It returns the index of the first
// action that was left undone for lack of time, len(actions) if none was. Failures are counted and do not stop it.
func (a *Applier) Apply(ctx context.Context, actions []decide.Action) (unfinished int) {
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex // guards unfinished
		underWay = semaphore.NewWeighted(maxWeight)
	)
	unfinished = len(actions)
	leave := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		unfinished = min(unfinished, i)
	}
	i := 0
	for i < len(actions) {
		n := batchLength(actions[i:])
		weight := weightOf(actions[i].Effect, n)
		if err := underWay.Acquire(ctx, weight); err != nil || a.Time.CheckTime() != nil {
			leave(i)
			break
		}
		first, batch := i, actions[i:i+n]
		wg.Go(func() {
			defer underWay.Release(weight)
			ctx := tell.Doing(ctx, itemsOf(batch))
			for k, err := range a.applyGuarded(ctx, batch) {
				if err != nil && (errors.Is(err, cleanup.ErrOutOfTime) || ctx.Err() != nil) {
					leave(first + k) // the next run judges again what ctx's end interrupted
					if errors.Is(err, errBegun) {
						a.Counted(batch[k].Kind, func(c *report.Counts) { c.Begun++ })
					}
					continue
				}
				a.countResult(ctx, batch[k], err)
			}
		})
		i += n
	}
	wg.Wait()
	return unfinished
}

// weightOf returns what a batch of n actions weighs.
func weightOf(first decide.Effect, n int) int64 {
	switch effect := first.(type) {
	case cleanup.DeleteObject:
		return deleteWeight
	case decide.Ruled:
		switch {
		case effect.Rule.DeletesAlone():
			return deleteWeight
		case effect.Rule.Together() == 1:
			return largeWeight
		}
	}
	if n > 1 {
		return batchWeight
	}
	return 1
}

// batchLength returns how many of the first actions are done together.
func batchLength(actions []decide.Action) int {
	most, fits := 1, func(decide.Effect) bool { return false }
	switch first := actions[0].Effect.(type) {
	case cleanup.DeleteObject:
		absent := map[documents.Ref]bool{first.Absent: true}
		most, fits = MaxObjects, func(e decide.Effect) bool {
			next, ok := e.(cleanup.DeleteObject)
			if ok = ok && (len(absent) < maxAbsent || absent[next.Absent]); ok {
				absent[next.Absent] = true
			}
			return ok
		}
	case decide.DeleteAccount:
		most, fits = maxAccounts, func(e decide.Effect) bool {
			next, ok := e.(decide.DeleteAccount)
			return ok && next.Rule == first.Rule
		}
	case decide.Ruled:
		most, fits = first.Rule.Together(), func(e decide.Effect) bool {
			next, ok := e.(decide.Ruled)
			return ok && next.Rule.Named() == first.Rule.Named()
		}
	}
	n := 1
	for n < min(len(actions), most) && fits(actions[n].Effect) {
		n++
	}
	return n
}

// applyGuarded is applyBatch; a panic is the failure of the whole batch.
func (a *Applier) applyGuarded(ctx context.Context, batch []decide.Action) (results []error) {
	err := guard.Call(func() error {
		results = a.applyBatch(ctx, batch)
		return nil
	})
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	return results
}

// applyBatch carries out actions that go together and returns an error for each.
func (a *Applier) applyBatch(ctx context.Context, batch []decide.Action) []error {
	switch effect := batch[0].Effect.(type) {
	case cleanup.DeleteObject:
		all := make([]found, len(batch))
		for i, b := range batch {
			all[i] = found{b.Effect.(cleanup.DeleteObject), itemOf(b)}
		}
		return a.deleteFound(ctx, all)
	case decide.DeleteAccount:
		return a.deleteDueAccounts(ctx, batch)
	case decide.Ruled:
		return a.doItems(ctx, batch)
	case decide.FinishTodo:
		return []error{a.doTodo(ctx, effect)}
	default:
		return []error{errors.New("the action has no effect: this is a bug in the job")}
	}
}

// doItems does items of one rule.
func (a *Applier) doItems(ctx context.Context, batch []decide.Action) []error {
	group := make([]*work, len(batch))
	for i, b := range batch {
		group[i] = &work{Asked: decide.Asked{Ruled: b.Effect.(decide.Ruled), Kind: b.Kind}, reason: b.Reason}
	}
	a.settleMany(ctx, group)
	results := make([]error, len(batch))
	for i, w := range group {
		if results[i] = w.err; w.err != nil && !w.Gone {
			a.leaveUndone(w.Ref)
		}
		if (w.begun || w.partly) && w.err != nil && (errors.Is(w.err, cleanup.ErrOutOfTime) || ctx.Err() != nil) {
			results[i] = errBegun
		}
	}
	return results
}

// leaveUndone notes an item for [Applier.Undone].
func (a *Applier) leaveUndone(item documents.Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.undone) < maxUndone {
		a.undone = append(a.undone, item)
	}
}

// countResult counts and logs the result of an action.
func (a *Applier) countResult(ctx context.Context, done decide.Action, err error) {
	var held *objects.HeldError
	var kept *decide.KeptError
	var invalid *decide.InvalidError
	level, how, keeps := slog.LevelInfo, "", ""
	switch {
	case err == nil:
		if a.Counted(done.Kind, func(c *report.Counts) { c.Done++ }); !tell.Told(ctx, done.Target) {
			how = "done"
		}
	case errors.As(err, &invalid):
		keeps = invalid.Reason
		a.Keep(invalid.Reason, 1)
	case errors.Is(err, documents.ErrChanged):
		keeps = "it changed since it was judged"
		a.Counted(done.Kind, func(c *report.Counts) { c.Changed++ })
	case errors.As(err, &held):
		keeps = held.Reason
		a.Keep(held.Reason, 1)
	case errors.As(err, &kept):
		keeps = kept.Error()
		a.Keep(kept.Reason, 1)
	case errors.Is(err, errLater):
		how = "not done yet, a later run continues it"
	default:
		a.Counted(done.Kind, func(c *report.Counts) { c.Failed++ })
		a.Fail(ctx, done.Target, done.Kind, err)
	}
	if errors.Is(err, errHalfDone) {
		level, how, keeps = slog.LevelWarn, a.halfDone(err), ""
	}
	message := report.Phrase(done.Kind, done.Target) + ": " + how
	if keeps != "" {
		message = tell.Kept(done.Target, keeps)
	}
	if how+keeps != "" {
		a.Logger.Log(ctx, level, message,
			slog.String("target", done.Target), slog.String("action", done.Kind), slog.String("reason", done.Reason))
	}
}

// errHalfDone says that a commit has changed an item that stays.
var errHalfDone = errors.New("left half done")

// halfDone says why an item is left half done, and what to do.
func (a *Applier) halfDone(err error) string {
	text := err.Error() + ": look at it"
	if a.Saves {
		text += "; what is gone comes back with: firesweep undo " + a.Report.RunID
	}
	return text
}

// errBegun says that time was up when some of an item was done.
var errBegun = fmt.Errorf("begun: %w", cleanup.ErrOutOfTime)

// errLater says that an item did what it could, and that a later run will find the rest by itself. The item is not done, and
// not a failure, for which Cloud Scheduler would call again at once. The reason is counted under what is kept.
var errLater = errors.New("left to a later run")
