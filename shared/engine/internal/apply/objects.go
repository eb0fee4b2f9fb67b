package apply

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/objects"
)

// How many deletes of objects go together, and on how many documents' absence they may depend: as many as one read can check.
const (
	MaxObjects = 100
	maxAbsent  = 30
)

// maxDeletes is how many deletes of a batch of objects are under way at once. With four or more batches, and answers after a
// twentieth of a second, they reach the bucket's rate.
const maxDeletes = 25

// namedByDocuments tells which objects documents name. To know that, many documents may have to be read, so one reading serves a
// minute of deletions from its end, however long it takes. One that failed serves those that were waiting for it.
type namedByDocuments struct {
	mu    sync.Mutex
	at    time.Time // when the last reading ended
	named func(object string) bool
	err   error
}

const namesLast = time.Minute

func (n *namedByDocuments) latest(
	clock func() time.Time, read func() (func(string) bool, error),
) (named func(string) bool, err error) {
	asked := clock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at.IsZero() || clock().Sub(n.at) >= namesLast || n.err != nil && asked.After(n.at) {
		n.named, n.err = read()
		n.at = clock()
	}
	return n.named, n.err
}

// deleteObjects deletes objects as they were found.
func (a *Applier) deleteObjects(ctx context.Context, all []*decide.Item) {
	a.deleteOutside(ctx, all, outside{look: a.lookForDocuments, send: a.sendObjects})
}

// lookForDocuments looks up again the documents whose absence is the reason to delete objects, and those that name them.
func (a *Applier) lookForDocuments(ctx context.Context, all []*decide.Item) {
	if err := a.Objects.Wait(ctx, len(all)); err != nil {
		end(ctx, all, err)
		return
	}
	if names := all[0].Object.Named; names != nil { // a job has one at most
		named, err := a.named.latest(a.Time.Now, func() (func(string) bool, error) {
			if err := a.Time.CheckTime(); err != nil { // a batch may have waited for another's reading
				return nil, err
			}
			return names(ctx, a.Decider.Documents, a.Run)
		})
		if err = cmp.Or(err, a.Time.CheckTime()); err != nil {
			end(ctx, all, err)
			return
		}
		for _, item := range all {
			if named(item.Object.Name) {
				item.Ends(item.IsBack())
			}
		}
	}
	a.LookAgain(ctx, all)
}

// sendObjects deletes objects, and says so in one line of the log. It looks whether one is there whose deletion had no answer.
func (a *Applier) sendObjects(ctx context.Context, due []*decide.Item) {
	told := a.Writes(ctx)
	defer told.Log()
	for i, err := range flow.Many(maxDeletes, len(due), func(i int) error {
		if ctx.Err() != nil { // nothing more is sent
			return cleanup.ErrOutOfTime
		}
		d := due[i].Object.Deletion
		err := a.Objects.Delete(ctx, d)
		unsure := objects.Unsure(err)
		if unsure {
			now, found, failed := a.Objects.Get(ctx, d.Name)
			due[i].There = found && failed == nil && now.Generation == d.Generation
		}
		if (unsure || err == nil) && !due[i].There {
			told.Object(d, due[i].Wrote(report.ObjectTarget(a.Report.Bucket, d.Name), !unsure), unsure)
		}
		return err
	}) {
		due[i].Ends(decide.FateOf(ctx, err))
	}
}

// How many folders that follow one commit are read side by side, and how many entries of their objects are under way at once.
const (
	maxFolders = 25
	maxChunks  = 4
)

