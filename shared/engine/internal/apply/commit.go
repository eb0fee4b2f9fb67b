package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// committed is the result of one commit.
type committed struct {
	outcomes []decide.Outcome
	logged
}

// roomOf returns how many documents besides the items' own their commit holds.
func roomOf(group []*work) int {
	room := cleanup.MaxRoom
	for _, w := range group {
		room = min(room, w.RoomLeft())
	}
	return room
}

// commit judges the items of a group once more and writes their changes, all in one transaction.
func (a *Applier) commit(ctx context.Context, group []*work) (committed, error) {
	asked := make([]*decide.Asked, len(group))
	for i, w := range group {
		asked[i] = &w.Asked
	}
	if len(group) > 1 {
		ctx = documents.AtMost(ctx, maxTogether)
	}
	var tried [][]decide.Outcome // by each attempt
	l, err := a.commitLogged(ctx, len(group) > 1, func(ctx context.Context, tx *documents.Transaction) (t attempt, err error) {
		if tried = append(tried, nil); len(tried) > 1 && a.Time.CheckTime() != nil { // who was quicker may hold the lease
			return t, cleanup.ErrOutOfTime
		}
		src := a.In(tx, roomOf(group))
		outcomes, err := a.Decide(ctx, src, asked)
		if err != nil {
			return t, err
		}
		tried[len(tried)-1] = outcomes
		var changes []cleanup.Change
		var items []recorded
		for i, o := range outcomes {
			w := group[i]
			w.tried = len(o.Change.Writes)
			if !o.Written || w.tried == 0 {
				continue
			}
			changes = append(changes, o.Change)
			item := undo.Record{Item: w.Ref.Path(), Action: o.Decision.Kind, Reason: cmp.Or(o.Decision.Reason, w.reason)}
			items = append(items, recorded{item, o.Change.Writes})
		}
		if len(changes) == 0 {
			return attempt{}, nil
		}
		for _, c := range changes {
			t.writes = append(t.writes, c.Writes...)
		}
		t.todo = a.todoOf(group[0].Rule, changes)
		t.records, t.bytes, err = a.recordsOf(ctx, src, items)
		if err == nil && len(group) > 1 && t.bytes > maxTogether {
			err = &documents.TooMuchError{Bytes: t.bytes}
		}
		return t, err
	})
	if err != nil {
		var c committed
		if tooMuch, is := errors.AsType[*documents.TooMuchError](err); is {
			c.bytes = tooMuch.Bytes
		}
		return c, err
	}
	return committed{outcomes: tried[l.attempt-1], logged: l}, nil
}

// attempt is what one attempt of a commit is to write, and what that leaves.
type attempt struct {
	writes  []documents.Write
	records []undo.Record
	todo    runlog.Todo
	bytes   int // of the documents that records hold as they were
}

// logged is the result of [Applier.commitLogged].
type logged struct {
	attempt int           // that counts: what it was to write is written; from 1
	at      time.Time     // when
	writes  int           // 0: there was nothing to write
	bytes   int           // of the documents as they were that it keeps, or that were too much
	todo    documents.Ref // what is left to do; zero: nothing
}

// commitLogged commits what try returns together with what that leaves in the log. It calls try again for each attempt, unless
// the log tells that an earlier one took effect, whose answer was lost. With once, it does not retry after contention.
func (a *Applier) commitLogged(
	ctx context.Context, once bool, try func(context.Context, *documents.Transaction) (attempt, error),
) (l logged, err error) {
	entry, over := a.Log.Next(), a.Log.TakeOver()
	var tried []logged
	at, err := a.Documents.Transact(ctx, once, func(ctx context.Context, tx *documents.Transaction) error {
		if len(tried) > 0 {
			took, at, err := entry.Took(ctx, tx, len(tried))
			if err != nil {
				return err
			}
			if took > 0 {
				tx.TookEffect()
				l = tried[took-1]
				l.at = at
				return nil
			}
		}
		l = logged{attempt: len(tried) + 1}
		t, err := try(ctx, tx)
		l.bytes = t.bytes
		if tried = append(tried, l); err != nil || len(t.writes) == 0 && t.todo.Empty() {
			return err
		}
		left, err := entry.Writes(l.attempt, t.records, t.todo)
		if err != nil {
			return err
		}
		writes := slices.Concat(t.writes, left, runlog.Deletions(over))
		if l.writes = len(writes); !t.todo.Empty() {
			l.todo = entry.Todo()
		}
		tried[l.attempt-1] = l
		return tx.Apply(writes...)
	})
	switch {
	case err != nil || l.writes == 0:
		a.Log.Over(over...)
	default:
		entry.Answered(l.todo != documents.Ref{})
	}
	if l.at.IsZero() {
		l.at = at
	}
	return l, err
}
