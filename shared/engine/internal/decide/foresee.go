package decide

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

// Bounds of what is foreseen.
const (
	maxRounds = 100                 // commits of one item
	maxDepth  = 3                   // of items within items
	farthest  = 5 * cleanup.MaxRoom // documents that [Decider.Ahead] looks at: all are held at once
	maxAhead  = 4 << 20             // bytes that it holds of those that it reads whole in a round, and of what would be written
)

// ErrMore says that what is foreseen is not all.
var ErrMore = errors.New("there is more")

// Ahead returns a [KeptError] if an item's later commits, or those of what goes first, would meet what is pinned, or what was written
// since the plan was approved: too late, as earlier commits have acted by then. What goes without the item, its Next, does not keep it.
// What lies farther than it looks does not either, and whatever inTime returns ends it.
func (d *Decider) Ahead(ctx context.Context, item Asked, inTime func() error) error {
	src, room := d.Imagine(), farthest
	src.ahead, src.left, src.inTime, src.first = true, &room, inTime, src.within
	err := d.Foresee(ctx, src, []*Asked{&item}, 0, func(o Outcome, _ int) error {
		var kept *KeptError
		if errors.As(o.Err, &kept) {
			return kept.With()
		}
		return nil
	})
	if errors.Is(err, ErrMore) || errors.Is(err, documents.ErrTooMuch) {
		return nil
	}
	return err
}

// looksAhead reports whether [Decider.Ahead] is to be asked before a change, after which more is done to its item.
func (d *Decider) looksAhead(w *Asked, c cleanup.Change) bool {
	return !w.Foreseen && !w.Looked && d.MayKeep() && (c.Again != "" || len(c.First) > 0)
}

// MayKeep reports whether anything may keep an item because of what goes with it.
func (d *Decider) MayKeep() bool { return d.Approved != nil || d.Pins.Any() }

// Foresee goes through the steps of items of one rule without committing, on a copy of what is read. It shows each to see, which ends
// it with an error. Items that come to nothing together are tried one after the other, as their commits would be.
func (d *Decider) Foresee(ctx context.Context, src *Imagined, group []*Asked, depth int, see func(o Outcome, depth int) error) error {
	for _, w := range group {
		if w.Foreseen, w.Version = true, nil; src.ahead { // what is imagined has no version
			w.Room = farthest
		}
	}
	for round := 0; len(group) > 0; round++ {
		if round == maxRounds || depth > maxDepth || src.ahead && (*src.left <= 0 || src.writes >= farthest || src.held >= maxAhead) {
			return ErrMore
		}
		src.bytes.Store(int64(maxAhead - src.held))
		wrote, moved := src.writes, false
		outcomes, err := d.Decide(ctx, src, group)
		if err != nil {
			return err
		}
		var again []*Asked
		for i, o := range outcomes {
			w, c, before := group[i], o.Change, src.writes
			if o.Err != nil {
				c = cleanup.Change{}
			}
			if err := d.foreseeAll(ctx, src, c.First, depth+1, see); err != nil {
				return err
			}
			if err := see(o, depth); err != nil {
				return err
			}
			src.write(c.Writes)
			for _, then := range c.Then {
				if then.Recorded != nil {
					src.write(then.Recorded.Done)
				}
			}
			if !src.ahead {
				if err := d.foreseeAll(ctx, src, c.Next, depth+1, see); err != nil {
					return err
				}
			}
			switch {
			case len(c.First) > 0 && src.writes == before: // nothing goes first
			case len(c.First) > 0:
				again = append(again, w)
			case c.Again != "":
				moved = moved || c.From != w.From
				w.Kind, w.From = c.Again, c.From
				again = append(again, w)
			}
		}
		switch {
		case moved || src.writes > wrote || len(again) == 0:
		case len(group) == 1: // it would be the same for ever
			return ErrMore
		default:
			for _, w := range again {
				if err := d.Foresee(ctx, src, []*Asked{w}, depth, see); err != nil {
					return err
				}
			}
			return nil
		}
		group = again
	}
	return nil
}

// foreseeAll foresees items: those of one rule together where each has all room, else one after the other.
func (d *Decider) foreseeAll(ctx context.Context, src *Imagined, items []cleanup.Item, depth int, see func(Outcome, int) error) error {
	for len(items) > 0 {
		rule, n := items[0].Rule, 1
		for src.ahead && n < min(len(items), rule.Together()) && items[n].Rule.Named() == rule.Named() {
			n++
		}
		group := make([]*Asked, n)
		for i, item := range items[:n] {
			group[i] = &Asked{Ruled: Ruled{Item: item}}
		}
		if err := d.Foresee(ctx, src, group, depth, see); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// Imagined is the database as it would be after some writes.
type Imagined struct {
	*Source
	Account string                                // deleted
	ahead   bool                                  // it is for [Decider.Ahead], as are bytes and inTime
	bytes   atomic.Int64                          // that may still be read in this round
	inTime  func() error                          // asked before each query
	written map[documents.Ref]*documents.Document // nil: deleted
	writes  int
	held    int // bytes of written
}

// Imagine returns the database as it is.
func (d *Decider) Imagine() *Imagined {
	return &Imagined{Source: d.Source(), written: map[documents.Ref]*documents.Document{}}
}

// Accounts implements [cleanup.Source].
func (s *Imagined) Accounts(ctx context.Context, uids []string) (map[string]bool, error) {
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return uid == s.Account })
	if len(uids) == 0 {
		return nil, nil
	}
	return s.Source.Accounts(ctx, uids)
}

