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
	todo runlog.Todo // what follows
	// look is the last look at what is to be deleted: what is not due any more ends. What takes time is done before it.
	look func(context.Context, []*decide.Item)
	send func(ctx context.Context, due []*decide.Item)
}

// deleteOutside deletes what is outside of Firestore. It saves that for undo, with what follows, before the last look, so that
// nothing comes between this look and the deletion; then it notes what stayed. It returns the entry, and what was sent.
func (a *Applier) deleteOutside(ctx context.Context, all []*decide.Item, how outside) (e runlog.Entry, sent []*decide.Item) {
	records, places := recordsOf(all)
	e, err := a.save(ctx, records, how.todo)
	if err != nil {
		end(ctx, all, err)
		return e, nil
	}
	how.look(ctx, all)
	if sent = a.unlisted(ctx, remaining(all)); len(sent) > 0 {
		how.send(ctx, sent)
	}
	var stayed []int
	for i, item := range all {
		if places[i] > 0 && (!slices.Contains(sent, item) || certainlyThere(item.Fate)) {
			stayed = append(stayed, places[i])
		}
	}
	a.stay(ctx, e, stayed)
	return e, sent
}

// remaining returns those items that have not ended.
func remaining(all []*decide.Item) []*decide.Item {
	return slices.DeleteFunc(slices.Clone(all), func(item *decide.Item) bool { return item.Fate.Kind != decide.Done })
}

// certainlyThere reports whether what was sent to be deleted is certainly not deleted. Without an answer it may be.
func certainlyThere(f decide.Fate) bool {
	return f.Kind != decide.Done && f.Err == nil || objects.Denied(f.Err) || accounts.Refused(f.Err)
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
		a.Log.Over(over...)
		return e, fmt.Errorf("save in the undo log what is to be deleted, so none of it was: %w", err)
	}
	return e, nil
}

// stay notes in an entry what was not deleted, by the places of the records: whoever deletes it later does not get it back by an
// undo.
func (a *Applier) stay(ctx context.Context, e runlog.Entry, places []int) {
	if !a.Saves || len(places) == 0 {
		return
	}
	if err := a.Documents.Put(ctx, []documents.Write{e.Stay(places)}); err != nil {
		const text = "%s could not note in the undo log that %d objects or accounts stayed: %s"
		a.Logger.WarnContext(ctx, fmt.Sprintf(text, a.Job.Name, len(places), err))
	}
}
