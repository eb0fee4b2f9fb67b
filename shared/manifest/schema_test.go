package manifest

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
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
	none.Collections = []string{}
	for _, key := range append(none.notDeclared(), "trigger", "stopAfterSeconds") {
		delete(entry.Properties, key)
	}
	entry.PropertyOrder, entry.Required = nil, []string{"name", "schedule", "rule"}
	entry.Properties["name"].Pattern = namePattern.String()
	entry.Properties["memory"].Pattern = memoryPattern.String()
	between := func(key string, least, most float64) {
		entry.Properties[key].Minimum, entry.Properties[key].Maximum = &least, &most
	}
	between("timeoutSeconds", minTimeout, maxJobTimeout)
	between("retryCount", 0, maxRetries)
	between("shards", 1, config.MaxShards)
	withoutNull(entry)
	is := entry.Properties["rule"]
	is.Required = []string{"age"}
	least := 1.0
	for field := range reflect.TypeFor[rule.Rule]().Fields() {
		if _, most, found := strings.Cut(field.Tag.Get("range"), "-"); found {
			highest, err := strconv.ParseFloat(most, 64)
			if err != nil {
				t.Fatal(err)
			}
			is.Properties[keyOf(field)].Minimum, is.Properties[keyOf(field)].Maximum = &least, &highest
		}
	}
	for _, key := range []string{"hours", "days", "months"} {
		is.Properties["age"].Properties[key].Minimum = &least
	}
	is.Properties["owner"].Properties["segment"].Minimum = &least
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

// withoutNull takes null from the types of a schema and of all below it: no key of a list may be null.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Contains(s.Types, "null") {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, below := range s.Properties {
		withoutNull(below)
	}
	withoutNull(s.Items)
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
	const good = `{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":1},
		"where":[{"field":"a","==":1},{"field":"b","in":["x",2,true]},{"field":"c","is":"not true"}],"with":[{"account":"{id}"}],"set":{"a":null}}]}`
	ruled := func(more string) string {
		return `{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":1},` + more + `}]}`
	}
	for text, fits := range map[string]bool{
		good:               true,
		ruled(`"limit":1`): true, ruled(`"limit":0`): false, ruled(`"limit":1000001`): false, ruled(`"limit":null`): false,
		ruled(`"maxDuePercent":100`): true, ruled(`"maxDuePercent":0`): false, ruled(`"maxDuePercent":101`): false,
		ruled(`"unless":null`): false, ruled(`"where":null`): false, ruled(`"owner":null`): false, ruled(`"set":null`): false,
		ruled(`"where":[{"field":"a","in":null}]`): false, ruled(`"set":{"a":null}`): true, ruled(`"age":{"field":"at","days":0}`): false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","memory":"512Mi","timeoutSeconds":1740,"retryCount":0,"collection":"t","age":{"field":"at","days":1}}]}`: true,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","memory":"512MB","collection":"t","age":{"field":"at","days":1}}]}`:                                      false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","timeoutSeconds":1741,"collection":"t","age":{"field":"at","days":1}}]}`:                                 false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","retryCount":6,"collection":"t","age":{"field":"at","days":1}}]}`:                                        false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things"}]}`:                                                                                false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","colection":"things","age":{"field":"at","days":1}}]}`:                                                   false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":"1"}}]}`:                                                                  false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":1},"where":[{"field":"a","is":"nul"}]}]}`:                                 false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","roles":{},"collection":"t","age":{"days":1}}]}`:                                                         false,
		`{"functions":[{"name":"cleanupThings","collection":"t","age":{"days":1}}]}`:                                                                                           false,
		`{"functions":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":1},"where":[{"field":"a","==":[1]}]}]}`:                                   false,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); (err == nil) != fits {
			t.Errorf("%s: %v, want that it fits: %t", text, err, fits)
		}
		if _, err := Parse(File{"rules.json", []byte(text)}); err == nil && !fits {
			t.Errorf("%s: the reader takes it", text)
		}
	}
}
