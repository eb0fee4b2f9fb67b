// Package apply does what a plan says: it does items many at a time, each on the condition of what was judged, saves for undo
// what goes, and does what follows.
package apply

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
)

// How much is under way at once: single items, or batches, which weigh as much as several. Eight batches of deletions are under
// way, of up to 200 documents each: if a commit takes a second, they still reach Firestore's write rate.
const (
	maxWeight    = 32
	batchWeight  = 8
	deleteWeight = 4 // of a batch of deletions of documents or objects
	largeWeight  = 2 // of a document that is large, which its rule says
)

// How many batches of what follows from one commit are under way at once.
const (
	maxFollowUps   = 8
	maxChildGroups = 4
)

// Applier applies the plan of one call.
type Applier struct {
	*decide.Decider
	Documents documents.Writer
	Own       documents.Writer // for the run's own documents, of which the log does not tell
	Objects   objects.Writer   // of no use in a function that does not use Storage
	Accounts  accounts.Writer  // of no use in a function that does not use Authentication
	Tasks     *tasks.Client    // of no use in a function that does not use Cloud Tasks
	Log       *runlog.Log      // what its commits leave

	gathered gathered
	named    namedByDocuments
	apart    atomic.Int64 // tasks so far that are due one after the other

	mu     sync.Mutex            // guards what follows, and the errors of what leads to objects
	sizes  map[string]*groupSize // by rule
	undone []documents.Ref       // items that something became of, but not what was planned
}

// Undone returns the items that were left undone, because something failed or because they changed meanwhile: the first 1000 of
// them, without those that are gone.
func (a *Applier) Undone() []documents.Ref { return a.undone }

// maxUndone is how many of these a run remembers.
const maxUndone = 1000

// Apply does the items of a plan in order, many at a time, until all are done or time is up. It returns the index of the first
// one that was left for lack of time, len(items) if none was. Failures are counted and do not stop it.
func (a *Applier) Apply(ctx context.Context, items []*decide.Item) (unfinished int) {
	underWay, batches := semaphore.NewWeighted(maxWeight), sync.WaitGroup{}
	begun := 0
	for begun < len(items) {
		batch, weight := together(items[begun:])
		if err := underWay.Acquire(ctx, weight); err != nil || a.Time.CheckTime() != nil {
			break
		}
		batches.Go(func() {
			defer underWay.Release(weight)
			a.Doing(recordsOf(batch))
			a.do(ctx, batch)
			for _, item := range batch {
				a.count(ctx, item)
			}
		})
		begun += len(batch)
	}
	batches.Wait()
	for i, item := range items[:begun] {
		if item.Left {
			return i
		}
	}
	return begun
}

// mostTogether returns how many items like one are done together.
func mostTogether(item *decide.Item) int {
	switch then := item.Then; {
	case item.Rule != nil:
		return item.Rule.Together()
	case item.Account != nil:
		return maxAccounts
	case then != nil && then.Account != "":
		return cleanup.MaxRoom // those of a commit go with one call
	case then != nil && then.Object.Folder:
		return maxFolders
	case item.Object != nil, then != nil:
		return MaxObjects
	}
	return 1
}

// together returns those of the first items that are done together, and what they weigh.
func together(items []*decide.Item) (batch []*decide.Item, weight int64) {
	first, n, absent := items[0], 0, map[documents.Ref]bool{}
	for n < min(len(items), mostTogether(first)) && (n == 0 || first.Alike(items[n])) {
		if o := items[n].Object; o != nil && len(o.Absent) > 0 {
			if absent[o.Absent[0]] = true; len(absent) > maxAbsent {
				break
			}
		}
		n++
	}
	switch {
	case first.Object != nil, first.Rule != nil && first.Rule.DeletesAlone():
		weight = deleteWeight
	case first.Rule != nil && first.Rule.Together() == 1:
		weight = largeWeight
	case n > 1:
		weight = batchWeight
	default:
		weight = 1
	}
	return items[:n], weight
}

