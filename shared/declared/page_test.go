package declared_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// rules is the folder that the tests take rules from.
const rules = "../../docs/examples"

// examples returns the rules of docs/examples.
func examples(t *testing.T) []manifest.Entry {
	t.Helper()
	entries, err := sampledata.Examples(rules)
	ok(t, err)
	if len(entries) != 12 {
		t.Fatalf("docs/examples has %d rules, and the tests expect twelve", len(entries))
	}
	return entries
}

// now is when rules run: objects are as old as the test.
var now = time.Now().Add(sampledata.WholeAhead).UTC().Truncate(time.Second)

// later is when the examples run, of which one asks when a document was written.
var later = sampledata.OldEnough()

// TestExamples runs each rule of docs/examples, and of those that erase more, on data made for it.
func TestExamples(t *testing.T) {
	erasing, err := sampledata.Examples(rules + "/erase")
	if err != nil || len(erasing) == 0 {
		t.Fatalf("docs/examples/erase has %d rules: %v", len(erasing), err)
	}
	for _, e := range append(examples(t), erasing...) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			f := enginetest.New(t, newFunction(t, e))
			f.Indexes, f.Now = e.AllIndexes(), later
			project, sample := sampletest.Open(t, f.Project), sampledata.ExampleData(e, later)
			ok(t, project.Load(t.Context(), sample))
			var due []string
			for _, item := range f.Run(t, `{"dryRun":true}`).Plan {
				due = append(due, strings.TrimPrefix(item.Target, report.AccountPrefix))
			}
			enginetest.Want(t, "doubts", []string(nil), doubts.Of(t.Context(), reader(t, f), nil, *e.Rule, nil, due))
			rep := f.Run(t, "")
			want := enginetest.Done(e.Kind(), max(1, rep.Actions[e.Rule.Kind()].Done))
			if e.Warn != nil {
				maps.Copy(want, enginetest.Done("warn about "+e.Noun(), 2))
				maps.Copy(want, enginetest.Done("clear warning of "+e.Noun(), 1))
			}
			enginetest.WantReport(t, rep, report.Completed, want)
			left, err := project.Read(t.Context())
			ok(t, err)
			for _, difference := range sample.Differences(left) {
				t.Error(difference)
			}
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
		})
	}
}
