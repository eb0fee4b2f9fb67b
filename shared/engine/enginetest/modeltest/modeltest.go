// Package modeltest proves a function against a plain model of its rules. It puts a [World] of random data into a project and
// runs the function. Then everything in the project must be as the model says.
//
// The data is random, and the same in each run of the tests, one round of it, unless rapid's flags say otherwise:
//
//	go test ./functions/declared -run Model -rapid.seed=7 -rapid.checks=100
package modeltest

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// Items is the least number of random things of each kind in a round.
const Items = 100

// defaults make a test deterministic and quick: one round, because each costs a second, with many things. .ci/full has a
// hundred rounds, with other data each time. Shrinking a failure has little use, because a difference names the thing that
// differs.
var defaults = map[string]string{"rapid.seed": "1", "rapid.checks": "1", "rapid.shrinktime": "2s", "rapid.nofailfile": "true"}

var setDefaults = sync.OnceFunc(func() {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range defaults {
		env := strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		if given[name] || os.Getenv(env) != "" {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err) // this version of rapid has no such flag
		}
	}
})

// Check calls round with random data, once per round. On failure it prints the seed.
func Check(t *testing.T, round func(t *rapid.T)) {
	t.Helper()
	setDefaults()
	rapid.Check(t, round)
}

// Missing stands for a field that a document does not have.
var Missing = enginetest.Missing

// OneOf generates one of some values, which may be [Missing].
func OneOf(values ...any) *rapid.Generator[any] { return rapid.SampledFrom(values) }

// Around generates times: each boundary, a microsecond and an hour before and after it, and 20 years before and after the
// first. Sometimes it generates a value that is not a time.
func Around(boundaries ...time.Time) *rapid.Generator[any] {
	var values []any
	for _, b := range boundaries {
		for _, d := range []time.Duration{0, -time.Microsecond, time.Microsecond, -time.Hour, time.Hour} {
			values = append(values, b.Add(d).UTC())
		}
	}
	values = append(values, boundaries[0].AddDate(-20, 0, 0).UTC(), boundaries[0].AddDate(20, 0, 0).UTC())
	return rapid.OneOf(OneOf(values...), OneOf(values...), OneOf(values...),
		OneOf(Missing, nil, "2020-01-01T00:00:00Z", int64(1577836800), 1577836800.5, false,
			map[string]any{"seconds": int64(1577836800)}, []any{}))
}

// Fields generates a document's fields.
type Fields map[string]*rapid.Generator[any]

// Draw draws a document, without the fields that are [Missing].
func (f Fields) Draw(t *rapid.T, label string) map[string]any {
	data := map[string]any{}
	for _, name := range sortedKeys(f) {
		if v := f[name].Draw(t, label+"."+name); v != Missing {
			data[name] = v
		}
	}
	return data
}

// oddIDs are valid ids of unusual forms; % stands for what distinguishes them.
var oddIDs = []string{"%", "x%", "x%x", "日本語 %", "%.", "-%@b", "__%", "%__", "A%25", "😀%"}

// ID draws a valid id that contains n, which distinguishes it from others; those of 1 and 12 may begin alike.
func ID(t *rapid.T, n string) string {
	return strings.ReplaceAll(rapid.SampledFrom(oddIDs).Draw(t, "id"), "%", n)
}

// BadIDs are values that are not valid ids, or not strings.
var BadIDs = []any{Missing, nil, "", ".", "..", "a/b", "/", "__x__", "____", int64(7), true, []any{"a"},
	strings.Repeat("x", 1501)}

// Now draws a time at which a run may begin, in whole seconds: mostly ends of months, of years and of February.
func Now(t *rapid.T) time.Time {
	day := rapid.SampledFrom([]string{
		"2026-03-31", "2028-02-29", "2026-03-01", "2028-03-30", "2026-12-31", "2027-01-01", "2026-05-31", "2026-07-15",
	}).Draw(t, "day")
	clock := rapid.SampledFrom([]string{"15:00:00", "00:00:00", "23:59:59", "12:34:56"}).Draw(t, "clock")
	now, err := time.Parse(time.RFC3339, day+"T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return now
}

// MonthsAgo returns the time n calendar months ago, without the code under test. A day that the earlier month does not have
// becomes its last day.
func MonthsAgo(now time.Time, n int) time.Time {
	now = now.UTC()
	year, month, day := now.Year(), int(now.Month())-n, now.Day()
	for month < 1 {
		year, month = year-1, month+12
	}
	for month > 12 {
		year, month = year+1, month-12
	}
	days := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	if month == 2 && (year%4 == 0 && year%100 != 0 || year%400 == 0) {
		days = 29
	}
	if day > days {
		day = days
	}
	return time.Date(year, time.Month(month), day, now.Hour(), now.Minute(), now.Second(), now.Nanosecond(), time.UTC)
}