// within reads the first documents that a query matches, if there is time. Of whole ones it returns no more than have half of the bytes
// that may still be read, with [documents.ErrTooMuch]: what belongs to each may be read next.
func (s *Imagined) within(ctx context.Context, q documents.Query, from documents.Cursor, limit int) (all []documents.Document, err error) {
	n, size, most := limit, 0, int(s.bytes.Load())
	once := len(q.From) > 0 // such a query may be in the order of what no cursor stands behind, such as a map
	switch {
	case q.Select != nil:
	case once:
		n = 100
	default:
		n = 4 // of up to 1 MiB
	}
	if most <= 0 {
		return nil, ErrMore
	}
	for {
		if err := s.inTime(); err != nil {
			return nil, err
		}
		n = min(n, limit-len(all))
		found, err := s.decider.Documents.First(ctx, q, from, n)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if q.Select == nil {
			for _, d := range found {
				size += documents.Size(d.Path, d.Data)
			}
		}
		switch rest := most/2 - size; {
		case len(found) < n || len(all) == limit:
			s.bytes.Add(int64(-size))
			return all, nil
		case rest <= 0, once:
			s.bytes.Add(int64(-size))
			return all, documents.ErrTooMuch
		default:
			n = min(2*n, 1+rest*len(all)/size)
		}
		if from, err = q.After(found[len(found)-1]); err != nil {
			return nil, err
		}
	}
}

// Below implements [cleanup.Source].
func (s *Imagined) Below(ctx context.Context, document documents.Ref, limit int) ([]documents.Document, error) {
	if s.ahead {
		if err := s.inTime(); err != nil {
			return nil, err
		}
	}
	return s.Source.Below(ctx, document, limit)
}

func (s *Imagined) write(all []documents.Write) {
	s.writes += len(all)
	for _, w := range all {
		if w.Op == documents.Delete {
			s.written[w.Ref] = nil
			continue
		}
		d := documents.Document{Path: w.Ref.Path(), Data: map[string]any{}, UpdateTime: time.Now()}
		if before := cmp.Or(s.written[w.Ref], s.Seen(w.Ref)); w.Op == documents.Update && before != nil {
			d.Database, d.Data = before.Database, maps.Clone(before.Data)
		}
		for field, value := range w.Data {
			if d.Data[field] = value; value == documents.DeleteField {
				delete(d.Data, field)
			}
		}
		s.held += documents.Size(d.Path, d.Data)
		s.written[w.Ref] = &d
	}
}

// Get implements [cleanup.Source].
func (s *Imagined) Get(ctx context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error) {
	found, err := s.Source.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if d, written := s.written[ref]; written && d == nil {
			delete(found, ref)
		} else if written {
			found[ref] = *d
		}
	}
	return found, nil
}

// Children implements [cleanup.Source].
func (s *Imagined) Children(ctx context.Context, c cleanup.Children, parents []string) (map[string]cleanup.Belonging, error) {
	all, err := s.Source.Children(ctx, c, parents)
	for id, b := range all {
		b.Documents = s.remaining(b.Documents)
		all[id] = b
	}
	return all, err
}

// First implements [cleanup.Source].
func (s *Imagined) First(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
	deleted := 0 // they are there still, and stand before those that would be found
	for ref, d := range s.written {
		if d == nil && ref.Collection == q.Collection {
			deleted++
		}
	}
	found, err := s.Source.First(ctx, q, from, limit+deleted)
	left := s.remaining(found)
	if len(left) == 0 && errors.Is(err, documents.ErrTooMuch) { // the bytes were those of what is deleted
		return nil, ErrMore
	}
	if from == "" && len(q.Where)+len(q.Any)+len(q.OrderBy) == 0 {
		left = append(left, s.created(q.Collection, found)...)
	}
	return left[:min(limit, len(left))], err
}

// created returns the documents that a collection would have besides those that were found, for queries without conditions.
func (s *Imagined) created(collection string, found []documents.Document) []documents.Document {
	var all []documents.Document
	for ref, d := range s.written {
		there := slices.ContainsFunc(found, func(f documents.Document) bool { return f.Ref() == ref })
		if d != nil && ref.Collection == collection && !there {
			all = append(all, *d)
		}
	}
	slices.SortFunc(all, func(a, b documents.Document) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// remaining returns the documents that have not been deleted.
func (s *Imagined) remaining(found []documents.Document) []documents.Document {
	var left []documents.Document
	for _, d := range found {
		if now, written := s.written[d.Ref()]; !written || now != nil {
			left = append(left, d)
		}
	}
	return left
}
