package main

import (
	"time"

	"github.com/firesweep/firesweep/scripts/schedule"
	"github.com/firesweep/firesweep/shared/manifest"
)

// maxOccurrences is how many runs of a schedule are compared. A daily one has fewer in a year, so the day of 25 hours is among
// them.
const maxOccurrences = 400

// period returns the longest time between two runs by a job's schedule in functions/manifest.json.
func period(e manifest.Entry) (time.Duration, error) {
	comes, err := schedule.Of(e)
	if err != nil {
		return 0, err
	}
	var longest time.Duration
	last := comes.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for range maxOccurrences {
		next := comes.Next(last)
		if next.IsZero() {
			break
		}
		longest, last = max(longest, next.Sub(last)), next
	}
	return longest, nil
}

// nextRuns returns the next n times at which a job is called; none if Terraform chooses the time.
func nextRuns(e manifest.Entry, now time.Time, n int) (times []time.Time, err error) {
	comes, err := schedule.Of(e)
	if err != nil || schedule.IsChosenOnce(e) {
		return nil, err
	}
	for range n {
		if now = comes.Next(now); now.IsZero() {
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
