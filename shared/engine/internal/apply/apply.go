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
	Objects   objects.Writer  // of no use in a function that does not use Storage
	Accounts  accounts.Writer // of no use in a function that does not use Authentication
	Tasks     *tasks.Client   // of no use in a function that does not use Cloud Tasks
	Log       *runlog.Log     // what its commits leave

	gathered gathered
	named    namedByDocuments
	apart    atomic.Int64 // tasks so far that are due one after the other

	mu    sync.Mutex            // guards what follows, and the errors of what leads to objects
	sizes map[string]*groupSize // by rule
}

// maxUndone is how many items that were left undone a run remembers.
const maxUndone = 1000

// Apply does the items of a plan in order, many at a time, until all are done or time is up. It returns the index of the first
// one that was left for lack of time, len(items) if none was, and the documents that were left undone, because something failed or
// because they changed meanwhile: the first 1000 of them, without those that are gone. Failures are counted and do not stop it.
func (a *Applier) Apply(ctx context.Context, items []*decide.Item) (unfinished int, undone []documents.Ref) {
	underWay, batches := semaphore.NewWeighted(maxWeight), sync.WaitGroup{}
	begun := 0
	for begun < len(items) {
		batch, weight := a.together(items[begun:])
		if err := underWay.Acquire(ctx, weight); err != nil || a.Time.CheckTime() != nil {
			break
		}
		batches.Go(func() {
			defer underWay.Release(weight)
			for _, item := range batch {
				a.Doing(item.Planned)
			}
			a.do(ctx, batch)
			for _, item := range batch {
				a.count(ctx, item)
			}
		})
		begun += len(batch)
	}
	batches.Wait()
	unfinished = begun
	for i, item := range items[:begun] {
		if item.Left {
			unfinished = min(unfinished, i)
		}
		if item.Err != nil && item.Rule != nil && !item.Gone && len(undone) < maxUndone {
			undone = append(undone, item.Ref)
		}
	}
	return unfinished, undone
}

// way is how items that are alike are done.
type way struct {
	most   int   // how many together
	weight int64 // of several
	do     func(context.Context, []*decide.Item)
}

func (a *Applier) wayOf(item *decide.Item) way {
	switch then := item.Then; {
	case item.Rule != nil && item.Rule.DeletesAlone():
		return way{item.Rule.Together(), deleteWeight, a.changeDocuments}
	case item.Rule != nil:
		return way{item.Rule.Together(), batchWeight, a.changeDocuments}
	case item.Object != nil:
		return way{MaxObjects, deleteWeight, a.deleteObjects}
	case item.Account != nil:
		return way{maxAccounts, batchWeight, a.deleteAccounts}
	case then == nil:
		return way{1, 1, a.finish}
	case then.Task != nil:
		return way{1, 1, a.enqueue}
	case then.Account != "":
		return way{cleanup.MaxRoom, batchWeight, a.deleteAccounts} // those of a commit go with one call
	case then.Object.Folder:
		return way{maxFolders, batchWeight, a.deleteFollowing}
	default:
		return way{MaxObjects, batchWeight, a.deleteFollowing}
	}
}

// together returns those of the first items that are done together, and what they weigh.
func (a *Applier) together(items []*decide.Item) (batch []*decide.Item, weight int64) {
	first, n, absent := items[0], 0, map[documents.Ref]bool{}
	way := a.wayOf(first)
	for n < min(len(items), way.most) && (n == 0 || first.Alike(items[n])) {
		if o := items[n].Object; o != nil && len(o.Absent) > 0 {
			if absent[o.Absent[0]] = true; len(absent) > maxAbsent {
				break
			}
		}
		n++
	}
	switch weight = way.weight; {
	case first.Rule != nil && way.most == 1:
		weight = largeWeight
	case n == 1 && weight == batchWeight:
		weight = 1
	}
	return items[:n], weight
}

// do does items that are alike. What became of each is in its Err; a panic is the failure of all.
func (a *Applier) do(ctx context.Context, batch []*decide.Item) {
	if err := guard.Call(func() error {
		a.wayOf(batch[0]).do(ctx, batch)
		return nil
	}); err != nil {
		fail(batch, err)
	}
}

// doAll does items that follow from others: those that are alike together, several batches at a time.
func (a *Applier) doAll(ctx context.Context, atOnce int, items []*decide.Item) {
	var batches [][]*decide.Item
next:
	for _, item := range items {
		for i, b := range batches {
			if b[0].Alike(item) && len(b) < a.wayOf(item).most {
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

// fail gives items the same error.
func fail(items []*decide.Item, err error) {
	for _, item := range items {
		item.Err = err
	}
}

// count counts and logs what became of an item of the plan. One that is left for lack of time the next run judges again.
func (a *Applier) count(ctx context.Context, item *decide.Item) {
	logged, err := a.HasLogged(item.Target), item.Err
	if err != nil && (errors.Is(err, cleanup.ErrOutOfTime) || ctx.Err() != nil) {
		if item.Left = true; item.Begun || item.Partly {
			a.Counted(item.Action, func(c *report.Counts) { c.Begun++ })
		}
		return
	}
	var held *objects.HeldError
	var kept *decide.KeptError
	var invalid *decide.InvalidError
	level, says := slog.LevelInfo, ""
	done := func(how string) { says = report.Phrase(item.Action, item.Target) + ": " + how }
	keep := func(reason, because string) {
		a.Keep(reason, 1)
		says = tell.Kept(item.Target, because)
	}
	switch {
	case err == nil:
		if a.Counted(item.Action, func(c *report.Counts) { c.Done++ }); !logged {
			done("done")
		}
	case errors.As(err, &invalid):
		keep(invalid.Reason, invalid.Reason)
	case errors.Is(err, documents.ErrChanged):
		says = tell.Kept(item.Target, "it changed since it was judged")
		a.Counted(item.Action, func(c *report.Counts) { c.Changed++ })
	case errors.As(err, &held):
		keep(held.Reason, held.Reason)
	case errors.As(err, &kept):
		keep(kept.Reason, kept.Error())
	case errors.Is(err, errLater):
		done("not done yet, a later run continues it")
	default:
		a.Counted(item.Action, func(c *report.Counts) { c.Failed++ })
		a.Fail(ctx, item.Target, item.Action, err)
	}
	if errors.Is(err, errHalfDone) {
		level = slog.LevelWarn
		done(a.halfDone(err))
	}
	if says != "" {
		a.Logger.Log(ctx, level, says,
			slog.String("target", item.Target), slog.String("action", item.Action), slog.String("reason", item.Reason))
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
