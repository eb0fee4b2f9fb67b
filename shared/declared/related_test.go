package declared_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestExceptionsThatNobodyWrote: a collection of unless that holds no document, such as a misspelt one, must not mean that there
// are no exceptions. That most documents of it do not exist is normal.
func TestExceptionsThatNobodyWrote(t *testing.T) {
	t.Parallel()
	holds := fields{"unless": array{fields{"document": "legalHolds/{id}"}}}
	two := fields{"unless": array{fields{"document": "legalHolds/{id}"}, fields{"document": "users/{author}"}}}
	below := fields{"unless": array{fields{"document": "users/{author}/holds/{id}"}}}
	for name, tt := range map[string]struct {
		rule      fields
		documents []string // besides three drafts
		due       int      // -1: nothing is done
		empty     string   // the collection that is named
	}{
		"misspelt":             {fields{"unless": array{fields{"document": "legalHold/{id}"}}}, []string{"legalHolds/d00"}, -1, "legalHold"},
		"none":                 {holds, nil, -1, "legalHolds"},
		"of others":            {holds, []string{"legalHolds/other"}, 3, ""},
		"of one":               {holds, []string{"legalHolds/d00"}, 2, ""},
		"two, one is empty":    {two, []string{"users/ken"}, -1, "legalHolds"},
		"two":                  {two, []string{"legalHolds/d00", "users/other"}, 2, ""},
		"below, none":          {below, []string{"holds/d00"}, 3, ""}, // which is in a collection of that name
		"below, none anywhere": {below, []string{"users/ken"}, -1, "users/{author}/holds"},
		"below, of others":     {below, []string{"users/other/holds/d00"}, 3, ""},
		"below, of one":        {below, []string{"users/ken/holds/d00"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, drafts(tt.rule))
			for _, path := range tt.documents {
				f.Set(t, path, fields{"x": true})
			}
			f.SetMany(t, 3, func(i int) (string, fields) {
				return fmt.Sprintf("drafts/d%02d", i), fields{"updatedAt": old, "author": "ken"}
			})
			got := f.Run(t, "")
			if tt.due >= 0 {
				enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete document", tt.due))
				return
			}
			enginetest.WantAborted(t, got, "empty collection: "+tt.empty+" ")
			enginetest.Want(t, "left", 3, len(f.Documents(t, "drafts")))
			if !strings.Contains(fmt.Sprint(f.LogLines(t)), tt.empty+", which the rule looks in, holds no document") {
				t.Errorf("the log does not say that %s is empty", tt.empty)
			}
		})
	}
}

// TestExceptionsOfWhatIsNotDue: where nothing is due, nobody asks for exceptions.
func TestExceptionsOfWhatIsNotDue(t *testing.T) {
	f := start(t, drafts(fields{"unless": array{fields{"document": "legalHolds/{id}"}}}))
	f.Set(t, "drafts/young", fields{"updatedAt": now})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
}
