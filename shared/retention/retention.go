// Package retention is the arithmetic of how long data is kept: pure functions of time, no clock.
package retention

import "time"

// Day is exactly 24 hours, whatever a time zone's clocks do (docs/contributing/spec.md, "Time").
const Day = 24 * time.Hour

// Stamp returns an instant as reasons and the log name it: RFC 3339 in UTC, to the second.
func Stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// DaysBefore returns now − n days of exactly 24 h. What happened at or before it is "n days or more" old.
func DaysBefore(now time.Time, n int) time.Time {
	return now.Add(-time.Duration(n) * Day)
}

// MonthsBefore returns the same UTC time of day n calendar months before now, clamped to the last day of that month:
// one month before 31 March is 28 or 29 February, never 2 or 3 March (docs/contributing/spec.md, "Time"). Months are counted
// in UTC, as the original functions did, which ran in UTC.
func MonthsBefore(now time.Time, n int) time.Time {
	return MonthsAfter(now, -n)
}

// MonthsAfter returns the same UTC time of day n calendar months after now, clamped like [MonthsBefore].
func MonthsAfter(now time.Time, n int) time.Time {
	now = now.UTC()
	firstOfMonth := time.Date(now.Year(), now.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	lastDay := firstOfMonth.AddDate(0, 1, -1).Day()
	return time.Date(firstOfMonth.Year(), firstOfMonth.Month(), min(now.Day(), lastDay),
		now.Hour(), now.Minute(), now.Second(), now.Nanosecond(), time.UTC)
}
