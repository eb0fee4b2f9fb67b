package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/objects"
)

// outside is how objects, or accounts, are deleted, of which Firestore's transactions know nothing.
type outside struct {
	// follows is what follows once these are deleted, as a Todo remembers it; nil: nothing.
	follows func(deleted []*decide.Item) runlog.Todo
	// look is the last look at what is to be deleted: what is not due any more ends. What takes time is done before it.
	look func(context.Context, []*decide.Item)
	send func(ctx context.Context, due []*decide.Item)
}

// deleteOutside deletes what is outside of Firestore. It saves that for undo, with what follows, before the last look, so that
// nothing comes between this look and the deletion; then it notes what stayed. It returns the entry, and what was deleted, or may
// have been.
func (a *Applier) deleteOutside(ctx context.Context, all []*decide.Item, how outside) (e runlog.Entry, deleted []*decide.Item) {
	var todo runlog.Todo
	if how.follows != nil {
		todo = how.follows(all)
	}
	records, places := recordsOf(all)
	e, err := a.save(ctx, records, todo)
	if err != nil {
		end(ctx, all, err)
		return e, nil
	}
	how.look(ctx, all)
	sent := a.unlisted(ctx, remaining(all))
	if len(sent) > 0 {
		how.send(ctx, sent)
	}
	var stayed []int
	for i, item := range all {
		switch {
		case slices.Contains(sent, item) && !certainlyThere(item):
			deleted = append(deleted, item)
		case places[i] > 0:
			stayed = append(stayed, places[i])
		}
	}
	var notes []documents.Write
	if a.Saves && len(stayed) > 0 {
		notes = append(notes, e.Stay(stayed))
	}
	if !todo.Empty() && len(deleted) < len(all) {
		left, _ := e.Left(how.follows(deleted)) // less than what was saved
		notes = append(notes, left...)
	}
	a.note(ctx, notes, len(all)-len(deleted))
	return e, deleted
}

// remaining returns those items that have not ended.
func remaining(all []*decide.Item) []*decide.Item {
	return slices.DeleteFunc(slices.Clone(all), func(item *decide.Item) bool { return item.Fate.Kind != decide.Done })
}

// certainlyThere reports whether what was sent to be deleted is certainly not deleted. Without an answer it may be.
func certainlyThere(i *decide.Item) bool {
	f := i.Fate
	return f.Kind != decide.Done && f.Err == nil || i.There || objects.Denied(f.Err) || accounts.Refused(f.Err)
}

// recordsOf returns what the log says of objects or accounts that are about to be deleted, after the item to which each belongs,
// and the place of each, from 1; 0 of one that stays, and of an account that nobody has seen.
func recordsOf(all []*decide.Item) (records []undo.Record, places []int) {
	belong := map[string]int{} // the places of items
	places = make([]int, len(all))
	for i, item := range all {
		var r undo.Record
		switch {
		case item.Fate.Kind != decide.Done:
			continue
		case item.Object != nil:
			r.Object = &undo.Object{Name: item.Object.Name, Generation: item.Object.Generation}
		case item.Seen != nil:
			r.Account = &undo.Account{UID: item.UID, Data: item.Seen.JSON()}
		default:
			continue
		}
		of := item.Record()
		if belong[of.Item] == 0 {
			records = append(records, of)
			belong[of.Item] = len(records)
		}
		r.Of = belong[of.Item]
		records = append(records, r)
		places[i] = len(records)
	}
	return records, places
}

// save commits an entry alone: what is about to be deleted outside of Firestore, and what follows that. The entry is the zero one
// if there is nothing to write. The commit can be sent again: it is the same every time.
func (a *Applier) save(ctx context.Context, records []undo.Record, todo runlog.Todo) (e runlog.Entry, err error) {
	if !a.Saves {
		records = nil
	}
	if len(records) == 0 && todo.Empty() {
		return e, nil
	}
	over := a.Log.TakeOver()
	e = a.Log.Next()
	writes, err := e.Writes(1, records, todo)
	writes = append(writes, runlog.Deletions(over)...)
	if err == nil {
		err = a.Documents.Wait(ctx, len(writes))
	}
	if err == nil {
		err = a.Documents.Put(ctx, writes)
	}
	if err != nil {
		for _, w := range writes { // also what the entry says: if an answer was lost, it says that of what is not deleted
			a.Log.Over(w.Ref)
		}
		return e, fmt.Errorf("save in the undo log what is to be deleted, so none of it was: %w", err)
	}
	return e, nil
}

// note notes in an entry that so many things stayed: whoever deletes them later does not get them back by an undo, and nothing
// follows that.
func (a *Applier) note(ctx context.Context, notes []documents.Write, stayed int) {
	if len(notes) == 0 {
		return
	}
	if err := a.Documents.Put(ctx, notes); err != nil {
		const text = "%s could not note in the undo log that %d objects or accounts stayed: %s"
		a.Logger.WarnContext(ctx, fmt.Sprintf(text, a.Job.Name, stayed, err))
	}
}
