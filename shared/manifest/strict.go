package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
)

// strictly reads a JSON object into out, a pointer to a struct with json tags. Every key must be known, match exactly and
// occur once. It returns all problems, each with its place. read says that all values had the right type; otherwise out lacks
// some.
func strictly(text []byte, prepare func(object map[string]any), out any) (problems []string, read bool) {
	if err := syntax(text); err != nil {
		return []string{err.Error()}, false
	}
	if key, err := doubled(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return []string{err.Error()}, false
	} else if key != "" {
		return []string{fmt.Sprintf("%s is given twice", key)}, false
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return []string{err.Error()}, false
	}
	problems = unknown(object, reflect.TypeOf(out), "")
	prepare(object)
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: out, TagName: "json", MatchName: func(key, field string) bool { return key == field }, DecodeHook: noNumbersAsTexts,
	})
	if err == nil {
		err = decoder.Decode(object)
	}
	if err != nil {
		_, list, _ := strings.Cut(err.Error(), "\n\n")
		for problem := range strings.SplitSeq(list, "\n") {
			problems = append(problems, typeProblem(problem))
		}
	}
	return problems, err == nil
}

var (
	wrongType = regexp.MustCompile(`^'(.+)' expected (?:type '|a )([^',]+)'?, got (?:unconvertible type )?['"]?([^'",]+)['"]?.*$`)
	wrongList = regexp.MustCompile(`^'(.+)':? source data must be an array or slice, got (\S+)$`)
	noNumber  = regexp.MustCompile(`^(?:cannot parse )?'(.+?)'.*strconv\.ParseInt.*$`)
)

// typeProblem says in JSON's words that a value has the wrong type. The library uses Go's words.
func typeProblem(problem string) string {
	if m := noNumber.FindStringSubmatch(problem); m != nil {
		return m[1] + ": it must be a whole number"
	}
	if m := wrongList.FindStringSubmatch(problem); m != nil {
		return m[1] + ": it must be a list, not " + jsonType(m[2])
	}
	if m := wrongType.FindStringSubmatch(problem); m != nil {
		if strings.HasPrefix(m[2], "map") { // for a map, the library's message is the same for a number and a string
			return m[1] + ": it must be an object"
		}
		return m[1] + ": it must be " + jsonType(m[2]) + ", not " + jsonType(m[3])
	}
	return problem
}

func jsonType(of string) string {
	switch {
	case of == "string":
		return "a string"
	case of == "bool":
		return "true or false"
	case strings.HasPrefix(of, "int"):
		return "a whole number"
	case strings.HasPrefix(of, "float") || strings.HasSuffix(of, "Number"):
		return "a number"
	case strings.HasPrefix(of, "[]") || of == "slice":
		return "a list"
	}
	return "an object"
}

// syntax returns an error that says where a text stops being JSON, nil if all of it is JSON.
func syntax(text []byte) error {
	var value any
	err := json.Unmarshal(text, &value)
	var wrong *json.SyntaxError
	if !errors.As(err, &wrong) {
		return err
	}
	before := text[:wrong.Offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Errorf("line %d, column %d: it is not JSON: %w", line, max(1, column), err)
}

// noNumbersAsTexts refuses a number where a string must be. The library accepts it, because Go's [json.Number] is a kind of
// string.
func noNumbersAsTexts(from, to reflect.Type, value any) (any, error) {
	if from == reflect.TypeFor[json.Number]() && to.Kind() == reflect.String && to != from {
		return nil, errors.New("expected type 'string', got unconvertible type 'json.Number'")
	}
	return value, nil
}

// doubled returns a key that an object has twice, with its path; "" if there is none.
func doubled(d *json.Decoder) (key string, err error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	seen := map[string]bool{}
	for token == json.Delim('{') || token == json.Delim('[') {
		if !d.More() {
			_, err := d.Token()
			return "", err
		}
		name := ""
		if token == json.Delim('{') {
			t, err := d.Token()
			if err != nil {
				return "", err
			}
			name, _ = t.(string)
			if seen[name] {
				return name, nil
			}
			seen[name] = true
		}
		inner, err := doubled(d)
		if err != nil {
			return "", err
		}
		if inner != "" {
			return strings.TrimPrefix(name+"."+inner, "."), nil
		}
	}
	return "", nil
}

// unknown returns a problem for each key of a value that its type does not have.
func unknown(value any, of reflect.Type, path string) (problems []string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch v := value.(type) {
	case map[string]any:
		if of.Kind() != reflect.Struct {
			return nil // its keys are data, or no object belongs here, which typeProblem reports
		}
		fields := map[string]reflect.Type{}
		var names []string
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			fields[name] = of.Field(i).Type
			names = append(names, name)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if field, known := fields[key]; known {
				problems = append(problems, unknown(v[key], field, strings.TrimPrefix(path+"."+key, "."))...)
			} else {
				problems = append(problems, fmt.Sprintf("%s: there is no key %q; the keys are %s", path, key, strings.Join(names, ", ")))
			}
		}
	case []any:
		if of.Kind() != reflect.Slice {
			return nil
		}
		for i, element := range v {
			problems = append(problems, unknown(element, of.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return problems
}
