package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// maxWrites is how many writes one commit holds, unless a single item has more.
const maxWrites = 400

// committed is the result of one commit.
type committed struct {
	outcomes []outcome
	logged
}

// outcome is what was decided about one item in a commit.
type outcome struct {
	decision  Decision // what it was judged as
	change    Change
	written   bool   // its writes are in the commit
	postponed bool   // there was no room for its writes
	invalid   string // why it cannot be judged now, although it could be while planning
	err       error  // it could not be decided
}

// handed returns how many of the tasks that must be handed over before have been.
func (o outcome) handed(w *work) int {
	if w.foreseen {
		return len(o.change.Before)
	}
	n := 0
	for _, t := range o.change.Before {
		if w.handed[taskKey(t)] {
			n++
		}
	}
	return n
}

// roomOf returns how many documents besides the items' own their commit holds.
func roomOf(group []*work) int {
	room := MaxRoom
	for _, w := range group {
		room = min(room, w.roomLeft())
	}
	return room
}

// commit judges the items of a group once more and writes their changes, all in one transaction.
func (r *run) commit(ctx context.Context, group []*work) (committed, error) {
	var tried [][]outcome // by each attempt
	l, err := r.commitLogged(ctx, len(group) > 1, func(ctx context.Context, tx *documents.Transaction) (a attempt, err error) {
		tried = append(tried, nil)
		src := r.transactionSource(tx, roomOf(group))
		outcomes, err := r.decide(ctx, src, group)
		if err != nil {
			return a, err
		}
		tried[len(tried)-1] = outcomes
		var changes []Change
		var items []undo.Record
		for i, o := range outcomes {
			w := group[i]
			w.tried = len(o.change.Writes)
			if !o.written {
				continue
			}
			changes = append(changes, o.remembering(w))
			items = append(items, undo.Record{Item: w.Ref.Path(), Action: o.decision.Kind, Reason: cmp.Or(o.decision.Reason, w.reason)})
			if w.todo != (documents.Ref{}) {
				a.over = append(a.over, w.todo)
			}
		}
		if !slices.ContainsFunc(changes, Change.needsCommit) {
			return attempt{}, nil
		}
		var then []FollowUp
		for _, c := range changes {
			a.writes, then = append(a.writes, c.Writes...), append(then, c.Then...)
		}
		a.todo = r.todoOf(group[0].Rule, changes)
		a.records, err = r.recordsOf(ctx, src, items, a.writes, then)
		return a, err
	})
	if err != nil {
		return committed{}, err
	}
	return committed{outcomes: tried[l.attempt-1], logged: l}, nil
}

// attempt is what one attempt of a commit is to write, and what that leaves.
type attempt struct {
	writes  []documents.Write
	records []undo.Record
	todo    runlog.Todo
	over    []documents.Ref // what earlier commits left to do, which this one continues
}

// logged is the result of [run.commitLogged].
type logged struct {
	attempt int           // that counts: what it was to write is written; from 1
	at      time.Time     // when
	writes  int           // 0: there was nothing to write
	todo    documents.Ref // what is left to do; zero: nothing
}

// commitLogged commits what try returns together with what that leaves in the log. It calls try again for each attempt, unless
// the log tells that an earlier one took effect, whose answer was lost. With once, it does not retry after contention.
func (r *run) commitLogged(ctx context.Context, once bool, try func(context.Context, *documents.Transaction) (attempt, error)) (l logged, err error) {
	entry, over := r.runlog.Next(), r.runlog.TakeOver()
	var tried []logged
	at, err := r.documents.Commit(ctx, once, func(ctx context.Context, tx *documents.Transaction) error {
		if len(tried) > 0 {
			took, at, err := entry.Took(tx, len(tried))
			if err != nil {
				return err
			}
			if took > 0 {
				l = tried[took-1]
				l.at = at
				return nil
			}
		}
		l = logged{attempt: len(tried) + 1}
		a, err := try(ctx, tx)
		if tried = append(tried, l); err != nil || len(a.writes) == 0 && a.todo.Empty() {
			return err
		}
		left, err := entry.Writes(l.attempt, a.records, a.todo)
		if err != nil {
			return err
		}
		writes := slices.Concat(a.writes, left, runlog.Deletions(over), runlog.Deletions(a.over))
		if l.writes = len(writes); !a.todo.Empty() {
			l.todo = entry.Todo()
		}
		tried[l.attempt-1] = l
		return tx.Apply(writes)
	})
	switch {
	case err != nil || l.writes == 0:
		r.runlog.Over(over...)
	default:
		entry.Answered(l.todo != documents.Ref{})
	}
	if l.at.IsZero() {
		l.at = at
	}
	return l, err
}

