package rule

import (
	"cmp"
	"slices"
	"strings"
)

// Judged returns, by collection, the names of the fields that decide what is deleted: whoever may write them can have
// something deleted.
func (r Rule) Judged() map[string][]string {
	judged := map[string][]string{}
	add := func(place Place, fields ...string) {
		collection := place.String()
		for _, field := range fields {
			field, _, _ = strings.Cut(strings.TrimSuffix(field, ".{"+idHole+"}"), ".*")
			if collection != "" && field != "" && !slices.Contains(judged[collection], field) && !strings.Contains(field, "{") {
				judged[collection] = append(judged[collection], field)
			}
		}
	}
	add(r.Place(), r.deciding()...)
	for _, one := range slices.Concat(r.LooksFor(), r.Along(), r.Keeping()) {
		add(one.Of, r.FieldHoles(one.Document+one.Account)...)
		at := cmp.Or(one.Place(one.Of), one.Of) // a field of the item refers to objects
		add(at, one.Field)
		for _, c := range one.Where {
			add(at, c.Field)
		}
		if one.Within != nil {
			add(at, one.Within.Field)
		}
	}
	return judged
}
