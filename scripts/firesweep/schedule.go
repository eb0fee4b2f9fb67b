package main

import (
	"fmt"
	"regexp"
	"time"

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
	schedule, err := cron.ParseStandard("CRON_TZ=" + e.TimeZone + " " + chosenOnce.ReplaceAllString(e.Schedule, "$1"))
	if err != nil {
		return nil, fmt.Errorf("read the schedule of %s: %w", e.Name, err)
	}
	return schedule, nil
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

// nextRuns returns the next n times at which a job is called; none if Terraform chooses the time. The error says that the
// schedule never comes.
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
	if len(times) == 0 {
		return nil, fmt.Errorf("%s: its schedule %q never comes: correct the day and the month", e.Name, e.Schedule)
	}
	return times, nil
}

// lateAfter returns how long after the start of a job's last run the next one counts as missing. That is two periods, but at
// most an hour more than one, and the time that a run takes. The alert "no success" allows as much.
func lateAfter(e manifest.Entry, period time.Duration) time.Duration {
	return min(2*period, period+time.Hour) + time.Duration(e.TimeoutSeconds)*time.Second
}
