package declared

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/declared/gaps"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// load looks for what is related to the documents that are due by their own fields.
func (c documentsOf) load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]item, error) {
	items := make([]item, len(subjects))
	var all []*cascade.Question
	for i, s := range subjects {
		items[i].Subject = s
		if !s.Found && !c.missing || s.Found && c.judgeFields(s.Document, src.Run()).Kind == "" {
			continue
		}
		for _, related := range c.Related() {
			item, _ := c.ItemOf(s.Document)
			q, ok := cascade.Ask(src, related, item, s.Ref())
			if !ok {
				items[i].nameless = related.Nameless()
				continue
			}
			q.Item = i
			all = append(all, q)
		}
	}
	if err := cascade.Answer(ctx, src, all); err != nil {
		return nil, err
	}
	for _, q := range all {
		i := &items[q.Item]
		switch {
		case q.Odd != "":
			i.odd = q.Odd
		case q.Found:
			i.exists = q.Of.Exists()
		case q.Of.Role() == rule.GoneRole:
			i.missing = append(i.missing, missing(q)...)
		}
		c.lookups.answered(q, q.Of.Place(c.Place()))
	}
	return items, nil
}

// missing returns what does not exist, in words.
func missing(q *cascade.Question) (all []string) {
	for _, ref := range q.Refs {
		all = append(all, ref.String()+" does not exist")
	}
	switch {
	case q.UID != "":
		account := documents.Ref{Collection: "accounts", ID: q.UID}.String()
		return []string{"account " + strings.TrimPrefix(account, "accounts/") + " does not exist"}
	case len(q.Queries) > 0:
		return []string{"no " + q.Of.Noun() + " exists"}
	}
	return all
}

// lookups are where a run that plans looks for related things. A collection that was misspelt, moved or emptied keeps nothing,
// nor does a field that nobody writes: nobody can tell it from one without exceptions.
type lookups struct {
	mu sync.Mutex
	in map[look]*looked

	nobody []string // some uids whose absence makes items due, unless an account was found
	some   bool     // one was
}

// look is where something is looked for, and by which fields of what is there.
type look struct {
	place         rule.Place
	field, within string
}

// looked is what became of it.
type looked struct {
	found, told bool          // something was; it was asked whether anything could be
	in          []string      // collections, of the first items
	gone        cleanup.Count // since the last report, where absence makes items due
}

// answered says what a question found in a place. Where its item names any document, that is in the collection that it names.
func (l *lookups) answered(q *cascade.Question, in rule.Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := q.Of.Role() == rule.GoneRole // absence makes items due
	if gone && q.UID != "" {
		if l.some = l.some || q.Found; len(l.nobody) < fewToTell && !slices.Contains(l.nobody, q.UID) {
			l.nobody = append(l.nobody, q.UID)
		}
	}
	fields := q.Of.Fields()
	at := look{place: in, field: fields[0], within: fields[1]}
	if in.IsKnown() {
		of := l.add(at, q.Found && q.Odd == "", gone)
		if len(q.Queries) > 0 && len(of.in) < gaps.LookedIn && !slices.Contains(of.in, q.Queries[0].Collection) {
			of.in = append(of.in, q.Queries[0].Collection)
		}
		return
	}
	for _, ref := range q.Refs {
		if at.place = rule.Place(ref.Collection); at.place.Repeats() {
			at.place = rule.Anywhere(path.Base(ref.Collection))
		}
		l.add(at, slices.Contains(q.There, ref), gone)
	}
}

// add says that something was looked for, and whether it was found.
func (l *lookups) add(in look, found, gone bool) *looked {
	if l.in[in] == nil {
		if l.in == nil {
			l.in = map[look]*looked{}
		}
		l.in[in] = &looked{}
	}
	of := l.in[in]
	of.found = of.found || found
	if gone && found {
		of.gone.Exists++
	} else if gone {
		of.gone.Missing++
	}
	return of
}

// considered reports what was looked for to keep accounts.
func (l *lookups) considered(ctx context.Context, p *cleanup.Planner, found cleanup.Considered) error {
	for collection, of := range found.Lookups {
		if of.Missing+of.Exists > 0 {
			l.add(look{place: rule.Place(collection)}, of.Exists > 0, false)
		}
	}
	return l.report(ctx, p)
}

// report reports each empty collection in which something was looked for, and each field by which it was and that nobody
// writes, to the safety limits. That costs a few reads for each collection and field by which nothing was found.
func (l *lookups) report(ctx context.Context, p *cleanup.Planner) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for in, of := range l.in {
		if !in.place.IsGroup() && of.gone.Missing+of.gone.Exists > 0 {
			of.gone.Collection = in.place.String()
			p.Count(of.gone)
		}
		if of.gone = (cleanup.Count{}); of.told {
			continue
		}
		of.told = true
		odd, err := gaps.OfMaps(ctx, p.Documents, in.place, in.field)
		if err != nil {
			return err
		}
		if odd != "" {
			p.Count(cleanup.Count{Collection: in.place.String() + "." + in.field, Why: odd})
		}
		if of.found {
			continue
		}
		if err := countNothing(ctx, p, in.place, of.in, in.field, in.within); err != nil {
			return err
		}
	}
	return nil
}

// fewToTell is of how many accounts none must exist to be told. Where there are no accounts, or others, everything looks gone.
const fewToTell = 3

// tellAccounts warns if no account was found of those that were looked for.
func (l *lookups) tellAccounts(ctx context.Context, p *cleanup.Planner, r rule.Rule) {
	for _, g := range r.Gone {
		if g.Account != "" && len(l.nobody) == fewToTell && !l.some {
			p.Warn(ctx, g.Key+": no account "+g.Account+" was found, whatever the item, so all of them look gone: is that their uid?")
		}
	}
}