// deleteFollowing deletes the objects that items name, and those of the folders that they name, page by page. Those of several
// items share entries. A failure of one object is the item's, and does not stop the others.
func (a *Applier) deleteFollowing(ctx context.Context, all []*decide.Item) {
	next := make(map[*decide.Item]func() ([]objects.Object, error, bool), len(all))
	for _, item := range all {
		var stop func()
		next[item], stop = iter.Pull2(a.objectsOf(ctx, item.Then.Object))
		defer stop()
	}
	for len(all) > 0 {
		if err := a.Time.CheckTime(); err != nil {
			a.fails(decide.FateOf(ctx, err), all...)
			return
		}
		pages, unread := make([][]*decide.Item, len(all)), make([]*decide.Item, len(all))
		for i, err := range flow.Many(maxFollowUps, len(all), func(i int) error {
			page, err, more := next[all[i]]()
			for _, o := range page {
				pages[i] = append(pages[i], a.led(ctx, all[i], o)...)
			}
			if more && err == nil && all[i].Then.Object.Folder && all[i].Fate.Kind != decide.OutOfTime {
				unread[i] = all[i]
			}
			return err
		}) {
			a.fails(decide.FateOf(ctx, err), all[i])
		}
		chunks := slices.Collect(slices.Chunk(slices.Concat(pages...), MaxObjects))
		for i, err := range flow.Many(maxChunks, len(chunks), func(i int) error { return a.deleteLed(ctx, chunks[i]) }) {
			for _, o := range chunks[i] {
				a.fails(decide.FateOf(ctx, err), o.Of)
			}
		}
		all = slices.DeleteFunc(unread, func(item *decide.Item) bool { return item == nil })
	}
}

// objectsOf reads the objects that a follow-up names.
func (a *Applier) objectsOf(ctx context.Context, o cleanup.ObjectDeletion) iter.Seq2[[]objects.Object, error] {
	if o.Folder {
		return a.Objects.Pages(ctx, o.Name, objects.Names{})
	}
	return func(yield func([]objects.Object, error) bool) {
		switch o, there, err := a.Objects.Get(ctx, o.Name); {
		case err != nil:
			yield(nil, err)
		case there:
			yield([]objects.Object{o}, nil)
		}
	}
}

// led returns the object to which an item leads, unless its attributes keep it, or so many led to others before.
func (a *Applier) led(ctx context.Context, by *decide.Item, o objects.Object) []*decide.Item {
	target := report.ObjectTarget(a.Report.Bucket, o.Name)
	if reason := decide.KeepsObject(*by.Then, o, by.At); reason != "" {
		a.KeepNamed(ctx, target, reason)
		return nil
	}
	if !a.mayDo(by) {
		a.fails(decide.FateOf(ctx, cleanup.ErrOutOfTime), by)
		return nil
	}
	d := objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}
	object := cleanup.DeleteObject{Deletion: d, Absent: []documents.Ref{by.Then.Absent}}
	return []*decide.Item{{Planned: report.Planned{Target: target}, Object: &object, Of: by}}
}

// mayDo reports whether one more of what an earlier run left to do may be done, and counts that.
func (a *Applier) mayDo(by *decide.Item) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if by.Most == nil {
		return true
	}
	*by.Most--
	return *by.Most >= 0
}

// fails gives items the fate of one of the objects to which they lead: of several the first failure, or else what stays.
func (a *Applier) fails(f decide.Fate, by ...*decide.Item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, item := range by {
		if f.Outweighs(item.Fate) {
			item.Fate = f
		}
	}
}

// maxLooks is how often an object is looked at that changes before it is deleted: somebody would have to change it again and
// again.
const maxLooks = 3

// deleteLed deletes objects that are still as they were found. It looks again at what has changed. What became of each is the
// fate of the item that leads there. An error says why no more can be deleted.
func (a *Applier) deleteLed(ctx context.Context, all []*decide.Item) error {
	for range maxLooks {
		if len(all) == 0 {
			return nil
		}
		if err := a.Time.CheckTime(); err != nil {
			return err
		}
		a.deleteObjects(ctx, all)
		var changed []*decide.Item
		for _, o := range all {
			by, f := o.Of, o.Fate
			switch f.Kind {
			case decide.Kept:
				a.KeepNamed(ctx, o.Target, f.Reason)
			case decide.Changed:
				now, there, err := a.Objects.Get(ctx, o.Object.Name)
				if f = decide.FateOf(ctx, err); there { // or another item's has deleted it
					changed = append(changed, a.led(ctx, by, now)...)
				}
			default:
			}
			a.fails(f, by)
		}
		all = changed
	}
	for _, o := range all {
		err := fmt.Errorf("delete object %s: it changed %d times meanwhile", o.Object.Name, maxLooks)
		a.fails(decide.Fate{Kind: decide.Failed, Err: err}, o.Of)
	}
	return nil
}
