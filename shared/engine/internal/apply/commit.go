package apply

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/docsize"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/guard"
)

// What a run deletes or changes is saved for undo, in its log: documents in the commit that deletes or changes them, objects and
// accounts in a commit of its own before ([Applier.deleteOutside]).

// attempt is what one attempt of a commit writes, and what that leaves in the log.
type attempt struct {
	outcomes []decide.Outcome // of the items, if they were judged
	parts    []part
	src      *decide.Source // reads in the transaction
	writes   []documents.Write
	records  []undo.Record
	bytes    int // of the documents that records hold as they were
	todo     runlog.Todo

	at     time.Time     // when it was written
	sent   int           // writes, with those of the log; 0: there was nothing to write
	opened documents.Ref // the Todo that it left; zero: none
}

// part is what a commit writes for one item.
type part struct {
	item     *decide.Item
	decision cleanup.Decision // what it was judged as, if it was
	writes   []documents.Write
}

// commit judges documents once more and writes their changes, all in one transaction. A panic is an error.
func (a *Applier) commit(ctx context.Context, group []*decide.Item) (c *attempt, err error) {
	defer guard.Recover(&err)
	room := cleanup.MaxRoom
	for _, item := range group {
		room = min(room, item.RoomLeft())
	}
	if len(group) > 1 {
		ctx = documents.AtMost(ctx, maxTogether)
	}
	return a.send(ctx, len(group) > 1, func(ctx context.Context, tx *documents.Transaction) (c *attempt, err error) {
		c = &attempt{src: a.In(tx, room)}
		if group[0].Of == nil { // what follows from an item is judged by what became of that
			if err := a.Heed(ctx, tx.GetAll); err != nil {
				return c, err
			}
		}
		c.outcomes, err = a.Decide(ctx, c.src, group)
		var changes []cleanup.Change
		for i, o := range c.outcomes {
			group[i].Tried = len(o.Change.Writes)
			if o.Place == decide.InCommit && group[i].Tried > 0 {
				changes = append(changes, o.Change)
				c.parts = append(c.parts, part{group[i], o.Decision, o.Change.Writes})
			}
		}
		c.todo = a.todoOf(group[0].Rule, changes)
		return c, err
	})
}

// send commits what try returns, together with what that leaves in the log, and returns the attempt that counts. It calls try
// again for each attempt, unless the log tells that an earlier one took effect, whose answer was lost. With once, it does not
// retry after contention.
func (a *Applier) send(
	ctx context.Context, once bool, try func(context.Context, *documents.Transaction) (*attempt, error),
) (c *attempt, err error) {
	entry, over := a.Log.Next(), a.Log.TakeOver()
	var tried []*attempt
	at, unsure, err := a.Documents.Transact(ctx, once, func(ctx context.Context, tx *documents.Transaction) error {
		if len(tried) > 0 {
			took, at, err := entry.Took(ctx, tx, len(tried))
			switch {
			case err != nil:
				return err
			case took > 0:
				c = tried[took-1]
				c.at = at
				return nil
			case a.Time.CheckTime() != nil: // who was quicker may hold the lease
				return cleanup.ErrOutOfTime
			}
		}
		made, err := try(ctx, tx)
		c, tried = made, append(tried, made)
		for _, p := range c.parts {
			c.writes = append(c.writes, p.writes...)
		}
		if err != nil || len(c.writes) == 0 {
			return err
		}
		if err := a.record(ctx, c); err != nil {
			return err
		}
		if once && c.bytes > maxTogether {
			return documents.ErrTooMuch
		}
		logged, err := entry.Writes(len(tried), c.records, c.todo)
		if err != nil {
			return err
		}
		writes := slices.Concat(c.writes, logged, runlog.Deletions(over))
		if c.sent = len(writes); !c.todo.Empty() {
			c.opened = entry.Todo()
		}
		return tx.Apply(writes...)
	})
	if c == nil {
		c = &attempt{}
	}
	switch {
	case err == nil:
		a.wrote(ctx, c.parts, false)
	case unsure:
		parts := c.parts
		for _, t := range tried {
			if len(t.writes) > 0 {
				parts = t.parts
			}
		}
		a.wrote(ctx, parts, true)
	}
	if err != nil || c.sent == 0 {
		a.Log.Over(over...)
	} else {
		entry.Answered(c.opened != documents.Ref{})
	}
	c.at = cmp.Or(c.at, at)
	return c, err
}

// wrote logs which documents were written; unsure says that the answer was lost.
func (a *Applier) wrote(ctx context.Context, parts []part, unsure bool) {
	told := a.Writes(ctx)
	for _, p := range parts {
		for _, w := range p.writes {
			told.Document(w, p.item.Wrote(w.Ref.Path(), !unsure), unsure)
		}
	}
	told.Log()
}

// record adds to a commit what is saved for undo: of each item its record, then the documents that its writes delete or change,
// as they were. It reads the documents that nobody has read yet. Of an item of the bundle's own, a record would tell people
// nothing.
func (a *Applier) record(ctx context.Context, c *attempt) error {
	if !a.Saves {
		return nil
	}
	var refs []documents.Ref
	for _, w := range c.writes {
		if !collections.IsOwn(w.Ref.Collection) && w.Op != documents.Create && !w.Sent {
			refs = append(refs, w.Ref)
		}
	}
	before, err := c.src.Get(ctx, refs)
	if err != nil {
		return err
	}
	for _, d := range before {
		c.bytes += docsize.Of(d.Path, d.Data)
	}
	for _, p := range c.parts {
		place := 0
		if of := p.item.Record(); !collections.IsOwn(p.item.Ref.Collection) {
			of.Action, of.Reason = cmp.Or(p.decision.Kind, of.Action), cmp.Or(p.decision.Reason, of.Reason)
			c.records = append(c.records, of)
			place = len(c.records)
		}
		for _, w := range p.writes {
			if collections.IsOwn(w.Ref.Collection) {
				continue
			}
			d, found := before[w.Ref]
			record, err := undo.Of(w, d, found)
			if err != nil {
				return err
			}
			record.Of = place
			c.records = append(c.records, record)
		}
	}
	return nil
}
