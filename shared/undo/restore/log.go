package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/undo"
)

// entry is what one commit left in the log: the names of its parts, and when it was written.
type entry struct {
	parts []*firestore.DocumentRef
	at    time.Time
}

// entriesOf returns a run's entries in the order in which they were written. The records themselves are read later, an entry at a
// time.
func (p Project) entriesOf(ctx context.Context, runID string) ([]entry, error) {
	found, err := p.Firestore.Collection(undo.Collection(runID)).Select("expireAt").Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("read the undo log: %w", err)
	}
	byName := map[string]*entry{}
	var all []*entry
	for _, d := range found {
		if expires, ok := d.Data()["expireAt"].(time.Time); ok && !p.Clock().Before(expires) {
			continue // Firestore deletes it within a day
		}
		name, _, _ := strings.Cut(d.Ref.ID, "-") // the entry's number, and which part of it
		e := byName[name]
		if e == nil {
			e = &entry{at: d.UpdateTime}
			byName[name], all = e, append(all, e)
		}
		e.parts = append(e.parts, d.Ref)
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
func (u *undoing) read(ctx context.Context, e entry) ([]undo.Record, error) {
	slices.SortFunc(e.parts, func(a, b *firestore.DocumentRef) int { return strings.Compare(a.ID, b.ID) })
	found, err := u.Firestore.GetAll(ctx, e.parts)
	if err != nil {
		return nil, fmt.Errorf("read the undo log: %w", err)
	}
	var packed [][]byte
	for _, d := range found {
		data, _ := d.Data()["data"].([]byte)
		packed = append(packed, data)
		if n, _ := d.Data()["parts"].(int64); n != int64(len(found)) {
			return nil, fmt.Errorf("%s: %d parts of %d are there: it is about to expire", d.Ref.Path, len(found), n)
		}
	}
	records, err := undo.Unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.parts[0].Path, err)
	}
	return records, nil
}

// takeBack goes through the log. A document that several commits wrote to is taken back when all of them are known.
func (u *undoing) takeBack(ctx context.Context, entries []entry) error {
	writes := map[string]int{} // how many the log has of each document
	for _, e := range entries {
		records, err := u.read(ctx, e)
		if err != nil {
			return err
		}
		for _, r := range records {
			if r.Write != nil {
				writes[r.Write.Path]++
			}
		}
	}
	open := map[string][]undo.Write{}
	for i, e := range entries {
		if u.Progress != nil {
			u.Progress(i, len(entries))
		}
		records, err := u.read(ctx, e)
		if err != nil {
			return err
		}
		var items []string
		var changes []undo.Change
		for _, r := range records {
			switch {
			case r.Item != "":
				items = append(items, r.Item)
			case r.Write != nil:
				path := r.Write.Path
				if open[path] = append(open[path], *r.Write); len(open[path]) == writes[path] {
					changes = append(changes, undo.Net(open[path])...)
					delete(open, path)
				}
			}
		}
		if err := u.hold(ctx, items); err != nil {
			return err
		}
		if err := u.documents(ctx, changes); err != nil {
			return err
		}
		for _, r := range records {
			if r.Object != nil {
				err = u.object(ctx, *r.Object, e.at)
			}
			if r.Account != nil {
				err = u.account(ctx, *r.Account)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// chosen reports whether a target is among those to take back.
func (u *undoing) chosen(target string) bool {
	return len(u.Only) == 0 || slices.Contains(u.Only, target)
}
