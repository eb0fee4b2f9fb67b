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

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
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

func (n *namedByDocuments) latest(clock func() time.Time, read func() (func(string) bool, error)) (named func(string) bool, err error) {
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

// found is an object to delete, as it was found, and the item that it is deleted for.
type found struct {
	cleanup.DeleteObject
	item undo.Record
}

// deleteFound deletes objects. It saves them for undo before it looks up again whose absence is the reason, so that
// nothing comes between that look and the deletion.
func (a *Applier) deleteFound(ctx context.Context, all []found) []error {
	deletions, places := make([]cleanup.DeleteObject, len(all)), make([]int, len(all))
	var records []undo.Record
	items := map[string]int{} // their places
	for i, f := range all {
		if items[f.item.Item] == 0 {
			records = append(records, f.item)
			items[f.item.Item] = len(records)
		}
		o := undo.Object{Name: f.Name, Generation: f.Generation}
		records = append(records, undo.Record{Of: items[f.item.Item], Object: &o})
		deletions[i], places[i] = f.DeleteObject, len(records)
	}
	entry, err := a.open(ctx, records, runlog.Todo{})
	if err != nil {
		return slices.Repeat([]error{err}, len(all))
	}
	results := a.deleteObjects(ctx, deletions)
	var stayed []int
	for i, err := range results {
		if stays(err) {
			stayed = append(stayed, places[i])
		}
	}
	a.stay(ctx, entry, stayed)
	return results
}

// deleteObjects looks up again the documents whose absence is the reason, and deletes the objects whose document is still
// absent.
func (a *Applier) deleteObjects(ctx context.Context, deletions []cleanup.DeleteObject) []error {
	objects, err := a.Objects.Ahead(ctx, len(deletions))
	named := func(string) bool { return false }
	if names := deletions[0].Named; names != nil && err == nil { // a job has one at most
		named, err = a.named.latest(a.Time.Now, func() (func(string) bool, error) {
			if err := a.Time.CheckTime(); err != nil { // a batch may have waited for another's reading
				return nil, err
			}
			return names(ctx, a.Decider.Documents, a.Run)
		})
		err = cmp.Or(err, a.Time.CheckTime())
	}
	if err != nil {
		return slices.Repeat([]error{fmt.Errorf("%w: %w", errUnsent, err)}, len(deletions))
	}
	results := make([]error, len(deletions))
	absent := map[string][]string{} // ids by collection
	for _, d := range deletions {
		for _, ref := range owners(d) {
			if ref != (documents.Ref{}) && !slices.Contains(absent[ref.Collection], ref.ID) {
				absent[ref.Collection] = append(absent[ref.Collection], ref.ID)
			}
		}
	}
	missing := map[documents.Ref]bool{{}: true} // nothing to be absent
	failed := map[string]error{}
	for collection, ids := range absent {
		still, err := a.Documents.Missing(ctx, collection, ids)
		if err != nil {
			failed[collection] = fmt.Errorf("%w: %w", errUnsent, err)
		}
		for _, id := range still {
			missing[documents.Ref{Collection: collection, ID: id}] = true
		}
	}
	told := a.Writes(ctx)
	objects.Written = told.Object
	defer told.Log() // in one line
	var due []int
	for i, d := range deletions {
		unclear := slices.IndexFunc(owners(d), func(ref documents.Ref) bool { return failed[ref.Collection] != nil })
		switch {
		case unclear >= 0:
			results[i] = failed[owners(d)[unclear].Collection]
		case slices.ContainsFunc(owners(d), func(ref documents.Ref) bool { return !missing[ref] }), named(d.Name):
			results[i] = errBack
		default:
			due = append(due, i)
		}
	}
	for n, err := range flow.Many(maxDeletes, len(due), func(n int) error {
		if ctx.Err() != nil { // nothing more is sent
			return ctx.Err()
		}
		return objects.Delete(ctx, deletions[due[n]].Deletion)
	}) {
		results[due[n]] = err
	}
	return results
}

// owners returns the documents of which none may exist when an object is deleted.
func owners(d cleanup.DeleteObject) []documents.Ref { return append(slices.Clone(d.Meant), d.Absent) }

// led is an object with the follow-up that led to it.
type led struct {
	objects.Object
	by *ongoing
}

func (o led) found() found {
	d := objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}
	return found{cleanup.DeleteObject{Deletion: d, Absent: o.by.Absent}, o.by.item()}
}

// How many folders that follow one commit are read side by side, and how many entries of their objects are under way at once.
const (
	maxFolders = 25
	maxChunks  = 4
)

