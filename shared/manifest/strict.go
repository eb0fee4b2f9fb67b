package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
)

// problem is what is wrong with one value.
type problem struct {
	at     string // the value, e.g. functions[0].rule.age; empty for the text as a whole
	says   string
	hidden bool // out does not have the value as it was given, so what out says about it would be wrong
}

// String returns the problem as a line.
func (p problem) String() string { return strings.TrimPrefix(p.at+": "+p.says, ": ") }

// inEntry matches where a value of an entry is.
var inEntry = regexp.MustCompile(`^functions\[(\d+)\]\.?(.*)$`)

// of returns the problem as a line that names the entry, one of a list.
func (p problem) of(entries []Entry) string {
	m := inEntry.FindStringSubmatch(p.at)
	if m == nil {
		return p.String()
	}
	i, err := strconv.Atoi(m[1])
	if err != nil || i >= len(entries) || entries[i].Name == "" {
		return p.String()
	}
	return fmt.Sprintf("functions[%d], %s: %s", i, entries[i].Name, problem{at: m[2], says: p.says})
}

// hides reports whether something that is wrong with the same value, named key, follows from the problem.
func (p problem) hides(key string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (outer == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return p.at == key || p.hidden && (within(key, p.at) || within(p.at, key))
}

// strictly reads a JSON object into out, a pointer to a struct with json tags. Every key must be known, match exactly and
// occur once, and none may be null. It returns all problems.
func strictly(text []byte, prepare func(object map[string]any), out any) (problems []problem) {
	whole := func(says string) []problem { return []problem{{says: says, hidden: true}} }
	if err := syntax(text); err != nil {
		return whole(err.Error())
	}
	if key, err := doubled(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return whole(err.Error())
	} else if key != "" {
		return whole(fmt.Sprintf("%s is given twice", key))
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return whole(err.Error())
	}
	problems = shape(object, reflect.TypeOf(out), nil, "")
	prepare(object)
	err := decode(object, out)
	if err == nil {
		return problems
	}
	_, list, _ := strings.Cut(err.Error(), "\n\n")
	for line := range strings.SplitSeq(list, "\n") {
		wrong := typeProblem(line, reflect.TypeOf(out))
		problems = append(problems, wrong)
		object, _ = without(object, wrong.at).(map[string]any)
	}
	reflect.ValueOf(out).Elem().SetZero()
	if err := decode(object, out); err != nil { // nothing is known of the rest
		reflect.ValueOf(out).Elem().SetZero()
	}
	return problems
}

func decode(object map[string]any, out any) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: out, TagName: "json", MatchName: func(key, field string) bool { return key == field }, DecodeHook: noNumbersAsTexts,
	})
	if err != nil {
		return err
	}
	return decoder.Decode(object)
}

// step matches the first part of a path such as functions[0].rule, and the rest.
var step = regexp.MustCompile(`^\.?(?:([^.\[\]]+)|\[(\d+)\])(.*)$`)

// without returns a value with null in place of what is at a path.
func without(value any, path string) any {
	if path == "" {
		return nil
	}
	m := step.FindStringSubmatch(path)
	if m == nil {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		v[m[1]] = without(v[m[1]], m[3])
	case []any:
		if i, err := strconv.Atoi(m[2]); err == nil && i < len(v) {
			v[i] = without(v[i], m[3])
		}
	}
	return value
}

var (
	wrongType = regexp.MustCompile(`^'(.+)' expected (?:type '|a )([^',]+)'?, got (?:unconvertible type )?['"]?([^'",]+)['"]?.*$`)
	wrongList = regexp.MustCompile(`^'(.+)':? source data must be an array or slice, got (\S+)$`)
	noNumber  = regexp.MustCompile(`^(?:cannot parse )?'(.+?)'.*strconv\.ParseInt.*$`)
)

// typeProblem says in JSON's words that a value of an object of a type has the wrong type. The library uses Go's words.
func typeProblem(line string, object reflect.Type) problem {
	if m := noNumber.FindStringSubmatch(line); m != nil {
		return problem{m[1], "it must be a whole number", true}
	}
	if m := wrongList.FindStringSubmatch(line); m != nil {
		return problem{m[1], "it must be a list, not " + jsonType(m[2]) + example(object, m[1], "; for example [%s]"), true}
	}
	if m := wrongType.FindStringSubmatch(line); m != nil {
		if strings.HasPrefix(m[2], "map") { // for a map, the library's message is the same for a number and a string
			return problem{m[1], "it must be an object" + example(object, m[1], ", such as %s"), true}
		}
		return problem{m[1], "it must be " + jsonType(m[2]) + ", not " + jsonType(m[3]), true}
	}
	return problem{says: line, hidden: true}
}

var position = regexp.MustCompile(`\[\d+\]`)

// example returns in a form the example in the tag of the field at a path of an object of a type; "" if it has none.
func example(of reflect.Type, path, form string) string {
	text := ""
	for name := range strings.SplitSeq(position.ReplaceAllString(path, ""), ".") {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if text = ""; of.Kind() != reflect.Struct {
			return ""
		}
		if field, found := fieldOf(of, name); found {
			of, text = field.Type, field.Tag.Get("example")
		}
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf(form, text)
}

// keyOf returns the key of a field in JSON.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
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
