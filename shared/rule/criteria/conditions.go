package criteria

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/documents"
)

// Answer says whether a field meets a condition.
type Answer int

// The answers.
const (
	Unmet Answer = iota
	Met
	Unclear // the field has a type that cannot be judged: it keeps the item, in where as in unless
)

func answer(met bool) Answer {
	if met {
		return Met
	}
	return Unmet
}

// operator is one of Firestore's operators on fields, or a state of a field.
type operator struct {
	key          string // in a condition
	state        string // the value of is; empty of Firestore's operators
	list         bool   // its value is a list
	texts        bool   // its value is a string
	orders       bool   // its value is a string or a number
	words, unmet string // how a field is described that meets it, and one that does not
	asserts      bool   // unmet says what the value is, which is false of none, and of one of another type
	absence      bool   // a missing field has the state
	invalid      bool   // what has not the state cannot be judged, so a person should look at it
	unclear      string // the same of a value of another type; empty: it is only counted
	// holds judges a value that is not null; the null of == and != is judged before. has judges a state.
	holds func(value, want any) Answer
	has   func(value any, there bool) Answer
	// filters are what a query asks for; nil: documents are judged one by one.
	filters func(field string, want any) []documents.Filter
	ranged  bool // the query goes through the field's values, so it is ordered by the field
}

// operators are all of them, in the order in which problems name them.
var operators = []operator{
	{key: "==", words: "is %s", unmet: "is not %s", holds: equals, filters: asked("==")},
	// A query for != finds values of every type, some of which a cursor cannot hold.
	{key: "!=", words: "is not %s", unmet: "is %s", asserts: true,
		holds: func(v, want any) Answer { return not(equals(v, want)) }},
	{key: "<", orders: true, words: "is less than %s", unmet: "is not less than %s", ranged: true, filters: asked("<"),
		holds: ordered(
			func(n int) bool { return n < 0 })},
	{key: "<=", orders: true, words: "is at most %s", unmet: "is more than %s", asserts: true, ranged: true, filters: asked("<="),
		holds: ordered(func(n int) bool { return n <= 0 })},
	{key: ">", orders: true, words: "is more than %s", unmet: "is not more than %s", ranged: true, filters: asked(">"),
		holds: ordered(
			func(n int) bool { return n > 0 })},
	{key: ">=", orders: true, words: "is at least %s", unmet: "is less than %s", asserts: true, ranged: true, filters: asked(">="),
		holds: ordered(func(n int) bool { return n >= 0 })},
	{key: "in", list: true, words: "is %s", unmet: "is not %s", holds: oneOf, filters: asked("in")},
	{key: "not-in", list: true, words: "is not %s", unmet: "is %s", asserts: true,
		holds: func(v, want any) Answer { return not(oneOf(v, want)) }},
	{key: "array-contains", words: "contains %s", unmet: "does not contain %s", holds: contains, filters: asked("array-contains")},
	{key: "array-contains-any", list: true, words: "contains %s", unmet: "does not contain %s", holds: contains,
		filters: asked("array-contains-any")},
	{key: "startsWith", texts: true, words: "begins with %s", unmet: "does not begin with %s", ranged: true, filters: beginning,
		holds: text(strings.HasPrefix)},
	{key: "endsWith", texts: true, words: "ends with %s", unmet: "does not end with %s", holds: text(strings.HasSuffix)},

	{key: is, state: "text", words: "is a non-empty string", unmet: "is empty or not a string", invalid: true, ranged: true,
		filters: func(field string, _ any) []documents.Filter { return asked(">")(field, "") }, has: func(v any, _ bool) Answer {
			if _, isText := v.(string); v != nil && !isText {
				return Unclear
			}
			return answer(v != nil && v != "")
		}},
	{key: is, state: "empty", words: "is empty", unmet: "is not empty", has: empty,
		filters: func(field string, _ any) []documents.Filter { return asked("in")(field, empties) }},
	{key: is, state: "not empty", words: "is not empty", unmet: "is empty", asserts: true, has: func(v any, there bool) Answer {
		if v == nil {
			return Unmet
		}
		return not(empty(v, there))
	}},
	{key: is, state: "set", words: "is set", unmet: "is not set", has: func(v any, _ bool) Answer { return answer(v != nil) }},
	{key: is, state: "not set", words: "is null or missing", unmet: "is set", absence: true,
		has: func(v any, _ bool) Answer { return answer(v == nil) }},
	{key: is, state: "missing", words: "is missing", unmet: "is not missing", absence: true,
		has: func(_ any, there bool) Answer { return answer(!there) }},
	{key: is, state: "not true", words: "is not true", unmet: "is true", absence: true, unclear: "neither true, false nor null",
		has: func(v any, _ bool) Answer {
			if _, isBool := v.(bool); v != nil && !isBool {
				return Unclear
			}
			return answer(v != true)
		}},
}

