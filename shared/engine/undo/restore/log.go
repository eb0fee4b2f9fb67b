package restore

import (
	"context"
	"fmt"
	"iter"

	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/flow"
)

// doneBy returns what a run did, in the order in which it was done. The error is [ErrNoLog] where there is nothing.
func (p Project) doneBy(ctx context.Context, runID string) ([]runlog.Done, error) {
	all, err := runlog.List(ctx, p.DB.Reader, runID)
	if err == nil && len(all) == 0 {
		err = ErrNoLog
	}
	return all, err
}

// entry is what an entry of the log tells.
type entry struct {
	runlog.Done
	place   int // among the entries, from 0
	records []undo.Record
}

// eachEntry calls f with the records of each commit, in order. It reads the next ones meanwhile.
func (u *undoing) eachEntry(ctx context.Context, f func(entry) error) error {
	log := func(context.Context) iter.Seq2[runlog.Done, error] {
		return func(yield func(runlog.Done, error) bool) {
			for _, done := range u.log {
				if !yield(done, nil) {
					return
				}
			}
		}
	}
	read := func(ctx context.Context, done runlog.Done) ([]undo.Record, error) {
		if u.Apply {
			if err := u.stillOurs(ctx); err != nil {
				return nil, err
			}
		}
		return done.Records(ctx, u.DB.Reader)
	}
	place := -1
	return flow.Each(ctx, 1, log, read, func(done runlog.Done, records []undo.Record) error {
		place++
		return f(entry{done, place, records})
	})
}

// survey goes through the log before anything is taken back: a document that several commits wrote to is taken back when the
// last of them has been read, and nothing may come back before the jobs are held. It returns what may come back. While a run is
// under way, its log grows: this is called when none is any more.
func (u *undoing) survey(ctx context.Context) (t *touched, err error) {
	t = u.newTouched()
	if u.log, err = u.doneBy(ctx, u.runID); err != nil {
		return t, err
	}
	if u.Where != nil { // what it means may stand before the document that says so
		if err := u.eachEntry(ctx, func(e entry) error { u.match(e.records); return nil }); err != nil {
			return t, err
		}
	}
	last := map[string]int{} // by item, the place of the last entry that tells of its documents
	err = u.eachEntry(ctx, func(e entry) error {
		records := u.chosen(e.records)
		u.touch(t, records)
		for i, r := range records {
			if r.Write == nil {
				continue
			}
			u.writes[r.Write.Path]++
			item := undo.ItemOf(records, i)
			if place, known := last[item]; known && place != e.place && item != "" {
				u.several[item] = true
			}
			last[item] = e.place
		}
		return nil
	})
	if err == nil && len(t.with) > jobstate.MaxKept {
		err = ErrMany
	}
	for _, target := range u.Only {
		if err == nil && !u.named[target] {
			err = fmt.Errorf("%s: %w", target, ErrNotInLog)
		}
	}
	return t, err
}

// part is what an entry of the log tells of the documents of an item: they come back together or not at all.
type part struct {
	item    string // empty: none, and there is but one document
	changes []undo.Change
}

// eachPart calls f with each entry and the documents of which it is the last to tell.
func (u *undoing) eachPart(ctx context.Context, f func(entry, []part) error) error {
	open := map[string][]undo.Write{}
	return u.eachEntry(ctx, func(e entry) error {
		e.records = u.chosen(e.records)
		var parts []part
		places := map[string]int{} // of the parts, by their item
		for i, r := range e.records {
			if r.Write == nil {
				continue
			}
			path := r.Write.Path
			if open[path] = append(open[path], *r.Write); len(open[path]) < u.writes[path] {
				continue
			}
			item := undo.ItemOf(e.records, i)
			place, known := places[item]
			if !known || item == "" {
				place, parts = len(parts), append(parts, part{item: item})
				places[item] = place
			}
			parts[place].changes = append(parts[place].changes, undo.Net(open[path])...)
			delete(open, path)
		}
		return f(e, parts)
	})
}

// takeBack goes through the log and takes back what it has. Before, it looks at the documents of items that several commits
// changed: the last may tell why the first must stay.
func (u *undoing) takeBack(ctx context.Context) error {
	if len(u.several) > 0 {
		err := u.eachPart(ctx, func(_ entry, parts []part) error {
			for _, p := range parts {
				if u.several[p.item] {
					if err := u.look(ctx, p); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	err := u.eachPart(ctx, func(e entry, parts []part) error {
		if u.Progress != nil {
			u.Progress(e.place, len(u.log))
		}
		if err := u.documents(ctx, parts); err != nil {
			return err
		}
		var objects []undo.Object
		var accounts []undo.Account
		for i, r := range e.records {
			switch stays := u.stays[undo.ItemOf(e.records, i)]; {
			case r.Object == nil && r.Account == nil:
			case stays != "":
				if err := u.tell(Outcome{Target: u.targetOf(r), Step: undo.Conflict, Why: onlyWith(stays)}); err != nil {
					return err
				}
			case r.Object != nil:
				objects = append(objects, *r.Object)
			default:
				accounts = append(accounts, *r.Account)
			}
		}
		if err := u.objects(ctx, objects, e.At); err != nil {
			return err
		}
		return u.accounts(ctx, accounts)
	})
	if err != nil {
		return err
	}
	return u.tellRefused()
}
