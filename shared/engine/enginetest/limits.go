package enginetest

import (
	"fmt"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
)

// Firestore's limits on a query in disjunctive normal form (https://firebase.google.com/docs/firestore/query-data/queries):
// on its disjunctions, and on its filters and sort orders together. The emulator enforces only the first. The documentation
// does not say whether the orders count once or for each disjunction, so here they count for each.
const (
	maxDisjunctions = 30
	maxTerms        = 100
)

// beyondLimits returns which of Firestore's limits a query exceeds; empty if none.
func beyondLimits(q *firestorepb.StructuredQuery) string {
	conjunctions := normalForm(q.GetWhere())
	terms := 0
	for _, filters := range conjunctions {
		terms += filters + len(q.GetOrderBy())
	}
	switch collection := q.GetFrom()[0].GetCollectionId(); {
	case len(conjunctions) > maxDisjunctions:
		return fmt.Sprintf("%s: %d disjunctions, at most %d", collection, len(conjunctions), maxDisjunctions)
	case terms > maxTerms:
		return fmt.Sprintf("%s: %d filters and sort orders in disjunctive normal form, at most %d", collection, terms, maxTerms)
	default:
		return ""
	}
}

// normalForm returns how many filters each conjunction of a filter's disjunctive normal form has.
func normalForm(filter *firestorepb.StructuredQuery_Filter) []int {
	composite := filter.GetCompositeFilter()
	switch {
	case filter == nil:
		return []int{0}
	case composite.GetOp() == firestorepb.StructuredQuery_CompositeFilter_OR:
		var all []int
		for _, part := range composite.GetFilters() {
			all = append(all, normalForm(part)...)
		}
		return all
	case composite != nil:
		all := []int{0}
		for _, part := range composite.GetFilters() {
			var product []int
			for _, a := range all {
				for _, b := range normalForm(part) {
					product = append(product, a+b)
				}
			}
			all = product
		}
		return all
	default:
		n := 1
		switch filter.GetFieldFilter().GetOp() {
		case firestorepb.StructuredQuery_FieldFilter_IN, firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
			n = len(filter.GetFieldFilter().GetValue().GetArrayValue().GetValues())
		default: // one filter
		}
		all := make([]int, n)
		for i := range all {
			all[i] = 1
		}
		return all
	}
}
