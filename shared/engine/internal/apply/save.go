package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/objects"
)

// What a run deletes or changes is saved for undo, in its log: documents in the commit that deletes or changes them
// ([Applier.recordsOf]), objects and accounts in a commit of its own before ([Applier.open]). Of these, what then stays is noted
// ([Applier.stay]).

// recorded is an item, and what a commit does to it: what its document led to is the item's too.
type recorded struct {
	item   undo.Record // of an item of the bundle's own the zero value: its record would tell people nothing
	writes []documents.Write
}

// recordsOf returns what is saved for undo of a commit: of each item its record, then the documents that its writes delete or change,
// as they were. It reads the documents that nobody has read yet. bytes is the size of all of these.
func (a *Applier) recordsOf(
	ctx context.Context, src cleanup.Source, items []recorded,
) (records []undo.Record, bytes int, err error) {
	if !a.Saves {
		return nil, 0, nil
	}
	var refs []documents.Ref
	for _, of := range items {
		for _, w := range of.writes {
			if !collections.IsOwn(w.Ref.Collection) && w.Op != documents.Create && !w.Sent {
				refs = append(refs, w.Ref)
			}
		}
	}
	before, err := src.Get(ctx, refs)
	if err != nil {
		return nil, 0, err
	}
	for _, d := range before {
		bytes += documents.Size(d.Path, d.Data)
	}
	for _, of := range items {
		place := 0
		if of.item.Item != "" {
			records = append(records, of.item)
			place = len(records)
		}
		for _, w := range of.writes {
			if collections.IsOwn(w.Ref.Collection) {
				continue
			}
			d, found := before[w.Ref]
			record, err := undo.Of(w, d, found)
			if err != nil {
				return nil, 0, err
			}
			record.Of = place
			records = append(records, record)
		}
	}
	return records, bytes, nil
}

// open commits an entry alone: what is about to be deleted outside of Firestore, and what follows that. The entry is the zero one
// if there is nothing to write. The commit can be sent again: it is the same every time.
func (a *Applier) open(ctx context.Context, records []undo.Record, todo runlog.Todo) (e runlog.Entry, err error) {
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
		err = a.Own.Wait(ctx, len(writes))
	}
	if err == nil {
		err = a.Own.Put(ctx, writes)
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
	if err := a.Own.Put(ctx, []documents.Write{e.Stay(places)}); err != nil {
		const text = "%s could not note in the undo log that %d objects or accounts stayed: %s"
		a.Logger.WarnContext(ctx, fmt.Sprintf(text, a.Job.Name, len(places), err))
	}
}

// stays reports whether what was to be deleted outside of Firestore is certainly not deleted, given what came of it. Without an
// answer it may be.
func stays(err error) bool {
	var held *objects.HeldError
	isOneOf := func(some ...error) bool {
		return slices.ContainsFunc(some, func(one error) bool { return errors.Is(err, one) })
	}
	return isOneOf(documents.ErrChanged, cleanup.ErrOutOfTime, errUnsent) || errors.As(err, &held) || objects.Denied(err) ||
		accounts.Refused(err)
}

// itemsOf returns the records of the items of actions.
func itemsOf(actions []decide.Action) []undo.Record {
	all := make([]undo.Record, len(actions))
	for i, a := range actions {
		all[i] = itemOf(a)
	}
	return all
}

// itemOf returns the record of an action's item.
func itemOf(a decide.Action) undo.Record {
	return undo.Record{Item: a.Target, Action: a.Kind, Reason: a.Reason}
}
