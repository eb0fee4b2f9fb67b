package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
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

// errUnsent says that a deletion was not sent, for want of what it depends on.
var errUnsent = errors.New("it was not deleted")

// errBack says that a document is there whose absence is the reason for a deletion, or one that names the object.
var errBack = fmt.Errorf("its document is back: %w", documents.ErrChanged)

// deleteObjects deletes objects as they were found. It saves them for undo before it looks up again whose absence is the reason,
// so that nothing comes between that look and the deletion.
func (a *Applier) deleteObjects(ctx context.Context, all []*decide.Item) {
	var records []undo.Record
	items, places := map[string]int{}, make([]int, len(all))
	for i, item := range all {
		of := item.Record()
		if items[of.Item] == 0 {
			records = append(records, of)
			items[of.Item] = len(records)
		}
		records = append(records, undo.Record{
			Of: items[of.Item], Object: &undo.Object{Name: item.Object.Name, Generation: item.Object.Generation},
		})
		places[i] = len(records)
	}
	entry, err := a.open(ctx, records, runlog.Todo{})
	if err != nil {
		fail(all, err)
		return
	}
	if err := a.deleteStillDue(ctx, all); err != nil {
		fail(all, fmt.Errorf("%w: %w", errUnsent, err))
	}
	var stayed []int
	for i, item := range all {
		if certainlyThere(item.Err) {
			stayed = append(stayed, places[i])
		}
	}
	a.stay(ctx, entry, stayed)
}

// deleteStillDue looks up again the documents whose absence is the reason, and deletes the objects whose documents are still
// absent. An error says why none was sent.
func (a *Applier) deleteStillDue(ctx context.Context, all []*decide.Item) error {
	err := a.Objects.Wait(ctx, len(all))
	if err != nil {
		return err
	}
	named := func(string) bool { return false }
	if names := all[0].Object.Named; names != nil { // a job has one at most
		named, err = a.named.latest(a.Time.Now, func() (func(string) bool, error) {
			if err := a.Time.CheckTime(); err != nil { // a batch may have waited for another's reading
				return nil, err
			}
			return names(ctx, a.Decider.Documents, a.Run)
		})
		if err = cmp.Or(err, a.Time.CheckTime()); err != nil {
			return err
		}
	}
	missing, failed := a.missing(ctx, all)
	told := a.Writes(ctx)
	defer told.Log() // in one line
	var due []*decide.Item
	for _, item := range all {
		for _, ref := range item.Object.Absent {
			if err := failed[ref.Collection]; err != nil {
				item.Err = fmt.Errorf("%w: %w", errUnsent, err)
			} else if !missing[ref] {
				item.Err = cmp.Or(item.Err, errBack)
			}
		}
		if item.Err == nil && named(item.Object.Name) {
			item.Err = errBack
		}
		if item.Err == nil {
			due = append(due, item)
		}
	}
	for n, err := range flow.Many(maxDeletes, len(due), func(n int) error {
		if ctx.Err() != nil { // nothing more is sent
			return ctx.Err()
		}
		d := due[n].Object.Deletion
		err := a.Objects.Delete(ctx, d)
		if unsure := objects.Unsure(err); unsure || err == nil {
			told.Object(d, unsure)
		}
		return err
	}) {
		due[n].Err = err
	}
	return nil
}

// missing returns which of the documents are missing whose absence is the reason for deletions, and the collections in which that
// is unknown.
func (a *Applier) missing(ctx context.Context, all []*decide.Item) (missing map[documents.Ref]bool, failed map[string]error) {
	ids := map[string][]string{} // by collection
	missing, failed = map[documents.Ref]bool{}, map[string]error{}
	for _, item := range all {
		for _, ref := range item.Object.Absent {
			if !slices.Contains(ids[ref.Collection], ref.ID) {
				ids[ref.Collection] = append(ids[ref.Collection], ref.ID)
			}
		}
	}
	for collection, ids := range ids {
		still, err := a.Documents.Missing(ctx, collection, ids)
		failed[collection] = err
		for _, id := range still {
			missing[documents.Ref{Collection: collection, ID: id}] = true
		}
	}
	return missing, failed
}

// certainlyThere reports whether what was to be deleted outside of Firestore is certainly not deleted, given what came of it.
// Without an answer it may be.
func certainlyThere(err error) bool {
	var held *objects.HeldError
	isOneOf := func(some ...error) bool {
		return slices.ContainsFunc(some, func(one error) bool { return errors.Is(err, one) })
	}
	return isOneOf(documents.ErrChanged, cleanup.ErrOutOfTime, errUnsent) || errors.As(err, &held) || objects.Denied(err) ||
		accounts.Refused(err)
}

