package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
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
	maxAhead  = 4 << 20             // bytes that are held of documents that are read whole in a round, and of what would be written
)

// ErrMore says that what is foreseen is not all.
var ErrMore = errors.New("there is more")

// Ahead returns a [KeptError] if an item's later commits, or those of what goes first, would meet what the job keeps, or what was written
// since the plan was approved: too late, as earlier commits have acted by then. What goes without the item, its Next, does not keep it.
// What lies farther than it looks does not either, and whatever inTime returns ends it.
func (d *Decider) Ahead(ctx context.Context, item Asked, inTime func() error) error {
	src, room := d.Imagine(inTime), farthest
	src.ahead, src.left = true, &room
	err := d.Foresee(ctx, src, []*Asked{&item}, 0, func(o Outcome, _ int) error {
		var kept *KeptError
		if errors.As(o.Err, &kept) {
			return kept.With()
		}
		return nil
	})
	if errors.Is(err, ErrMore) {
		return nil
	}
	return err
}

// looksAhead reports whether [Decider.Ahead] is to be asked before a change, after which more is done to its item.
func (d *Decider) looksAhead(w *Asked, c cleanup.Change) bool {
	return !w.Foreseen && !w.Looked && d.MayKeep() && c.Again != ""
}

// MayKeep reports whether anything may keep an item because of what goes with it.
func (d *Decider) MayKeep() bool { return d.Approved != nil || d.Listed().Any() }

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
		if errors.Is(err, documents.ErrTooMuch) {
			return ErrMore
		}
		if err != nil {
			return err
		}
		var again []*Asked
		for i, o := range outcomes {
			w, c, before := group[i], o.Change, src.writes
			if o.Err != nil {
				c = cleanup.Change{}
			}
			first := len(c.Writes) == 0 && c.Again != "" // what follows is done before it
			if first {
				if err := d.foreseeAll(ctx, src, c.Next, depth+1, see); err != nil {
					return err
				}
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
			if !src.ahead && !first {
				if err := d.foreseeAll(ctx, src, c.Next, depth+1, see); err != nil {
					return err
				}
			}
			switch {
			case first && len(c.Next) > 0 && src.writes == before: // nothing goes first
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
	ahead   bool                                  // it is for [Decider.Ahead]
	bytes   atomic.Int64                          // that may still be read in this round
	inTime  func() error                          // asked before each query
	written map[documents.Ref]*documents.Document // nil: deleted
	updated map[documents.Ref][]string            // which fields were
	writes  int
	held    int // bytes of written

	reading  sync.Mutex          // held while one query reads whole documents
	listings map[string]*listing // of these queries
}

// Imagine returns the database as it is. Whatever inTime returns ends a query.
func (d *Decider) Imagine(inTime func() error) *Imagined {
	s := &Imagined{
		Source: d.Source(), inTime: inTime, written: map[documents.Ref]*documents.Document{}, updated: map[documents.Ref][]string{},
		listings: map[string]*listing{},
	}
	s.first = s.within
	return s
}

// Accounts implements [cleanup.Source].
func (s *Imagined) Accounts(ctx context.Context, uids []string) (map[string]bool, error) {
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return uid == s.Account })
	if len(uids) == 0 {
		return nil, nil
	}
	return s.Source.Accounts(ctx, uids)
}

// within reads the first documents that a query would find, if there is time.
func (s *Imagined) within(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
	if s.bytes.Load() <= 0 {
		return nil, ErrMore
	}
	if q.Select == nil {
		return s.whole(ctx, q, from, limit)
	}
	lost := 0 // they precede the others
	for ref := range s.written {
		if s.lost(q, ref) {
			lost++
		}
	}
	if err := s.inTime(); err != nil {
		return nil, err
	}
	found, err := s.decider.Documents.First(ctx, q, from, limit+lost)
	found = slices.DeleteFunc(found, func(d documents.Document) bool { return s.lost(q, d.Ref()) })
	return found[:min(limit, len(found))], err
}

