package declared_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		if _, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: []byte(list)}); err != nil {
			t.Errorf("docs/rules.md: %s\n%v", row[1], err)
		}
		tried++
	}
	if tried < 40 {
		t.Errorf("docs/rules.md has %d examples of keys", tried)
	}
	if text, err = os.ReadFile("../../rules.schema.json"); err != nil {
		t.Fatal(err)
	}
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
	if err != nil || len(page) != 1 {
		t.Fatalf("docs/rules.md begins with %d rules: %v", len(page), err)
	}
	for _, e := range examples(t) {
		if e.Name != page[0].Name {
			continue
		}
		e.TimeZone = page[0].TimeZone
		if diff := cmp.Diff(e.Words(), page[0].Words()); diff != "" {
			t.Errorf("the rule of docs/rules.md (-docs/examples +page):\n%s", diff)
		}
		return
	}
	t.Errorf("docs/examples has no %s", page[0].Name)
}
