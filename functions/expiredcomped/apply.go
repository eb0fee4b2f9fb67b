package expiredcomped

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// ender ends the expired subscriptions of a run's members, and counts what it did.
type ender struct {
	maxRows     int          // of one member that one commit deletes
	maxProposed int          // members that a run remembers to have proposed
	removed     atomic.Int64 // rows deleted
	freed       atomic.Int64 // members made free
}

func newEnder() *ender { return &ender{maxRows: 400, maxProposed: 100_000} }

// usualWrites are those of the commit for a member with one row: the row, the member, the event.
const usualWrites = 3

// end deletes the expired rows of a member, and makes the member free if that leaves none. It is one commit unless there
// are more rows than one should delete: then each commit but the last leaves a row, and the one that deletes the last row
// is the one that makes the member free. So no member is ever comped without a row, nor free without an event.
func (e *ender) end(memberID string) sweep.Steps {
	return func(ctx context.Context, w *sweep.Writers) error {
		removed := 0
		for from := documents.Cursor(""); ; {
			if err := w.CheckTime(); err != nil {
				return err
			}
			if err := w.Documents.Wait(ctx, usualWrites); err != nil {
				return err
			}
			did, err := e.commit(ctx, w, memberID, from)
			if err != nil {
				return fmt.Errorf("end the expired subscriptions of %s/%s: %w", members, memberID, err)
			}
			// How many rows there are is known only now: those of members with many are waited for afterwards.
			if err := w.Documents.Wait(ctx, max(0, len(did.removed)-usualWrites)); err != nil {
				return err
			}
			removed += len(did.removed)
			if from = did.next; from == "" {
				break
			}
		}
		if removed == 0 {
			return sweep.ErrChanged
		}
		return nil
	}
}

// outcome is what one commit did.
type outcome struct {
	removed []string         // the paths of the rows it deleted
	event   string           // the path of the event that the member became free; empty if it did not
	next    documents.Cursor // where the rows begin that were not looked at; empty if there are none
}

// commit judges a member's rows from a cursor on once more, as many as one commit may delete, and deletes those that have
// expired.
func (e *ender) commit(ctx context.Context, w *sweep.Writers, memberID string, from documents.Cursor) (outcome, error) {
	var did outcome
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		if done, err := tookEffect(tx, did); done || err != nil {
			return err
		}
		decided, err := e.decide(tx, w, memberID, from)
		if err == nil {
			did = decided
		}
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	e.removed.Add(int64(len(did.removed)))
	if did.event != "" {
		e.freed.Add(1)
	}
	return did, nil
}

// tookEffect reports whether the commit of an earlier attempt, if there was one, took effect and its answer was lost. As a
// commit is atomic, one of its writes tells.
func tookEffect(tx *documents.Transaction, did outcome) (bool, error) {
	switch {
	case did.event != "":
		_, found, err := tx.Get(did.event)
		return found, err
	case len(did.removed) > 0:
		_, found, err := tx.Get(did.removed[0])
		return err == nil && !found, err
	default:
		return false, nil
	}
}

// decide is what a transaction does. Every row that stays keeps the member as it is, whether it expires later, never, or
// cannot be judged. The member of the id "42" has the rows that say 42 as well, and those that say 42.0, which cannot be judged.
func (e *ender) decide(tx *documents.Transaction, w *sweep.Writers, memberID string, from documents.Cursor) (did outcome, err error) {
	all := documents.Query{
		Collection: subscriptions,
		Where:      []documents.Filter{{Field: memberField, Op: "in", Value: documents.NamesOf(memberID)}},
		Select:     []string{memberField, expiryField},
	}
	var rows, expired []documents.Document
	for row, err := range tx.Stream(all, from, e.maxRows+1) {
		if err != nil {
			return did, err
		}
		rows = append(rows, row)
	}
	if len(rows) > e.maxRows {
		if did.next, err = all.After(rows[e.maxRows-1]); err != nil {
			return did, err
		}
	}
	for _, row := range rows[:min(len(rows), e.maxRows)] {
		if v, _ := judge(row, w.Now); v == toDelete {
			expired = append(expired, row)
			did.removed = append(did.removed, row.Path)
		}
	}
	last := len(expired) > 0 && len(expired) == len(rows)
	if last && from != "" {
		first, err := tx.Query(all, 1)
		if err != nil {
			return did, err
		}
		last = len(first) > 0 && first[0].Path == rows[0].Path
	}
	becomesFree := false
	if last {
		if becomesFree, err = isComped(tx, memberID); err != nil {
			return did, err
		}
	}
	for _, row := range expired {
		if err := tx.Delete(row.Path); err != nil {
			return did, err
		}
	}
	if becomesFree {
		did.event = statusEvents + "/" + eventID(w.Now, memberID, expired)
		err = makeFree(tx, w, memberID, expired[0].Data[memberField], did.event)
	}
	return did, err
}

// isComped reports whether a member's status is comped. A paying member, or one that is gone, only loses rows.
func isComped(tx *documents.Transaction, memberID string) (bool, error) {
	member, found, err := tx.Get(members + "/" + memberID)
	if err != nil || !found {
		return false, err
	}
	status, _ := member.Text(statusField)
	return status == comped, nil
}

// makeFree makes a member free and records it. name is what the member's rows
// call the member: a text or a number, and so does the event.
func makeFree(tx *documents.Transaction, w *sweep.Writers, memberID string, name any, event string) error {
	err := tx.Update(members+"/"+memberID, map[string]any{statusField: free, "updated_at": w.Now})
	if err != nil {
		return err
	}
	return tx.Create(event, map[string]any{
		memberField: name, "from_status": comped, "to_status": free, "created_at": w.Now,
	})
}
