package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// entry is what one commit left in the log: the paths of its parts, and when it was written.
type entry struct {
	parts []string
	at    time.Time
}

// entriesOf returns a run's entries in the order in which they were written. The records themselves are read later, an entry at a
// time.
func (p Project) entriesOf(ctx context.Context, runID string) ([]entry, error) {
	found, err := p.all(ctx, documents.Query{Collection: undo.Collection(runID), Select: []string{"expireAt"}})
	if err != nil {
		return nil, fmt.Errorf("read the undo log: %w", err)
	}
	byName := map[string]*entry{}
	var all []*entry
	for _, d := range found {
		if expires, ok := d.Data["expireAt"].(time.Time); ok && !d.ReadTime.Before(expires) {
			continue // Firestore deletes it within a day
		}
		name, _, _ := strings.Cut(d.ID(), "-") // the entry's number, and which part of it
		e := byName[name]
		if e == nil {
			e = &entry{at: d.UpdateTime}
			byName[name], all = e, append(all, e)
		}
		e.parts = append(e.parts, d.Path)
	}
	if len(all) == 0 {
		return nil, ErrNoLog
	}
	slices.SortStableFunc(all, func(a, b *entry) int { return a.at.Compare(b.at) })
	entries := make([]entry, len(all))
	for i, e := range all {
		entries[i] = *e
	}
	return entries, nil
}

// read returns an entry's records.
func (p Project) read(ctx context.Context, e entry) ([]undo.Record, error) {
	slices.Sort(e.parts)
	found, err := p.DB.GetAll(ctx, e.parts)
	if err != nil {
		return nil, fmt.Errorf("read the undo log: %w", err)
	}
	var packed [][]byte
	for _, path := range e.parts {
		d := found[path]
		data, _ := d.Data["data"].([]byte)
		packed = append(packed, data)
		if n, _ := d.Data["parts"].(int64); n != int64(len(found)) {
			return nil, fmt.Errorf("%s: only %d of its %d parts are left: it is about to expire", path, len(found), n)
		}
	}
	records, err := undo.Unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.parts[0], err)
	}
	return records, nil
}

// entries calls f with the records of each entry, in order. It reads the next one meanwhile.
func (u *undoing) entries(ctx context.Context, f func(context.Context, entry, []undo.Record) error) error {
	type log struct {
		entry
		records []undo.Record
	}
	ahead := make(chan log)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(ahead)
		for _, e := range u.log {
			if u.Apply {
				if err := u.stillOurs(ctx); err != nil {
					return err
				}
			}
			records, err := u.read(ctx, e)
			if err != nil {
				return err
			}
			select {
			case ahead <- log{e, u.within(records)}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	g.Go(func() error {
		for l := range ahead {
			if err := f(ctx, l.entry, l.records); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}

// survey goes through the log once: a document that several commits wrote to is taken back when the last of them has been read,
// so they are counted first, and nothing may come back before all that will is pinned. It returns what may have to be pinned.
func (u *undoing) survey(ctx context.Context) (pins pinning, err error) {
	u.writes, u.stayed = map[string]int{}, map[string]bool{}
	u.matched, u.ids, u.claimed = map[string]bool{}, map[string]bool{}, map[identifier]string{}
	named := map[string]bool{} // of Only
	err = u.entries(ctx, func(_ context.Context, _ entry, records []undo.Record) error {
		u.pinsOf(&pins, records)
		for _, r := range records {
			u.match(r)
			for _, target := range u.Only {
				named[target] = named[target] || u.names(r, target)
			}
			switch {
			case r.Stayed != "":
				u.stayed[u.targetOf(r)] = true
			default:
				delete(u.stayed, u.targetOf(r)) // it was tried again
			}
			if r.Write != nil {
				u.writes[r.Write.Path]++
			}
		}
		return nil
	})
	for _, target := range u.Only {
		if err == nil && !named[target] {
			err = fmt.Errorf("%s: %w", target, ErrNotInLog)
		}
	}
	return pins, err
}

// takeBack goes through the log and takes back what it has.
func (u *undoing) takeBack(ctx context.Context) error {
	open := map[string][]undo.Write{}
	done := 0
	err := u.entries(ctx, func(ctx context.Context, e entry, records []undo.Record) error {
		if u.Progress != nil {
			u.Progress(done, len(u.log))
		}
		done++
		var changes []undo.Change
		var objects []undo.Object
		var accounts []undo.Account
		for _, r := range records {
			switch {
			case u.stayed[u.targetOf(r)]: // there is nothing to take back
			case r.Write != nil:
				path := r.Write.Path
				if open[path] = append(open[path], *r.Write); len(open[path]) == u.writes[path] {
					changes = append(changes, undo.Net(open[path])...)
					delete(open, path)
				}
			case r.Object != nil:
				objects = append(objects, *r.Object)
			case r.Account != nil:
				accounts = append(accounts, *r.Account)
			}
		}
		if err := u.documents(ctx, changes); err != nil {
			return err
		}
		if err := u.objects(ctx, objects, e.at); err != nil {
			return err
		}
		return u.accounts(ctx, accounts)
	})
	if err != nil {
		return err
	}
	return u.tellRefused()
}