// is is the key of states.
const is = "is"

// Operators returns the keys of Firestore's operators.
func Operators() (keys []string) {
	for _, o := range operators {
		if o.state == "" {
			keys = append(keys, o.key)
		}
	}
	return keys
}

// States returns the values of [Condition.Is].
func States() (all []string) {
	for _, o := range operators {
		if o.state != "" {
			all = append(all, o.state)
		}
	}
	return all
}

// empties are the values that are empty.
var empties = []any{"", []any{}, map[string]any{}}

func empty(v any, _ bool) Answer {
	switch v := v.(type) {
	case nil:
		return Unmet
	case string:
		return answer(v == "")
	case []any:
		return answer(len(v) == 0)
	case map[string]any:
		return answer(len(v) == 0)
	}
	return Unclear
}

func not(a Answer) Answer {
	switch a {
	case Met:
		return Unmet
	case Unmet:
		return Met
	default:
		return Unclear
	}
}

// equals compares as Firestore does, for which 1 and 1.0 are equal.
func equals(value, want any) Answer {
	if n, alike := compare(value, want); alike {
		return answer(n == 0)
	}
	a, isBool := value.(bool)
	b, wantBool := want.(bool)
	if isBool && wantBool {
		return answer(a == b)
	}
	return Unclear
}

// compare orders two strings or two numbers; alike is false of anything else, and of a number that is none or infinite.
func compare(a, b any) (n int, alike bool) {
	if x, isText := a.(string); isText {
		y, alike := b.(string)
		return strings.Compare(x, y), alike
	}
	x, isX := exact(a)
	y, isY := exact(b)
	if !isX || !isY {
		return 0, false
	}
	return x.Cmp(y), true
}

// exact returns a number as it is: a float64 cannot tell large int64s apart.
func exact(v any) (n *big.Float, ok bool) {
	if claim, isClaim := v.(json.Number); isClaim {
		if whole, err := claim.Int64(); err == nil {
			v = whole
		}
	}
	if whole, isWhole := v.(int64); isWhole {
		return new(big.Float).SetInt64(whole), true
	}
	if x, ok := number(v); ok {
		return big.NewFloat(x), true
	}
	return nil, false
}

func number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

func ordered(is func(n int) bool) func(value, want any) Answer {
	return func(value, want any) Answer {
		n, alike := compare(value, want)
		if !alike {
			return Unclear
		}
		return answer(is(n))
	}
}

// oneOf reports whether a value is one of a list. It is unclear if the list has no value of its type.
func oneOf(value, want any) Answer {
	all := Unclear
	for _, one := range listOf(want) {
		if a := equals(value, one); a != Unclear {
			all = max(Unmet, a)
			if a == Met {
				return Met
			}
		}
	}
	return all
}

func contains(value, want any) Answer {
	elements, isList := value.([]any)
	if !isList {
		return Unclear
	}
	return answer(slices.ContainsFunc(elements, func(element any) bool { return element != nil && oneOf(element, want) == Met }))
}

func text(is func(text, want string) bool) func(value, want any) Answer {
	return func(value, want any) Answer {
		text, isText := value.(string)
		if !isText {
			return Unclear
		}
		return answer(is(text, want.(string)))
	}
}

// listOf returns the values of an operator's value.
func listOf(want any) []any {
	if all, isList := want.([]any); isList {
		return all
	}
	return []any{want}
}

