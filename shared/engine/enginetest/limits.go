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
	conjunctions, terms := 0, 0
	for _, filters := range alternatives(q.GetWhere()) {
		n := 1 // disjunctions that the values make of it
		for _, f := range filters {
			n *= valuesOf(f)
		}
		conjunctions, terms = conjunctions+n, terms+n*(len(filters)+len(q.GetOrderBy()))
	}
	switch collection := q.GetFrom()[0].GetCollectionId(); {
	case conjunctions > maxDisjunctions:
		return fmt.Sprintf("%s: %d disjunctions, at most %d", collection, conjunctions, maxDisjunctions)
	case terms > maxTerms:
		return fmt.Sprintf("%s: %d filters and sort orders in disjunctive normal form, at most %d", collection, terms, maxTerms)
	default:
		return ""
	}
}

// valuesOf returns for how many values a filter asks.
func valuesOf(f filter) int {
	switch f.GetFieldFilter().GetOp() {
	case firestorepb.StructuredQuery_FieldFilter_IN, firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		return len(f.GetFieldFilter().GetValue().GetArrayValue().GetValues())
	default:
		return 1
	}
}
