package declared

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// question asks whether something is related to an item.
type question struct {
	item    int
	of      rule.Relation
	refs    []documents.Ref
	uid     string
	queries []documents.Query
	newest  int // so many must be found, or the item counts as one of them; 0: one tells that there is any
	found   bool
}

// questionsAtOnce is how many queries are asked side by side.
const questionsAtOnce = 20

// load looks for what is related to the documents that are due by their own fields.
func (c documentsOf) load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]item, error) {
	items := make([]item, len(subjects))
	var all []*question
	for i, s := range subjects {
		items[i].Subject = s
		if c.judgeFields(s.Document, src.Run()).Kind == "" {
			continue
		}
		filled, _ := c.ItemOf(s.Document)
		for _, related := range c.Related() {
			q, ok := c.questionOf(related, filled, s.Document, src)
			switch {
			case !ok:
				items[i].nameless = related.Nameless()
			case q != nil && (q.uid == "" || q.uid != c.forgets):
				q.item = i
				all = append(all, q)
			}
		}
	}
	if err := answer(ctx, src, all); err != nil {
		return nil, err
	}
	for _, q := range all {
		if q.found {
			items[q.item].exists = q.of.Exists()
		}
		if q.newest == 0 {
			c.keepers.lookedUp(q.of, q.found, c.isGone(q.of))
		}
	}
	return items, nil
}

// isGone reports whether a relation is one whose absence makes items due.
func (c documentsOf) isGone(r rule.Relation) bool {
	return slices.ContainsFunc(c.Gone, func(g rule.Relation) bool { return g.Exists() == r.Exists() && g.Place() == r.Place() })
}

// questionOf returns what to ask for, nil if the item itself tells; ok is false if the item names nothing, or nothing that could be
// asked for.
func (c documentsOf) questionOf(r rule.Relation, i rule.Item, d documents.Document, src cleanup.Source) (q *question, ok bool) {
	q = &question{of: r, newest: r.Newest}
	switch {
	case r.Newest > 0:
		for _, w := range r.Where {
			if a := w.Holds(i.Field); a != criteria.Met { // it is none of those that where finds
				return nil, a == criteria.Unmet
			}
		}
		q.queries = make([]documents.Query, 1)
		q.queries[0], ok = c.Newer(r, d, src.Reference)
	case r.Document != "":
		q.refs, ok = i.Fill(r.Document)
	case r.Account != "":
		q.uid, ok = i.UID(r.Account)
	default:
		q.queries, ok = r.Queries(d.Ref(), false, src.Reference, src.Run().Now)
	}
	return q, ok
}

// answer answers all questions: documents first, then queries, and accounts last, which no transaction holds still.
func answer(ctx context.Context, src cleanup.Source, all []*question) error {
	var refs []documents.Ref
	var uids []string
	var asks []func() error
	for _, q := range all {
		refs = append(refs, q.refs...)
		if q.uid != "" {
			uids = append(uids, q.uid)
		}
		for _, query := range q.queries {
			asks = append(asks, func() error {
				found, err := src.First(ctx, query, "", max(1, q.newest))
				if len(found) > 0 && q.newest == 0 || len(found) < q.newest {
					q.found = true
				}
				return err
			})
		}
	}
	found, err := src.Get(ctx, refs)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(asks, questionsAtOnce) {
		for _, err := range flow.All(some...) {
			if err != nil {
				return err
			}
		}
	}
	accounts, err := src.Accounts(ctx, uids)
	if err != nil {
		return err
	}
	for _, q := range all {
		for _, ref := range q.refs {
			_, there := found[ref]
			q.found = q.found || there
		}
		q.found = q.found || accounts[q.uid]
	}
	return nil
}

// keepers watches where related things are looked for while a run plans. A collection that was misspelt, moved or emptied keeps
// nothing: without a document in it, nobody can tell it from one without exceptions.
type keepers struct {
	mu      sync.Mutex
	missing map[rule.Place]bool            // of those looked up in, whether no document was found yet
	asked   []rule.Place                   // whether it is empty
	gone    map[rule.Place]cleanup.Lookups // of those whose absence makes items due
}

// lookedUp says that something was looked for, and whether it was found.
func (k *keepers) lookedUp(r rule.Relation, found, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.missing == nil {
		k.missing, k.gone = map[rule.Place]bool{}, map[rule.Place]cleanup.Lookups{}
	}
	in := r.Place()
	before, known := k.missing[in]
	k.missing[in] = !found && (before || !known)
	if !gone {
		return
	}
	l := k.gone[in]
	if l.Asked++; !found {
		l.Missing++
	}
	k.gone[in] = l
}

// considered reports what was looked for to keep accounts.
func (k *keepers) considered(ctx context.Context, p *cleanup.Planner, found cleanup.Considered) error {
	for collection, l := range found.Lookups {
		if l.Asked > 0 {
			k.lookedUp(rule.Relation{Document: collection + "/x"}, l.Missing < l.Asked, false)
		}
	}
	return k.report(ctx, p)
}

// report reports each empty collection in which something was looked for to the safety limit on empty collections, and how
// often what must be gone is gone to that on missing ids. That costs one read for each collection in which nothing was found.
func (k *keepers) report(ctx context.Context, p *cleanup.Planner) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for in, l := range k.gone {
		switch {
		case in == (rule.Place{}):
			p.Share("items whose account was looked up", l.Asked, l.Missing, 0)
		case in.Group != "":
			p.Share("items for which documents of "+in.Collection+" were looked for", l.Asked, l.Missing, 0)
		default:
			p.LookedUp(in.Collection, l.Asked, l.Missing)
		}
	}
	clear(k.gone)
	for in, missing := range k.missing {
		if !missing || slices.Contains(k.asked, in) || in == (rule.Place{}) {
			continue
		}
		k.asked = append(k.asked, in)
		empty, err := isEmpty(ctx, p.Documents, in)
		if err != nil {
			return err
		}
		if empty { // that most are missing is normal, unlike with owners of objects, so only this is reported
			p.LookedUp(in.Collection, 1, 1)
			p.Log.WarnContext(ctx, in.Collection+", which the rule looks in, holds no document, so nothing is kept because of it: correct "+
				"the name in the rule or, if it is right, put any document into that collection", slog.String("target", in.Collection))
		}
	}
	return nil
}

// isEmpty reports whether there is no document at all that could keep something. It costs one read.
func isEmpty(ctx context.Context, r documents.Reader, in rule.Place) (bool, error) {
	q := documents.Query{Collection: in.Collection, Select: documents.NameOnly}
	if in.Group != "" {
		q.Collection, q.Group = in.Group, true
	}
	found, err := r.First(ctx, q, "", 1)
	return len(found) == 0, err
}

// EmptyKeepers returns the collections in which a rule looks for what is related and that hold no document, as the rule writes
// them. Each costs one read.
func EmptyKeepers(ctx context.Context, r documents.Reader, of rule.Rule) (empty []string, err error) {
	for _, related := range of.Related() {
		in := related.Place()
		if in == (rule.Place{}) || slices.Contains(empty, in.Collection) {
			continue
		}
		if none, err := isEmpty(ctx, r, in); err != nil {
			return nil, err
		} else if none {
			empty = append(empty, in.Collection)
		}
	}
	return empty, nil
}
