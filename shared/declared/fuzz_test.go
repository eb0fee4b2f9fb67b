package declared_test

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// saysWhere is how problems begin. What is no list at all, because of its text, has no job to name.
var saysWhere = regexp.MustCompile(`^rules\.json:(\d+: rules\[0\], cleanupThings: | line \d+: )`)

// FuzzRule: a valid rule makes a job and words, and is the same each time it is read. Of documents that are made from the rule,
// exactly those that should be due are due. An invalid rule makes no job.
func FuzzRule(f *testing.F) {
	blocks, err := sampledata.ExampleTexts(rules)
	if err != nil {
		f.Fatal(err)
	}
	for _, block := range blocks {
		var e map[string]json.RawMessage
		if err := json.Unmarshal([]byte(block), &e); err != nil {
			f.Fatal(err)
		}
		for _, own := range []string{"name", "schedule", "timeZone", "description", "run"} {
			delete(e, own)
		}
		text, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"age":null}`, `{"age":{"field":"a","days":1}}`, `{"collection":"a","age":{"field":"a.b","hours":1},"where":[{"field":"a.c","==":true}]}`,
		`{"collection":"a/b/c","age":{"field":"at","months":1200},"where":[{"field":"n","in":[1,1.0,1e3,"x",true]}]}`,
		`{"collection":"a","age":{"field":"a","hours":1},"unless":[{"document":"b/{id}-{c.d}/e/f"}],"with":[{"objects":"a/{id}/**","field":"a[].b"},{"objects":"{id}/**"}]}`,
		`{"collection":"a","age":{"field":"a","hours":1},"where":[{"field":"b","is":"not true"},{"field":"c","==":1.5}],"set":{"b":true,"c":null,"d":"{now}"}}`,
		`{"collection":"a/{x}/b","age":{"field":"at","days":1},"warn":{"days":2,"field":"w","create":"c/{x}/d","data":{"e":["{id} {f.g} {date}",1,null],"h":{}}}}`,
		`{"objects":"a/b/**","age":{"months":3},"gone":[{"document":"c/d/e/{metadata.k}"}]}`,
		`{"collection":"a/{x}/b","age":[{"field":"at","as":"seconds","days":0},{"by":"updateTime","hours":1}],"unless":[{"field":"k","==":true}]}`,
		`{"collection":"a","age":"any","gone":[{"subcollection":"s"},{"account":"{id}"}],"with":[{"subcollection":"**"},{"document":"b/{id}"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) { // the text could close the rule and add other keys
			_, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: text})
			check.Fails(t, err)
			return
		}
		e, err := entryOf(text)
		if err != nil {
			if e.Rule != nil {
				t.Errorf("refused, and yet a rule: %+v", e.Rule)
			}
			for line := range strings.Lines(err.Error()) {
				if !saysWhere.MatchString(line) {
					t.Errorf("the problem %q does not say where", line)
				}
			}
			return
		}
		r := *e.Rule
		if job := declared.Job(e.Name, r); job.Plan == nil || job.Name != e.Name {
			t.Errorf("no job of %s", text)
		}
		words := r.Words()
		if strings.Contains(words, "%!") || !strings.Contains(words, " ago") && !strings.Contains(words, "past") && !strings.Contains(words, "of any age") {
			t.Errorf("%s is %q", text, words)
		}
		if strings.Contains(words, "  ") && !strings.Contains(string(text), " ") {
			t.Errorf("%s has two blanks in %q", text, words)
		}
		wantFittingIndexes(t, e)
		wantFittingJudgement(t, r)

		again, err := entryOf(text)
		ok(t, err)
		check.Same(t, string(text)+", read once more", e, again)
	})
}

// entryOf parses an entry with a rule as the functions do.
func entryOf(rule []byte) (manifest.Entry, error) {
	inner, isObject := strings.CutPrefix(strings.TrimSpace(string(rule)), "{")
	if inner = strings.TrimSpace(strings.TrimSuffix(inner, "}")); !isObject {
		return manifest.Entry{}, errors.New("rules.json:1: rules[0], cleanupThings: no rule")
	} else if inner != "" {
		inner = "," + inner
	}
	text := []byte(`{"rules":[{"name":"cleanupThings","schedule":"0 4 * * *"` + inner + "\n}]}")
	entries, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: text})
	if err != nil {
		return manifest.Entry{}, err
	}
	if entries[0].Rule == nil { // null
		return manifest.Entry{}, errors.New("rules.json:1: rules[0], cleanupThings: no rule")
	}
	return entries[0], nil
}

// wantFittingIndexes checks that each index has fields, each once.
func wantFittingIndexes(t *testing.T, e manifest.Entry) {
	for _, index := range e.Indexes {
		seen := map[string]bool{}
		for _, field := range index.Fields {
			if field.FieldPath == "" || seen[field.FieldPath] {
				t.Errorf("index %+v", index)
			}
			seen[field.FieldPath] = true
		}
		if len(index.Fields) == 0 || index.CollectionGroup == "" {
			t.Errorf("index %+v", index)
		}
	}
}

