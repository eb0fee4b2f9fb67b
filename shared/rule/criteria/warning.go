package criteria

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Warning is what happens to a document that is due before anything else does: the time of the run is written into Field and, if
// there is Create, a document with Data is created in that collection, in one commit. Both may have holes.
type Warning struct {
	Days   int            `json:"days" range:"1-3650" jsonschema:"how many days after the warning it is deleted, if it still is due"`
	Field  string         `json:"field" jsonschema:"the field that the time of the warning is written into, and removed from once the document is no longer due"`
	Create string         `json:"create,omitempty" jsonschema:"a collection in which a document tells somebody, e.g. mail or users/{ownerId}/notifications"`
	Data   map[string]any `json:"data,omitzero" example:"{\"toUids\": [\"{ownerId}\"], \"message\": {\"subject\": \"Your draft goes on {date}\"}}" jsonschema:"the fields of that document. In texts, {date} is the day on which it is deleted, {id} the document's id, {field} what its field holds"`
}

// DateHole stands for the day on which a document goes.
const DateHole = "date"

// Hole matches what is filled in in a text.
var Hole = regexp.MustCompile(`\{([^{}]*)\}`)

// Holes returns what is filled in in Create and Data besides the day, each once.
func (w Warning) Holes() []string {
	return slices.DeleteFunc(Holes([]any{w.Create, w.Data}), func(hole string) bool { return hole == DateHole })
}

// Holes returns what stands in braces in a path, or in the texts of another value, each once, in order.
func Holes(value any) (all []string) {
	filled(value, func(hole string) string {
		all = append(all, hole)
		return ""
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// Fill returns Data with what of returns for each hole of its texts.
func (w Warning) Fill(of func(hole string) string) map[string]any {
	data, _ := filled(w.Data, of).(map[string]any)
	return data
}

// filled is [Warning.Fill] for any value.
func filled(value any, of func(hole string) string) any {
	switch v := value.(type) {
	case string:
		return Hole.ReplaceAllStringFunc(v, func(hole string) string { return of(strings.Trim(hole, "{}")) })
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = filled(v[i], of)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key := range v {
			all[key] = filled(v[key], of)
		}
		return all
	}
	return value
}

// Words returns when a document is deleted, e.g. "if that still holds 7 days after the rule set warnedAt and wrote a document
// to mail".
func (w Warning) Words() string {
	created := ""
	if w.Create != "" {
		created = " and wrote a document to " + w.Create
	}
	return fmt.Sprintf("if that still holds %s after the rule set %s%s", Age{Days: &w.Days}.Words(), w.Field, created)
}

// Waiting returns why a document is kept whose warning is too young.
func (w Warning) Waiting() string {
	return fmt.Sprintf("warned less than %s ago", Age{Days: &w.Days}.Words())
}
