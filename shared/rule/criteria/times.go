package criteria

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// Age is the age that an item must exceed. Exactly one of Hours, Days and Months is set; 0 means that the time is past. A
// document's age has Field or By; if neither is set, an object's counts from its upload.
type Age struct {
	Field    string `json:"field,omitempty" jsonschema:"the field that holds the time"`
	As       string `json:"as,omitempty" jsonschema:"how the field holds it: timestamp, unless set; milliseconds or seconds since 1970; text of ISO 8601"`
	By       string `json:"by,omitempty" jsonschema:"instead of a field. Documents: updateTime, createTime. Objects: timeCreated, unless set. Accounts: creationTime, lastActive (the latest of the last sign-in, the last token and the creation)"`
	Hours    *int   `json:"hours,omitempty"`
	Days     *int   `json:"days,omitempty" jsonschema:"of 24 hours"`
	Months   *int   `json:"months,omitempty" jsonschema:"calendar months in UTC"`
	Optional bool   `json:"optional,omitempty" jsonschema:"a missing field, or null, counts as old"`
}

// form is how a field holds a time, a value of as.
type form struct {
	as, words string
	// read returns the latest time that a value may mean.
	read func(value any) (at time.Time, ok bool)
	// first is the least value that a query asks for, nil if there is none; before is what the times before one are less than.
	first  any
	behind any // of numbers and texts: from which on they mean no time
	before func(at time.Time) any
}

// earliestNumber is the least time that a number means: seconds that are taken for milliseconds are all of 1970.
var earliestNumber = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// latest is the last second that Firestore's timestamps know.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// forms are all of them, in the order in which problems name them.
var forms = []form{
	{as: "timestamp", words: "a timestamp", before: func(at time.Time) any { return at }, read: func(value any) (time.Time, bool) {
		at, isTime := value.(time.Time)
		return at, isTime && !at.Before(documents.Earliest)
	}},
	numbers("milliseconds", "a number of milliseconds since 1970", 1000),
	numbers("seconds", "a number of seconds since 1970", 1),
	{as: "text", words: "a date and time of ISO 8601", read: readText, first: documents.Earliest.Format(time.DateOnly),
		behind: ":", // comes after all digits
		// A text names a local time, which is at most 14 hours ahead of UTC.
		before: func(at time.Time) any { return at.Add(retention.Day).UTC().Format("2006-01-02T15:04:05.999999999") }},
}

// numbers is the form of numbers of which so many make a second.
func numbers(as, words string, perSecond float64) form {
	return form{
		as: as, words: words, first: int64(float64(earliestNumber.Unix()) * perSecond),
		behind: float64(latest.Unix()+1) * perSecond,
		before: func(at time.Time) any { return float64(at.Unix())*perSecond + float64(at.Nanosecond())*perSecond/1e9 },
		read: func(value any) (at time.Time, ok bool) {
			n, isNumber := number(value)
			seconds, part := math.Modf(n / perSecond)
			if !isNumber || seconds < float64(earliestNumber.Unix()) || seconds > float64(latest.Unix()) {
				return at, false
			}
			// To the microsecond, rounded up, so that no time is taken to be earlier.
			return time.Unix(int64(seconds), int64(math.Ceil(part*1e6-1e-3))*1000).UTC(), true
		},
	}
}

// offsets are the ways to write the offset of a text. Python's isoformat has the first, its strftime the second, and Swift's
// description the third.
var offsets = []string{"Z07:00", "Z0700", " Z0700"}

