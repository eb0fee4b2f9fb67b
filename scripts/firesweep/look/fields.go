package look

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// field is what the documents of a sample hold in a field: a.b is in a map, and a[] are the elements of a list.
type field struct {
	name   string
	values []any     // those that are not null
	forms  []string  // how the field holds times, as a rule says it; none: it holds something else
	newest time.Time // of times
}

const (
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

// describe says in which forms the values are times, if all of them are.
func (f *field) describe() {
	times := 0
	for _, value := range f.values {
		for _, form := range criteria.Forms() {
			// Greater numbers are no times of an application.
			at, ok := (criteria.Age{Field: f.name, As: form}).At(value)
			if !ok || at.Year() >= 2100 {
				continue
			}
			if times++; at.After(f.newest) {
				f.newest = at
			}
			if !slices.Contains(f.forms, form) {
				f.forms = append(f.forms, form)
			}
		}
	}
	if times < len(f.values) {
		f.forms = nil
	}
}

// isTime reports whether the field holds times in one form.
func (f *field) isTime() bool { return len(f.forms) == 1 }
