package declared_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// TestWhatAnotherRuleKeeps stays, and its parent with it.
func TestWhatAnotherRuleKeeps(t *testing.T) {
	t.Parallel()
	entries, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: []byte(`{"rules":[
		{"name":"eraseUsers","schedule":"0 4 * * *","collection":"users","age":{"field":"at","days":30},"maxDuePercent":100,
			"with":[{"collection":"invoices","field":"userId"},{"subcollection":"**"}]},
		{"name":"cleanupInvoices","schedule":"0 4 * * *","collection":"invoices","age":{"field":"at","days":3000},
			"unless":[{"document":"legalHolds/{id}"},{"field":"open","==":true}]},
		{"name":"cleanupNotes","schedule":"0 4 * * *","collection":"users/{user}/notes","age":{"field":"at","days":3000},
			"unless":[{"document":"pins/{user}"}]}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	f := enginetest.New(t, newFunction(t, entries[0]))
	f.Now = now
	for _, user := range []string{"free", "held", "open", "listed"} {
		f.Set(t, "users/"+user, fields{"at": old})
		f.Set(t, "users/"+user+"/notes/n", fields{"at": old})
		f.Set(t, "invoices/of-"+user, fields{"userId": user, "open": user == "open"})
	}
	f.Set(t, "legalHolds/of-held", fields{"x": true})
	f.Set(t, "pins/listed", fields{"x": true})
	enginetest.Want(t, "status", report.Completed, f.Run(t, "").Status)
	enginetest.Want(t, "users", []string{"held", "listed", "open"}, f.IDs(t, "users"))
	enginetest.Want(t, "invoices", []string{"of-held", "of-listed", "of-open"}, f.IDs(t, "invoices"))
}
