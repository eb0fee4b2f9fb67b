package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shape compares JSON values with the Go types that they are read into, and collects what does not fit.
type shape struct{ problems []problem }

// expected is what a value must be.
type expected struct {
	at     string            // where the value is, e.g. rules[0].age
	of     reflect.Type      // what it is read into
	around reflect.Type      // the struct that the value lies in; nil for the outermost
	tag    reflect.StructTag // of the struct's field: an example, and the range of a number
}

// words are the kinds of values in JSON's words.
var words = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Float64: "a number",
	reflect.Slice: "a list", reflect.Map: "an object",
}

// fit returns a value without what does not fit: unknown keys are left out, and what has a wrong type, is null or is outside of
// its range becomes null.
func (s *shape) fit(value any, e expected) any {
	for e.of.Kind() == reflect.Pointer {
		e.of = e.of.Elem()
	}
	is := reflect.TypeOf(value)
	switch wants := e.of.Kind(); {
	case value == nil:
		return s.refuse(e, "it is null: give a value, or leave it out")
	case wants == reflect.Interface:
		return value
	case wants == reflect.Struct || wants == reflect.Map:
		if object, ok := value.(map[string]any); ok {
			return s.object(object, e)
		}
		return s.refuse(e, "it must be an object"+e.example(", such as %s"))
	case wants == reflect.Slice:
		word := e.tag.Get("word")
		if word != "" && value == word {
			return []any{}
		}
		list, ok := value.([]any)
		if !ok && e.tag.Get("one") != "" && (e.of.Elem().Kind() == reflect.Struct) == (jsonType(is) == words[reflect.Map]) {
			return []any{s.fit(value, expected{e.at, e.of.Elem(), e.around, e.tag})}
		}
		if ok && word != "" && len(list) == 0 {
			return s.refuse(e, fmt.Sprintf("it is empty: leave it out, or write %q", word))
		}
		if !ok {
			return s.refuse(e, "it must be a list, not "+jsonType(is)+e.example("; for example [%s]"))
		}
		for i, element := range list {
			list[i] = s.fit(element, expected{fmt.Sprintf("%s[%d]", e.at, i), e.of.Elem(), e.around, e.tag})
		}
		return list
	case is == reflect.TypeFor[json.Number]() && (wants == reflect.Int || wants == reflect.Float64):
		if says := e.wrongNumber(value.(json.Number)); says != "" {
			return s.refuse(e, says)
		}
		return value
	case jsonType(is) != words[wants]:
		return s.refuse(e, "it must be "+words[wants]+", not "+jsonType(is))
	}
	return value
}

// refuse adds a problem, and returns what stands for the value.
func (s *shape) refuse(e expected, says string) any {
	s.problems = append(s.problems, problem{e.at, says, true, ""})
	return nil
}

// object is [shape.fit] for the values of an object.
func (s *shape) object(object map[string]any, e expected) map[string]any {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		inner := expected{at: strings.TrimPrefix(e.at+"."+key, "."), around: e.of}
		if e.of.Kind() == reflect.Map {
			if inner.of = e.of.Elem(); inner.of.Kind() == reflect.Interface {
				continue // its values are data, in which null has a meaning
			}
		} else {
			if slices.Contains(dataOf(e.of), key) {
				continue
			}
			field, known := fieldOf(e.of, key)
			if !known {
				delete(object, key)
				says, like := instead(key, e.of, e.around, e.at)
				s.problems = append(s.problems, problem{e.at, fmt.Sprintf("there is no key %q%s", key, says), false, e.at + "." + like})
				continue
			}
			inner.of, inner.tag = field.Type, field.Tag
		}
		object[key] = s.fit(object[key], inner)
	}
	return object
}

func jsonType(of reflect.Type) string {
	if of == reflect.TypeFor[json.Number]() {
		return "a number"
	}
	return words[of.Kind()]
}

// example returns in a form the example that the field's tag has; "" if it has none.
func (e expected) example(form string) string {
	if text := e.tag.Get("example"); text != "" {
		return fmt.Sprintf(form, text)
	}
	return ""
}

// wrongNumber returns what is wrong with a number, "" if nothing. The range in the field's tag is like 1-100.
func (e expected) wrongNumber(number json.Number) string {
	if e.of.Kind() == reflect.Float64 {
		if _, err := number.Float64(); err != nil {
			return "it is too large"
		}
		return ""
	}
	n, err := strconv.Atoi(number.String())
	if err != nil {
		return "it must be a whole number"
	}
	var least, most int
	if _, err := fmt.Sscanf(e.tag.Get("range"), "%d-%d", &least, &most); err == nil && (n < least || n > most) {
		return fmt.Sprintf("%d is not from %d to %d", n, least, most)
	}
	return ""
}

// keyOf returns the key of a field in JSON.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fieldOf returns the field of a struct that has a key in JSON.
func fieldOf(of reflect.Type, key string) (reflect.StructField, bool) {
	for _, field := range fieldsOf(of) {
		if keyOf(field) == key {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// fieldsOf returns the fields of a struct that JSON has, with those of structs that are embedded in it.
func fieldsOf(of reflect.Type) (all []reflect.StructField) {
	for field := range of.Fields() {
		switch {
		case field.Anonymous && field.Type.Kind() == reflect.Pointer:
			all = append(all, fieldsOf(field.Type.Elem())...)
		case keyOf(field) != "-":
			all = append(all, field)
		}
	}
	return all
}

// dataOf returns the keys of a struct that stand for data, of any type.
func dataOf(of reflect.Type) []string {
	if data, has := reflect.Zero(of).Interface().(interface{ Data() []string }); has {
		return data.Data()
	}
	return nil
}

var position = regexp.MustCompile(`\[\d+\]`)

// instead says where a key belongs that the struct at a path does not have, or else which keys it has. If the key looks misspelt,
// it also returns the one that is like it.
func instead(key string, of, around reflect.Type, path string) (says, like string) {
	_, own, _ := strings.Cut(path, ".")
	if around != nil && own != "" {
		if _, beside := fieldOf(around, key); beside {
			return fmt.Sprintf(": it belongs beside %s, not into it", position.ReplaceAllString(own, "")), ""
		}
	}
	var names []string
	for _, field := range fieldsOf(of) {
		names = append(names, keyOf(field))
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice && field.Tag.Get("one") != "" {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct {
			continue
		}
		if _, within := fieldOf(inner, key); within {
			return fmt.Sprintf(": it belongs into %s", keyOf(field)), ""
		}
	}
	names = append(names, dataOf(of)...)
	if len(key) > leastLike && len(names) > 0 {
		like = slices.MinFunc(names, func(a, b string) int { return edits(key, a) - edits(key, b) })
		if edits(key, like) <= mostEdits {
			return fmt.Sprintf(": is it %q?", like), like
		}
	}
	return "; the keys are " + strings.Join(names, ", "), ""
}

// A key is taken for another that is misspelt if it is longer than this, and takes no more edits.
const (
	leastLike = 3
	mostEdits = 2
)

// edits returns how many letters must be added, removed or replaced to make one word of another, whatever their case.
func edits(from, to string) int {
	from, to = strings.ToLower(from), strings.ToLower(to)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		without := row[0]
		row[0] = i + 1
		for j := range to {
			replaced := without
			if from[i] != to[j] {
				replaced++
			}
			without, row[j+1] = row[j+1], min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
