package declared_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/shared/declared/doubts"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// ruleOf returns a rule with what an example of docs/rules.md says, and what else a rule needs.
func ruleOf(t *testing.T, example string) string {
	t.Helper()
	said := map[string]any{}
	if err := json.Unmarshal([]byte("{"+example+"}"), &said); err != nil {
		t.Fatalf("%s: %v", example, err)
	}
	rule := map[string]any{"name": "cleanupThings", "schedule": "0 4 * * *", "collection": "drafts",
		"age": map[string]any{"field": "updatedAt", "days": 90}}
	for _, source := range []string{"collectionGroup", "objects", "accounts"} {
		if said[source] != nil {
			delete(rule, "collection")
		}
	}
	text, err := json.Marshal(with(rule, said))
	ok(t, err)
	return string(text)
}

// TestKeysOfThePage: each example in the tables of docs/rules.md can be read, and the tables name each key that there is.
func TestKeysOfThePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/rules.md")
	ok(t, err)
	page := string(text)
	tried := 0
	for _, row := range regexp.MustCompile("(?m)^\\| .* \\| `(\"\\w+\": .*)` \\|$").FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(row[1], `"enabled"`) {
			continue // it names a job of manifest.json, which a list of rules alone does not know
		}
		list := `{"rules":[` + ruleOf(t, row[1]) + `]}`
		_, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: []byte(list)})
		check.Same(t, "docs/rules.md: "+row[1], nil, err)
		tried++
	}
	if tried < 40 {
		t.Errorf("docs/rules.md has %d examples of keys", tried)
	}
	text, err = os.ReadFile("../../rules.schema.json")
	ok(t, err)
	var schema any
	ok(t, json.Unmarshal(text, &schema))
	keys := map[string]bool{}
	keysOf(schema, keys)
	for key := range keys {
		if !strings.Contains(page, "`"+key+"`") && !strings.Contains(page, `"`+key+`":`) {
			t.Errorf("docs/rules.md does not name the key %s", key)
		}
	}
	if len(keys) < 40 {
		t.Errorf("rules.schema.json has %d keys", len(keys))
	}
}

// keysOf adds the names of all properties in a part of a schema.
func keysOf(schema any, keys map[string]bool) {
	switch part := schema.(type) {
	case []any:
		for _, one := range part {
			keysOf(one, keys)
		}
	case map[string]any:
		properties, _ := part["properties"].(map[string]any)
		for key := range properties {
			keys[key] = true
		}
		for _, one := range part {
			keysOf(one, keys)
		}
	}
}

// TestRuleOfThePage: the rule with which docs/rules.md begins is one of docs/examples.
func TestRuleOfThePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/rules.md")
	ok(t, err)
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(string(text))
	if block == nil {
		t.Fatal("docs/rules.md has no rule")
	}
	page, err := manifest.ParseRules(manifest.File{Name: "docs/rules.md", Text: []byte(block[1])})
	check.Same(t, "rules with which docs/rules.md begins", []any{1, nil}, []any{len(page), err})
	for _, e := range examples(t) {
		if e.Name != page[0].Name {
			continue
		}
		e.TimeZone = page[0].TimeZone
		enginetest.Want(t, "the rule of docs/rules.md", e.Words(), page[0].Words())
		return
	}
	t.Errorf("docs/examples has no %s", page[0].Name)
}

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
			f.Indexes, f.Now = e.Indexes, later
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
