package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/objects"
)

// What a run deletes or changes is saved for undo, in its log. A commit writes its own records ([Applier.recordsOf]). What is
// deleted without one is saved ahead ([Applier.saveForUndo]), and whoever takes it back looks whether it was deleted.

// recorded is an item, and what a commit does to it: what its document led to is the item's too.
type recorded struct {
	item   undo.Record // of an item of the bundle's own the zero value: its record would tell people nothing
	writes []documents.Write
	then   []cleanup.FollowUp
}

// recordsOf returns what is saved for undo of a commit: of each item its record, then the documents that its writes delete or change,
// as they were, and the objects that follow. It reads the documents that nobody has read yet.
func (a *Applier) recordsOf(ctx context.Context, src cleanup.Source, items []recorded) (records []undo.Record, err error) {
	if !a.Saves {
		return nil, nil
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
		return nil, err
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
				return nil, err
			}
			record.Of = place
			records = append(records, record)
		}
		for _, f := range of.then {
			if f.Object.Name != "" {
				o := undo.Object{ObjectDeletion: f.Object}
				if a.Approved != nil {
					o.Until = a.Approved.Made.UnixMicro()
				}
				records = append(records, undo.Record{Of: place, Object: &o})
			}
		}
	}
	return records, nil
}

// saveForUndo saves records before what they say is done.
func (a *Applier) saveForUndo(ctx context.Context, records []undo.Record) error {
	if !a.Saves {
		return nil
	}
	writes, err := a.Log.Ahead(records)
	if err != nil || len(writes) == 0 {
		return err
	}
	if err := a.Own.Wait(ctx, len(writes)); err != nil {
		return err
	}
	if err := a.Own.Put(ctx, writes); err != nil {
		return fmt.Errorf("save %d items to the undo log, so none of them was deleted: %w", len(records), err)
	}
	return nil
}

// How many documents that are to be deleted are saved for undo together, before the first of them goes, and how many bytes of them
// are held for that. Batches of deletions are smaller: a write for each would come to one for as few as ten documents.
const (
	maxAhead      = 500
	maxAheadBytes = 4 << 20
)

// ahead is documents that are to be deleted, one after another in the plan, and are saved for undo together before that.
type ahead struct {
	until int                                       // the index behind the last of them
	save  func() (saved map[string]bool, err error) // once; their paths
}

// aheadFrom returns the documents to delete from an index on; none if the action there is another.
func (a *Applier) aheadFrom(ctx context.Context, actions []decide.Action, begin int) ahead {
	until := begin
	for until < min(begin+maxAhead, len(actions)) && isDeletion(actions[until].Effect) {
		until++
	}
	return ahead{until, sync.OnceValues(func() (map[string]bool, error) { return a.saveDocuments(ctx, actions[begin:until]) })}
}

// saveDocuments saves whole documents that are to be deleted, and reads those that the plan does not hold. What has changed since
// it was judged is not deleted; it is left out where that shows by then, and else noted after the deletion has failed. It returns the
// paths of those that it saved.
func (a *Applier) saveDocuments(ctx context.Context, batch []decide.Action) (saved map[string]bool, err error) {
	if !a.Saves {
		return nil, nil
	}
	saved = map[string]bool{}
	var records []undo.Record
	size := 0
	save := func(of decide.Action, before undo.Fields, bytes int) error {
		saved[of.Target] = true
		deletion := undo.Write{Op: documents.Delete, Path: of.Target, Found: true, Before: before}
		records = append(records, itemOf(of), undo.Record{Of: len(records) + 1, Write: &deletion})
		if size += bytes; size <= maxAheadBytes {
			return nil
		}
		full := records
		records, size = nil, 0
		return a.saveForUndo(ctx, full)
	}
	unread := map[string]decide.Action{}
	var paths []string // of these, in the plan's order
	for _, a := range batch {
		d := a.Effect.(decide.DeleteDocument)
		if len(d.Original) == 0 {
			if _, twice := unread[d.Path]; !twice {
				paths = append(paths, d.Path)
			}
			unread[d.Path] = a
			continue
		}
		before, err := encode.Unpack(d.Original)
		if err == nil {
			err = save(a, before, len(d.Original))
		}
		if err != nil {
			return saved, err
		}
	}
	for d, err := range a.Documents.Originals(ctx, paths) {
		if err != nil {
			return saved, fmt.Errorf("read %d documents for the undo log: %w", len(unread), err)
		}
		a := unread[d.Path]
		if !d.UpdateTime.Equal(a.Effect.(decide.DeleteDocument).LastUpdateTime) {
			continue
		}
		if err := save(a, d.Fields, d.Bytes); err != nil {
			return saved, err
		}
	}
	return saved, a.saveForUndo(ctx, records)
}

// itemOf returns the record of an action's item.
func itemOf(a decide.Action) undo.Record {
	return undo.Record{Item: a.Target, Action: a.Kind, Reason: a.Reason}
}

// saveObjects saves which objects are to be deleted.
func (a *Applier) saveObjects(ctx context.Context, batch []decide.Action) error {
	var records []undo.Record
	for _, a := range batch {
		d := a.Effect.(cleanup.DeleteObject)
		o := undo.Object{ObjectDeletion: cleanup.ObjectDeletion{Name: d.Name}, Generation: d.Generation}
		records = append(records, itemOf(a), undo.Record{Of: len(records) + 1, Object: &o})
	}
	return a.saveForUndo(ctx, records)
}

// noteStayed notes what was saved and then not deleted, as it had changed or is held, time was up, or it was refused, so that an undo
// leaves it out. It leaves out what may have been deleted, as no answer came, and documents that are not among those saved: each note
// is about one record.
func (a *Applier) noteStayed(ctx context.Context, batch []decide.Action, results []error, saved map[string]bool) {
	var stayed []undo.Record
	for i, err := range results {
		var held *objects.HeldError
		refused := documents.Denied(err) || documents.Refused(err) || objects.Denied(err) || errors.Is(err, errUnsent)
		if !refused && !errors.Is(err, documents.ErrChanged) && !errors.Is(err, cleanup.ErrOutOfTime) && !errors.As(err, &held) {
			continue
		}
		switch effect := batch[i].Effect.(type) {
		case decide.DeleteDocument:
			if saved[effect.Path] { // or else a commit of this call may have deleted it
				stayed = append(stayed, undo.Record{Stayed: effect.Path})
			}
		case cleanup.DeleteObject:
			stayed = append(stayed, undo.Record{Stayed: effect.Name, Generation: effect.Generation})
		}
	}
	a.saveStayed(ctx, stayed)
}

// saveStayed saves the notes of [Applier.noteStayed].
func (a *Applier) saveStayed(ctx context.Context, stayed []undo.Record) {
	if err := a.saveForUndo(ctx, stayed); err != nil { // an undo looks at it, and says that somebody has changed it
		a.Logger.WarnContext(ctx, fmt.Sprintf("%s could not note in the undo log that %d items stayed: %s", a.Job.Name, len(stayed), err))
	}
}

// accountOf returns the record of an account that is to be deleted, with all that there is to know of it. of is its item's place.
func accountOf(a accounts.Account, of int) undo.Record {
	return undo.Record{Of: of, Account: &undo.Account{UID: a.UID, Data: a.JSON()}}
}
