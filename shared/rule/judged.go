package rule

import "slices"

// Judged returns the names of the fields that decide what goes, by collection: whoever may write them has something deleted.
func (r Rule) Judged() map[string][]string {
	judged := map[string][]string{}
	add := func(collection, field string) {
		if field != "" && !slices.Contains(judged[collection], field) {
			judged[collection] = append(judged[collection], field)
		}
	}
	if r.Collection == "" && r.CollectionGroup == "" {
		return judged // of objects and accounts nothing is judged that a document holds
	}
	for _, c := range r.Where {
		add(r.Source(), c.Field)
	}
	if r.Age != nil {
		add(r.Source(), r.Age.Field)
	}
	for _, u := range r.Unless {
		for _, field := range u.Fields() {
			add(r.Source(), field)
		}
	}
	for _, a := range r.With {
		add(r.Source(), a.Object)
		add(a.Collection, a.Field)
	}
	return judged
}
