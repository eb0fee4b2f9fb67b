package criteria

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
)

// maxHours bounds ages: a hundred years.
const maxHours = 24 * 36_500

// MaxAlternatives is Firestore's limit on the combinations of all alternatives of a query.
const MaxAlternatives = 30

// MaxTerms is Firestore's limit on the filters and orders of all these together.
const MaxTerms = 100

// Name is what a field's name is like.
var Name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

var datePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\d`)

// Problem is what is wrong with the value of a key, and what would be right.
type Problem struct {
	Key  string // e.g. where[0].field; empty: all of it
	Says string
}

// String returns the problem as a line.
func (p Problem) String() string { return strings.TrimPrefix(p.Key+": "+p.Says, ": ") }

// Problems are what is wrong.
type Problems struct {
	All    []Problem
	Prefix string // what fields of entries begin with: tokens[] or tokens.*
}

// Add adds a problem.
func (p *Problems) Add(key, format string, args ...any) {
	p.All = append(p.All, Problem{key, fmt.Sprintf(format, args...)})
}

// Expect adds a problem unless all is well.
func (p *Problems) Expect(ok bool, key, format string, args ...any) {
	if !ok {
		p.Add(key, format, args...)
	}
}

// Count returns how many of all are true.
func Count(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

// AgeExamples are ages of each kind of items.
var AgeExamples = map[string]string{
	OfDocuments: `{"field":"createdAt","days":90}, or "any"`, OfObjects: `{"hours":24}`, OfAccounts: `{"by":"lastActive","days":30}`,
}

// Age checks an age of items of a kind.
func (p *Problems) Age(key string, a *Age, kind string) {
	example := AgeExamples[kind]
	p.Expect(Count(a.Hours != nil, a.Days != nil, a.Months != nil) == 1, key, "give one of hours, days and months, e.g. %s", example)
	n, unit := a.length()
	p.Expect(n >= 0, key, "%ss is %d: write 0 or more", unit, n)
	p.Expect(n <= maxHours/map[string]int{"hour": 1, "day": 24, "month": 31 * 24}[unit], key, "it is more than 100 years")
	if a.By != "" {
		p.Expect(slices.Contains(ClocksOf(kind), a.By), key+".by", "%q is not one of: %s", a.By, strings.Join(ClocksOf(kind), ", "))
		p.Expect(a.Field == "" && a.As == "" && !a.Optional, key, "by says which time it is: leave field, as and optional out")
		return
	}
	if kind == OfObjects {
		p.Expect(a.Field == "" && a.As == "" && !a.Optional, key, "an object's age counts from its upload: leave the field out")
		a.By = TimeCreated
		return
	}
	if kind == OfAccounts {
		p.Add(key+".by", "by which time? Write %q or %q", CreationTime, LastActive)
		return
	}
	if a.Field == "" {
		p.Add(key+".field", "by which time? Name a field that holds it, or give by: %s", strings.Join(ClocksOf(kind), " or "))
		return
	}
	p.Field(key+".field", a.Field)
	p.Expect(a.As == "" || slices.Contains(Forms(), a.As), key+".as", "%q is not one of: %s", a.As, strings.Join(Forms(), ", "))
}

// Field checks a field's name.
func (p *Problems) Field(key, name string) {
	if p.Prefix != "" && name == p.Prefix {
		return
	}
	if name == "" {
		p.Add(key, "it is missing: name a field")
		return
	}
	name = strings.TrimPrefix(name, p.Prefix+".")
	reserved := slices.ContainsFunc(strings.Split(name, "."),
		func(part string) bool { return strings.HasPrefix(part, "__") && strings.HasSuffix(part, "__") })
	if strings.Contains(name, "[].") {
		p.Add(key, "%q: nothing looks into maps in a list: keep what is looked for in a field or a list of its own, such as "+
			"clipIds[]", name)
		return
	}
	if p.OneKey(key, name); !strings.Contains(name, "*") {
		p.Expect(Name.MatchString(name) && !reserved, key,
			"%q is not a field's name: use letters, digits and _, and dots for fields of maps", name)
	}
}

// OneKey checks that a field, or a key, does not stand for all keys of a map.
func (p *Problems) OneKey(key, name string) {
	p.Expect(!strings.Contains(name, "*"), key, "* in %q is not every key: write one key, as in a.b; only remove and a path "+
		"such as users/{owners.*} go through all keys of a map", name)
}

// Condition checks a condition on items of a kind. Bound are the holes that may stand in place of a field.
func (p *Problems) Condition(at string, w Condition, kind string, bound []string) {
	switch hole, isHole := HoleOf(w.Field); {
	case isHole:
		p.Expect(slices.Contains(bound, hole), at+".field", "{%[1]s} is not in the rule's path, which has %[2]s: for a field "+
			"write %[1]s", hole, List(bound, "and"))
	case kind != OfDocuments:
		known, isMap := knows(kind, w.Field)
		p.Expect(known, at+".field", "%s have no %q: they have %s", kind, w.Field, List(fieldsOf[kind], "and"))
		p.Expect(!isMap || strings.HasSuffix(w.Is, "empty"), at, `%s holds keys: write one, as in %[1]s.key, or "is": "empty"`, w.Field)
		p.OneKey(at+".field", w.Field)
	default:
		p.Field(at+".field", w.Field)
	}
	if (w.Is != "") == (len(w.Ops) > 0) {
		p.Add(at, `say what must hold: "is", or one of %s`, strings.Join(Operators(), " "))
		return
	}
	if w.Is != "" {
		p.Expect(slices.Contains(States(), w.Is), at+".is", `%q is not one of: %s; a value is compared by "=="`, w.Is,
			strings.Join(States(), ", "))
		return
	}
	for _, o := range w.operators() {
		p.value(fmt.Sprintf("%s[%q]", at, o.key), o, w.Ops[o.key])
	}
}

// value checks an operator's value.
func (p *Problems) value(key string, o operator, value any) {
	all, isList := value.([]any)
	text, isText := value.(string)
	_, isNumber := number(value)
	switch {
	case o.list && !isList:
		p.Add(key, `it must be a list, such as ["new", "done"]`)
	case o.list:
		p.Expect(len(all) > 0, key, "give at least one value")
		p.Expect(len(all) <= MaxAlternatives, key, "%d values; Firestore allows %d", len(all), MaxAlternatives)
		for n := range all {
			ok := p.scalar(fmt.Sprintf("%s[%d]", key, n), all[n])
			p.Expect(!ok || !slices.Contains(all[:n], all[n]), key, "%v is listed twice", all[n])
		}
	case value == nil && (o.key == "==" || o.key == "!="):
	case o.texts:
		p.Expect(isText && text != "", key, "it must be a string that is not empty")
		p.scalar(key, value)
	case o.orders && isText && datePattern.MatchString(text):
		p.Add(key, `%q is a time, and a condition compares no times: write "age": {"field": …, "days": …} for what is older`, text)
	default:
		p.scalar(key, value)
		p.Expect(!o.orders || isNumber || isText || value == nil, key, "it must be a string or a number")
	}
}

// scalar checks that a value has a type that can be compared.
func (p *Problems) scalar(key string, value any) bool {
	switch v := value.(type) {
	case bool, int64, float64:
	case string:
		p.Expect(documents.Queryable(v), key, "it is too long: a query allows 1,499 bytes")
	default:
		p.Add(key, "it must be a string, a number, true or false")
		return false
	}
	return true
}

// NumberOf returns a number of JSON in the types that Firestore has: int64, or float64 if it is not whole or too large for that.
// The error says that it is too large for both.
func NumberOf(v json.Number) (any, error) {
	if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
		return n, nil
	}
	return v.Float64()
}

// HoleOf returns the hole that a text is as a whole: "uid" of "{uid}".
func HoleOf(text string) (hole string, ok bool) {
	hole, begins := strings.CutPrefix(text, "{")
	hole, ends := strings.CutSuffix(hole, "}")
	return hole, begins && ends && !strings.ContainsAny(hole, "{}")
}
