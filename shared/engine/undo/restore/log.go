package restore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// doneBy returns what a run did, in the order in which it was done. The error is [ErrNoLog] where there is nothing.
func (p Project) doneBy(ctx context.Context, runID string) ([]runlog.Done, error) {
	all, err := runlog.List(ctx, p.DB.Reader, runID)
	if err == nil && len(all) == 0 {
		err = ErrNoLog
	}
	return all, err
}

// eachEntry calls f with the records of each entry of the log, in order, and its place from 0.
func (u *undoing) eachEntry(ctx context.Context, f func(place int, records []undo.Record) error) error {
	for place, done := range u.log {
		if u.Apply {
			if err := u.stillOurs(ctx); err != nil {
				return err
			}
		}
		records, err := done.Records(ctx, u.DB.Reader)
		if err == nil {
			err = f(place, records)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// survey goes through the log before anything is taken back: an item is taken back when all has been read of it, and nothing may
// come back before the jobs are held. While a run is under way, its log grows: this is called when none is any more.
func (u *undoing) survey(ctx context.Context) (err error) {
	if u.log, err = u.doneBy(ctx, u.runID); err != nil {
		return err
	}
	if u.partial() { // what is meant may stand before the document that says so
		if err := u.eachEntry(ctx, func(_ int, records []undo.Record) error { u.match(records); return nil }); err != nil {
			return err
		}
	}
	err = u.eachEntry(ctx, func(_ int, records []undo.Record) error {
		records = u.chosen(records)
		u.touch(records)
		for i, r := range records {
			u.records[u.itemOf(records, i)]++
			if r.Write != nil {
				u.writes[r.Write.Path]++
			}
		}
		return nil
	})
	if err == nil && len(u.with) > jobstate.MaxKept {
		err = ErrMany
	}
	if err == nil && u.Where != nil && !u.named[""] {
		err = fmt.Errorf("%s=%s: %w", u.Where.Field, u.Where.Value, ErrNotInLog)
	}
	for _, target := range u.Only {
		if err == nil && !u.named[target] {
			err = fmt.Errorf("%s: %w", target, ErrNotInLog)
		}
	}
	return err
}

// itemOf returns the item that a record of an entry belongs to: its own target if to none.
func (u *undoing) itemOf(records []undo.Record, i int) string {
	return cmp.Or(undo.ItemOf(records, i), u.targetOf(records[i]))
}

// whole is all that belongs to an item: it comes back as a whole or not at all.
type whole struct {
	read    int // records, of those that the log has
	changes []undo.Change
	besides []besides
	stays   string // a document that cannot come back; empty: none
}

// besides is the record of an object or an account.
type besides struct {
	undo.Record
	at time.Time // when it was written
}

// eachWhole calls f with the items of which an entry is the last to tell.
func (u *undoing) eachWhole(ctx context.Context, f func([]*whole) error) error {
	writes := map[string][]undo.Write{} // of documents to which more follow
	items := map[string]*whole{}        // of which more follows
	return u.eachEntry(ctx, func(place int, records []undo.Record) error {
		if u.Progress != nil {
			u.Progress(place, len(u.log))
		}
		var complete []*whole
		records = u.chosen(records)
		for i, r := range records {
			name := u.itemOf(records, i)
			it := items[name]
			if it == nil {
				it = new(whole)
				items[name] = it
			}
			switch {
			case r.Write != nil:
				path := r.Write.Path
				if writes[path] = append(writes[path], *r.Write); len(writes[path]) == u.writes[path] {
					it.changes = append(it.changes, undo.Net(writes[path])...)
					delete(writes, path)
				}
			case r.Object != nil || r.Account != nil:
				it.besides = append(it.besides, besides{r, u.log[place].At})
			}
			if it.read++; it.read == u.records[name] {
				complete = append(complete, it)
				delete(items, name)
			}
		}
		return f(complete)
	})
}

// takeBack goes through the log and takes back what it has.
func (u *undoing) takeBack(ctx context.Context) error {
	err := u.eachWhole(ctx, func(items []*whole) error {
		if err := u.documents(ctx, items); err != nil {
			return err
		}
		var objects, accounts []besides
		for _, it := range items {
			for _, b := range it.besides {
				switch {
				case it.stays != "":
					if err := u.tell(Outcome{Target: u.targetOf(b.Record), Step: undo.Conflict, Why: onlyWith(it.stays)}); err != nil {
						return err
					}
				case b.Object != nil:
					objects = append(objects, b)
				default:
					accounts = append(accounts, b)
				}
			}
		}
		if err := u.objects(ctx, objects); err != nil {
			return err
		}
		return u.accounts(ctx, accounts)
	})
	if err != nil {
		return err
	}
	return u.tellRefused()
}
