package declared

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// Judge decides about a document by its own fields, as a run at now would. The decision leaves out what gone and unless say of
// anything else.
func Judge(r rule.Rule, d documents.Document, now time.Time) cleanup.Decision {
	return ofDocuments(r).judgeItself(d, cleanup.Run{Now: now, Promise: now})
}

// judgeItself decides about a document by its own fields and the mark of its warning.
func (c documentsOf) judgeItself(d documents.Document, run cleanup.Run) cleanup.Decision {
	return c.judge(item{Subject: cleanup.Subject{Document: d, Found: true}}, run)
}

// judgeFields decides about a document by its own fields.
func (c documentsOf) judgeFields(d documents.Document, run cleanup.Run) cleanup.Decision {
	item, ok := c.ItemOf(d)
	if !ok {
		return cleanup.Keep("not in " + c.Source())
	}
	if c.Remove != "" {
		_, decision := judgeEntries(c.Rule, item, run.Now)
		return decision
	}
	return judgeOwn(c.Rule, item, run.Now)
}

// judgeEntries decides about a document from which entries are removed: it is due if one of them is. left is the list or map of
// those that stay.
func judgeEntries(r rule.Rule, i rule.Item, now time.Time) (left any, d cleanup.Decision) {
	whole, each := r, r
	whole.Where, each.Where = divide(r.Where, func(w criteria.Condition) bool { return r.OfEntries(w.Field) })
	whole.Age, each.Age = divide(r.Age, func(a criteria.Age) bool { return r.OfEntries(a.Field) })
	each.Unless = nil
	if d = judgeOwn(whole, i, now); d.Kind == "" {
		return nil, d
	}
	due, n := cleanup.Keep("no entry of "+r.Remove+" is due"), 0
	goes := func(entry any) bool {
		of := documents.Document{Data: map[string]any{"entry": entry}}
		judged := judgeOwn(each, rule.Item{Field: func(field string) (any, bool) {
			return of.Lookup("entry" + strings.TrimPrefix(field, r.Remove))
		}}, now)
		if judged.Kind != "" {
			n++
		}
		if judged.Kind != "" && (n == 1 || judged.Reason < due.Reason) || judged.Invalid && due.Kind == "" {
			due = judged
		}
		return judged.Kind != ""
	}
	list, isList := strings.CutSuffix(r.Remove, "[]")
	name := strings.TrimSuffix(list, ".*")
	value, _ := i.Field(name)
	switch v := value.(type) {
	case nil:
	case []any:
		if !isList {
			return nil, cleanup.Invalid(name + " is a list: write " + name + "[] in remove")
		}
		left = slices.DeleteFunc(slices.Clone(v), goes)
	case map[string]any:
		if isList {
			return nil, cleanup.Invalid(name + " is a map: write " + name + ".* in remove")
		}
		v = maps.Clone(v)
		maps.DeleteFunc(v, func(_ string, entry any) bool { return goes(entry) })
		left = v
	default:
		return nil, cleanup.Invalid(name + " is neither a list nor a map")
	}
	if due.Kind != "" && len(whole.Where)+len(whole.Age) > 0 {
		due.Reason = d.Reason + ", " + due.Reason
	}
	if n > 1 {
		due.Reason += fmt.Sprintf("; entries: %d", n)
	}
	return left, due
}

// divide returns the elements that are not of a kind, and those that are.
func divide[S ~[]E, E any](all S, of func(E) bool) (others, these S) {
	for _, one := range all {
		if of(one) {
			these = append(these, one)
		} else {
			others = append(others, one)
		}
	}
	return others, these
}

// timeOf returns what an age judges by, nil if its field is null or missing, and the time that this means; ok is false if it
// means none.
func timeOf(i rule.Item, a criteria.Age) (value any, at time.Time, ok bool) {
	if a.Field == "" {
		at = i.Times[a.By]
		return at, at, !at.IsZero()
	}
	if i.Field.Misplaced(a.Field) { // whatever stands elsewhere is no time here
		return criteria.Misplaced{}, at, false
	}
	value, _ = i.Field(a.Field)
	at, ok = a.At(value)
	return value, at, ok
}

// judgeOwn decides about an item by what it has by itself.
func judgeOwn(r rule.Rule, i rule.Item, now time.Time) cleanup.Decision {
	for _, w := range r.Where {
		if a := w.Holds(i.Lookup); a != criteria.Met {
			reason, invalid := w.Kept(a, i.Lookup)
			return cleanup.Decision{Reason: reason, Invalid: invalid}
		}
	}
	var parts []string
	for _, w := range r.Where {
		parts = append(parts, shown(w, i))
	}
	for _, a := range r.Age {
		value, at, ok := timeOf(i, a)
		switch {
		case value == nil && a.Optional:
			parts = append(parts, a.Field+" is not set")
			continue
		case value == nil:
			return cleanup.Keep(a.Unset())
		case !ok:
			return cleanup.Invalid(a.Undated(value))
		case !at.Before(a.Cutoff(now)):
			return cleanup.Keep(a.Young())
		}
		parts = append(parts, a.Reason(at))
	}
	for _, e := range r.Exceptions() {
		switch e.Holds(i.Lookup) {
		case criteria.Met:
			return cleanup.Keep(e.Words())
		case criteria.Unclear:
			return cleanup.Invalid(e.Unknown(i.Lookup))
		case criteria.Unmet:
		}
	}
	if len(parts)+len(r.Gone) == 0 {
		parts = []string{"of any age"}
	}
	return cleanup.Do(r.Kind(), strings.Join(parts, ", "))
}

// shown returns a condition as the reason of an item that meets it. It shows no more of the item than the values that the rule
// asks for.
func shown(w criteria.Condition, i rule.Item) string {
	if len(w.Values()) == 0 {
		return w.Words()
	}
	value, _ := i.Lookup(w.Field)
	return fmt.Sprintf("%s %v", w.Field, value)
}

// item is a document with the first reasons to keep it.
type item struct {
	cleanup.Subject
	exists   string   // why something that exists keeps it
	missing  []string // what does not exist, and must not
	nameless string   // why nobody can tell whether something does
	odd      string   // likewise, because of what was found
}

// judge decides about a document by its own fields, by what is related to it and by the mark of its warning.
func (c documentsOf) judge(i item, run cleanup.Run) cleanup.Decision {
	d := c.judgeFields(i.Document, run)
	switch {
	case !i.Found: // a document that is gone has nothing that could keep it
		return cleanup.Decision{}
	case d.Kind == "":
	case i.nameless != "":
		d = cleanup.Invalid(i.nameless)
	case i.exists != "":
		d = cleanup.Keep(i.exists)
	case i.odd != "":
		d = cleanup.Invalid(i.odd)
	default:
		d.Reason = strings.TrimPrefix(strings.Join(append([]string{d.Reason}, i.missing...), ", "), ", ")
	}
	return c.warned(d, i.Document, run)
}
