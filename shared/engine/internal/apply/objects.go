package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
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

// deleteObjects looks up again the documents whose absence is the reason, and deletes the objects whose document is still
// absent, so many at once.
func (a *Applier) deleteObjects(ctx context.Context, deletions []cleanup.DeleteObject, atOnce int) []error {
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
			results[i] = documents.ErrChanged
		default:
			due = append(due, i)
		}
	}
	for n, err := range flow.Many(atOnce, len(due), func(n int) error {
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

func (o led) deletion() cleanup.DeleteObject {
	d := cleanup.DeleteObject{Deletion: objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}}
	if o.by.fromTodo {
		d.Absent = o.by.Absent
	}
	return d
}

// deleteNamed deletes the objects that some follow-ups name.
func (a *Applier) deleteNamed(ctx context.Context, all []*ongoing, at time.Time) error {
	if err := a.Time.CheckTime(); err != nil {
		return err
	}
	looked, there := make([]objects.Object, len(all)), make([]bool, len(all))
	var found []led
	for i, err := range flow.Many(maxFollowUps, len(all), func(i int) (err error) {
		looked[i], there[i], err = a.Objects.Get(ctx, all[i].Object.Name)
		return err
	}) {
		if all[i].err = err; there[i] {
			found = append(found, led{looked[i], all[i]})
		}
	}
	return a.deleteFound(ctx, found, at)
}

// deleteFolder deletes the objects of a folder. It goes on after a failure.
func (a *Applier) deleteFolder(ctx context.Context, f *ongoing, at time.Time) error {
	if err := a.Time.CheckTime(); err != nil {
		return err
	}
	for page, err := range a.Objects.Pages(ctx, f.Object.Name, objects.Names{}) {
		if err != nil {
			return err
		}
		for some := range slices.Chunk(page, MaxObjects) {
			found := make([]led, len(some))
			for i, object := range some {
				found[i] = led{object, f}
			}
			if err := a.deleteFound(ctx, found, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxLooks is how often an object is looked at that changes before it is deleted: somebody would have to change it again and
// again.
const maxLooks = 3

// deleteFound deletes objects whose attributes allow it and that are still as they were found. It looks again at what has changed.
// What became of each is in the err of its follow-up. An error says why no more can be deleted, such as [cleanup.ErrOutOfTime].
func (a *Applier) deleteFound(ctx context.Context, all []led, at time.Time) error {
	saved := map[objects.Deletion]bool{}
	for range maxLooks {
		var due []led
		var unsaved, tried []decide.Action
		var became []error // of what was tried
		var deletions []cleanup.DeleteObject
		for _, o := range all {
			if reason := decide.KeepsObject(o.by.Object, o.Object, at); reason != "" {
				a.Skip(ctx, "object "+o.Name, reason)
				continue
			}
			d := o.deletion()
			due, deletions = append(due, o), append(deletions, d)
			if same := (objects.Deletion{Name: o.Name, Generation: o.Generation}); o.by.fromTodo && !saved[same] {
				saved[same] = true
				unsaved = append(unsaved, decide.Action{
					Kind: o.by.of.Kind, Target: a.ObjectTarget(o.Name), Reason: o.by.of.reason, Effect: d,
				})
			}
		}
		if len(due) == 0 {
			return nil
		}
		if err := a.Time.CheckTime(); err != nil {
			return err
		}
		if err := a.saveObjects(ctx, unsaved); err != nil {
			return err
		}
		all = nil
		results := a.deleteObjects(ctx, deletions, maxFollowUps)
		for i, err := range results {
			o := due[i]
			var held *objects.HeldError
			if errors.As(err, &held) {
				a.Skip(ctx, "object "+o.Name, held.Reason)
			} else if errors.Is(err, documents.ErrChanged) {
				var again []led
				again, err = a.changed(ctx, o)
				all, results[i] = append(all, again...), nil // it may be gone because another follow-up deleted it
			}
			if o.by.err = worse(o.by.err, err); o.by.fromTodo {
				tried, became = append(tried, decide.Action{Effect: deletions[i]}), append(became, results[i])
			}
		}
		a.noteStayed(ctx, tried, became, nil)
	}
	for _, o := range all {
		o.by.err = worse(o.by.err, fmt.Errorf("delete object %s: it changed %d times meanwhile", o.Name, maxLooks))
	}
	return nil
}

// changed returns an object that was not deleted as it is now; none if it is gone, or kept because its document is back.
func (a *Applier) changed(ctx context.Context, o led) ([]led, error) {
	latest, found, err := a.Objects.Get(ctx, o.Name)
	switch {
	case err != nil || !found:
		return nil, err
	case o.by.fromTodo && latest.Generation == o.Generation && latest.Metageneration == o.Metageneration:
		a.KeepRestored(ctx, o.by.FollowUp)
		a.saveStayed(ctx, []undo.Record{{Stayed: o.Name, Generation: o.Generation}})
		return nil, nil
	}
	return []led{{latest, o.by}}, nil
}
