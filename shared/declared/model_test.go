package declared_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

type (
	fields = map[string]any
	array  = []any
)

// values are the values of fields in the model's documents. Rules ask for some of them.
var values = array{"a", "b", "", "日本", int64(1), 1.0, 1.5, int64(-7), true, false, nil, model.Missing, array{"a"},
	fields{"x": true}}

// holds decides whether a condition holds, written from docs/rules.md.
func holds(condition fields, document fields) bool {
	path := strings.Split(condition["field"].(string), ".")
	var value any = document
	there := true
	for _, name := range path {
		inner, _ := value.(fields)
		value, there = inner[name]
	}
	number := func(v any) any {
		if n, isWhole := v.(int64); isWhole {
			return float64(n)
		}
		return v
	}
	text, isText := value.(string)
	switch condition["is"] {
	case "text":
		return isText && text != ""
	case "not set":
		return value == nil
	case "set":
		return value != nil
	case "missing":
		return !there
	case "not true":
		return value == false || value == nil
	}
	switch value.(type) {
	case array, fields:
		return false
	}
	if want, said := condition["=="]; said {
		return number(value) == number(want)
	}
	return slices.ContainsFunc(condition["in"].(array), func(want any) bool { return number(value) == number(want) })
}

// drawConditions draws a rule's conditions: on different fields, at most one of them for a string.
func drawConditions(t *rapid.T) (all array) {
	for _, field := range []string{"a", "b", "deep.c", "d"} {
		condition := fields{"field": field}
		switch rapid.SampledFrom([]string{"", "", "==", "in", "is"}).Draw(t, field) {
		case "==":
			condition["=="] = rapid.SampledFrom(array{"a", "日本", int64(1), 1.5, true, false}).Draw(t, "value")
		case "in":
			condition["in"] = rapid.SampledFrom([]array{{"a", "b"}, {"a", int64(1)}, {true, "", int64(-7)}, {"b"}}).Draw(t, "values")
		case "is":
			states := []string{"not set", "set", "missing", "not true"}
			if !strings.Contains(field, ".") {
				states = append(states, "text", "text")
			}
			condition["is"] = rapid.SampledFrom(states).Draw(t, "state")
		default:
			continue
		}
		all = append(all, condition)
	}
	return all
}

// rulesARound is how many rules each round of the model has. One rule alone would test little.
const rulesARound = 3

// TestModel runs random rules on random data. Exactly what the rule says is deleted.
func TestModel(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	prove := func(rt *rapid.T) {
		now := model.Now(rt).AddDate(10, 0, 0) // objects are as old as the test
		rule := fields{"collection": "things", "maxDuePercent": 100, "where": drawConditions(rt)}
		age, cutoff := fields{"field": "at", "hours": 36}, now.Add(-36*time.Hour)
		switch rapid.SampledFrom([]string{"hours", "days", "months"}).Draw(rt, "age") {
		case "days":
			age, cutoff = fields{"field": "at", "days": 90}, now.Add(-90*24*time.Hour)
		case "months":
			age, cutoff = fields{"field": "at", "months": 3}, model.MonthsAgo(now, 3)
		}
		rule["age"] = age
		group := rapid.SampledFrom([]bool{false, false, true}).Draw(rt, "group")
		if group {
			delete(rule, "collection")
			rule["collectionGroup"] = "things"
		}
		draw := func(name string) bool { return rapid.Bool().Draw(rt, name) }
		var with array
		for _, along := range []fields{
			{"subcollection": "parts"}, {"collection": "notes", "field": "of"}, {"objects": "boxes/{id}/**"},
			{"objects": "photos/**", "field": "photos[].url"}, {"account": "{id}"},
		} {
			if draw("along") && (!group || along["field"] == nil) {
				with = append(with, along)
			}
		}
		switch rapid.SampledFrom([]string{"delete", "delete", "archive", "set"}).Draw(rt, "how") {
		case "archive":
			if !group {
				rule["archive"] = "archive"
			}
		case "set":
			with = nil
			rule["where"] = append(rule["where"].(array), fields{"field": "done", "is": "not true"})
			rule["set"] = fields{"done": true, "doneAt": "{now}", "a": nil}
		}
		if with != nil {
			rule["with"] = with
		}
		if draw("unless") {
			rule["unless"] = array{fields{"document": "keepers/{keeper}"}}
		}

		e := entry(t, rule)
		f := enginetest.On(t, newFunction(t, e), p)
		f.Indexes = e.AllIndexes()
		f.Now = now
		f.Clock = func() time.Time { return now }

		w := model.NewWorld()
		thing := model.Fields{
			"a": model.OneOf(values...), "b": model.OneOf(values...), "d": model.OneOf(values...), "at": model.Around(cutoff, now),
			"deep":   rapid.OneOf(model.OneOf(model.Missing, nil, "x", fields{}), rapid.Map(model.OneOf(values[:11]...), func(v any) any { return fields{"c": v} })),
			"done":   model.OneOf(model.Missing, nil, false, true, "yes"),
			"keeper": model.OneOf("k1", "k2", "", nil, model.Missing, "a/b", int64(3)),
		}
		w.Documents["keepers/k1"], w.Documents["keepers/3"] = fields{"x": int64(1)}, fields{"x": int64(1)}
		for n := range 60 {
			id := model.ID(rt, fmt.Sprint(n))
			path := rapid.SampledFrom([]string{"things/", "things/", "things/", "things/", "thingsx/", "other/x/things/"}).Draw(rt, "path")
			data := thing.Draw(rt, "thing")
			for i := range rapid.IntRange(0, 2).Draw(rt, "parts") {
				w.Documents[fmt.Sprintf("%s%s/parts/%d", path, id, i)] = fields{"n": int64(i)}
				w.Documents[fmt.Sprintf("notes/%d-%d", n, i)] = fields{"of": id}
			}
			name := fmt.Sprintf("photos/%d.png", n)
			link := rapid.SampledFrom([]any{name, "gs://" + p.Bucket + "/" + name, "gs://elsewhere/" + name, "other/" + name, int64(5),
				nil}).Draw(rt, "photo")
			data["photos"] = rapid.SampledFrom([]any{array{fields{"url": link}, nil, "x"}, array{name, fields{"url": fields{"url": link}}},
				fields{"url": link}, name}).Draw(rt, "photos")
			w.Documents[path+id] = data
			w.Objects[name], w.Objects["boxes/"+id+"/x"], w.Objects["boxes/"+id+"x/x"], w.Objects["other/"+name] = nil, nil, nil, nil
			w.Accounts[fmt.Sprintf("u%d", n)] = ""
			if len(id) <= 20 {
				w.Accounts[id] = ""
			}
		}
		job := model.Job{
			Pair: enginetest.Pair{Function: f},
			After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World {
				return afterRun(w, rule, now, cutoff, p.Bucket)
			},
		}
		if rule["archive"] != nil {
			job.Whole = "archive"
		}
		job.Prover(t)(rt, w)
	}
	model.Check(t, func(rt *rapid.T) {
		for range rulesARound {
			prove(rt)
		}
	})
}

