package manifest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/rule"
)

// schema returns the JSON schema of functions/rules.json for editors, made from the types that read it.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	entry, err := jsonschema.For[Entry](nil)
	if err != nil {
		t.Fatal(err)
	}
	var none Entry
	none.Package, none.Worker, none.Queue = "x", "x", &Queue{}
	none.Roles, none.Indexes, none.FieldOverrides = map[config.Backend][]string{}, []Index{}, []FieldOverride{}
	for _, key := range append(none.notDeclared(), "trigger", "stopAfterSeconds") {
		delete(entry.Properties, key)
	}
	entry.PropertyOrder, entry.Required = nil, []string{"name", "schedule", "rule"}
	entry.Properties["name"].Pattern = namePattern.String()
	is := entry.Properties["rule"]
	is.Types, is.Type = nil, "object"
	is.Required = []string{"age"}
	for _, kind := range rule.AccountKinds() {
		is.Properties["accounts"].Enum = append(is.Properties["accounts"].Enum, kind)
	}
	condition := is.Properties["where"].Items
	for _, state := range rule.States() {
		condition.Properties["is"].Enum = append(condition.Properties["is"].Enum, state)
	}
	scalar := &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
	condition.Properties["=="].Types, condition.Properties["in"].Items = scalar.Types, scalar
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "Firesweep: your own cleanups, see docs/rules.md",
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"$schema": {Type: "string"}, "functions": {Type: "array", Items: entry},
		},
		Required: []string{"functions"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

// TestSchema compares rules.schema.json with the types. After a change of the types: WRITE=1 go test ./shared/manifest -run
// Schema.
func TestSchema(t *testing.T) {
	const path = "../../rules.schema.json"
	text, err := json.MarshalIndent(schema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if os.Getenv("WRITE") != "" {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(kept)); diff != "" {
		t.Errorf("rules.schema.json is not what the types say (-types +file); write it with WRITE=1 go test ./shared/manifest -run Schema:\n%s", diff)
	}
}

// TestSchemaAgreesWithTheReader: the schema accepts what the reader accepts, and refuses misspelt keys.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	resolved, err := schema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","rule":{"collection":"things","age":{"field":"at","days":1},
		"where":[{"field":"a","==":1},{"field":"b","in":["x",2,true]},{"field":"c","is":"not true"}],"with":[{"account":true}],"set":{"a":null}}}]}`
	for text, fits := range map[string]bool{
		good: true,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","rule":{"collection":"things"}}]}`:                                                false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","rule":{"colection":"things","age":{"field":"at","days":1}}}]}`:                   false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","rule":{"collection":"t","age":{"days":"1"}}}]}`:                                  false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","rule":{"collection":"t","age":{"days":1},"where":[{"field":"a","is":"nul"}]}}]}`: false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","roles":{},"rule":{"collection":"t","age":{"days":1}}}]}`:                         false,
		`{"functions":[{"name":"cleanupThings","rule":{"collection":"t","age":{"days":1}}}]}`:                                                           false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","rule":{"collection":"t","age":{"days":1},"where":[{"field":"a","==":[1]}]}}]}`:   false,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); (err == nil) != fits {
			t.Errorf("%s: %v, want that it fits: %t", text, err, fits)
		}
	}
}
