package main

import (
	"fmt"
	"regexp"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/firesweep/firesweep/shared/manifest"
)

// chosenOnce is a value that Terraform chooses once for a project, such as 0~59: for how often a job runs, any is as good.
var chosenOnce = regexp.MustCompile(`(\d+)~\d+`)

// maxOccurrences is how many runs of a schedule are compared: more than a year of a daily one, so that the day of 25 hours
// is among them.
const maxOccurrences = 400

// period returns the longest time between two runs that a job's schedule in functions/schedule.json has.
func period(e manifest.Entry) (time.Duration, error) {
	schedule, err := cron.ParseStandard("CRON_TZ=" + e.TimeZone + " " + chosenOnce.ReplaceAllString(e.Schedule, "$1"))
	if err != nil {
		return 0, fmt.Errorf("read the schedule of %s: %w", e.Name, err)
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

// lateAfter returns how long after the start of a job's last run the next one counts as missing: two periods, but at most an
// hour more than one, and the time that a run takes. The alert "no success" allows as much.
func lateAfter(e manifest.Entry, period time.Duration) time.Duration {
	return min(2*period, period+time.Hour) + time.Duration(e.TimeoutSeconds)*time.Second
}
