// Package apply does what a plan says: it does items many at a time, each on the condition of what was judged, saves for undo
// what goes, and does what follows.
package apply

import (
	"context"
	"log/slog"
	"maps"
	"slices"
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

	named namedByDocuments
	apart atomic.Int64 // tasks so far that are due one after the other

	mu     sync.Mutex     // guards what follows, and the fates of what leads to objects
	shares map[string]int // how many items of a rule share a commit, by the rule's name
}

// maxUndone is how many items that were left undone a run remembers.
const maxUndone = 1000

// Apply does the items of a plan in order, many at a time, until all are done or time is up. It returns the index of the first
// one that no time was left for, len(items) if there is none, and the documents that were left undone, because something failed
// or because they changed meanwhile: the first 1000 of them, without those that are gone. Failures are counted and do not stop
// it.
func (a *Applier) Apply(ctx context.Context, items []*decide.Item) (unfinished int, undone []documents.Ref) {
	underWay, batches := semaphore.NewWeighted(maxWeight), sync.WaitGroup{}
	begun := 0
	for begun < len(items) {
		batch := a.together(items[begun:])
		weight := a.wayOf(batch[0]).weight
		if err := underWay.Acquire(ctx, weight); err != nil || a.Time.CheckTime() != nil {
			break
		}
		batches.Go(func() {
			defer underWay.Release(weight)
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
		if item.Fate.Kind == decide.OutOfTime {
			unfinished = min(unfinished, i)
		}
		if item.Fate.Kind != decide.Done && item.Rule != nil && !item.Gone && len(undone) < maxUndone {
			undone = append(undone, item.Ref)
		}
	}
	return unfinished, undone
}

// way is how an item is done, with others that are done in the same way.
type way struct {
	what   string // is the same of items that can be done together
	most   int    // how many together
	weight int64  // of a batch of the plan
	do     func(context.Context, []*decide.Item)
}

func (a *Applier) wayOf(item *decide.Item) way {
	switch then := item.Then; {
	case item.Rule != nil:
		w := way{"rule " + item.Rule.Named(), item.Rule.Together(), batchWeight, a.changeDocuments}
		switch {
		case item.Rule.DeletesAlone():
			w.weight = deleteWeight
		case w.most == 1:
			w.weight = largeWeight
		}
		return w
	case item.Object != nil:
		return way{"objects", MaxObjects, deleteWeight, a.deleteObjects}
	case item.Account != nil:
		return way{"accounts", maxAccounts, batchWeight, a.deleteAccounts}
	case then == nil:
		return way{"todo", 1, 1, a.finish}
	case then.Task != nil:
		return way{"task", 1, 1, a.enqueue}
	case then.Account != "":
		return way{"accounts of items", cleanup.MaxRoom, batchWeight, a.deleteFollowingAccounts} // those of a commit share a call
	case then.Object.Folder:
		return way{"folders of items", maxFolders, batchWeight, a.deleteFollowing}
	default:
		return way{"objects of items", MaxObjects, batchWeight, a.deleteFollowing}
	}
}

// together returns those of the first items of a plan that are done together.
func (a *Applier) together(items []*decide.Item) []*decide.Item {
	way, n, absent := a.wayOf(items[0]), 0, map[documents.Ref]bool{}
	for n < min(len(items), way.most) && a.wayOf(items[n]).what == way.what {
		if o := items[n].Object; o != nil && len(o.Absent) > 0 {
			if absent[o.Absent[0]] = true; len(absent) > maxAbsent {
				break
			}
		}
		n++
	}
	return items[:n]
}

// doAll does items that follow from others: those that are alike together, several batches at a time.
func (a *Applier) doAll(ctx context.Context, atOnce int, items []*decide.Item) {
	alike := map[string][]*decide.Item{}
	for _, item := range items {
		what := a.wayOf(item).what
		alike[what] = append(alike[what], item)
	}
	var batches [][]*decide.Item
	for _, what := range slices.Sorted(maps.Keys(alike)) {
		batches = slices.AppendSeq(batches, slices.Chunk(alike[what], a.wayOf(alike[what][0]).most))
	}
	flow.Many(atOnce, len(batches), func(i int) error { // each item has its fate
		a.do(ctx, batches[i])
		return nil
	})
}

// do does items that are alike. What became of each is its Fate; a panic is the failure of all.
func (a *Applier) do(ctx context.Context, batch []*decide.Item) {
	if batch = a.unlisted(ctx, batch); len(batch) == 0 {
		return
	}
	if err := guard.Call(func() error {
		a.wayOf(batch[0]).do(ctx, batch)
		return nil
	}); err != nil {
		end(ctx, batch, err)
	}
}

// unlisted returns those items that are not on the list of what the jobs keep: somebody may have put them there since they were
// planned, or since the commit that led to them. Of documents, the commit asks again.
func (a *Applier) unlisted(ctx context.Context, batch []*decide.Item) (due []*decide.Item) {
	for _, item := range batch {
		listed := a.Keeps(item)
		if listed.Kind != decide.Kept {
			due = append(due, item)
			continue
		}
		if item.Then != nil {
			a.KeepNamed(ctx, a.TargetOf(*item.Then), listed.Reason)
		}
		item.Ends(listed)
	}
	return due
}

// end has items end with the same error, or with none.
func end(ctx context.Context, items []*decide.Item, err error) {
	for _, item := range items {
		item.Ends(decide.FateOf(ctx, err))
	}
}

// count counts and logs what became of an item of the plan.
func (a *Applier) count(ctx context.Context, item *decide.Item) {
	f := item.Fate
	level, says := slog.LevelInfo, ""
	did := report.Phrase(item.Action, item.Target) + ": "
	switch f.Kind {
	case decide.Done:
		if a.Counted(item.Action, func(c *report.Counts) { c.Done++ }); !item.Logged {
			says = did + "done"
		}
	case decide.Changed, decide.Back:
		a.Counted(item.Action, func(c *report.Counts) { c.Changed++ })
		says = tell.Kept(item.Target, f.Because)
	case decide.Invalid, decide.Kept:
		a.Keep(f.Reason, 1)
		says = tell.Kept(item.Target, f.Because)
	case decide.Later:
		says = did + "not done yet, a later run continues it"
	case decide.OutOfTime:
		if item.Begun || item.Partly {
			a.Counted(item.Action, func(c *report.Counts) { c.Begun++ })
		}
	case decide.Failed:
		a.Counted(item.Action, func(c *report.Counts) { c.Failed++ })
		a.Fail(ctx, item.Target, item.Action, f.Err)
	}
	if f.HalfDone {
		level, says = slog.LevelWarn, did+a.halfDone(f)
	}
	if says != "" {
		a.Logger.Log(ctx, level, says,
			slog.String("target", item.Target), slog.String("action", item.Action), slog.String("reason", item.Reason))
	}
}

// halfDone says why an item is left half done, and what to do.
func (a *Applier) halfDone(f decide.Fate) string {
	text := "left half done, " + f.Because + ": look at it"
	if a.Saves {
		text += "; what is gone comes back with: firesweep undo " + a.Report.RunID
	}
	return text
}
