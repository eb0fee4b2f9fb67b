package rule_test

import (
	"fmt"

	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/rule"
)

// A rule is an entry of functions/rules.json. It can say in words what it does.
func ExampleRule_Words() {
	entries, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: []byte(`{"rules": [
		{"name": "cleanupStaleDrafts", "schedule": "0 4 * * *",
			"collection": "drafts",
			"where": [{"field": "published", "is": "not true"}],
			"age": {"field": "updatedAt", "days": 90}}]}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(entries[0].Words())
	// Output:
	// deletes documents of drafts whose published is not true and whose updatedAt is more than 90 days ago
}

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