// do does items that are alike. What became of each is in its Err; a panic is the failure of all.
func (a *Applier) do(ctx context.Context, batch []*decide.Item) {
	err := guard.Call(func() error {
		switch first := batch[0]; {
		case first.Rule != nil:
			a.changeDocuments(ctx, batch)
		case first.Object != nil:
			a.deleteObjects(ctx, batch)
		case first.Account != nil, first.Then != nil && first.Then.Account != "":
			a.deleteAccounts(ctx, batch)
		case first.Then != nil && first.Then.Task != nil:
			first.Err = a.enqueue(ctx, *first.Then)
		case first.Then != nil:
			a.deleteFollowing(ctx, batch)
		default:
			first.Err = a.finish(ctx, first)
		}
		return nil
	})
	if err != nil {
		fail(batch, err)
	}
}

// doAll does items that follow from others: those that are alike together, several batches at a time.
func (a *Applier) doAll(ctx context.Context, atOnce int, items []*decide.Item) {
	var batches [][]*decide.Item
next:
	for _, item := range items {
		for i, b := range batches {
			if b[0].Alike(item) && len(b) < mostTogether(item) {
				batches[i] = append(b, item)
				continue next
			}
		}
		batches = append(batches, []*decide.Item{item})
	}
	flow.Many(atOnce, len(batches), func(i int) error { // each error is in its item
		a.do(ctx, batches[i])
		return nil
	})
}

// recordsOf returns what the log says of items.
func recordsOf(items []*decide.Item) []undo.Record {
	records := make([]undo.Record, len(items))
	for i, item := range items {
		records[i] = item.Record()
	}
	return records
}

// fail gives items the same error.
func fail(items []*decide.Item, err error) {
	for _, item := range items {
		item.Err = err
	}
}

// count counts and logs what became of an item of the plan. One that is left for lack of time the next run judges again.
func (a *Applier) count(ctx context.Context, item *decide.Item) {
	told, err := a.Done(item.Target), item.Err
	if err != nil && item.Rule != nil && !item.Gone {
		a.leaveUndone(item.Ref)
	}
	if err != nil && (errors.Is(err, cleanup.ErrOutOfTime) || ctx.Err() != nil) {
		if item.Left = true; item.Begun || item.Partly {
			a.Counted(item.Action, func(c *report.Counts) { c.Begun++ })
		}
		return
	}
	var held *objects.HeldError
	var kept *decide.KeptError
	var invalid *decide.InvalidError
	level, how, keeps := slog.LevelInfo, "", ""
	switch {
	case err == nil:
		if a.Counted(item.Action, func(c *report.Counts) { c.Done++ }); !told {
			how = "done"
		}
	case errors.As(err, &invalid):
		keeps = invalid.Reason
		a.Keep(invalid.Reason, 1)
	case errors.Is(err, documents.ErrChanged):
		keeps = "it changed since it was judged"
		a.Counted(item.Action, func(c *report.Counts) { c.Changed++ })
	case errors.As(err, &held):
		keeps = held.Reason
		a.Keep(held.Reason, 1)
	case errors.As(err, &kept):
		keeps = kept.Error()
		a.Keep(kept.Reason, 1)
	case errors.Is(err, errLater):
		how = "not done yet, a later run continues it"
	default:
		a.Counted(item.Action, func(c *report.Counts) { c.Failed++ })
		a.Fail(ctx, item.Target, item.Action, err)
	}
	if errors.Is(err, errHalfDone) {
		level, how, keeps = slog.LevelWarn, a.halfDone(err), ""
	}
	message := report.Phrase(item.Action, item.Target) + ": " + how
	if keeps != "" {
		message = tell.Kept(item.Target, keeps)
	}
	if how+keeps != "" {
		a.Logger.Log(ctx, level, message,
			slog.String("target", item.Target), slog.String("action", item.Action), slog.String("reason", item.Reason))
	}
}

// leaveUndone notes an item for [Applier.Undone].
func (a *Applier) leaveUndone(item documents.Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.undone) < maxUndone {
		a.undone = append(a.undone, item)
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

// errLater says that an item did what it could, and that a later run will find the rest by itself. The item is not done, and
// not a failure, for which Cloud Scheduler would call again at once. The reason is counted under what is kept.
var errLater = errors.New("left to a later run")
