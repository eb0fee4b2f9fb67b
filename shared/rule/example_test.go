package rule_test

import (
	"fmt"

	"github.com/firesweep/firesweep/shared/rule"
)

// All problems of a rule are reported at once. Parsing a list of functions checks all of its rules.
func ExampleRule_Problems() {
	r := rule.Rule{Collection: "cleanupRuns", Age: rule.Ages{{Field: "updatedAt"}},
		With: []rule.Relation{{Objects: "drafts", Field: "coverUrl"}}}
	for _, problem := range r.Problems() {
		fmt.Println(problem)
	}
	// Output:
	// collection: cleanupRuns belongs to Firesweep itself
	// age: give one of hours, days and months, e.g. {"field":"createdAt","days":90}, or "any"
	// with[0].objects: "drafts" is neither a folder of the item's id, such as drafts/{id}/**, nor one with "field", such as {"objects": "drafts/**", "field": "coverUrl"}
}
