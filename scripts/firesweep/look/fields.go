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

// Field is a field of a collection's documents, with dots for fields of maps.
type Field struct {
	Name    string         `json:"field"`
	Types   []string       `json:"types"`            // the most frequent first
	Percent int            `json:"percent"`          // of the sample that has it, and not null
	Values  map[string]int `json:"values,omitempty"` // how often each occurs in the sample, of a field with few
	As      []string       `json:"as,omitempty"`     // how it holds times, as a rule says it; only of a field that does
	Oldest  *time.Time     `json:"oldest,omitempty"`
	Middle  *time.Time     `json:"middle,omitempty"` // half of the times are before it
	Newest  *time.Time     `json:"newest,omitempty"`
}

const (
	mostFields = 40
	fewValues  = 6
	mostKeys   = 10 // of a map whose keys are fields, not data
)

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fieldsOf returns what the fields of documents hold, those first that most documents have.
func fieldsOf(docs []documents.Document) []Field {
	values := map[string][]any{}
	for _, d := range docs {
		collect(values, "", d.Data)
	}
	fields := []Field{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fields = append(fields, fieldOf(name, values[name], len(docs)))
	}
	slices.SortStableFunc(fields, func(a, b Field) int { return cmp.Compare(b.Percent, a.Percent) })
	return fields[:min(len(fields), mostFields)]
}

func collect(values map[string][]any, above string, data map[string]any) {
	for name, value := range data {
		if !plainName.MatchString(name) {
			continue
		}
		values[above+name] = append(values[above+name], value)
		if fields, isMap := value.(map[string]any); isMap && above == "" && len(fields) <= mostKeys {
			collect(values, name+".", fields)
		}
	}
}

func fieldOf(name string, values []any, documents int) Field {
	f := Field{Name: name}
	types, few, set := map[string]int{}, map[string]int{}, 0
	for _, value := range values {
		if value == nil {
			continue
		}
		set++
		of := typeOf(value)
		if types[of]++; of == "text" || of == "true or false" {
			few[fmt.Sprint(value)]++
		}
	}
	f.Percent = 100 * set / documents
	f.Types = slices.SortedFunc(maps.Keys(types), func(a, b string) int {
		return cmp.Or(cmp.Compare(types[b], types[a]), cmp.Compare(a, b))
	})
	f.dates(values, set)
	if f.As == nil && len(few) > 0 && len(few) <= fewValues && (set >= 2*len(few) || types["true or false"] > 0) {
		f.Values = few
	}
	return f
}

// dates says which times the field holds, if nearly all values are such.
func (f *Field) dates(values []any, set int) {
	var times []time.Time
	var as []string
	for _, form := range criteria.Forms() {
		before := len(times)
		for _, value := range values {
			// Greater numbers are no times of an application.
			if at, ok := (criteria.Age{Field: f.Name, As: []string{form}}).At(value); ok && at.Year() < 2100 {
				times = append(times, at)
			}
		}
		if len(times) > before {
			as = append(as, form)
		}
	}
	if set == 0 || len(times)*10 < set*9 {
		return
	}
	slices.SortFunc(times, time.Time.Compare)
	f.As, f.Oldest, f.Middle, f.Newest = as, &times[0], &times[len(times)/2], &times[len(times)-1]
}

func typeOf(value any) string {
	switch value.(type) {
	case time.Time:
		return "timestamp"
	case string:
		return "text"
	case int64, float64:
		return "number"
	case bool:
		return "true or false"
	case []any:
		return "list"
	case map[string]any:
		return "map"
	}
	if _, isReference := documents.ReferenceOf(value); isReference {
		return "reference"
	}
	return "other"
}

var partPattern = regexp.MustCompile(`[A-Z]+(?:[a-z]+|\b|[^A-Za-z])|[A-Z]?[a-z]+|[A-Z]+`)

// words returns the words of a name such as fcmTokens or last_seen_at, each in the singular and in lower case.
func words(name string) (all []string) {
	for _, part := range partPattern.FindAllString(name, -1) {
		if part = strings.ToLower(strings.Trim(part, "_-0123456789. ")); part != "" {
			all = append(all, singular(part))
		}
	}
	return all
}

// singular returns a noun without the ending of its plural.
func singular(noun string) string {
	switch {
	case strings.HasSuffix(noun, "ies") && len(noun) > 4:
		return strings.TrimSuffix(noun, "ies") + "y"
	case strings.HasSuffix(noun, "tches"), strings.HasSuffix(noun, "shes"), strings.HasSuffix(noun, "sses"),
		strings.HasSuffix(noun, "xes"):
		return strings.TrimSuffix(noun, "es")
	case strings.HasSuffix(noun, "ss"), strings.HasSuffix(noun, "us"), strings.HasSuffix(noun, "is"), len(noun) < 4:
		return noun
	}
	return strings.TrimSuffix(noun, "s")
}

// head returns the word that says what something is: notification of userNotifications.
func head(name string) string {
	if all := words(name); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// has reports whether one of the words of a name is one of some.
func has(name string, some ...string) bool {
	return slices.ContainsFunc(words(name), func(word string) bool { return slices.Contains(some, word) })
}
