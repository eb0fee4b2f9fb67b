package rule

import (
	"cmp"
	"slices"
	"strings"
)

// Judged returns, by collection, the names of the fields that decide what is deleted: whoever may write them can have
// something deleted.
func (r Rule) Judged() map[string][]string {
	judged, own := map[string][]string{}, r.At()
	add := func(place, field string) {
		collection := strings.TrimPrefix(place, anywhere)
		field, _, _ = strings.Cut(strings.TrimSuffix(field, ".{"+idHole+"}"), ".*")
		if collection != "" && field != "" && !slices.Contains(judged[collection], field) && !strings.Contains(field, "{") {
			judged[collection] = append(judged[collection], field)
		}
	}
	for _, field := range r.deciding() {
		add(own, field)
	}
	of := func(of string, one Relation) {
		for _, hole := range r.FieldHoles(one.Document + one.Account) {
			add(of, hole)
		}
		at := cmp.Or(one.At(of), of) // a field of the item names objects
		add(at, one.Field)
		for _, c := range one.Where {
			add(at, c.Field)
		}
		if one.Within != nil {
			add(at, one.Within.Field)
		}
	}
	for _, related := range r.Related() {
		of(own, related)
	}
	for _, w := range r.Along() {
		of(w.Of, w.Relation)
		for _, u := range w.Unless {
			of(w.At(w.Of), u)
		}
	}
	return judged
}
