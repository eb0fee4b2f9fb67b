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

	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// schema returns the JSON schema of functions/rules.json for editors, made from the types that read it.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	related, operators := &jsonschema.Schema{Ref: "#/$defs/relation"}, criteria.Operators()
	condition := &jsonschema.Schema{Ref: "#/$defs/condition"}
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[criteria.Condition](): condition, reflect.TypeFor[rule.Relation](): related,
		reflect.TypeFor[rule.Ages](): {}, reflect.TypeFor[rule.Gone](): {},
	}
	made := func(of reflect.Type) *jsonschema.Schema {
		s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: types})
		ok(t, err)
		withoutNull(s)
		return s
	}
	entry := made(reflect.TypeFor[ruleEntry]())
	entry.PropertyOrder, entry.Required = nil, []string{"name", "schedule", "age"}
	entry.Properties["name"].Pattern = namePattern.String()
	run := entry.Properties["run"]
	run.Properties["memory"].Pattern = memoryPattern.String()
	between := func(of *jsonschema.Schema, key string, least, most float64) {
		of.Properties[key].Minimum, of.Properties[key].Maximum = &least, &most
	}
	between(run, "timeoutSeconds", minTimeout, maxJobTimeout)
	between(run, "retryCount", 0, maxRetries)
	for field := range reflect.TypeFor[rule.Rule]().Fields() {
		if _, most, found := strings.Cut(field.Tag.Get("range"), "-"); found {
			highest, err := strconv.ParseFloat(most, 64)
			ok(t, err)
			between(entry, keyOf(field), 1, highest)
		}
	}
	entry.Properties["accounts"].Enum = anys(rule.AccountKinds())
	age := made(reflect.TypeFor[criteria.Age]())
	between(age, "hours", 0, 24*36500)
	between(age, "days", 0, 36500)
	between(age, "months", 0, 1200)
	age.Properties["as"].Enum = anys(criteria.Forms())
	word := func(key, word, ref string) {
		all := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: ref}}
		s := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Enum: []any{word}}, all}}
		if field, _ := fieldOf(reflect.TypeFor[rule.Rule](), key); field.Tag.Get("one") != "" {
			s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Ref: ref})
		}
		s.Description = entry.Properties[key].Description
		entry.Properties[key] = s
	}
	word("age", "any", "#/$defs/age")
	word("gone", "nobody", "#/$defs/relation")
	type plainCondition criteria.Condition
	type plainRelation rule.Relation
	defs := map[string]*jsonschema.Schema{"age": age, "condition": made(reflect.TypeFor[plainCondition]()),
		"relation": made(reflect.TypeFor[plainRelation]())}
	document := defs["relation"].Properties["document"]
	document.AnyOf = []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: document.Items}}
	document.Type, document.Items = "", nil
	defs["relation"].Properties["within"] = &jsonschema.Schema{Ref: "#/$defs/age"}
	scalar := []string{"string", "number", "boolean", "null"}
	for _, of := range []string{"condition", "relation"} {
		delete(defs[of].Properties, "ops")
		defs[of].Properties["is"].Enum = anys(criteria.States())
		for _, key := range operators {
			defs[of].Properties[key] = &jsonschema.Schema{Types: scalar}
			if strings.HasSuffix(key, "in") || strings.HasSuffix(key, "any") {
				defs[of].Properties[key] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Types: scalar[:3]}}
			}
		}
	}
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "Firesweep: your own cleanups, see docs/rules.md",
		Type: "object", Defs: defs,
		Properties: map[string]*jsonschema.Schema{
			"$schema": {Type: "string"}, "rules": {Type: "array", Items: entry},
			"enabled": {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		},
		Extra:    map[string]any{"allowComments": true, "allowTrailingCommas": true}, // of Visual Studio Code
		Required: []string{"rules"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

func anys(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
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
	ok(t, err)
	text = append(text, '\n')
	if os.Getenv("WRITE") != "" {
		ok(t, os.WriteFile(path, text, 0o600))
	}
	kept, err := os.ReadFile(path)
	ok(t, err)
	if diff := cmp.Diff(string(text), string(kept)); diff != "" {
		t.Errorf("rules.schema.json is not what the types say (-types +file); write it with WRITE=1 go test ./shared/manifest -run Schema:\n%s", diff)
	}
}

// TestSchemaAgreesWithTheReader: the schema accepts what the reader accepts, and refuses misspelt keys.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	resolved, err := schema(t).Resolve(nil)
	ok(t, err)
	const good = `{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":1},
		"where":[{"field":"a","==":1},{"field":"b","in":["x",2,true]},{"field":"c","is":"not true"}],"with":[{"account":"{id}"}],"set":{"a":null}}]}`
	ruled := func(more string) string {
		return `{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things","age":{"field":"at","days":1},` + more + `}]}`
	}
	for text, fits := range map[string]bool{
		good:               true,
		ruled(`"limit":1`): true, ruled(`"limit":0`): false, ruled(`"limit":1000001`): false, ruled(`"limit":null`): false,
		ruled(`"maxDuePercent":100`): true, ruled(`"maxDuePercent":0`): false, ruled(`"maxDuePercent":101`): false,
		ruled(`"unless":null`): false, ruled(`"where":null`): false, ruled(`"set":null`): false,
		ruled(`"where":[{"field":"a","in":null}]`): false, ruled(`"set":{"a":null}`): true,
		ruled(`"gone":[{"account":"{id}"}]`): true, ruled(`"where":[{"field":"a","==":null}]`): true,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","run":{"memory":"512Mi","timeoutSeconds":1740,"retryCount":0},"collection":"t","age":{"field":"at","days":1}}]}`: true,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","run":{"memory":"512MB"},"collection":"t","age":{"field":"at","days":1}}]}`:                                      false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","run":{"timeoutSeconds":1741},"collection":"t","age":{"field":"at","days":1}}]}`:                                 false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","run":{"retryCount":6},"collection":"t","age":{"field":"at","days":1}}]}`:                                        false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"things"}]}`:                                                                                        false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","colection":"things","age":{"field":"at","days":1}}]}`:                                                           false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":"1"}}]}`:                                                                          false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":1},"where":[{"field":"a","is":"nul"}]}]}`:                                         false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","roles":{},"collection":"t","age":{"days":1}}]}`:                                                                 false,
		`{"rules":[{"name":"cleanupThings","collection":"t","age":{"days":1}}]}`:                                                                                                   false,
		`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *","collection":"t","age":{"days":1},"where":[{"field":"a","==":[1]}]}]}`:                                           false,
	} {
		var value any
		ok(t, json.Unmarshal([]byte(text), &value))
		if err := resolved.Validate(value); (err == nil) != fits {
			t.Errorf("%s: %v, want that it fits: %t", text, err, fits)
		}
		if _, err := ParseRules(File{"rules.json", []byte(text)}); err == nil && !fits {
			t.Errorf("%s: the reader takes it", text)
		}
	}
}
