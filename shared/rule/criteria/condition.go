// Package criteria holds conditions and ages: what a rule can say of an item by the item's own fields, alone.
//
// conditions.go has the operators and states of fields, times.go the forms of ages, kinds.go what accounts and objects have
// instead of fields. condition.go is how a condition is written, words.go what it says, and check.go what is wrong with
// one.
package criteria

import (
	"slices"
	"strings"
)

// Condition is a condition on one field. It has Is or operators.
type Condition struct {
	Field string `json:"field,omitempty" jsonschema:"the field's name, with dots for fields of maps"`
	Is    string `json:"is,omitempty" example:"\"not set\"" jsonschema:"the state of the field"`
	Ops   `json:"ops,omitempty"`
}

// Ops are Firestore's operators on a field, by their key, all of which must hold. A value is a string, an int64, a float64, a
// truth value or nil, or a list of them.
type Ops map[string]any

// OfText reports whether the condition goes through strings.
func (c Condition) OfText() bool {
	return slices.ContainsFunc(c.operators(), func(o operator) bool {
		_, isText := c.Ops[o.key].(string)
		return o.ranged && (isText || o.state != "")
	})
}

// OfLists returns how many filters on elements of lists the condition has.
func (c Condition) OfLists() (n int) {
	for _, key := range []string{"array-contains", "array-contains-any"} {
		if _, given := c.Ops[key]; given {
			n++
		}
	}
	return n
}

// Values returns the values one of which a field must have; none if the condition asks for no particular value.
func (c Condition) Values() []any {
	for _, key := range []string{"==", "in"} {
		if want, given := c.Ops[key]; given {
			return listOf(want)
		}
	}
	return nil
}

// List joins texts, e.g. "a, b and c".
func List(texts []string, word string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " " + word + " " + texts[last]
}