// How many folders that follow one commit are read side by side, and how many entries of their objects are under way at once.
const (
	maxFolders = 25
	maxChunks  = 4
)

// deleteFollowing deletes the objects that items name, and those of the folders that they name, page by page. Those of several
// items share entries. What became of them is in the Err of each; a failure of one object does not stop the others.
func (a *Applier) deleteFollowing(ctx context.Context, all []*decide.Item) {
	next := make(map[*decide.Item]func() ([]objects.Object, error, bool), len(all))
	for _, item := range all {
		var stop func()
		next[item], stop = iter.Pull2(a.objectsOf(ctx, item.Then.Object))
		defer stop()
	}
	for len(all) > 0 {
		if err := a.Time.CheckTime(); err != nil {
			a.failed(all, err)
			return
		}
		pages, ended := make([][]*decide.Item, len(all)), make([]bool, len(all))
		for i, err := range flow.Many(maxFollowUps, len(all), func(i int) error {
			page, err, more := next[all[i]]()
			for _, o := range page {
				pages[i] = append(pages[i], a.led(ctx, all[i], o)...)
			}
			ended[i] = !more || !all[i].Then.Object.Folder || errors.Is(all[i].Err, cleanup.ErrOutOfTime)
			return err
		}) {
			a.failed(all[i:i+1], err)
			ended[i] = ended[i] || err != nil
		}
		var open []*decide.Item
		for i, item := range all {
			if !ended[i] {
				open = append(open, item)
			}
		}
		chunks := slices.Collect(slices.Chunk(slices.Concat(pages...), MaxObjects))
		for i, err := range flow.Many(maxChunks, len(chunks), func(i int) error { return a.deleteLed(ctx, chunks[i]) }) {
			if err != nil {
				for _, o := range chunks[i] {
					a.failed([]*decide.Item{o.Of}, err)
				}
				a.failed(open, err)
				open = nil
			}
		}
		all = open
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

// led returns the object to which an item leads, unless its attributes keep it.
func (a *Applier) led(ctx context.Context, by *decide.Item, o objects.Object) []*decide.Item {
	if reason := decide.KeepsObject(by.Then.Object, o, by.At); reason != "" {
		a.KeepNamed(ctx, report.ObjectTarget(a.Report.Bucket, o.Name), reason)
		return nil
	}
	if !a.mayDelete(by) {
		a.failed([]*decide.Item{by}, cleanup.ErrOutOfTime)
		return nil
	}
	d := objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}
	object := cleanup.DeleteObject{Deletion: d}
	if by.Then.Absent != (documents.Ref{}) {
		object.Absent = []documents.Ref{by.Then.Absent}
	}
	return []*decide.Item{{Object: &object, Of: by}}
}

// mayDelete reports whether an item may lead to one more object.
func (a *Applier) mayDelete(by *decide.Item) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if by.Most == nil {
		return true
	}
	*by.Most--
	return *by.Most >= 0
}

// failed notes the failure of items to which objects belong, if it is one: of several the first, and one that must stay counts less.
func (a *Applier) failed(all []*decide.Item, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, item := range all {
		if item.Err == nil || err != nil && mustStay(item.Err) {
			item.Err = err
		}
	}
}

// maxLooks is how often an object is looked at that changes before it is deleted: somebody would have to change it again and
// again.
const maxLooks = 3

// deleteLed deletes objects that are still as they were found. It looks again at what has changed. What became of each is in the
// Err of the item that leads there. An error says why no more can be deleted, such as [cleanup.ErrOutOfTime].
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
			by, err := o.Of, o.Err
			var held *objects.HeldError
			switch {
			case errors.As(err, &held):
				a.KeepNamed(ctx, report.ObjectTarget(a.Report.Bucket, o.Object.Name), held.Reason)
			case errors.Is(err, errBack):
				a.KeepRestored(ctx, by)
				err = nil
			case errors.Is(err, documents.ErrChanged):
				var now objects.Object
				var there bool
				if now, there, err = a.Objects.Get(ctx, o.Object.Name); there { // or another item's has deleted it
					changed = append(changed, a.led(ctx, by, now)...)
				}
			}
			a.failed([]*decide.Item{by}, err)
		}
		all = changed
	}
	for _, o := range all {
		a.failed([]*decide.Item{o.Of}, fmt.Errorf("delete object %s: it changed %d times meanwhile", o.Object.Name, maxLooks))
	}
	return nil
}
