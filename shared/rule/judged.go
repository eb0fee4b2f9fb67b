package rule

import (
	"slices"
	"strings"
)

// Judged returns, by collection, the names of the fields that decide what is deleted: whoever may write them can have
// something deleted.
func (r Rule) Judged() map[string][]string {
	judged, own := map[string][]string{}, r.Source()
	if !r.OfDocuments() {
		own = "" // accounts and objects have no fields of documents
	}
	add := func(collection, field string) {
		field, _, _ = strings.Cut(strings.TrimSuffix(field, ".{"+idHole+"}"), ".*")
		if collection != "" && field != "" && !slices.Contains(judged[collection], field) && !strings.Contains(field, "{") {
			judged[collection] = append(judged[collection], field)
		}
	}
	for _, c := range append(slices.Clone(r.Where), r.Exceptions()...) {
		for _, field := range c.Fields() {
			add(own, field)
		}
	}
	for _, a := range r.Age {
		add(own, a.Field)
	}
	if r.Warn != nil {
		add(own, r.Warn.Field)
	}
	for _, related := range append(r.Related(), flat(r.With)...) {
		for _, hole := range r.fieldHoles(related.Document + related.Account) {
			add(own, hole)
		}
		if related.Newest > 0 {
			add(own, related.Per)
			for _, c := range related.Where {
				add(own, c.Field)
			}
		}
		if of := related.Collection + related.CollectionGroup; of != "" {
			add(of, related.Field)
		}
	}
	for _, w := range r.With {
		if w.Objects != "" {
			add(own, w.Field)
		}
	}
	return judged
}
