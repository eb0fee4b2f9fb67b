package declared

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
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
	if err := cascade.Answer(ctx, src, all, nil); err != nil {
		return nil, err
	}
	for _, q := range all {
		i := &items[q.Item]
		switch {
		case q.Odd != "":
			i.odd = q.Odd
		case q.Found:
			i.exists = q.Of.Exists()
		case c.isGone(q.Of):
			i.missing = append(i.missing, missing(q)...)
		}
		c.keepers.answered(q, c.isGone(q.Of))
	}
	c.keepers.loaded(items)
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

// isGone reports whether a relation is one whose absence makes items due.
func (c documentsOf) isGone(r rule.Relation) bool {
	return slices.ContainsFunc(c.Gone, func(g rule.Relation) bool { return g.Exists() == r.Exists() && g.Place() == r.Place() })
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
	shaped      bool          // it was asked whether the field holds maps
	in          []string      // collections, of the first items
	gone        cleanup.Count // since the last report, where absence makes items due
}

// answered says what a question found. Where its item names any document, that is in the collection that it names.
func (k *keepers) answered(q *cascade.Question, gone bool) {
	in := look{Place: q.Of.Place(), field: q.Of.Field}
	if q.Of.Within != nil {
		in.within = q.Of.Within.Field
	}
	if in.Place != (rule.Place{}) && !strings.HasPrefix(in.Collection, "{parent}") || q.UID != "" {
		k.lookedUp(in, q.Queries, q.Found && q.Odd == "", gone)
		return
	}
	for _, ref := range q.Refs {
		in.Collection, in.Group = path.Base(ref.Collection), ""
		if in.Collection != ref.Collection {
			in.Group = in.Collection
		}
		k.lookedUp(in, nil, slices.Contains(q.There, ref), gone)
	}
}

// loaded remembers which items of a page no relation keeps.
func (k *keepers) loaded(items []item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range items {
		if k.due != nil && i.exists+i.nameless+i.odd == "" { // a commit, or a preview of one, loads an item again
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
		if !l.shaped && !strings.HasSuffix(in.field, ".{id}") {
			l.shaped = true
			odd, err := ofMaps(ctx, p.Documents, in.Place, in.field)
			if err != nil {
				return err
			}
			if odd != "" {
				p.Count(cleanup.Count{Collection: in.Collection + "." + in.field, Why: odd})
			}
		}
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

// ofMaps says what is wrong if a document of a place holds a map in a field, or a list of maps, where the rule says an id or a
// list of ids: no query finds to what it refers. It costs one read. Of many collections, no index tells.
func ofMaps(ctx context.Context, r documents.Reader, in rule.Place, field string) (string, error) {
	if field == "" || in.Group != "" {
		return "", nil
	}
	name := strings.TrimSuffix(field, "[]")
	q := in.Query(documents.NameOnly...)
	q.OrderBy, q.From = []string{name}, []any{[]any{map[string]any{}}} // maps, and lists that begin with one, come last
	found, err := r.First(ctx, q, "", 1)
	if len(found) == 0 || err != nil {
		return "", err
	}
	return fmt.Sprintf("what %s refers to, whose %s holds a map or maps: have it hold ids or references or, if the keys of a "+
		"map are ids, write "+
		"%s.{id}. Until then nothing is deleted", found[0].Path, name, name), nil
}

// isEmpty reports whether there is no document at all that could keep something. It costs one read.
func isEmpty(ctx context.Context, r documents.Reader, in rule.Place) (bool, error) {
	found, err := r.First(ctx, in.Query(documents.NameOnly...), "", 1)
	return len(found) == 0, err
}
