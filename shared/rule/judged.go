package rule

import "slices"

// Judged returns, by collection, the names of the fields that decide what is deleted: whoever may write them can have
// something deleted.
func (r Rule) Judged() map[string][]string {
	judged := map[string][]string{}
	add := func(collection, field string) {
		if field != "" && !slices.Contains(judged[collection], field) {
			judged[collection] = append(judged[collection], field)
		}
	}
	if r.Collection == "" && r.CollectionGroup == "" {
		return judged // no field of a document decides about objects and accounts
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
