// Package modeltest proves a function against a plain model of its rules: a [World] of random data is put into a project,
// the function runs on it, and what is there then must be what the model says, all of it.
//
// The data is random and the same in every test, one round of it, unless rapid's flags say otherwise:
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
)

// Items is how many random things of each kind a round has, at least.
const Items = 100

// defaults make a test deterministic and quick: one round, for each costs a second, with many things. .ci/full has a hundred, of other
// data each time. Shrinking what fails is worth little, because a difference names the thing that differs.
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
			panic(err) // rapid has no such flag any more
		}
	}
})

// Check calls round with random data, some times. On failure it prints the seed.
func Check(t *testing.T, round func(t *rapid.T)) {
	t.Helper()
	setDefaults()
	rapid.Check(t, round)
}

type missing struct{}

// Missing stands for a field that a document does not have.
var Missing any = missing{}

// OneOf generates one of some values, which may be [Missing].
func OneOf(values ...any) *rapid.Generator[any] { return rapid.SampledFrom(values) }

// Around generates instants: at each boundary, a microsecond before and after it, an hour, and far from all; and now and
// then, what is no instant.
func Around(boundaries ...time.Time) *rapid.Generator[any] {
	var values []any
	for _, b := range boundaries {
		for _, d := range []time.Duration{0, -time.Microsecond, time.Microsecond, -time.Hour, time.Hour} {
			values = append(values, b.Add(d).UTC())
		}
	}
	values = append(values, boundaries[0].AddDate(-20, 0, 0).UTC(), boundaries[0].AddDate(20, 0, 0).UTC())
	return rapid.OneOf(OneOf(values...), OneOf(values...), OneOf(values...),
		OneOf(Missing, nil, "2020-01-01T00:00:00Z", int64(1577836800), 1577836800.5, false, map[string]any{"seconds": int64(1577836800)}, []any{}))
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

// oddIDs are ids that are unusual and valid; % stands for what tells them apart.
var oddIDs = []string{"%", "x%", "x%x", "日本語 %", "%.", "-%@b", "__%", "%__", "A%25", "😀%"}

// ID draws a valid id that n tells from others; those of 1 and of 12 begin alike.
func ID(t *rapid.T, n string) string {
	return strings.ReplaceAll(rapid.SampledFrom(oddIDs).Draw(t, "id"), "%", n)
}

// BadIDs are what cannot be an id, or not one of text.
var BadIDs = []any{Missing, nil, "", ".", "..", "a/b", "/", "__x__", "____", int64(7), true, []any{"a"}, strings.Repeat("x", 1501)}

// Now draws an instant that a run may begin at: ends of months, of years and of February above all. In whole seconds.
func Now(t *rapid.T) time.Time {
	day := rapid.SampledFrom([]string{"2026-03-31", "2028-02-29", "2026-03-01", "2028-03-30", "2026-12-31", "2027-01-01", "2026-05-31", "2026-07-15"}).Draw(t, "day")
	clock := rapid.SampledFrom([]string{"15:00:00", "00:00:00", "23:59:59", "12:34:56"}).Draw(t, "clock")
	now, err := time.Parse(time.RFC3339, day+"T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return now
}

// MonthsAgo is a calendar month, counted by hand: a day that the earlier month does not have is its last.
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
