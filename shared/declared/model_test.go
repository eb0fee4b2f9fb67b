package declared_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

type (
	fields = map[string]any
	array  = []any
)

// values are the values of fields in the model's documents. Rules ask for some of them.
var values = array{"a", "b", "", "日本", int64(1), 1.0, 1.5, int64(-7), true, false, nil, model.Missing, array{"a"},
	fields{"x": true}}

// Whether a condition holds: odd is said of a value whose type the condition does not speak of, and which keeps the document.
const yes, no, odd = "yes", "no", "odd"

// said returns yes or no.
func said(is bool) string {
	if is {
		return yes
	}
	return no
}

// kindOf returns what a value can be compared with.
func kindOf(value any) string {
	switch value.(type) {
	case int64, float64:
		return "number"
	case string:
		return "text"
	case bool:
		return "truth"
	}
	return ""
}

func asNumber(v any) float64 {
	if n, isWhole := v.(int64); isWhole {
		return float64(n)
	}
	return v.(float64)
}

// alike compares two values as Firestore does, for which 1 and 1.0 are equal.
func alike(a, b any) bool {
	if kindOf(a) == "number" && kindOf(b) == "number" {
		return asNumber(a) == asNumber(b)
	}
	return kindOf(a) == kindOf(b) && a == b
}

// holds decides whether a condition holds, written from docs/rules.md.
func holds(condition fields, document fields) string {
	var value any = document
	there := true
	for name := range strings.SplitSeq(condition["field"].(string), ".") {
		inner, isMap := value.(fields)
		if value != nil && !isMap {
			return odd
		}
		value, there = inner[name]
	}
	text, isText := value.(string)
	list, isList := value.(array)
	inner, isMap := value.(fields)
	switch condition["is"] {
	case "text":
		if value != nil && !isText {
			return odd
		}
		return said(text != "")
	case "not set":
		return said(value == nil)
	case "set":
		return said(value != nil)
	case "missing":
		return said(!there)
	case "not true":
		if value != nil && kindOf(value) != "truth" {
			return odd
		}
		return said(value != true)
	case "empty", "not empty":
		switch {
		case value == nil:
			return no
		case !isText && !isList && !isMap:
			return odd
		}
		return said((len(text)+len(list)+len(inner) == 0) == (condition["is"] == "empty"))
	}
	answer := yes
	for operator, want := range condition {
		switch {
		case operator == "field":
			continue
		case want == nil:
			if !there || (value == nil) != (operator == "==") {
				return no
			}
			continue
		case value == nil:
			return no
		}
		switch compared(operator, value, want) {
		case no:
			return no
		case odd:
			answer = odd
		}
	}
	return answer
}

// compared decides whether a value that is not null meets an operator.
func compared(operator string, value, want any) string {
	all, many := want.(array)
	if !many {
		all = array{want}
	}
	one := slices.ContainsFunc(all, func(w any) bool { return alike(value, w) })
	same := slices.ContainsFunc(all, func(w any) bool { return kindOf(value) != "" && kindOf(value) == kindOf(w) })
	switch operator {
	case "array-contains", "array-contains-any":
		list, isList := value.(array)
		if !isList {
			return odd
		}
		return said(slices.ContainsFunc(list, func(element any) bool {
			return slices.ContainsFunc(all, func(w any) bool { return kindOf(w) != "" && alike(element, w) })
		}))
	case "==", "in", "!=", "not-in":
		if !same {
			return odd
		}
		return said(one == (operator == "==" || operator == "in"))
	}
	if !same {
		return odd
	}
	var order int
	if kindOf(value) == "text" {
		order = strings.Compare(value.(string), want.(string))
	} else {
		order = cmp.Compare(asNumber(value), asNumber(want))
	}
	switch operator {
	case "<":
		return said(order < 0)
	case "<=":
		return said(order <= 0)
	case ">":
		return said(order > 0)
	case ">=":
		return said(order >= 0)
	case "startsWith":
		return said(strings.HasPrefix(value.(string), want.(string)))
	default:
		return said(strings.HasSuffix(value.(string), want.(string)))
	}
}