// remembering returns the change. If the change asks for it, the item itself is among those to do next.
func (o outcome) remembering(w *work) Change {
	c := o.change
	if c.Remember {
		c.Next = append(slices.Clone(c.Next), Item{Rule: w.Rule, Ref: w.Ref, From: c.From})
	}
	return c
}

// decide judges items and says what is to be written for each. An error concerns the group as a whole.
func (r *run) decide(ctx context.Context, src Source, group []*work) ([]outcome, error) {
	refs := make([]documents.Ref, 0, len(group))
	for _, w := range group {
		refs = append(append(refs, w.Ref), w.Rule.with(w.Ref)...)
	}
	found, err := src.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	subjects := make([]Subject, len(group))
	for i, w := range group {
		d, ok := found[w.Ref]
		d.Path, w.gone = w.Ref.Path(), !ok
		subjects[i] = Subject{
			Document: d, Found: ok, From: w.From, Alone: len(group) == 1, Room: w.roomLeft(), Refused: w.refused, Nth: w.nth,
		}
	}
	items, err := group[0].Rule.load(ctx, src, subjects)
	if err != nil {
		return nil, asGroup(err)
	}
	outcomes := make([]outcome, len(group))
	var due []int
	for i, w := range group {
		d, err := items.judge(i, r.known())
		switch {
		case err != nil:
			outcomes[i].err = err
		case d.Kind != "" && r.keptBy(w.Ref.Path()) != nil:
			outcomes[i].err = r.keptBy(w.Ref.Path())
		case d.Kind == "" || w.kind != "" && d.Kind != w.kind:
			outcomes[i].err = ErrChanged
			if d.Invalid {
				outcomes[i].invalid = d.Reason
			}
		default:
			outcomes[i].decision = d
			due = append(due, i)
		}
	}
	if err := items.gather(ctx, src, due); err != nil {
		return nil, asGroup(err)
	}
	room := newRoom()
	for _, i := range due {
		o := &outcomes[i]
		if group[i].Rule.deletes() {
			o.change.Writes = []documents.Write{{Op: documents.Delete, Ref: group[i].Ref}}
		} else if o.change, o.err = items.change(i, o.decision, r.known()); o.err == nil {
			o.err = o.change.problem(group[i].Rule)
		}
		if o.err == nil {
			o.err = r.job.problem(group[i].Rule, group[i].Ref, o.change, r.config)
		}
		if pinned := r.pinnedWith(o.change); pinned != nil && o.err == nil {
			o.err = pinned
		}
		switch {
		case o.err != nil, len(o.change.First) > 0, len(o.change.Before) > o.handed(group[i]), o.change.empty():
		case room.take(o.change.Writes):
			o.written = true
		default:
			o.postponed = true
		}
	}
	return outcomes, nil
}

// needsCommit reports whether there is something to write, or to remember.
func (c Change) needsCommit() bool {
	return len(c.Writes) > 0 || len(c.Next) > 0 || c.Remember ||
		slices.ContainsFunc(c.Then, func(f FollowUp) bool { return f.Recorded == nil })
}

// problem returns why nothing may be written for an item.
func (c Change) problem(rule AnyRule) error {
	if c.Fail == nil && c.Remember && (c.Again == "" || rule.group() != 1) {
		return fmt.Errorf("rule %s sets Remember without Again, or in a group of several items: this is a bug in the job", rule.name())
	}
	return c.Fail
}

// asGroup marks an error that concerns a group as a whole, such as a rule's panic, so that the engine looks for the item that
// is to blame. It leaves Firestore's answers as they are.
func asGroup(err error) error {
	if documents.Answered(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errGroup, err)
}

// empty reports whether a change writes nothing and leaves nothing to do.
func (c Change) empty() bool {
	return len(c.Writes) == 0 && len(c.Then) == 0 && len(c.Next) == 0 && !c.Remember
}

// room is what is left of a commit.
type room struct {
	writes  int
	written map[documents.Ref]bool
}

func newRoom() *room { return &room{written: map[documents.Ref]bool{}} }

// take reserves room for writes if there is enough, and if no other item of the commit writes to the same documents.
func (r *room) take(writes []documents.Write) bool {
	if r.writes > 0 && r.writes+len(writes) > maxWrites {
		return false
	}
	for _, w := range writes {
		if r.written[w.Ref] {
			return false
		}
	}
	for _, w := range writes {
		r.written[w.Ref] = true
	}
	r.writes += len(writes)
	return true
}