// readText reads a date or a time of ISO 8601, also with a blank in place of the T, as Dart's toString and Python's str write
// it. A date lasts until its end, and what names no offset is of the zone that is farthest behind UTC: so nothing counts as
// older than it may be.
func readText(value any) (at time.Time, ok bool) {
	text, _ := value.(string)
	if len(text) > len(time.DateOnly) && text[len(time.DateOnly)] == ' ' {
		text = text[:len(time.DateOnly)] + "T" + text[len(time.DateOnly)+1:]
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04", time.DateOnly} {
		for _, offset := range offsets {
			if at, err := time.Parse(layout+offset, text); err == nil && layout != time.DateOnly {
				return at.UTC(), !at.Before(documents.Earliest)
			}
		}
		local, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		at = local.Add(12 * time.Hour)
		if layout == time.DateOnly {
			at = at.Add(retention.Day)
		}
		return at, !local.Before(documents.Earliest)
	}
	return at, false
}

// Forms returns the values of [Age.As].
func Forms() (all []string) {
	for _, f := range forms {
		all = append(all, f.as)
	}
	return all
}

// form returns how the age's field holds the time.
func (a Age) form() form {
	i := slices.IndexFunc(forms, func(f form) bool { return f.as == a.As })
	return forms[max(i, 0)]
}

// Form returns what the age's field must hold, in words.
func (a Age) Form() string { return a.form().words }

// clock is a time that an item has by itself, a value of by.
type clock struct {
	by, of string // of which kind of items
	words  string // what happened then: "were written"
	reason string // of one item: "written"
}

// The values of [Age.By].
const (
	UpdateTime   = "updateTime"
	CreateTime   = "createTime"
	TimeCreated  = "timeCreated"
	CreationTime = "creationTime"
	LastActive   = "lastActive"
)

var clocks = []clock{
	{UpdateTime, OfDocuments, "were written", "written"},
	{CreateTime, OfDocuments, "were created", "created"},
	{TimeCreated, OfObjects, "were uploaded", "uploaded"},
	{CreationTime, OfAccounts, "were created", "created"},
	{LastActive, OfAccounts, "were last active", "last active"},
}

// ClocksOf returns the values of by for a kind of items.
func ClocksOf(kind string) (all []string) {
	for _, c := range clocks {
		if c.of == kind {
			all = append(all, c.by)
		}
	}
	return all
}

func (a Age) clock() clock {
	i := slices.IndexFunc(clocks, func(c clock) bool { return c.by == a.By })
	return clocks[max(i, 0)]
}

// Length is how long an age is, in the unit that is set.
func (a Age) length() (n int, unit string) {
	switch {
	case a.Days != nil:
		return *a.Days, "day"
	case a.Months != nil:
		return *a.Months, "month"
	case a.Hours != nil:
		return *a.Hours, "hour"
	}
	return 0, "hour"
}

// Cutoff returns the time that something must be before to exceed the age.
func (a Age) Cutoff(now time.Time) time.Time {
	switch n, unit := a.length(); unit {
	case "month":
		return retention.MonthsBefore(now, n)
	case "day":
		return now.Add(-time.Duration(n) * retention.Day)
	default:
		return now.Add(-time.Duration(n) * time.Hour)
	}
}

// At returns the latest time that a field's value may mean; ok is false if it means none.
func (a Age) At(value any) (at time.Time, ok bool) { return a.form().read(value) }

// Filters returns what a query asks for: everything that is older, and perhaps a little more.
func (a Age) Filters(now time.Time) (filters []documents.Filter) {
	f := a.form()
	if f.first != nil {
		filters = append(filters, documents.Filter{Field: a.Field, Op: ">=", Value: f.first})
	}
	return append(filters, documents.Filter{Field: a.Field, Op: "<", Value: f.before(a.Cutoff(now))})
}

// Least returns the least value that can be read.
func (a Age) Least() any {
	if first := a.form().first; first != nil {
		return first
	}
	return documents.Earliest
}

// Behind returns the number or text from which on these mean no time; nil if the field holds timestamps.
func (a Age) Behind() any { return a.form().behind }

// Indexed reports whether an index finds what is old enough.
func (a Age) Indexed() bool {
	return a.Field != "" && !a.Optional && !strings.ContainsAny(a.Field, "[*")
}