// drawCondition draws a condition on a field. Some has the values of lists.
func drawCondition(t *rapid.T, field string, lists bool) fields {
	one := rapid.SampledFrom(array{"a", "日本", int64(1), 1.5, true, false})
	some := rapid.SampledFrom([]array{{"a", "b"}, {"a", int64(1)}, {"", int64(-7)}, {"b"}})
	ordered := rapid.SampledFrom(array{"a", "", int64(1), 1.5, int64(-7)})
	condition := fields{"field": field}
	kind := rapid.SampledFrom([]string{"==", "==", "!=", "in", "not-in", "<", ">", "between", "starts", "contains", "is", "is", "is"}).Draw(t, field)
	switch {
	case kind == "==" || kind == "!=":
		condition[kind] = one.Draw(t, "value")
		if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
			condition[kind] = nil
		}
	case kind == "in" && lists || kind == "not-in":
		condition[kind] = some.Draw(t, "values")
	case kind == "<" || kind == ">":
		condition[kind] = ordered.Draw(t, "value")
	case kind == "between":
		condition[">="], condition["<="] = int64(-7), 1.5
	case kind == "starts":
		condition[rapid.SampledFrom([]string{"startsWith", "endsWith"}).Draw(t, "end")] = rapid.SampledFrom([]string{"a", "日", "本"}).Draw(t, "text")
	case kind == "contains":
		condition["array-contains"] = one.Draw(t, "element")
	default:
		states := []string{"not set", "set", "missing", "not true", "empty", "not empty"}
		if !strings.Contains(field, ".") {
			states = append(states, "text", "text")
		}
		condition["is"] = rapid.SampledFrom(states).Draw(t, "state")
		if !lists && condition["is"] == "empty" { // three values
			condition["is"] = "set"
		}
	}
	return condition
}

// drawConditions draws a rule's conditions, on different fields.
func drawConditions(t *rapid.T) (all array) {
	for n, field := range []string{"a", "b", "deep.c", "d"} {
		switch rapid.IntRange(0, 5).Draw(t, "how "+field) {
		case 0, 1:
			all = append(all, drawCondition(t, field, n < 2))
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "id") == 0 {
		all = append(all, fields{"field": "{id}", "!=": "7"})
	}
	return all
}

// timeOf returns the time that a value means in a form.
func timeOf(value any, form any) (time.Time, bool) {
	y2k, latest := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	earliest := time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC)
	switch form {
	case nil:
		at, is := value.(time.Time)
		return at, is && !at.Before(earliest)
	case "milliseconds", "seconds":
		if kindOf(value) != "number" {
			return time.Time{}, false
		}
		microseconds := asNumber(value) * 1e6
		if form == "milliseconds" {
			microseconds = asNumber(value) * 1e3
		}
		at := time.UnixMicro(int64(microseconds)).UTC()
		return at, !at.Before(y2k) && !at.After(latest)
	case "text":
		text, _ := value.(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at, !at.Before(earliest)
		}
		if at, err := time.Parse("2006-01-02T15:04:05", text); err == nil {
			return at.Add(12 * time.Hour), true
		}
		if at, err := time.Parse(time.DateOnly, text); err == nil {
			return at.Add(36 * time.Hour), true
		}
	}
	return time.Time{}, false
}

// writtenAs returns a time as an application may write it.
func writtenAs(at time.Time, form string) any {
	switch form {
	case "milliseconds":
		return at.UnixMilli()
	case "seconds":
		return at.Unix()
	case "text":
		return at.Format(time.RFC3339Nano)
	case "local":
		return at.Format("2006-01-02T15:04:05")
	case "date":
		return at.Format(time.DateOnly)
	}
	return at
}

