// Package schedule reads when a job runs, from the schedule in its entry of the manifest.
package schedule

import (
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // where the machine has no time zones

	"github.com/robfig/cron/v3"

	"github.com/firesweep/firesweep/shared/manifest"
)

// chosenOnce is a value that Terraform chooses once for a project, such as 0~59. It does not matter for how often a job runs.
var chosenOnce = regexp.MustCompile(`(\d+)~\d+`)

// Times returns the times after a moment at which a job runs, in their order. What the lists let a job have, the library reads.
func Times(e manifest.Entry, after time.Time) iter.Seq[time.Time] {
	schedule, err := cron.ParseStandard("CRON_TZ=" + e.TimeZone + " " + chosenOnce.ReplaceAllString(e.Schedule, "$1"))
	if err != nil {
		panic(fmt.Sprintf("read the schedule of %s: %v", e.Name, err))
	}
	return func(yield func(time.Time) bool) {
		for at := schedule.Next(after); !at.IsZero() && yield(at); at = schedule.Next(at) {
		}
	}
}

// Deployed returns a job with the schedule and time zone by which Cloud Scheduler calls it, such as "0 3 * * * UTC", where
// Terraform sets others than its list. The job stays as it is if that is no schedule.
func Deployed(e manifest.Entry, called string) manifest.Entry {
	at := strings.LastIndexByte(called, ' ')
	if at < 0 {
		return e
	}
	if _, err := cron.ParseStandard("CRON_TZ=" + called[at+1:] + " " + called[:at]); err == nil {
		e.Schedule, e.TimeZone = called[:at], called[at+1:]
	}
	return e
}

// Longest returns the longest time that passes from a moment to the first of some runs of a job, and from each to the next.
func Longest(e manifest.Entry, from time.Time, runs int) (longest time.Duration) {
	for at := range Times(e, from) {
		longest, from = max(longest, at.Sub(from)), at
		if runs--; runs == 0 {
			break
		}
	}
	return longest
}

// Skipped returns a time of the year after a moment, as a clock on the wall would show it, that does not come, because clocks are
// put forward then; ok is false if all come, or if the job runs at every hour.
func Skipped(e manifest.Entry, from time.Time) (at time.Time, ok bool) {
	zone, err := time.LoadLocation(e.TimeZone)
	if err != nil || strings.Contains(strings.Fields(e.Schedule)[1], "*") {
		return at, false
	}
	e.TimeZone = "UTC" // which has all times
	for at = range Times(e, from) {
		there := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, zone)
		if there.Hour() != at.Hour() || at.After(from.AddDate(1, 0, 0)) {
			return at, there.Hour() != at.Hour()
		}
	}
	return at, false
}
