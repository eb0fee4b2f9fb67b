package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// problem is what is wrong with one value.
type problem struct {
	at     string // the value, e.g. rules[0].age; empty for the text as a whole
	says   string
	hidden bool   // out does not have the value as it was given, so what out says about it would be wrong
	meant  string // the key that a misspelt one stands for, e.g. rules[0].age.field: that it is missing follows
}

// String returns the problem as a line.
func (p problem) String() string { return strings.TrimPrefix(p.at+": "+p.says, ": ") }

// inEntry matches where a value of an entry is.
var inEntry = regexp.MustCompile(`^((?:functions|rules)\[(\d+)\])\.?(.*)$`)

// of returns the problem as a line that names the entry, one of a list.
func (p problem) of(entries []Entry) string {
	m := inEntry.FindStringSubmatch(p.at)
	if m == nil {
		return p.String()
	}
	i, err := strconv.Atoi(m[2])
	if err != nil || i >= len(entries) || entries[i].Name == "" {
		return p.String()
	}
	return fmt.Sprintf("%s, %s: %s", m[1], entries[i].Name, problem{at: m[3], says: p.says})
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

// strictly reads a list of a form into out. Every key must be known, match exactly and occur once, and none may be null. It
// returns all problems. What has one is missing from out.
func strictly(s source, of form, out *list) []problem {
	whole := func(says string) []problem { return []problem{{says: says, hidden: true}} }
	if key := doubled(&s.root); key != "" {
		return whole(key + " is given twice")
	}
	var value any
	if err := decode(s.plain, &value); err != nil {
		return whole(err.Error())
	}
	if of.key == rules.key {
		if at, says := noList(value); says != "" {
			return []problem{{at: at, says: says, hidden: true}}
		}
	}
	var checked shape
	object, isObject := checked.fit(value, expected{of: of.of}).(map[string]any)
	if !isObject {
		return checked.problems
	}
	problems := checked.problems
	prepare(object[of.key])
	fitting, err := json.Marshal(object)
	if err == nil {
		err = decode(fitting, out)
	}
	if err != nil {
		return append(problems, whole(err.Error())...)
	}
	return problems
}

// noList says what to write in place of what is no list of rules, and where that is: rules or one rule at the top, or another key
// for the list. It says nothing of others.
func noList(value any) (at, says string) {
	if _, isList := value.([]any); isList {
		return "", `it is a list: write { "rules": [ … ] } around your rules`
	}
	object, _ := value.(map[string]any)
	if object["rules"] != nil {
		return "", ""
	}
	for _, other := range []string{"functions", "cleanups", "collections"} {
		if _, isList := object[other].([]any); isList {
			return other, `the list of your rules is called "rules": write "rules": [ … ]`
		}
	}
	for _, field := range fieldsOf(reflect.TypeFor[ruleEntry]()) {
		if object[keyOf(field)] != nil {
			return "", `this is a rule, and the file is a list of rules: write { "rules": [ { … } ] } around it`
		}
	}
	return "", ""
}

// decode reads JSON. A number becomes a [json.Number] where any value may be.
func decode(text []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(out)
}
