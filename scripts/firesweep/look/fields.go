package look

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// field is what the documents of a sample hold in a field: a.b is in a map, and a[] are the elements of a list.
type field struct {
	name   string
	values []any // those that are not null

	forms          []string       // how the field holds times, as a rule says it; none: it holds something else
	oldest, newest time.Time      // of times
	states         map[string]int // how often each value occurs, if they are few
}

const (
	fewValues    = 6
	mostKeys     = 10 // of a map whose keys are fields, not data
	mostElements = 20 // of a list
)

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fieldsOf returns the fields of documents by their names.
func fieldsOf(docs []documents.Document) []*field {
	all := map[string]*field{}
	for _, d := range docs {
		collect(all, "", d.Data)
	}
	sorted := slices.SortedFunc(maps.Values(all), func(a, b *field) int { return cmp.Compare(a.name, b.name) })
	for _, f := range sorted {
		f.describe()
	}
	return sorted
}

func collect(all map[string]*field, above string, data map[string]any) {
	for key, value := range data {
		if !plainName.MatchString(key) {
			continue
		}
		name, values := above+key, []any{value}
		switch v := value.(type) {
		case nil:
			values = nil
		case map[string]any:
			if above == "" && len(v) <= mostKeys {
				collect(all, name+".", v)
			}
			continue
		case []any:
			name, values = name+"[]", v[:min(len(v), mostElements)]
		}
		if all[name] == nil {
			all[name] = &field{name: name}
		}
		all[name].values = append(all[name].values, values...)
	}
}

// describe says what the values are: times, if all of them are, or states.
func (f *field) describe() {
	var times []time.Time
	states := map[string]int{}
	for _, value := range f.values {
		for _, form := range criteria.Forms() {
			// Greater numbers are no times of an application.
			at, ok := (criteria.Age{Field: f.name, As: form}).At(value)
			if !ok || at.Year() >= 2100 {
				continue
			}
			if times = append(times, at); !slices.Contains(f.forms, form) {
				f.forms = append(f.forms, form)
			}
		}
		switch value.(type) {
		case string, bool:
			states[fmt.Sprint(value)]++
		}
	}
	if n := len(f.values); n > 0 && len(times) == n {
		f.oldest, f.newest = slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare)
	} else if f.forms = nil; len(states) <= fewValues && (n >= 2*len(states) || f.isBool()) {
		f.states = states
	}
}

// isTime reports whether the field holds times in one form.
func (f *field) isTime() bool { return len(f.forms) == 1 }

func (f *field) isBool() bool {
	return !slices.ContainsFunc(f.values, func(value any) bool { _, isBool := value.(bool); return !isBool })
}

// fact says what is worth knowing of the field of so many documents, which may be a sample of more; "" if it holds neither times
// nor states.
func (f *field) fact(documents int, ofMore bool) string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(f.states)) {
		parts = append(parts, fmt.Sprintf("%.20s %d", value, f.states[value]))
	}
	switch {
	case len(f.forms) > 1:
		return "times in several forms: " + strings.Join(f.forms, ", ")
	case f.isTime():
		parts = []string{f.forms[0] + " from " + f.oldest.UTC().Format(time.DateOnly) + " to " + f.newest.UTC().Format(time.DateOnly)}
	case len(parts) < 2:
		return ""
	}
	unset := documents - len(f.values)
	if unset > 0 {
		parts = append(parts, fmt.Sprintf("not set in %d", unset))
	}
	text := strings.Join(parts, ", ")
	if ofMore && (unset > 0 || !f.isTime()) {
		text += fmt.Sprintf(", of a sample of %d", documents)
	}
	return text
}
