package rule

import (
	"slices"
	"strings"
)

// Judged returns, by collection, the names of the fields that decide what is deleted: whoever may write them can have
// something deleted.
func (r Rule) Judged() map[string][]string {
	judged := map[string][]string{}
	add := func(collection, field string) {
		field = strings.TrimSuffix(strings.TrimSuffix(field, ".*"), ".{"+idHole+"}")
		if field != "" && !slices.Contains(judged[collection], field) && !strings.Contains(field, "{") {
			judged[collection] = append(judged[collection], field)
		}
	}
	if !r.OfDocuments() {
		return judged // no field of a document decides about objects and accounts
	}
	for _, c := range append(slices.Clone(r.Where), r.Exceptions()...) {
		for _, field := range c.Fields() {
			add(r.Source(), field)
		}
	}
	for _, a := range r.Age {
		add(r.Source(), a.Field)
	}
	for _, related := range append(r.Related(), flat(r.With)...) {
		for _, hole := range r.fieldHoles(related.Document + related.Account) {
			add(r.Source(), hole)
		}
		if of := related.Collection + related.CollectionGroup; of != "" {
			add(of, related.Field)
		}
	}
	for _, w := range r.With {
		if w.Objects != "" {
			add(r.Source(), w.Field)
		}
	}
	return judged
}
