package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// What a run deletes or changes is kept in cleanupRuns/{runId}/cleanupUndo, so that it can be taken back. A commit writes its entry
// itself, so the entry exists exactly if the commit took effect. What is deleted without a transaction is written down before, and
// whoever takes it back looks whether it was.

// keepsUndo reports whether the run keeps what it deletes.
func (r *run) keepsUndo() bool { return r.config.UndoDays > 0 && !r.report.DryRun }

// nextUndo returns the number of the next entry. All attempts of one commit have the same.
func (r *run) nextUndo() int { return int(r.undo.Add(1)) }

// undoEntry returns the name of part i of the run's entry n.
func (r *run) undoEntry(n, i int) documents.Ref {
	if r.continues == nil {
		return undo.EntryOf(r.report.RunID, n, i)
	}
	return undo.ShardEntryOf(r.id(), r.report.RunID, n, i)
}

// undoEntries returns the writes that keep records as entry n, none for none.
func (r *run) undoEntries(n int, records []undo.Record) ([]documents.Write, error) {
	if len(records) == 0 {
		return nil, nil
	}
	packed, err := undo.Pack(records)
	if err != nil {
		return nil, err
	}
	writes := make([]documents.Write, len(packed))
	for i, data := range packed {
		writes[i] = documents.Write{Op: documents.Set, Ref: r.undoEntry(n, i), Data: map[string]any{
			"data": data, "parts": len(packed), "records": len(records), "at": documents.ServerTimestamp,
			"expireAt": r.begun.Add(time.Duration(r.config.UndoDays) * 24 * time.Hour), // all of it at once
		}}
	}
	return writes, nil
}