// Value returns the value that a field has at a time.
func (a Age) Value(at time.Time) any {
	f := a.form()
	if f.as == "text" {
		return at.UTC().Format(time.RFC3339Nano)
	}
	return f.before(at)
}

// Words returns the age in words, e.g. "90 days".
func (a Age) Words() string {
	n, unit := a.length()
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// since returns how long ago something must be, e.g. "more than 90 days ago".
func (a Age) since() string {
	if n, _ := a.length(); n == 0 {
		return "in the past"
	}
	return "more than " + a.Words() + " ago"
}

// Sentence returns what the age says of items, e.g. "whose createdAt is more than 90 days ago".
func (a Age) Sentence() string {
	switch {
	case a.Field != "" && a.Optional:
		return "whose " + a.Field + " is not set or " + a.since()
	case a.Field != "":
		return "whose " + a.Field + " is " + a.since()
	}
	return "that " + a.clock().words + " " + a.since()
}

// Young returns why an item is kept that is not older.
func (a Age) Young() string {
	if n, _ := a.length(); n == 0 {
		return cmp.Or(a.Field, "its time") + " is not past"
	}
	return "not older than " + a.Words()
}

// Unset returns why an item is kept whose field is null or missing.
func (a Age) Unset() string { return a.Field + " is not set yet" }

// Undated returns why an item is kept whose time, a value, cannot be read.
func (a Age) Undated(value any) string {
	_, isTime := value.(time.Time)
	_, isNumber := number(value)
	_, ofNumbers := number(a.form().first)
	switch f := a.form(); {
	case a.Field == "":
		return "the time when it was " + a.clock().reason + " is unknown"
	case value == Misplaced{}:
		return a.Field + misplaced
	case isTime && f.as == forms[0].as:
		return a.Field + " is before 1971"
	case isNumber && ofNumbers:
		return a.Field + " is " + f.words + ", but of no year from 2000 to 9999"
	}
	return a.Field + " is not " + a.Form()
}

// Hint says in which other forms values hold times, or that most hold none, and what to write where most are of one form; "" if
// the rule reads the others.
func (a Age) Hint(values []any) string {
	const none = "no time that can be read"
	set, read, other := 0, 0, map[string]int{} // by words
	as := map[string]string{none: ""}
	for _, value := range values {
		if value == nil {
			continue
		}
		set++
		if _, ok := a.At(value); ok {
			read++
			continue
		}
		words := none
		for _, f := range forms {
			if _, is := f.read(value); is {
				words = f.words
				as[words] = f.as
			}
		}
		other[words]++
	}
	all := slices.SortedFunc(maps.Keys(other), func(x, y string) int { return cmp.Or(other[y]-other[x], strings.Compare(x, y)) })
	var parts []string
	for _, words := range all {
		parts = append(parts, fmt.Sprintf("%s in %d of %d", words, other[words], set))
	}
	switch {
	case len(all) == 0, len(all) == 1 && all[0] == none && 2*other[none] <= set && a.As != "text": // a run names these
		return "" // unlike texts, such as 31/12/2019, that are among those of later times
	case other[all[0]]*2 <= set || as[all[0]] == "":
		return fmt.Sprintf("%s is %s, and the rule keeps these", a.Field, List(parts, "and"))
	case as[all[0]] == forms[0].as:
		return fmt.Sprintf(`%s is %s: leave "as" out`, a.Field, List(parts, "and"))
	}
	return fmt.Sprintf(`%s is %s: write "as": %q`, a.Field, List(parts, "and"), as[all[0]])
}

// Reason returns why an item is due that is of a time.
func (a Age) Reason(at time.Time) string {
	older := ", older than " + a.Words()
	if n, _ := a.length(); n == 0 {
		older = ", which is past"
	}
	is := " "
	if a.As == "text" { // the document may say less, such as a day without a time
		is = " counts as "
	}
	return cmp.Or(a.Field, a.clock().reason) + is + retention.Stamp(at) + older
}
