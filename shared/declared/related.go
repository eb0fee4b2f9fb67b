package declared

import (
	"cmp"
	"context"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/rule"
)

// question asks whether something is related to an item.
type question struct {
	item    int
	of      rule.Relation
	refs    []documents.Ref
	uid     string
	queries []documents.Query
	found   atomic.Bool     // its queries are asked side by side
	there   []documents.Ref // of refs
}

// questionsAtOnce is how many queries are asked side by side.
const questionsAtOnce = 20

// load looks for what is related to the documents that are due by their own fields.
func (c documentsOf) load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]item, error) {
	items := make([]item, len(subjects))
	var all []*question
	for i, s := range subjects {
		items[i].Subject = s
		if !s.Found && !c.missing || s.Found && c.judgeFields(s.Document, src.Run()).Kind == "" {
			continue
		}
		for _, related := range c.Related() {
			q, ok := c.questionOf(related, s.Document, src)
			if !ok {
				items[i].nameless = related.Nameless()
				continue
			}
			q.item = i
			all = append(all, q)
		}
	}
	if err := answer(ctx, src, all); err != nil {
		return nil, err
	}
	for _, q := range all {
		if q.found.Load() {
			items[q.item].exists = q.of.Exists()
		} else if c.isGone(q.of) {
			items[q.item].missing = append(items[q.item].missing, q.missing()...)
		}
		c.keepers.answered(q, c.isGone(q.of))
	}
	c.keepers.loaded(items)
	return items, nil
}

// missing returns what does not exist, in words.
func (q *question) missing() (all []string) {
	for _, ref := range q.refs {
		all = append(all, ref.String()+" does not exist")
	}
	switch {
	case q.uid != "":
		account := documents.Ref{Collection: "accounts", ID: q.uid}.String()
		return []string{"account " + strings.TrimPrefix(account, "accounts/") + " does not exist"}
	case len(q.queries) > 0:
		return []string{"no " + q.of.Noun() + " exists"}
	}
	return all
}

// isGone reports whether a relation is one whose absence makes items due.
func (c documentsOf) isGone(r rule.Relation) bool {
	return slices.ContainsFunc(c.Gone, func(g rule.Relation) bool { return g.Exists() == r.Exists() && g.Place() == r.Place() })
}