// isDue decides whether a document is due by its age, its conditions and its exceptions, but for those that other documents are.
func isDue(rule fields, document fields, cutoffs []time.Time) bool {
	for n, one := range rule["age"].(array) {
		age := one.(fields)
		if age["by"] != nil {
			continue // everything was written before
		}
		value := document[age["field"].(string)]
		if value == nil && age["optional"] == true {
			continue
		}
		if at, dated := timeOf(value, age["as"]); !dated || !at.Before(cutoffs[n]) {
			return false
		}
	}
	for _, c := range rule["where"].(array) {
		if holds(c.(fields), document) != yes {
			return false
		}
	}
	unless, _ := rule["unless"].(array)
	return !slices.ContainsFunc(unless, func(u any) bool { return u.(fields)["field"] != nil && holds(u.(fields), document) != no })
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
		age, before := fields{"field": "at", "hours": 36}, func(at time.Time) time.Time { return at.Add(-36 * time.Hour) }
		switch rapid.SampledFrom([]string{"hours", "days", "months", "past"}).Draw(rt, "age") {
		case "past":
			age, before = fields{"field": "at", "hours": 0}, func(at time.Time) time.Time { return at }
		case "days":
			age, before = fields{"field": "at", "days": 90}, func(at time.Time) time.Time { return at.Add(-90 * 24 * time.Hour) }
		case "months":
			age, before = fields{"field": "at", "months": 3}, func(at time.Time) time.Time { return model.MonthsAgo(at, 3) }
		}
		cutoff := before(now)
		form := rapid.SampledFrom(array{nil, nil, nil, "milliseconds", "seconds", "text"}).Draw(rt, "form")
		if form != nil {
			age["as"] = form
		}
		ages := array{age}
		if rapid.IntRange(0, 3).Draw(rt, "second age") == 0 {
			ages = append(ages, fields{"field": "at2", "days": 9, "optional": true})
		}
		cutoffs := func(at time.Time) []time.Time { return []time.Time{before(at), at.AddDate(0, 0, -9), at}[:len(ages)] }
		if rapid.IntRange(0, 3).Draw(rt, "third age") == 0 {
			ages = append(ages, fields{"by": "updateTime", "days": 1})
		} else if rapid.IntRange(0, 2).Draw(rt, "warn") == 0 {
			rule["warn"] = fields{"days": 4, "field": "warnedAt"}
		}
		rule["age"] = ages
		source := rapid.SampledFrom([]string{"things", "things", "group", "other/{o}/things"}).Draw(rt, "source")
		group, below := source == "group", source == "other/{o}/things"
		switch {
		case group:
			delete(rule, "collection")
			rule["collectionGroup"] = "things"
		case below:
			rule["collection"] = source
		}
		draw := func(name string) bool { return rapid.Bool().Draw(rt, name) }
		var with array
		for _, along := range []fields{
			{"subcollection": "parts"}, {"collection": "notes", "field": "of"}, {"objects": "boxes/{id}/**"},
			{"objects": "photos/**", "field": "photos[].url"}, {"account": "{id}"}, {"collection": "teams", "field": "members[]", "remove": true},
			{"collection": "teams", "field": "owners.{id}", "remove": true}, {"objects": "covers/**", "field": "cover"}, {"document": "crews/{crew}"},
			{"subcollection": "partz"},
		} {
			byID := along["account"] != nil || along["objects"] == "boxes/{id}/**" || along["field"] == "owners.{id}" || along["document"] != nil
			if along["subcollection"] == "partz" && rapid.IntRange(0, 3).Draw(rt, "misspelt") > 0 {
				continue
			}
			if draw("along") && (!group && !below || !byID) {
				with = append(with, along)
			}
		}
		if rapid.IntRange(0, 3).Draw(rt, "set") == 0 {
			with = nil
			rule["where"] = append(rule["where"].(array), fields{"field": "done", "is": "not true"})
			rule["set"] = fields{"done": true, "doneAt": "{now}", "a": nil}
		}
		if with != nil {
			rule["with"] = with
		}
		var unless array
		if draw("unless") {
			unless = append(unless, fields{"document": "keepers/{keeper}"})
		}
		if rapid.IntRange(0, 2).Draw(rt, "related") == 0 {
			unless = append(unless, drawRelation(rt, true, below))
		}
		if rapid.IntRange(0, 2).Draw(rt, "gone") == 0 {
			rule["gone"] = array{drawRelation(rt, false, below)}
		}
		if rapid.IntRange(0, 3).Draw(rt, "exception") == 0 {
			unless = append(unless, drawCondition(rt, "e", true))
		}
		if unless != nil {
			rule["unless"] = unless
		}

		e := entry(t, rule, keepsNotes)
		f := enginetest.On(t, newFunction(t, e), p)
		f.Indexes = e.Indexes
		f.Now, f.Env["MAX_DUE_PERCENT"] = now, "100"
		f.Clock = func() time.Time { return now }

		w := model.NewWorld()
		thing := model.Fields{
			"a": model.OneOf(values...), "b": model.OneOf(values...), "d": model.OneOf(values...), "at2": model.Around(now.AddDate(0, 0, -9)), "e": model.OneOf(values...),
			"at": rapid.Custom(func(rt *rapid.T) any {
				value := model.Around(cutoff, now).Draw(rt, "time")
				if at, isTime := value.(time.Time); isTime {
					others := []string{"timestamp", "milliseconds", "seconds", "text", "local", "date"}
					if form == nil {
						others = []string{"timestamp"}
					}
					return writtenAs(at, rapid.SampledFrom(others).Draw(rt, "form"))
				}
				return value
			}),
			"deep": rapid.OneOf(model.OneOf(model.Missing, nil, "x", fields{}), rapid.Map(model.OneOf(values[:11]...), func(v any) any { return fields{"c": v} })),
			"done": model.OneOf(model.Missing, nil, false, true, "yes"),
			"warnedAt": rapid.OneOf(model.OneOf(model.Missing, nil, "x", now, now.Add(time.Hour)), model.Around(now.AddDate(0, 0, -4)),
				model.Around(cutoff), model.Around(now.AddDate(0, 0, -4), now)),
			"cover": model.OneOf(coversOf(p.Bucket)...), "crew": model.OneOf("c1", "c2", "c3", "", nil, model.Missing, int64(3), "3"),
			"keeper": model.OneOf("k1", "k2", "", nil, model.Missing, "a/b", int64(3)), "owner": model.OneOf("k1", "k2", "k2", "", nil, model.Missing, int64(3)),
		}
		for _, path := range []string{"keepers/k1", "keepers/3", "owners/k1", "other/x", "holds/y", "elsewhere/e/members/m", "logs/l"} {
			w.Documents[path] = fields{"x": int64(1), "at": now, "of": "nobody"}
		}
		w.Accounts["k1"] = ""
		for n := range covers {
			w.Objects[fmt.Sprintf("covers/%d.png", n)], w.Documents[fmt.Sprintf("crews/c%d", n)] = nil, fields{"x": true}
		}
		w.Documents["crews/3"] = fields{"x": true}
		ids := array{}
		for n := range 60 {
			id := model.ID(rt, fmt.Sprint(n))
			path := rapid.SampledFrom([]string{"things/", "things/", "things/", "thingsx/", "other/x/things/", "other/y/things/"}).Draw(rt, "path")
			data := thing.Draw(rt, "thing")
			ids = append(ids, id)
			if draw("member") {
				w.Documents[path+id+"/members/m"] = model.Fields{"at": model.Around(now.AddDate(0, 0, -5))}.Draw(rt, "seen")
			}
			if draw("log") {
				w.Documents[fmt.Sprintf("logs/%d", n)] = fields{"of": id, "open": draw("open")}
			}
			for i := range rapid.IntRange(0, 2).Draw(rt, "parts") {
				w.Documents[fmt.Sprintf("%s%s/parts/%d", path, id, i)] = fields{"n": int64(i)}
				w.Documents[fmt.Sprintf("notes/%d-%d", n, i)] = fields{"of": id, "pin": rapid.IntRange(0, 9).Draw(rt, "pin") == 0}
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
		for n := range 5 {
			owners := fields{}
			for range 3 {
				owners[rapid.SampledFrom(ids).Draw(rt, "owner").(string)] = true
			}
			w.Documents[fmt.Sprintf("teams/%d", n)] = fields{"members": array{rapid.SampledFrom(ids).Draw(rt, "member"), "nobody"}, "owners": owners}
		}
		job := model.Job{
			Pair: enginetest.Pair{Function: f},
			After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World {
				return afterRun(w, rule, now, cutoffs, p.Bucket)
			},
			Loaded: func(w model.World) { misspelt(t, f, rule, w) },
			Reads:  func(before, after model.World) int { return mostReads(before, after, rule, cutoffs(now)) },
		}
		job.Prover(t)(rt, w)
	}
	model.Check(t, func(rt *rapid.T) {
		for range rulesARound {
			prove(rt)
		}
	})
}

// covers is how many files several things may refer to.
const covers = 4

// coversOf returns the ways in which things refer to them.
func coversOf(bucket string) (all array) {
	for n := range covers {
		name := fmt.Sprintf("covers/%d.png", n)
		all = append(all, name, name, "/"+name, "gs://"+bucket+"/"+name, name+"?alt=media",
			"https://firebasestorage.googleapis.com/v0/b/"+bucket+"/o/"+strings.Replace(name, "/", "%2F", 1)+"?alt=media&token="+fmt.Sprint(len(all)))
	}
	return append(all, nil, model.Missing, "", "covers/none.png", "other/1.png", "gs://elsewhere/covers/1.png", int64(1), fields{"x": true})
}

// coverOf returns the file to which a thing refers, "" if there is none.
func coverOf(value any, bucket string) string {
	text, _ := value.(string)
	for n := range covers {
		if strings.Contains(text, bucket) || strings.HasPrefix(strings.TrimPrefix(text, "/"), "covers/") {
			if strings.Contains(text, fmt.Sprintf("%d.png", n)) {
				return fmt.Sprintf("covers/%d.png", n)
			}
		}
	}
	return ""
}

// keepsNotes is another rule of the list, which keeps notes that are pinned.
const keepsNotes = `{"name":"cleanupNotes","schedule":"0 4 * * *","collection":"notes","age":"any","unless":[{"field":"pin","==":true}]}`

// misspelt makes sure that the first run does nothing of a rule with a collection in with that nobody writes, if something is due. Else
// the collection is there.
func misspelt(t *testing.T, f *enginetest.Function, rule fields, w model.World) {
	with, _ := rule["with"].(array)
	if !slices.ContainsFunc(with, func(a any) bool { return a.(fields)["subcollection"] == "partz" }) {
		return
	}
	if f.Run(t, `{"dryRun":true}`).Status != report.Aborted {
		w.Documents["partz/p"] = fields{"x": true}
		f.Set(t, "partz/p", w.Documents["partz/p"])
		return
	}
	now := f.Now
	f.Now = now.Add(time.Hour) // a run of the same time would answer for the next one
	enginetest.WantAborted(t, f.Run(t, ""), "never found: ")
	f.Now = now
	if got := model.Read(t, f.Project); len(got.Documents) < len(w.Documents) {
		t.Errorf("%d documents are left of %d", len(got.Documents), len(w.Documents))
	}
}

// afterWarning decides by the mark of its warning whether a document goes, and returns it as it is left if not.
func afterWarning(data fields, now time.Time, due bool, dueAt func(time.Time) bool) (goes bool, left fields) {
	mark, marked := data["warnedAt"].(time.Time)
	left = maps.Clone(data)
	switch {
	case !due && marked:
		delete(left, "warnedAt")
	case !due || data["warnedAt"] != nil && !marked || mark.After(now):
	case !marked || !dueAt(mark):
		left["warnedAt"] = now
	default:
		return !mark.After(now.AddDate(0, 0, -4)), left
	}
	return false, left
}

// drawRelation draws what must be gone, or what keeps a document.
func drawRelation(t *rapid.T, keeps, below bool) fields {
	all := []fields{{"document": "owners/{owner}"}, {"account": "{owner}"}, {"subcollection": "members"}, {"collection": "logs", "field": "of"},
		{"collection": "logs", "field": "of", "where": array{fields{"field": "open", "==": true}}}, {"document": array{"owners/{owner}", "keepers/{owner}"}}}
	if keeps {
		within := fields{"subcollection": "members", "within": fields{"field": "at", "days": 5}}
		all = append(all, within, within, within) // with the most boundaries
	}
	if below {
		all = append(all, fields{"document": "{parent}"}, fields{"document": "holds/{o}"})
	}
	return rapid.SampledFrom(all).Draw(t, "relation")
}

// exists decides whether anything is related to a document, written from docs/rules.md; unknown says that nobody can tell.
func exists(w model.World, relation fields, path string, now time.Time) (there, unknown bool) {
	parts := strings.Split(path, "/")
	owner := model.IDOf(w.Documents[path]["owner"])
	switch relation["document"] {
	case "keepers/{keeper}":
		keeper := model.IDOf(w.Documents[path]["keeper"])
		return w.Documents["keepers/"+keeper] != nil, keeper == ""
	case "owners/{owner}":
		return w.Documents["owners/"+owner] != nil, owner == ""
	case "{parent}":
		return w.Documents[strings.Join(parts[:2], "/")] != nil, false
	case "holds/{o}":
		return w.Documents["holds/"+parts[1]] != nil, false
	}
	if _, several := relation["document"].(array); several {
		return w.Documents["owners/"+owner] != nil || w.Documents["keepers/"+owner] != nil, owner == ""
	}
	if relation["account"] != nil {
		_, there = w.Accounts[owner]
		return there, owner == ""
	}
	for other, data := range w.Documents {
		within := relation["within"] == nil
		if at, isTime := data["at"].(time.Time); !isTime || !at.Before(now.AddDate(0, 0, -5)) {
			within = true // whatever it is, it keeps
		}
		if relation["subcollection"] != nil && strings.HasPrefix(other, path+"/members/") && within || relation["collection"] != nil &&
			strings.HasPrefix(other, "logs/") && data["of"] == parts[len(parts)-1] && (relation["where"] == nil || data["open"] == true) {
			return true, false
		}
	}
	return false, false
}

// mostReads is how many documents a run reads at most: each thing once, and what is related to it if it is due by itself; both again
// in the commit that changes it, with what goes along; and what the run asks once.
func mostReads(before, after model.World, rule fields, cutoffs []time.Time) int {
	each := 0 // of what is related to one thing
	for _, role := range []string{"gone", "unless"} {
		all, _ := rule[role].(array)
		for _, related := range all {
			if each++; related.(fields)["within"] != nil {
				each += 4 // queries and counts
			}
			if paths, several := related.(fields)["document"].(array); several {
				each += len(paths) - 1
			}
		}
	}
	along, _ := rule["with"].(array)
	if slices.ContainsFunc(along, func(a any) bool { return a.(fields)["field"] == "cover" || a.(fields)["document"] != nil }) {
		return math.MaxInt // who else refers to the same, in commits that wait for each other
	}
	most := 80 // with those that cannot be judged
	for path, data := range before.Documents {
		changed := !reflect.DeepEqual(after.Documents[path], data)
		if changed {
			most += 2
		}
		in, id := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
		if in != "things" && (rule["collection"] == "things" || !strings.HasSuffix(in, "/things")) {
			continue
		}
		if most++; isDue(rule, with(data, fields{"{id}": id}), cutoffs) {
			most += each
		}
		if changed {
			most += each + len(along)
		}
	}
	return most
}

// afterRun computes the result of a rule.
func afterRun(w model.World, rule fields, now time.Time, cutoffs func(time.Time) []time.Time, bucket string) model.World {
	group, below := rule["collectionGroup"] != nil, rule["collection"] == "other/{o}/things"
	gone, _ := rule["gone"].(array)
	with, _ := rule["with"].(array)
	chosen := func(key string, value any) bool {
		return slices.ContainsFunc(with, func(a any) bool { return fmt.Sprint(a.(fields)[key]) == fmt.Sprint(value) })
	}
	want := w.Clone()
	for path, data := range w.Documents {
		collection, id := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
		among := func(collection string) bool {
			return collection == "things" && !below || (group || below) && strings.HasSuffix(collection, "/things")
		}
		named := maps.Clone(data)
		named["{id}"] = id
		if !among(collection) {
			continue
		}
		unless, _ := rule["unless"].(array)
		due := isDue(rule, named, cutoffs(now)) && !slices.ContainsFunc(append(slices.Clone(gone), unless...), func(u any) bool {
			switch related := u.(fields); {
			case related["document"] != nil, related["account"] != nil, related["subcollection"] != nil, related["collection"] != nil:
				there, unknown := exists(w, related, path, now)
				return there || unknown
			}
			return false
		})
		if rule["warn"] != nil {
			var goes bool
			if goes, want.Documents[path] = afterWarning(data, now, due, func(at time.Time) bool { return isDue(rule, named, cutoffs(at)) }); !goes {
				continue
			}
		}
		if !due || rule["set"] == nil && chosen("collection", "notes") && !group && !below && hasPinned(w, id) {
			continue
		}
		if set := rule["set"]; set != nil {
			changed := maps.Clone(data)
			changed["done"], changed["doneAt"], changed["a"] = true, now, nil
			if rule["warn"] != nil {
				delete(changed, "warnedAt")
			}
			want.Documents[path] = changed
			continue
		}
		delete(want.Documents, path)
		for other := range w.Documents {
			if strings.HasPrefix(other, path+"/parts/") && chosen("subcollection", "parts") {
				delete(want.Documents, other)
			}
			if strings.HasPrefix(other, "notes/") && chosen("collection", "notes") && w.Documents[other]["of"] == id && !group && !below {
				delete(want.Documents, other)
			}
			if !strings.HasPrefix(other, "teams/") || group || below {
				continue
			}
			team := want.Documents[other]
			if chosen("field", "members[]") {
				team["members"] = slices.DeleteFunc(slices.Clone(team["members"].(array)), func(member any) bool { return member == id })
			}
			if chosen("field", "owners.{id}") && !strings.ContainsAny(id, ".~*/[]`") {
				owners := maps.Clone(team["owners"].(fields))
				delete(owners, id)
				team["owners"] = owners
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
	for path, data := range w.Documents {
		if want.Documents[path] != nil || !isThing(path) {
			continue
		}
		stays := func(same func(data fields) bool) bool {
			for other, data := range want.Documents {
				if in := other[:strings.LastIndexByte(other, '/')]; (in == "things" || (group || below) && isThing(other)) && same(data) {
					return true
				}
			}
			return false
		}
		if cover := coverOf(data["cover"], bucket); chosen("field", "cover") && !stays(func(d fields) bool { return coverOf(d["cover"], bucket) == cover }) {
			delete(want.Objects, cover)
		}
		if crew := model.IDOf(data["crew"]); chosen("document", "crews/{crew}") && !stays(func(d fields) bool { return model.IDOf(d["crew"]) == crew }) {
			delete(want.Documents, "crews/"+crew)
		}
	}
	return want
}

// isThing reports whether a path is of one of the things.
func isThing(path string) bool {
	parts := strings.Split(path, "/")
	return parts[len(parts)-2] == "things"
}

// hasPinned reports whether a note of a thing is pinned.
func hasPinned(w model.World, id string) bool {
	for path, data := range w.Documents {
		if strings.HasPrefix(path, "notes/") && data["of"] == id && data["pin"] == true {
			return true
		}
	}
	return false
}
