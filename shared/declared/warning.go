package declared

import (
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // functions run where there may be no time zones

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// toWarn and toClear are what is done to documents besides what the rule does in the end, as the report counts it.
func (c documentsOf) toWarn() string  { return "warn about " + c.Noun() }
func (c documentsOf) toClear() string { return "clear warning of " + c.Noun() }

// warned decides by the mark of its warning about a document that is due, or no longer due. The days that a warning leaves begin
// and end by run.Promise.
func (c documentsOf) warned(due cleanup.Decision, d documents.Document, run cleanup.Run) cleanup.Decision {
	if c.Warn == nil {
		return due
	}
	_, mine := c.ItemOf(d)
	mark, marked, ok := d.Instant(c.Warn.Field)
	of := "; warned " + retention.Stamp(mark)
	switch {
	case due.Kind == "" && (!mine || !marked):
		return due
	case due.Kind == "":
		return cleanup.Do(c.toClear(), due.Reason+of)
	case !ok:
		return cleanup.Invalid(c.Warn.Field + " is not a timestamp")
	case marked && mark.After(run.Promise):
		return cleanup.Invalid(c.Warn.Field + " is in the future")
	case marked && c.stands(d, mark) && mark.After(retention.DaysBefore(run.Promise, c.Warn.Days)):
		return cleanup.Keep(c.Warn.Waiting())
	case marked && c.stands(d, mark):
		due.Reason += of
		return due
	case marked:
		due.Reason += of + ", before it was due"
	}
	if _, _, lacks := Message(c.Rule, d, run.Promise); lacks != "" {
		return cleanup.Invalid("nobody can be warned: " + lacks + " holds no text")
	}
	told := ""
	if fields := c.FieldHoles("{" + strings.Join(c.Warn.Holes(), "}{") + "}"); c.Warn.Create != "" && len(fields) > 0 {
		told = "; told in " + c.Warn.Create + " by its " + criteria.List(fields, "and")
	}
	return cleanup.Do(c.toWarn(), due.Reason+told)
}

// stands reports whether a document was due by its ages when it was marked.
func (c documentsOf) stands(d documents.Document, mark time.Time) bool {
	item, _ := c.ItemOf(d)
	return !slices.ContainsFunc(c.Age, func(a criteria.Age) bool {
		value, at, ok := timeOf(item, a)
		return value != nil && (!ok || !at.Before(a.Cutoff(mark)))
	})
}

// Message returns the document that tells somebody what a rule will do to a document, about which it warns at a time; there is
// no data if the rule creates none. lacks names what the document lacks for that. The id of the message is the same as long as
// the document is due since the same time.
func Message(r rule.Rule, d documents.Document, at time.Time) (ref documents.Ref, data map[string]any, lacks string) {
	if r.Warn.Create == "" {
		return ref, nil, ""
	}
	item, _ := r.ItemOf(d)
	since := []string{d.Path, r.Warn.Field}
	for _, a := range r.Age {
		_, old, _ := timeOf(item, a)
		since = append(since, old.UTC().Format(time.RFC3339Nano))
	}
	to, named := item.Fill(r.Warn.Create + "/warning_" + digest.Of(since...))
	if !named {
		return ref, nil, r.Warn.Create
	}
	data = r.Warn.Fill(func(hole string) string {
		text, isOwn := item.Own(hole)
		switch {
		case isOwn:
		case hole == criteria.DateHole:
			text = at.Add(time.Duration(r.Warn.Days) * retention.Day).In(zoneOf(r)).Format(time.DateOnly) // when it goes at the earliest
		default:
			value, _ := item.Field(hole)
			text = textOf(value)
		}
		if text == "" && (lacks == "" || hole < lacks) {
			lacks = hole
		}
		return text
	})
	return to[0], data, lacks
}

// zoneOf returns the time zone in which people are told a day.
func zoneOf(r rule.Rule) *time.Location {
	zone, err := time.LoadLocation(r.Zone)
	if err != nil { // which no list of rules has
		return time.UTC
	}
	return zone
}

// textOf returns what a field holds as a text; "" if it is neither a text, a number nor a reference.
func textOf(value any) string {
	if ref, isReference := documents.ReferenceOf(value); isReference {
		return ref.ID
	}
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}