// undoOf returns the writes that keep, for undoing, the documents that a commit's writes delete or change, and what follows the
// changes, as entry n. It reads the documents that nobody has read yet. items are what the changes are of.
func (r *run) undoOf(ctx context.Context, src Source, n int, writes []documents.Write, then []FollowUp, items []undo.Record) ([]documents.Write, error) {
	if !r.keepsUndo() {
		return nil, nil
	}
	var refs []documents.Ref
	var theirs []documents.Write // the application's
	for _, w := range writes {
		if collections.IsRecord(w.Ref.Collection) {
			continue
		}
		theirs = append(theirs, w)
		if w.Op != documents.Create && !w.Sent {
			refs = append(refs, w.Ref)
		}
	}
	before, err := src.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	records := items
	for _, w := range theirs {
		d, found := before[w.Ref]
		record, err := undo.Of(w, d, found)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	for _, f := range then {
		if f.Object.Name != "" {
			records = append(records, undo.Record{Object: &undo.Object{
				Name: f.Object.Name, Folder: f.Object.Folder, OwnerKey: f.Object.OwnerKey, Owner: f.Object.Owner,
			}})
		}
	}
	return r.undoEntries(n, records)
}

// keepAhead writes records down before what they say is done.
func (r *run) keepAhead(ctx context.Context, records []undo.Record) error {
	writes, err := r.undoEntries(r.nextUndo(), records)
	if err != nil || len(writes) == 0 {
		return err
	}
	if err := r.records.Wait(ctx, len(writes)); err != nil {
		return err
	}
	if err := r.records.Put(ctx, writes); err != nil {
		return fmt.Errorf("save %d items to the undo log, so none of them was deleted: %w", len(records), err)
	}
	return nil
}

// How many documents that are to be deleted are written down together, before the first of them goes, and how many bytes of them
// are held for that. Batches of deletions are smaller: an entry for each would come to a write for as few as ten documents.
const (
	maxAhead      = 500
	maxAheadBytes = 4 << 20
)

// keptAhead is a stretch of actions that delete documents, which are written down together.
type keptAhead struct {
	until int          // the index behind it
	keep  func() error // writes it down, once
}

// cover sees to it that the n actions from i on, if they delete documents, are in the stretch, and returns how many of them are. The
// next stretch begins where the last one ends.
func (k *keptAhead) cover(actions []Action, i, n int, keep func([]Action) error) int {
	if _, ok := actions[i].Effect.(deleteDocument); !ok {
		return n
	}
	if i >= k.until {
		k.until = i
		for k.until < min(i+maxAhead, len(actions)) {
			if _, ok := actions[k.until].Effect.(deleteDocument); !ok {
				break
			}
			k.until++
		}
		stretch := actions[i:k.until]
		k.keep = sync.OnceValue(func() error { return keep(stretch) })
	}
	return min(n, k.until-i)
}

// keepFirst writes down the first stretch of the actions, if they delete documents.
func (r *run) keepFirst(ctx context.Context, actions []Action) error {
	if len(actions) == 0 {
		return nil
	}
	r.ahead.cover(actions, 0, 1, func(stretch []Action) error { return r.keepDocuments(ctx, stretch) })
	if r.ahead.keep == nil {
		return nil
	}
	return r.ahead.keep()
}

// keepDocuments writes down whole documents that are to be deleted, and reads those that the plan has not kept. What has changed since
// it was judged is not deleted; it is left out where that shows by then, and else noted after the deletion has failed.
func (r *run) keepDocuments(ctx context.Context, batch []Action) error {
	if !r.keepsUndo() {
		return nil
	}
	var records []undo.Record
	size := 0
	keep := func(a Action, before undo.Fields, bytes int) error {
		records = append(records, itemOf(a), undo.Record{Write: &undo.Write{Op: documents.Delete, Path: a.Target, Found: true, Before: before}})
		if size += bytes; size <= maxAheadBytes {
			return nil
		}
		full := records
		records, size = nil, 0
		return r.keepAhead(ctx, full)
	}
	unread := map[string]Action{}
	for _, a := range batch {
		d := a.Effect.(deleteDocument)
		if len(d.original) == 0 {
			unread[d.Path] = a
			continue
		}
		before, err := documents.Unpack(d.original)
		if err == nil {
			err = keep(a, before, len(d.original))
		}
		if err != nil {
			return err
		}
	}
	for d, err := range r.documents.Originals(ctx, slices.Collect(maps.Keys(unread))) {
		if err != nil {
			return fmt.Errorf("read %d documents for the undo log: %w", len(unread), err)
		}
		a := unread[d.Path]
		if !d.UpdateTime.Equal(a.Effect.(deleteDocument).LastUpdateTime) {
			continue
		}
		if err := keep(a, d.Fields, d.Bytes); err != nil {
			return err
		}
	}
	return r.keepAhead(ctx, records)
}

// itemOf returns the record of an action's item.
func itemOf(a Action) undo.Record {
	return undo.Record{Item: a.Target, Action: a.Kind, Reason: a.Reason}
}

// keepObjects writes down objects that are to be deleted.
func (r *run) keepObjects(ctx context.Context, batch []Action) error {
	if !r.keepsUndo() {
		return nil
	}
	var records []undo.Record
	for _, a := range batch {
		d := a.Effect.(DeleteObject)
		records = append(records, itemOf(a), undo.Record{Object: &undo.Object{Name: d.Name, Generation: d.Generation}})
	}
	return r.keepAhead(ctx, records)
}

// noteStayed notes what was written down and then changed before it could be deleted, so that an undo leaves it out.
func (r *run) noteStayed(ctx context.Context, batch []Action, results []error) {
	if !r.keepsUndo() {
		return
	}
	var records []undo.Record
	for i, err := range results {
		if !errors.Is(err, ErrChanged) {
			continue
		}
		switch effect := batch[i].Effect.(type) {
		case deleteDocument:
			records = append(records, undo.Record{Stayed: effect.Path})
		case DeleteObject:
			records = append(records, undo.Record{Stayed: undo.StayedObject + effect.Name})
		}
	}
	if err := r.keepAhead(ctx, records); err != nil { // an undo looks at it, and says that somebody has changed it
		r.log.WarnContext(ctx, fmt.Sprintf("%s could not note in the undo log that %d items stayed: %s", r.job.Name, len(records), err))
	}
}

// keepAccounts writes down what there is to know of accounts that are to be deleted. items are what they are deleted for.
func (r *run) keepAccounts(ctx context.Context, items []undo.Record, found []accounts.Account) error {
	records := slices.Clone(items)
	for _, a := range found {
		records = append(records, undo.Record{Account: &undo.Account{UID: a.UID, Data: a.JSON()}})
	}
	return r.keepAhead(ctx, records)
}
