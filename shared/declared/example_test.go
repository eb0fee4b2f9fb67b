package declared_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

var signups = rule.Rule{
	Collection: "signups", Age: rule.Ages{{Field: "createdAt", Days: new(7)}}, Action: "delete signup",
	Where: []criteria.Condition{{Field: "confirmedAt", Is: "not set"}},
}

// The job of a rule runs like any other.
func ExampleJob() {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	enginetest.Example(func(t testing.TB) {
		f := enginetest.New(t, engine.NewFunction(declared.Job("cleanupSignups", signups), time.Minute,
			[]config.Backend{config.Firestore}))
		f.Clock = func() time.Time { return now }
		f.Set(t, "signups/forgotten", map[string]any{"createdAt": now.AddDate(0, 0, -8)})
		f.Set(t, "signups/confirmed", map[string]any{"createdAt": now.AddDate(0, 0, -8), "confirmedAt": now.AddDate(0, 0, -7)})
		f.Set(t, "signups/of-today", map[string]any{"createdAt": now})

		report := f.Run(t, "")
		fmt.Println(report.Status, report.Actions["delete signup"].Done, "deleted")
		fmt.Println("left:", slices.Sorted(maps.Keys(f.Documents(t, "signups"))))
	})
	// Output:
	// completed 1 deleted
	// left: [confirmed of-today]
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