// whole is within for whole documents. It returns no more than have half of the bytes that may still be read, with
// [documents.ErrTooMuch]: what belongs to each may be read next.
func (s *Imagined) whole(ctx context.Context, q documents.Query, from documents.Cursor, limit int) (all []documents.Document, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	l, err := s.listed(ctx, q, from, limit)
	if err != nil {
		return nil, err
	}
	most, size, n := int(s.bytes.Load())/2, 0, 4 // documents of up to 1 MiB
	defer func() { s.bytes.Add(int64(-size)) }()
	at, read, bytes := 0, 0, 0 // in the listing; documents, and theirs, with those that are lost
	for len(all) < limit && (at < len(l.refs) || !l.all) {
		if len(all) > 0 && size >= most || at == len(l.refs) && len(q.OrderBy) > 0 {
			return all, documents.ErrTooMuch
		}
		n = min(n, limit-len(all))
		again := l.refs[at:min(at+n, len(l.refs))]
		found, err := s.page(ctx, q, l, again, n)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			one := documents.Size(d.Path, d.Data)
			read, bytes = read+1, bytes+one
			if s.lost(q, d.Ref()) {
				continue
			}
			all, size = append(all, d), size+one
			if len(again) == 0 {
				l.refs, at = append(l.refs, d.Ref()), at+1
			}
		}
		at += len(again)
		n = min(2*n, 1+(most-size)*max(1, read)/max(1, bytes))
	}
	return all, nil
}

// listing is how far a query for whole documents was read: no later round reads again what is lost by then.
type listing struct {
	refs []documents.Ref  // of those that it would find, in order
	next documents.Cursor // behind them
	all  bool             // nothing is
}

// listed returns the listing of a query. If it is in an order, it has the names of all: no cursor stands behind a map, and none may hold
// a text as long as an id can be.
func (s *Imagined) listed(ctx context.Context, q documents.Query, from documents.Cursor, limit int) (*listing, error) {
	key, err := json.Marshal([]any{q, from})
	if err != nil {
		return nil, err
	}
	l := s.listings[string(key)]
	if l == nil {
		l = &listing{next: from}
		s.listings[string(key)] = l
	}
	l.refs = slices.DeleteFunc(l.refs, func(ref documents.Ref) bool { return s.lost(q, ref) })
	if len(q.OrderBy) == 0 || len(l.refs) > 0 || l.all {
		return l, nil
	}
	q.Select = documents.NameOnly
	found, err := s.within(ctx, q, from, limit)
	for _, d := range found {
		l.refs = append(l.refs, d.Ref())
	}
	l.all = len(found) < limit
	return l, err
}

// page reads documents that are listed already or, if there are none of these, the next that a query finds, at most n.
func (s *Imagined) page(
	ctx context.Context, q documents.Query, l *listing, again []documents.Ref, n int,
) (found []documents.Document, err error) {
	if err := s.inTime(); err != nil {
		return nil, err
	}
	if len(again) == 0 {
		found, err = s.decider.Documents.First(ctx, q, l.next, n)
		if l.all = len(found) < n; len(found) > 0 {
			l.next, err = q.After(found[len(found)-1])
		}
		return found, err
	}
	paths := make([]string, len(again))
	for i, ref := range again {
		paths[i] = ref.Path()
	}
	there, err := s.decider.Documents.GetAll(ctx, paths)
	for _, name := range paths {
		if d, ok := there[name]; ok {
			found = append(found, d)
		}
	}
	return found, err
}

// lost reports whether a query would not find a document that it finds: it was deleted, or what the query asks for was updated.
func (s *Imagined) lost(q documents.Query, ref documents.Ref) bool {
	d, written := s.written[ref]
	if !written || ref.Collection != q.Collection && (!q.Group || path.Base(ref.Collection) != q.Collection) {
		return false
	}
	if d == nil {
		return true
	}
	asked := slices.Clone(q.OrderBy)
	for _, filters := range slices.Concat(q.Any, [][]documents.Filter{q.Where}) {
		for _, f := range filters {
			asked = append(asked, f.Field)
		}
	}
	return slices.ContainsFunc(asked, func(field string) bool {
		field, _, _ = strings.Cut(field, ".")
		return slices.Contains(s.updated[ref], field)
	})
}

// Below implements [cleanup.Source].
func (s *Imagined) Below(ctx context.Context, document documents.Ref, limit int) ([]documents.Document, error) {
	if err := s.inTime(); err != nil {
		return nil, err
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
		if w.Op == documents.Update {
			s.updated[w.Ref] = slices.AppendSeq(s.updated[w.Ref], maps.Keys(w.Data))
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

// First implements [cleanup.Source].
func (s *Imagined) First(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
	found, err := s.Source.First(ctx, q, from, limit)
	if err == nil && from == "" && len(q.Where)+len(q.Any)+len(q.OrderBy) == 0 {
		found = append(found, s.created(q.Collection, found)...)
	}
	return found[:min(limit, len(found))], err
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
