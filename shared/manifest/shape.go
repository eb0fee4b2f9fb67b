package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// shape returns what is wrong with the keys of a value and of all that lies within it, by its type: keys that the type does not
// have, null, and numbers outside of the range in the field's tag. The value lies within one of the type around.
func shape(value any, of, around reflect.Type, path string) (problems []problem) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch v := value.(type) {
	case nil:
		if of.Kind() == reflect.Interface {
			return []problem{{path, `it is null: give a string, a number, true or false; for null write "is": "null"`, true}}
		}
		return []problem{{path, "it is null: give a value, or leave it out", true}}
	case map[string]any:
		if of.Kind() != reflect.Struct {
			return nil // its keys are data, or no object belongs here, which typeProblem reports
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			field, known := fieldOf(of, key)
			if !known {
				problems = append(problems, problem{path, fmt.Sprintf("there is no key %q%s", key, instead(key, of, around, path)), false})
				continue
			}
			at := strings.TrimPrefix(path+"."+key, ".")
			if says := outside(v[key], field.Tag.Get("range")); says != "" {
				problems = append(problems, problem{at, says, true})
			}
			problems = append(problems, shape(v[key], field.Type, of, at)...)
		}
	case []any:
		if of.Kind() != reflect.Slice {
			return nil
		}
		for i, element := range v {
			problems = append(problems, shape(element, of.Elem(), around, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return problems
}

// fieldOf returns the field of a struct that has a key in JSON.
func fieldOf(of reflect.Type, key string) (reflect.StructField, bool) {
	for field := range of.Fields() {
		if keyOf(field) == key {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// instead says where a key belongs that the struct at a path does not have, or else which keys it has.
func instead(key string, of, around reflect.Type, path string) string {
	_, own, _ := strings.Cut(path, ".")
	if around != nil && own != "" {
		if _, beside := fieldOf(around, key); beside {
			return fmt.Sprintf(": it belongs beside %s, not into it", position.ReplaceAllString(own, ""))
		}
	}
	var names []string
	for field := range of.Fields() {
		names = append(names, keyOf(field))
		if field.Type.Kind() == reflect.Pointer && field.Type.Elem().Kind() == reflect.Struct {
			if _, within := fieldOf(field.Type.Elem(), key); within {
				return fmt.Sprintf(": it belongs into %s", keyOf(field))
			}
		}
	}
	return "; the keys are " + strings.Join(names, ", ")
}

// outside says that a number is not in a range such as 1-100; "" if it is, or if the value is no whole number.
func outside(value any, span string) string {
	number, isNumber := value.(json.Number)
	n, err := number.Int64()
	least, most, found := strings.Cut(span, "-")
	if !isNumber || err != nil || !found {
		return ""
	}
	low, _ := strconv.ParseInt(least, 10, 64)
	high, _ := strconv.ParseInt(most, 10, 64)
	if n >= low && n <= high {
		return ""
	}
	return fmt.Sprintf("%d is not from %d to %d", n, low, high)
}
