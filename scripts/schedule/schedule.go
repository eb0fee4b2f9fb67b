// Package schedule reads when a job runs, from the schedule in its entry of the manifest.
package schedule

import (
	"cmp"
	"fmt"
	"iter"
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

// Times returns the times after a moment at which a job runs, in their order. What the lists let a job have, the library reads.
func Times(e manifest.Entry, after time.Time) iter.Seq[time.Time] {
	fields := strings.Split(chosenOnce.ReplaceAllString(e.Schedule, "$1"), " ")
	last := len(fields) - 1
	fields[last] = withoutSeven(fields[last])
	schedule, err := cron.ParseStandard("CRON_TZ=" + e.TimeZone + " " + strings.Join(fields, " "))
	if err != nil {
		panic(fmt.Sprintf("read the schedule of %s: %v", e.Name, err))
	}
	return func(yield func(time.Time) bool) {
		for at := schedule.Next(after); !at.IsZero() && yield(at); at = schedule.Next(at) {
		}
	}
}

// begin is a moment from which runs are counted: the year after it has the days of 23 and of 25 hours.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// compared is how many runs [Longest] looks at. A daily job has fewer in a year.
const compared = 400

// Longest returns the longest time between two runs of a job.
func Longest(e manifest.Entry) (longest time.Duration) {
	n, last := 0, time.Time{}
	for at := range Times(e, begin) {
		if n++; n > 1 {
			longest = max(longest, at.Sub(last))
		}
		if last = at; n > compared {
			break
		}
	}
	return longest
}

// untilSunday matches a day of the week 7, and a range that ends with it.
var untilSunday = regexp.MustCompile(`^(?:(0?[0-7])-)?0?7(?:/(0?[1-7]))?$`)

// withoutSeven names Sunday 0 in a field of days of the week. Cron knows it as 7 too, the library does not.
func withoutSeven(field string) string {
	parts := strings.Split(field, ",")
	for i, part := range parts {
		m := untilSunday.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		first, _ := strconv.Atoi(cmp.Or(m[1], "7")) // both are numbers
		step, _ := strconv.Atoi(cmp.Or(m[2], "1"))
		var days []string
		for day := first; day <= 7; day += step {
			days = append(days, strconv.Itoa(day%7))
		}
		parts[i] = strings.Join(days, ",")
	}
	return strings.Join(parts, ",")
}