// asked returns what makes a filter of an operator. A query for a range of numbers leaves out those that no cursor can hold.
func asked(op string) func(field string, want any) []documents.Filter {
	return func(field string, want any) []documents.Filter {
		if all, isList := want.([]any); isList && op == "in" && len(all) == 1 {
			return []documents.Filter{{Field: field, Op: "==", Value: all[0]}}
		}
		filters := []documents.Filter{{Field: field, Op: op, Value: want}}
		if _, isNumber := number(want); isNumber && op[0] == '<' {
			filters = append(filters, documents.Filter{Field: field, Op: ">=", Value: -math.MaxFloat64})
		} else if isNumber && op[0] == '>' {
			filters = append(filters, documents.Filter{Field: field, Op: "<=", Value: math.MaxFloat64})
		}
		return filters
	}
}

// beginning asks for the strings that begin with another: those from it on, before the first that does not.
func beginning(field string, want any) []documents.Filter {
	first := want.(string)
	filters := []documents.Filter{{Field: field, Op: ">=", Value: first}}
	for begin := first; begin != ""; {
		last, size := utf8.DecodeLastRuneInString(begin)
		begin = begin[:len(begin)-size]
		if last++; last == 0xD800 {
			last = 0xE000 // those between are no characters
		}
		if last <= utf8.MaxRune {
			return append(filters, documents.Filter{Field: field, Op: "<", Value: begin + string(last)})
		}
	}
	return filters
}

// Operators returns the keys of the condition's operators in the order of the table.
func (c Condition) Operators() (keys []string) {
	for _, o := range c.operators() {
		keys = append(keys, o.key)
	}
	return keys
}

// operators returns the condition's operators, likewise.
func (c Condition) operators() (all []operator) {
	for _, o := range operators {
		if _, given := c.Ops[o.key]; given || o.state != "" && o.state == c.Is {
			all = append(all, o)
		}
	}
	return all
}

// Absence reports whether a missing field meets the condition.
func (c Condition) Absence() bool {
	return slices.ContainsFunc(c.operators(), func(o operator) bool { return o.absence })
}

// Lookup returns the value of an item's field, and whether the item has the field; of "", all fields of a document.
type Lookup func(field string) (value any, there bool)

// Misplaced is the value of a time whose field is [Lookup.Misplaced].
type Misplaced struct{}

// Misplaced reports whether the application may have said elsewhere what a field says: what it leads through is set, but no
// map, or one field has a name with dots, as JavaScript's set writes {"a.b": true}.
func (l Lookup) Misplaced(field string) bool {
	parts := strings.Split(field, ".")
	whole, _ := l("")
	for i := range parts {
		if i == 1 && whole == nil {
			continue // the claims of an account, or the metadata of an object: their keys may have dots
		}
		value, _ := l(strings.Join(parts[:i], "."))
		inside, isMap := value.(map[string]any)
		if i > 0 && value != nil && !isMap {
			return true
		}
		for end := i + 2; end <= len(parts); end++ {
			if _, there := inside[strings.Join(parts[i:end], ".")]; there {
				return true
			}
		}
	}
	return false
}

// Holds judges an item by a condition.
func (c Condition) Holds(of Lookup) Answer {
	given := c.operators()
	if len(given) == 0 || of.Misplaced(c.Field) {
		return Unclear
	}
	value, there := of(c.Field)
	all := Met
	for _, o := range given {
		want := c.Ops[o.key]
		var a Answer
		switch {
		case o.has != nil:
			a = o.has(value, there)
		case want == nil:
			a = answer(there && (value == nil) == (o.key == "=="))
		case value != nil:
			a = o.holds(value, want)
		}
		if a == Unmet {
			return Unmet
		}
		all = max(all, a)
	}
	return all
}

// Filters returns what a query asks for if it can ask for the condition, and whether it goes through the field's values.
func (c Condition) Filters() (filters []documents.Filter, ranged, ok bool) {
	if strings.ContainsAny(c.Field, "{[*") { // of its path, or of entries
		return nil, false, false
	}
	for _, o := range c.operators() {
		if o.filters == nil {
			return nil, false, false
		}
		filters, ranged = append(filters, o.filters(c.Field, c.Ops[o.key])...), ranged || o.ranged
	}
	return filters, ranged, len(filters) > 0
}
