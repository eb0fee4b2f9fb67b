package declared

import (
	"fmt"
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
	return ofDocuments(r).judgeFields(d, cleanup.Run{Now: now})
}

// judgeFields decides about a document by its own fields.
func (c documentsOf) judgeFields(d documents.Document, run cleanup.Run) cleanup.Decision {
	item, ok := c.ItemOf(d)
	if !ok {
		return cleanup.Keep("not in " + c.Source())
	}
	return judgeOwn(c.Rule, own{fields: fieldsOf(item), at: map[string]time.Time{
		criteria.UpdateTime: d.UpdateTime, criteria.CreateTime: d.CreateTime}}, run.Now)
}

// own is what an item has by itself.
type own struct {
	fields criteria.Lookup
	at     map[string]time.Time // by the values of by; the zero time is unknown
}

// fieldsOf returns what looks up an item's fields, and what stands for its id and what the rule's path binds.
func fieldsOf(i rule.Item) criteria.Lookup {
	return func(field string) (any, bool) {
		if hole, isHole := strings.CutPrefix(field, "{"); isHole {
			hole = strings.TrimSuffix(hole, "}")
			if text, bound := i.Bound[hole]; bound {
				return text, true
			}
			return i.ID, true
		}
		return i.Field(field)
	}
}

// judgeOwn decides about an item by what it has by itself.
func judgeOwn(r rule.Rule, o own, now time.Time) cleanup.Decision {
	for _, w := range r.Where {
		if a := w.Holds(o.fields); a != criteria.Met {
			reason, invalid := w.Kept(a)
			return cleanup.Decision{Reason: reason, Invalid: invalid}
		}
	}
	var parts []string
	if r.Because != "" {
		parts = append(parts, r.Because)
	}
	for _, w := range r.Where {
		if r.Because == "" {
			parts = append(parts, shown(w, o.fields))
		}
	}
	for _, a := range r.Age {
		at, ok := o.at[a.By], !o.at[a.By].IsZero()
		if a.Field != "" {
			value, _ := o.fields(a.Field)
			if value == nil && a.Optional {
				continue
			}
			if value == nil {
				return cleanup.Keep(a.Unset())
			}
			at, ok = a.At(value)
		}
		switch {
		case !ok:
			return cleanup.Invalid(a.Undated())
		case !at.Before(a.Cutoff(now)):
			return cleanup.Keep(a.Young())
		}
		parts = append(parts, a.Reason(at))
	}
	for _, e := range r.Exceptions() {
		switch e.Holds(o.fields) {
		case criteria.Met:
			return cleanup.Keep(e.Words())
		case criteria.Unclear:
			return cleanup.Invalid(e.Field + " has another type, so it is unknown whether " + e.Words())
		case criteria.Unmet:
		}
	}
	return cleanup.Do(r.Kind(), strings.Join(parts, ", "))
}

// shown returns a condition as the reason of an item that meets it. It shows no more of the item than the values that the rule
// asks for.
func shown(w criteria.Condition, fields criteria.Lookup) string {
	if len(w.Values()) == 0 {
		return w.Words()
	}
	value, _ := fields(w.Field)
	return fmt.Sprintf("%s %v", w.Field, value)
}

// item is a document with the first reasons to keep it.
type item struct {
	cleanup.Subject
	exists   string // why something that exists keeps it
	nameless string // why nobody can tell whether something does
}

// judge decides about a document by its own fields and by what is related to it.
func (c documentsOf) judge(i item, run cleanup.Run) cleanup.Decision {
	d := c.judgeFields(i.Document, run)
	switch {
	case d.Kind == "":
		return d
	case i.nameless != "":
		return cleanup.Invalid(i.nameless)
	case i.exists != "":
		return cleanup.Keep(i.exists)
	}
	return d
}