// afterRun computes the result of a rule.
func afterRun(w model.World, rule fields, now, cutoff time.Time, bucket string) model.World {
	group := rule["collectionGroup"] != nil
	with, _ := rule["with"].(array)
	chosen := func(key string, value any) bool {
		return slices.ContainsFunc(with, func(a any) bool { return fmt.Sprint(a.(fields)[key]) == fmt.Sprint(value) })
	}
	want := w.Clone()
	for path, data := range w.Documents {
		collection, id := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
		if collection != "things" && (!group || !strings.HasSuffix(collection, "/things")) {
			continue
		}
		at, dated := data["at"].(time.Time)
		due := dated && at.Before(cutoff)
		for _, c := range rule["where"].(array) {
			due = due && holds(c.(fields), data)
		}
		if keeper := model.IDOf(data["keeper"]); rule["unless"] != nil {
			due = due && keeper != "" && w.Documents["keepers/"+keeper] == nil
		}
		if !due {
			continue
		}
		if set := rule["set"]; set != nil {
			changed := maps.Clone(data)
			changed["done"], changed["doneAt"], changed["a"] = true, now, nil
			want.Documents[path] = changed
			continue
		}
		move := func(path, to string) {
			if rule["archive"] != nil {
				want.Documents["archive/"+to] = w.Documents[path]
			}
			delete(want.Documents, path)
		}
		move(path, id)
		for other := range w.Documents {
			if part, ok := strings.CutPrefix(other, path+"/parts/"); ok && chosen("subcollection", "parts") {
				move(other, id+"/parts/"+part)
			}
			if note, ok := strings.CutPrefix(other, "notes/"); ok && chosen("collection", "notes") && w.Documents[other]["of"] == id {
				move(other, id+"/notes/"+note)
			}
		}
		if chosen("account", "{id}") {
			delete(want.Accounts, id)
		}
		for name := range w.Objects {
			if strings.HasPrefix(name, "boxes/"+id+"/") && chosen("objects", "boxes/{id}/**") {
				delete(want.Objects, name)
			}
		}
		link := ""
		if photos, isList := data["photos"].(array); isList { // no other value fits the path of the rule
			photo, _ := photos[0].(fields)
			link, _ = photo["url"].(string)
		}
		if name := strings.TrimPrefix(link, "gs://"+bucket+"/"); strings.HasPrefix(name, "photos/") && chosen("objects", "photos/**") {
			delete(want.Objects, name)
		}
	}
	return want
}
