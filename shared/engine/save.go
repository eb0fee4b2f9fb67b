package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// What a run deletes or changes is saved for undo, in its log. A commit writes its own records, so they exist exactly if it took
// effect. What is deleted without a transaction is saved before, and whoever takes it back looks whether it was deleted.

// savesForUndo reports whether the run saves what it deletes.
func (r *run) savesForUndo() bool { return r.config.UndoDays > 0 && !r.report.DryRun }

// newLog returns the log of the run's commits. What a run's calls leave is one log.
func (r *run) newLog() *runlog.Log {
	l := &runlog.Log{
		Job: r.job.Name, Run: r.id(), Saves: r.savesForUndo(), Expire: r.begun.Add(time.Duration(max(1, r.config.UndoDays)) * 24 * time.Hour),
	}
	if r.continues != nil {
		l.By = digest.Of(r.report.RunID)[:16]
	}
	return l
}

// recordsOf returns what is saved for undo of a commit: its items, the documents that its writes delete or change, as they were,
// and the objects that follow. It reads the documents that nobody has read yet.
func (r *run) recordsOf(ctx context.Context, src Source, items []undo.Record, writes []documents.Write, then []FollowUp) ([]undo.Record, error) {
	if !r.savesForUndo() {
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
	return records, nil
}

// saveForUndo saves records before what they say is done.
func (r *run) saveForUndo(ctx context.Context, records []undo.Record) error {
	if !r.savesForUndo() {
		return nil
	}
	writes, err := r.runlog.Ahead(records)
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

// How many documents that are to be deleted are saved for undo together, before the first of them goes, and how many bytes of them
// are held for that. Batches of deletions are smaller: a write for each would come to one for as few as ten documents.
const (
	maxTogether      = 500
	maxTogetherBytes = 4 << 20
)

// together is documents that are to be deleted, one after another in the plan, and are saved for undo together.
type together struct {
	until int          // the index behind the last of them
	save  func() error // once
}

// togetherFrom returns the documents to delete from an index on; none if the action there is another.
func (r *run) togetherFrom(ctx context.Context, actions []Action, begin int) together {
	until := begin
	for until < min(begin+maxTogether, len(actions)) {
		if _, ok := actions[until].Effect.(deleteDocument); !ok {
			break
		}
		until++
	}
	return together{until, sync.OnceValue(func() error { return r.saveDocuments(ctx, actions[begin:until]) })}
}

// saveFirst saves what is deleted first.
func (r *run) saveFirst(ctx context.Context, actions []Action) error {
	r.ahead = r.togetherFrom(ctx, actions, 0)
	return r.ahead.save()
}

// saveDocuments saves whole documents that are to be deleted, and reads those that the plan does not hold. What has changed since
// it was judged is not deleted; it is left out where that shows by then, and else noted after the deletion has failed.
func (r *run) saveDocuments(ctx context.Context, batch []Action) error {
	if !r.savesForUndo() {
		return nil
	}
	var records []undo.Record
	size := 0
	save := func(a Action, before undo.Fields, bytes int) error {
		records = append(records, itemOf(a), undo.Record{Write: &undo.Write{Op: documents.Delete, Path: a.Target, Found: true, Before: before}})
		if size += bytes; size <= maxTogetherBytes {
			return nil
		}
		full := records
		records, size = nil, 0
		return r.saveForUndo(ctx, full)
	}
	unread := map[string]Action{}
	var paths []string // of these, in the plan's order
	for _, a := range batch {
		d := a.Effect.(deleteDocument)
		if len(d.original) == 0 {
			if _, twice := unread[d.Path]; !twice {
				paths = append(paths, d.Path)
			}
			unread[d.Path] = a
			continue
		}
		before, err := encode.Unpack(d.original)
		if err == nil {
			err = save(a, before, len(d.original))
		}
		if err != nil {
			return err
		}
	}
	for d, err := range r.documents.Originals(ctx, paths) {
		if err != nil {
			return fmt.Errorf("read %d documents for the undo log: %w", len(unread), err)
		}
		a := unread[d.Path]
		if !d.UpdateTime.Equal(a.Effect.(deleteDocument).LastUpdateTime) {
			continue
		}
		if err := save(a, d.Fields, d.Bytes); err != nil {
			return err
		}
	}
	return r.saveForUndo(ctx, records)
}

// itemOf returns the record of an action's item.
func itemOf(a Action) undo.Record {
	return undo.Record{Item: a.Target, Action: a.Kind, Reason: a.Reason}
}

// saveObjects saves which objects are to be deleted.
func (r *run) saveObjects(ctx context.Context, batch []Action) error {
	var records []undo.Record
	for _, a := range batch {
		d := a.Effect.(DeleteObject)
		records = append(records, itemOf(a), undo.Record{Object: &undo.Object{Name: d.Name, Generation: d.Generation}})
	}
	return r.saveForUndo(ctx, records)
}

// noteStayed notes what was saved and then changed before it could be deleted, so that an undo leaves it out.
func (r *run) noteStayed(ctx context.Context, batch []Action, results []error) {
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
	if err := r.saveForUndo(ctx, records); err != nil { // an undo looks at it, and says that somebody has changed it
		r.log.WarnContext(ctx, fmt.Sprintf("%s could not note in the undo log that %d items stayed: %s", r.job.Name, len(records), err))
	}
}

// saveAccounts saves what there is to know of accounts that are to be deleted. items are what they are deleted for.
func (r *run) saveAccounts(ctx context.Context, items []undo.Record, found []accounts.Account) error {
	records := slices.Clone(items)
	for _, a := range found {
		records = append(records, undo.Record{Account: &undo.Account{UID: a.UID, Data: a.JSON()}})
	}
	return r.saveForUndo(ctx, records)
}
