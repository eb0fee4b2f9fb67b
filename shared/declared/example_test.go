package declared_test

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

var signups = rule.Rule{
	Collection: "signups", Age: rule.Ages{{Field: "createdAt", Days: new(7)}},
	Where: []criteria.Condition{{Field: "confirmedAt", Is: "not set"}},
}

// A rule judges a document only by its fields and the time of the run.
func ExampleJudge() {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, fields := range []map[string]any{
		{"createdAt": now.AddDate(0, 0, -8)}, {"createdAt": now.AddDate(0, 0, -7)}, {"createdAt": now.AddDate(0, 0, -8), "confirmedAt": now}, {},
	} {
		d := declared.Judge(signups, documents.Document{Path: "signups/s", Data: fields}, now)
		fmt.Printf("%q: %s\n", d.Kind, d.Reason)
	}
	// Output:
	// "delete signup": confirmedAt is null or missing, createdAt 2026-05-24T00:00:00Z, older than 7 days
	// "": not older than 7 days
	// "": confirmedAt is set
	// "": createdAt is not set yet
}
