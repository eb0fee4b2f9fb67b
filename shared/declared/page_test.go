package declared_test

import (
	"maps"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// rules is the page that the tests take rules from.
const rules = "../../docs/rules.md"

// page returns the rules of docs/rules.md.
func page(t *testing.T) []manifest.Entry {
	t.Helper()
	entries, err := sampledata.Examples(rules)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 12 {
		t.Fatalf("docs/rules.md has %d rules, and says that it has twelve", len(entries))
	}
	return entries
}

// now is when rules run: objects are as old as the test.
var now = time.Now().Add(sampledata.WholeAhead).UTC().Truncate(time.Second)

// later is when those of the page run, of which one asks when a document was written.
var later = sampledata.OldEnough()

// TestRulesOfThePages runs each rule of docs/rules.md and docs/privacy.md on data made for it.
func TestRulesOfThePages(t *testing.T) {
	erasing, err := sampledata.Examples("../../docs/privacy.md")
	if err != nil || len(erasing) == 0 {
		t.Fatalf("docs/privacy.md has %d rules: %v", len(erasing), err)
	}
	for _, e := range append(page(t), erasing...) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			f := enginetest.New(t, newFunction(t, e))
			f.Indexes, f.Now = e.AllIndexes(), later
			project, sample := sampletest.Open(t, f.Project), sampledata.ExampleData(e, later)
			if err := project.Load(t.Context(), sample); err != nil {
				t.Fatal(err)
			}
			rep := f.Run(t, "")
			want := enginetest.Done(e.Kind(), max(1, rep.Actions[e.Rule.Kind()].Done))
			if e.Warn != nil {
				maps.Copy(want, enginetest.Done("warn about "+e.Noun(), 2))
				maps.Copy(want, enginetest.Done("clear warning of "+e.Noun(), 1))
			}
			enginetest.WantReport(t, rep, report.Completed, want)
			left, err := project.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, difference := range sample.Differences(left) {
				t.Error(difference)
			}
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
		})
	}
}
