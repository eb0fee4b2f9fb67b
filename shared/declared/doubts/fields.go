package doubts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// all says of a small collection, for which no safety limit holds, that a rule without conditions deletes it.
func (l *looking) all() {
	n := len(l.sample)
	if l.whole && n > 1 && n < config.EnoughForShare && l.Deletes() && l.DuePercent() < 100 &&
		len(l.Where)+len(l.Gone)+len(l.Unless)+len(l.Age) == 0 {
		l.say(`all %d documents of %s are due: to keep some, write "where", "gone" or "unless", or else "maxDuePercent": 100`, n,
			l.Source())
	}
}

// has reports whether a document of a place has something: one of the sample, or one that filters find. It may be true if nobody
// knows.
func (l *looking) has(ctx context.Context, in seen, it func(documents.Document) bool, filters ...documents.Filter) bool {
	switch {
	case slices.ContainsFunc(in.sample, it):
		return true
	case in.whole:
		return false
	case in.at.IsGroup() || len(filters) == 0: // no index knows
		return true
	}
	q := in.at.Query(documents.NameOnly...)
	q.Where = filters
	for _, f := range filters { // one that is ranged decides the order
		if strings.ContainsAny(f.Op, "<>!") {
			q.OrderBy = []string{f.Field}
		}
	}
	found, ok := l.first(ctx, q, 1)
	return len(found) > 0 || !ok
}

// fields names the fields by which documents are judged and that no document has.
func (l *looking) fields(ctx context.Context) {
	judged := l.Rule
	judged.With = nil
	judged.Unless = slices.DeleteFunc(slices.Clone(l.Unless), func(u rule.Relation) bool { // said already
		return len(u.Condition().Operators()) > 0 && !u.Condition().Absence()
	})
	for _, field := range judged.Judged()[l.Source()] {
		field, _, _ = strings.Cut(field, "[]")
		set := func(d documents.Document) bool { return d.Value(field) != nil }
		if l.Warn != nil && field == l.Warn.Field || l.has(ctx, l.seen, set, documents.Filter{Field: field, Op: "!=", Value: nil}) {
			continue
		}
		l.say("no document of %s has a value in %s: %s", l.Source(), field, l.meant(ctx, l.at, field))
	}
}

// shown is how many values of a field are listed at most.
const shown = 5

// values names conditions that no document meets, and the values that there are.
func (l *looking) values(ctx context.Context) {
	for i, w := range l.Where {
		filters, _, ok := w.Filters()
		set := func(d documents.Document) bool { return d.Value(w.Field) != nil }
		meets := func(d documents.Document) bool { return w.Holds(d.Lookup) == criteria.Met }
		if !ok || l.OfEntries(w.Field) || !slices.ContainsFunc(l.sample, set) || l.has(ctx, l.seen, meets, filters...) {
			continue
		}
		there := ""
		if values := l.shownOf(w.Field); len(values) <= shown {
			there = "; the documents looked at have " + criteria.List(values, "and")
		}
		l.say("where[%d]: there is no document of %s whose %s%s", i, l.Source(), w.Words(), there)
	}
}

// shownOf returns the values of a field that there are in the sample, as people read them.
func (s seen) shownOf(field string) []string {
	values := map[string]bool{}
	for _, d := range s.sample {
		if value := d.Value(field); value != nil {
			values[fmt.Sprintf("%.40s", strings.Join(criteria.Shown(value), ", "))] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// keeping names the texts by which conditions keep documents and that no document has, where the field has few others: a
// misspelt one deletes what it should keep.
func (l *looking) keeping(ctx context.Context) {
	for i, w := range l.Where {
		l.keepingBy(ctx, fmt.Sprintf("where[%d]", i), l.seen, w, "!=", "not-in")
	}
	for _, u := range l.Unless {
		l.keepingBy(ctx, u.Key, l.seen, u.Condition(), "==", "in")
	}
}

func (l *looking) keepingBy(ctx context.Context, key string, in seen, w criteria.Condition, operators ...string) {
	values := in.shownOf(w.Field)
	if len(values) == 0 || len(values) > shown || l.OfEntries(w.Field) {
		return
	}
	for _, operator := range operators {
		operands, several := w.Ops[operator].([]any)
		if !several {
			operands = []any{w.Ops[operator]}
		}
		for _, operand := range operands {
			text, isText := operand.(string)
			has := func(d documents.Document) bool { return d.Value(w.Field) == operand }
			// No index tells of many collections. Most items have what keeps them from being gone, and few what is an exception.
			guess := in.at.IsGroup() && len(in.sample) >= telling && !slices.ContainsFunc(in.sample, has) &&
				(strings.HasPrefix(key, "gone") || criteria.Alike(text, values) != "")
			if !isText || !guess && l.has(ctx, in, has, documents.Filter{Field: w.Field, Op: "==", Value: operand}) {
				continue
			}
			l.say("%s: no document of %s has %s %q, which the rule keeps; the documents looked at have %s", key, in.at,
				w.Field, text, criteria.List(values, "and"))
		}
	}
}

// negated names conditions by != and not-in that keep most documents because these have no such field, or one of another type,
// and other conditions without values that keep most because of another type.
func (l *looking) negated() {
	for i, w := range l.Where {
		operator, kept := "==", w.Ops["!="]
		if kept == nil {
			operator, kept = "in", w.Ops["not-in"]
		}
		operand, err := json.Marshal(kept)
		if err != nil || l.OfEntries(w.Field) {
			continue
		}
		n, odd := 0, 0
		for _, d := range l.sample {
			if w.Holds(d.Lookup) == criteria.Unclear {
				odd++
			}
			if d.Value(w.Field) == nil && w.Holds(d.Lookup) == criteria.Unmet || w.Holds(d.Lookup) == criteria.Unclear {
				n++
			}
		}
		switch {
		case kept == nil && odd*2 > len(l.sample) && len(w.Values()) == 0:
			l.say("where[%d]: %s is of another type in %d of %d, which the rule keeps", i, w.Field, odd, len(l.sample))
		case kept != nil && n*2 > len(l.sample):
			l.say(`where[%d]: %s is missing, or of another type, in %d of %d, which the rule keeps: to delete these, too, write `+
				`{"field": %q, %q: %s} into "unless" instead`, i, w.Field, n, len(l.sample), w.Field, operator, operand)
		}
	}
}

// forms says of ages whose field holds times of other forms than the rule reads, unless the plan has said it.
func (l *looking) forms(said []string) {
	for i, a := range l.Age {
		if a.Field == "" || l.OfEntries(a.Field) {
			continue
		}
		hint, about := a.Hint(timesOf(l.sample, a.Field)), l.Age.Key(i)+": "+a.Field+" is "
		if hint != "" && !slices.ContainsFunc(said, func(text string) bool { return strings.HasPrefix(text, about) }) {
			l.say("%s: %s", l.Age.Key(i), hint)
		}
	}
}

// timesOf returns what some documents hold in the field of an age.
func timesOf(found []documents.Document, field string) (values []any) {
	for _, d := range found {
		values = append(values, d.Value(field))
	}
	return values
}

// mark says whether the mark of a warning is a field of the application's: whatever time it holds would count as a warning.
func (l *looking) mark() {
	marked := 0
	for _, d := range l.sample {
		if l.Warn != nil && d.Value(l.Warn.Field) != nil {
			marked++
		}
	}
	if marked*100 > len(l.sample)*mostPercent { // a warning marks some
		l.say("warn.field: %d of %d have %s already: unless this rule wrote it, give the mark a field of its own", marked,
			len(l.sample), l.Warn.Field)
	}
}
