package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
)

// strictly reads a JSON object into out, a pointer to a struct with json tags. Keys are known to the letter and stand once. The
// problems are all there are, each with where it is; read says that out holds all that could be read, as it was meant.
func strictly(text []byte, prepare func(object map[string]any), out any) (problems []string, read bool) {
	if err := syntax(text); err != nil {
		return []string{err.Error()}, false
	}
	if key, err := doubled(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return []string{err.Error()}, false
	} else if key != "" {
		return []string{fmt.Sprintf("%s stands there twice", key)}, false
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
		Result: out, TagName: "json", MatchName: func(key, field string) bool { return key == field },
	})
	if err == nil {
		err = decoder.Decode(object)
	}
	if err != nil {
		_, list, _ := strings.Cut(err.Error(), "\n\n")
		problems = append(problems, strings.Split(list, "\n")...)
	}
	return problems, err == nil
}

// syntax returns an error that says where a text stops being one JSON value.
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
	return fmt.Errorf("line %d, column %d: it is no JSON: %w", line, max(1, column), err)
}

// doubled returns a key that stands twice in an object, with what leads to it.
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

// unknown returns the keys of a value that its type does not have.
func unknown(value any, of reflect.Type, path string) (problems []string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch v := value.(type) {
	case map[string]any:
		if of.Kind() != reflect.Struct {
			return nil // its keys are data, or it is no object at all, which is told elsewhere
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
				problems = append(problems, fmt.Sprintf("%s: there is no %q; there are %s", path, key, strings.Join(names, ", ")))
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