// deleteFollowing deletes the objects that follow-ups name, and those of the folders that they name, page by page. Those of
// several follow-ups share entries. What became of them is in the err of each; a failure of one object does not stop the others.
func (a *Applier) deleteFollowing(ctx context.Context, all []*ongoing, at time.Time) {
	next := make([]func() ([]objects.Object, error, bool), len(all))
	for i, f := range all {
		var stop func()
		next[i], stop = iter.Pull2(a.objectsOf(ctx, f))
		defer stop()
	}
	for len(all) > 0 {
		if err := a.Time.CheckTime(); err != nil {
			a.fail(all, err)
			return
		}
		pages, ended := make([][]led, len(all)), make([]bool, len(all))
		for i, err := range flow.Many(maxFollowUps, len(all), func(i int) error {
			page, err, more := next[i]()
			for _, o := range page {
				pages[i] = append(pages[i], led{o, all[i]})
			}
			ended[i] = !more || err != nil || !all[i].Object.Folder
			return err
		}) {
			a.fail(all[i:i+1], err)
		}
		var open []*ongoing
		var further []func() ([]objects.Object, error, bool)
		for i, f := range all {
			if !ended[i] {
				open, further = append(open, f), append(further, next[i])
			}
		}
		all, next = open, further
		chunks := slices.Collect(slices.Chunk(slices.Concat(pages...), MaxObjects))
		for i, err := range flow.Many(maxChunks, len(chunks), func(i int) error { return a.deleteLed(ctx, chunks[i], at) }) {
			if err == nil {
				continue
			}
			for _, o := range chunks[i] {
				a.fail([]*ongoing{o.by}, err)
			}
			a.fail(all, err)
			all = nil
		}
	}
}

// objectsOf reads the objects of a follow-up.
func (a *Applier) objectsOf(ctx context.Context, f *ongoing) iter.Seq2[[]objects.Object, error] {
	if f.Object.Folder {
		return a.Objects.Pages(ctx, f.Object.Name, objects.Names{})
	}
	return func(yield func([]objects.Object, error) bool) {
		switch o, there, err := a.Objects.Get(ctx, f.Object.Name); {
		case err != nil:
			yield(nil, err)
		case there:
			yield([]objects.Object{o}, nil)
		}
	}
}

// fail notes the failure of follow-ups, if it is one.
func (a *Applier) fail(all []*ongoing, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range all {
		f.err = worse(f.err, err)
	}
}

// mayDelete reports whether one more object may be deleted.
func (a *Applier) mayDelete(by *ongoing) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if by.left == nil {
		return true
	}
	*by.left--
	return *by.left >= 0
}

// maxLooks is how often an object is looked at that changes before it is deleted: somebody would have to change it again and
// again.
const maxLooks = 3

// deleteLed deletes objects whose attributes allow it and that are still as they were found. It looks again at what has changed.
// What became of each is in the err of its follow-up. An error says why no more can be deleted, such as [cleanup.ErrOutOfTime].
func (a *Applier) deleteLed(ctx context.Context, all []led, at time.Time) error {
	for range maxLooks {
		var due []led
		var those []found
		spent := false
		for _, o := range all {
			if reason := decide.KeepsObject(o.by.Object, o.Object, at); reason != "" {
				a.Skip(ctx, "object "+o.Name, reason)
				continue
			}
			if spent = !a.mayDelete(o.by); spent {
				break
			}
			due, those = append(due, o), append(those, o.found())
		}
		if len(due) == 0 && !spent {
			return nil
		}
		if err := a.Time.CheckTime(); err != nil {
			return err
		}
		all = nil
		for i, err := range a.deleteFound(ctx, those) {
			o := due[i]
			var held *objects.HeldError
			switch {
			case errors.As(err, &held):
				a.Skip(ctx, "object "+o.Name, held.Reason)
			case errors.Is(err, errBack):
				a.KeepRestored(ctx, o.by.FollowUp)
				err = nil
			case errors.Is(err, documents.ErrChanged):
				var there bool
				if o.Object, there, err = a.Objects.Get(ctx, o.Name); there { // or another follow-up has deleted it
					all = append(all, o)
				}
			}
			a.fail([]*ongoing{o.by}, err)
		}
		if spent {
			return cleanup.ErrOutOfTime
		}
	}
	for _, o := range all {
		a.fail([]*ongoing{o.by}, fmt.Errorf("delete object %s: it changed %d times meanwhile", o.Name, maxLooks))
	}
	return nil
}
