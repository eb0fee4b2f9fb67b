package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // where the machine has no time zones

	"github.com/robfig/cron/v3"

	"github.com/firesweep/firesweep/shared/manifest"
)

// chosenOnce is a value that Terraform chooses once for a project, such as 0~59. It does not matter for how often a job runs.
var chosenOnce = regexp.MustCompile(`(\d+)~\d+`)

// maxOccurrences is how many runs of a schedule are compared. A daily one has fewer in a year, so the day of 25 hours is among
// them.
const maxOccurrences = 400

// scheduleOf reads a job's schedule.
func scheduleOf(e manifest.Entry) (cron.Schedule, error) {
	fields := strings.Split(chosenOnce.ReplaceAllString(e.Schedule, "$1"), " ")
	last := len(fields) - 1
	fields[last] = withoutSeven(fields[last])
	schedule, err := cron.ParseStandard("CRON_TZ=" + e.TimeZone + " " + strings.Join(fields, " "))
	if err != nil {
		return nil, fmt.Errorf("read the schedule of %s: %w", e.Name, err)
	}
	return schedule, nil
}

// untilSunday matches a day of the week 7, and a range that ends with it.
var untilSunday = regexp.MustCompile(`^(?:([0-7])-)?7(?:/([1-7]))?$`)

// withoutSeven names Sunday 0 in a field of days of the week. Cron knows it as 7 too, the library does not.
func withoutSeven(field string) string {
	parts := strings.Split(field, ",")
	for i, part := range parts {
		m := untilSunday.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		first, step := 7, 1
		if m[1] != "" {
			first = int(m[1][0] - '0')
		}
		if m[2] != "" {
			step = int(m[2][0] - '0')
		}
		var days []string
		for day := first; day <= 7; day += step {
			days = append(days, strconv.Itoa(day%7))
		}
		parts[i] = strings.Join(days, ",")
	}
	return strings.Join(parts, ",")
}

// period returns the longest time between two runs by a job's schedule in functions/manifest.json.
func period(e manifest.Entry) (time.Duration, error) {
	schedule, err := scheduleOf(e)
	if err != nil {
		return 0, err
	}
	var longest time.Duration
	last := schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for range maxOccurrences {
		next := schedule.Next(last)
		if next.IsZero() {
			break
		}
		longest, last = max(longest, next.Sub(last)), next
	}
	return longest, nil
}

// nextRuns returns the next n times at which a job is called; none if Terraform chooses the time.
func nextRuns(e manifest.Entry, now time.Time, n int) (times []time.Time, err error) {
	schedule, err := scheduleOf(e)
	if err != nil || chosenOnce.MatchString(e.Schedule) {
		return nil, err
	}
	for range n {
		if now = schedule.Next(now); now.IsZero() {
			break
		}
		times = append(times, now.UTC())
	}
	return times, nil
}

// lateAfter returns how long after the start of a job's last run the next one counts as missing. That is two periods, but at
// most an hour more than one, and the time that a run takes. The alert "no success" allows as much.
func lateAfter(e manifest.Entry, period time.Duration) time.Duration {
	return min(2*period, period+time.Hour) + time.Duration(e.TimeoutSeconds)*time.Second
}