// questionOf returns what to ask for; ok is false if the item names nothing, or nothing that could be asked for.
func (c documentsOf) questionOf(r rule.Relation, d documents.Document, src cleanup.Source) (q *question, ok bool) {
	q = &question{of: r}
	i, _ := c.ItemOf(d)
	switch {
	case r.Document != "":
		q.refs, ok = i.Fill(r.Document)
	case r.Account != "":
		q.uid, ok = i.UID(r.Account)
	default:
		q.queries, ok = r.Queries(d.Ref(), src.Reference, src.Run().Now)
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
			query.ReadOnly = true
			asks = append(asks, func() error {
				found, err := src.First(ctx, query, "", 1)
				if len(found) > 0 {
					q.found.Store(true)
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
		if err := cmp.Or(flow.All(some...)...); err != nil {
			return err
		}
	}
	accounts, err := src.Accounts(ctx, uids)
	if err != nil {
		return err
	}
	for _, q := range all {
		for _, ref := range q.refs {
			if _, there := found[ref]; there {
				q.there = append(q.there, ref)
			}
		}
		if len(q.there) > 0 || accounts[q.uid] {
			q.found.Store(true)
		}
	}
	return nil
}

// keepers watches where related things are looked for while a run plans. A collection that was misspelt, moved or emptied keeps
// nothing, nor does a field that nobody writes: nobody can tell it from one without exceptions.
type keepers struct {
	mu    sync.Mutex
	looks map[look]*looked
	due   map[string]bool // items that no relation keeps, by path; nil, unless a page is loaded
}

// look is where something is looked for, and by which fields of what is there.
type look struct {
	rule.Place
	field, within string
}

// looked is what became of it.
type looked struct {
	found, told bool          // something was; it was asked whether anything could be
	in          []string      // collections, of the first items
	gone        cleanup.Count // since the last report, where absence makes items due
}

// answered says what a question found. Where its item names any document, that is in the collection that it names.
func (k *keepers) answered(q *question, gone bool) {
	in := look{Place: q.of.Place(), field: q.of.Field}
	if q.of.Within != nil {
		in.within = q.of.Within.Field
	}
	if in.Place != (rule.Place{}) && !strings.HasPrefix(in.Collection, "{parent}") || q.uid != "" {
		k.lookedUp(in, q.queries, q.found.Load(), gone)
		return
	}
	for _, ref := range q.refs {
		in.Collection, in.Group = path.Base(ref.Collection), ""
		if in.Collection != ref.Collection {
			in.Group = in.Collection
		}
		k.lookedUp(in, nil, slices.Contains(q.there, ref), gone)
	}
}

// loaded remembers which items of a page no relation keeps.
func (k *keepers) loaded(items []item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range items {
		if k.due != nil && i.exists == "" && i.nameless == "" { // a commit, or a preview of one, loads an item again
			k.due[i.Path] = true
		}
	}
}

// lookedUp says that something was looked for, and whether it was found.
func (k *keepers) lookedUp(in look, by []documents.Query, found, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.looks[in]
	if l == nil {
		if l = (&looked{}); k.looks == nil {
			k.looks = map[look]*looked{}
		}
		k.looks[in] = l
	}
	l.found = l.found || found
	if len(by) > 0 && len(l.in) < lookedIn && !slices.Contains(l.in, by[0].Collection) {
		l.in = append(l.in, by[0].Collection)
	}
	if gone {
		if found {
			l.gone.Exists++
		} else {
			l.gone.Missing++
		}
	}
}

// considered reports what was looked for to keep accounts.
func (k *keepers) considered(ctx context.Context, p *cleanup.Planner, found cleanup.Considered) error {
	for collection, l := range found.Lookups {
		if l.Missing+l.Exists > 0 {
			k.lookedUp(look{Place: rule.Place{Collection: collection}}, nil, l.Exists > 0, false)
		}
	}
	return k.report(ctx, p)
}

// report reports each empty collection in which something was looked for, and each field by which it was and that nobody
// writes, to the safety limits. That costs one read for each collection and field by which nothing was found.
func (k *keepers) report(ctx context.Context, p *cleanup.Planner) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for in, l := range k.looks {
		if in.Group == "" && in.Place != (rule.Place{}) && l.gone.Missing+l.gone.Exists > 0 {
			l.gone.Collection = in.Collection
			p.Count(l.gone)
		}
		l.gone = cleanup.Count{}
		if l.found || l.told || in.Place == (rule.Place{}) {
			continue
		}
		l.told = true
		unwritten, err := lacking(ctx, p.Documents, in.Place, l.in, in.field)
		if err == nil && unwritten == "" {
			unwritten, err = lacking(ctx, p.Documents, in.Place, l.in, in.within)
		}
		if err != nil {
			return err
		}
		empty := false
		if unwritten != "" || in.field+in.within == "" || in.Group != "" {
			if empty, err = isEmpty(ctx, p.Documents, in.Place); err != nil {
				return err
			}
		}
		switch {
		case empty: // that most are missing is normal, unlike with owners of objects, so only this is reported
			p.Count(cleanup.Count{Collection: in.Collection, Missing: 1})
			p.Log.WarnContext(ctx, in.Collection+", which the rule looks in, holds no document, so nothing is kept because of it: "+
				"correct the name in the rule or, if it is right, put any document into that collection",
				slog.String("target", in.Collection))
		case unwritten != "":
			p.Count(cleanup.Count{Collection: in.Collection, Field: unwritten})
		}
	}
	return nil
}

// isEmpty reports whether there is no document at all that could keep something. It costs one read.
func isEmpty(ctx context.Context, r documents.Reader, in rule.Place) (bool, error) {
	found, err := r.First(ctx, in.Query(documents.NameOnly...), "", 1)
	return len(found) == 0, err
}