// wantFittingJudgement checks which documents are due by their own fields: some that meet each condition, and none that is exactly
// as old as the age, has no date, or has one field by which a condition of where fails or one of unless holds. Of rules about
// objects and accounts, other tests try data.
func wantFittingJudgement(t *testing.T, r rule.Rule) {
	ofID := func(c criteria.Condition) bool { return strings.Contains(c.Field, "{") }
	if !r.OfDocuments() || slices.ContainsFunc(slices.Concat(r.Where, r.Exceptions()), ofID) {
		return
	}
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	since, long := now, now.AddDate(-101, 0, 0)
	judge := func(what string, data map[string]any, by time.Time, due bool) {
		d := documents.Document{Path: pathOf(r), Data: asRead(data), UpdateTime: by, CreateTime: by}
		if judged := declared.Judge(r, d, now); due != (judged.Kind != "") {
			t.Errorf("a document that %s: %+v of %v", what, judged, data)
		}
	}
	but := func(what, field string, value any) {
		data := dueSince(t, r, now, 0)
		put(data, field, value)
		judge(what+" "+field, data, long, false)
	}
	if r.Warn != nil {
		since = retention.DaysBefore(now, r.Warn.Days)
	}
	for n := range 3 {
		data := dueSince(t, r, since, n)
		if r.Warn != nil {
			data[r.Warn.Field] = since
		}
		judge("is due", data, long, true)
	}
	for _, a := range r.Age {
		if a.Field == "" {
			judge("is exactly as old", dueSince(t, r, now, 0), a.Cutoff(now), false)
			continue
		}
		but("is exactly as old by", a.Field, a.Value(a.Cutoff(now)))
		but("has no date in", a.Field, true)
	}
	for _, c := range r.Where {
		if values := valuesFor(c.Field, nil, []criteria.Condition{c}); len(values) > 0 {
			but("does not fit by", c.Field, values[0])
		}
	}
	for _, c := range r.Exceptions() {
		if values := valuesFor(c.Field, []criteria.Condition{c}, nil); len(values) > 0 {
			but("is excepted by", c.Field, values[0])
		}
	}
}

var hole = regexp.MustCompile(`\{(\w*)\}`)

// pathOf returns the path of a document of a rule.
func pathOf(r rule.Rule) string {
	if r.CollectionGroup != "" {
		return "somewhere/deep/" + r.CollectionGroup + "/id"
	}
	return hole.ReplaceAllString(r.Collection, "$1") + "/id"
}

// dueSince returns the fields of a document that became due at a time: the n-th of those that fit.
func dueSince(t *testing.T, r rule.Rule, at time.Time, n int) map[string]any {
	t.Helper()
	where := slices.Clone(r.Where)
	// A field that must only exist may be a map that holds others.
	slices.SortStableFunc(where, func(a, b criteria.Condition) int { return strings.Count(b.Field, ".") - strings.Count(a.Field, ".") })
	data := map[string]any{}
	for _, c := range slices.Concat(where, r.Exceptions()) {
		if _, there := (documents.Document{Data: data}).Lookup(c.Field); there {
			continue
		}
		another := func(other criteria.Condition) bool { return other.Field != c.Field }
		values := valuesFor(c.Field, slices.DeleteFunc(slices.Clone(where), another), slices.DeleteFunc(r.Exceptions(), another))
		if len(values) == 0 {
			t.Errorf("no value of %s is found that fits", c.Field)
			continue
		}
		put(data, c.Field, values[n%len(values)])
	}
	for _, a := range r.Age {
		if a.Field != "" {
			put(data, a.Field, a.Value(a.Cutoff(at).Add(-time.Duration(n)*retention.Day-time.Millisecond)))
		}
	}
	return data
}

// missing is the value of a field that is not there.
type missing struct{}

// valuesFor returns values of a field by which some conditions hold and others fail.
func valuesFor(field string, hold, fail []criteria.Condition) (fitting []any) {
	all := []any{missing{}, nil, "some text", "", false, true, int64(1), 1.5}
	for _, c := range slices.Concat(hold, fail) {
		for _, op := range slices.Sorted(maps.Keys(c.Ops)) {
			asked, isList := c.Ops[op].([]any)
			if !isList {
				asked = []any{c.Ops[op]}
			}
			for _, value := range asked {
				all = append(all, value, []any{value})
				switch v := value.(type) {
				case string:
					all = append(all, v+"x", "x"+v)
				case int64:
					all = append(all, float64(v)+0.5, float64(v)-0.5)
				case float64:
					all = append(all, v+0.5, v-0.5)
				}
			}
		}
	}
	for _, value := range all {
		of := func(name string) (any, bool) {
			if name != field || value == (missing{}) {
				return nil, false
			}
			return value, true
		}
		if !slices.ContainsFunc(hold, func(c criteria.Condition) bool { return c.Holds(of) != criteria.Met }) &&
			!slices.ContainsFunc(fail, func(c criteria.Condition) bool { return c.Holds(of) != criteria.Unmet }) {
			fitting = append(fitting, value)
		}
	}
	return fitting
}

// put sets the value at a path: * in it stands for an entry of a map, [] for one of a list.
func put(data map[string]any, path string, value any) {
	part, rest, deeper := strings.Cut(strings.ReplaceAll(path, ".*", ".entry"), ".")
	name, list := strings.CutSuffix(part, "[]")
	if deeper {
		before := data[name]
		if elements, ok := before.([]any); ok && list {
			before = elements[0]
		}
		inner, _ := before.(map[string]any)
		if inner == nil {
			inner = map[string]any{}
		}
		put(inner, rest, value)
		value = inner
	}
	switch {
	case value == (missing{}):
		delete(data, name)
	case list:
		data[name] = []any{value}
	default:
		data[name] = value
	}
}

// asRead returns fields as Firestore returns them.
func asRead(fields map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			out[name] = asRead(v)
		case time.Time:
			out[name] = v.Truncate(time.Microsecond)
		default:
			out[name] = v
		}
	}
	return out
}
