package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// problem is what is wrong with one value.
type problem struct {
	at     string // the value, e.g. functions[0].age; empty for the text as a whole
	says   string
	hidden bool   // out does not have the value as it was given, so what out says about it would be wrong
	meant  string // the key that a misspelt one stands for, e.g. functions[0].age.field: that it is missing follows
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
	at := strings.Replace(p.at, ".run.", ".", 1) // its keys are the entry's own in what is read
	return at == key || p.meant == key || p.hidden && (within(key, at) || within(at, key))
}

// strictly reads a JSON object into out, a pointer to a struct with json tags. Every key must be known, match exactly and
// occur once, and none may be null. It returns all problems. What has one is missing from out.
func strictly(s source, prepare func(object map[string]any) []problem, out any) []problem {
	whole := func(says string) []problem { return []problem{{says: says, hidden: true}} }
	if key := doubled(&s.root); key != "" {
		return whole(key + " is given twice")
	}
	var value any
	if err := decode(s.plain, &value); err != nil {
		return whole(err.Error())
	}
	var checked shape
	object, isObject := checked.fit(value, expected{of: reflect.TypeOf(out)}).(map[string]any)
	if !isObject {
		return checked.problems
	}
	problems := slices.Concat(checked.problems, prepare(object))
	fitting, err := json.Marshal(object)
	if err == nil {
		err = decode(fitting, out)
	}
	if err != nil {
		return append(problems, whole(err.Error())...)
	}
	return problems
}

// decode reads JSON. A number becomes a [json.Number] where any value may be.
func decode(text []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(out)
}
