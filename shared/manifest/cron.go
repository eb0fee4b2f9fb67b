package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	schedulePattern = regexp.MustCompile(`^([0-9*/,~-]+ ){4}[0-9*/,~-]+$`)

	// cronPart is one part of a list in a field: *, a, a-b or a~b. The first and the third may have a step.
	cronPart = regexp.MustCompile(`^(?:\*|([0-9]{1,2})(?:([-~])([0-9]{1,2}))?)(?:/([0-9]{1,2}))?$`)
)

// cronFields are the fields of a schedule, in their order, with the lowest and highest value of each.
var cronFields = []struct {
	name        string
	least, most int
}{{"minute", 0, 59}, {"hour", 0, 23}, {"day of the month", 1, 31}, {"month", 1, 12}, {"day of the week", 0, 6}}

// cronProblem returns what is wrong with a schedule, "" if nothing.
func cronProblem(schedule string) string {
	if schedule == "" {
		return `it is missing: write unix-cron, such as "0 3 * * *" for 03:00 each day`
	}
	if !schedulePattern.MatchString(schedule) {
		return fmt.Sprintf(`%q is not unix-cron: write minute, hour, day, month and weekday in digits, such as "0 3 * * *" for 03:00 `+
			"each day", schedule)
	}
	for i, field := range strings.Fields(schedule) {
		f := cronFields[i]
		if f.name == "month" && field != "*" {
			return fmt.Sprintf("%q: the month is %s and must be *: no alert could tell for so long that a run is missing", schedule, field)
		}
		for part := range strings.SplitSeq(field, ",") {
			m := cronPart.FindStringSubmatch(part)
			wrong := m == nil
			if !wrong {
				first, last, step := cronNumber(m[1], f.least), cronNumber(m[3], f.most), cronNumber(m[4], 1)
				ranged := m[2] != "" || m[1] == ""
				wrong = first < f.least || last > f.most || first > last || // for a single value, last is the highest of all
					step < 1 || step > f.most || (m[4] != "" && (!ranged || m[2] == "~")) || (m[2] == "~" && part != field)
			}
			if wrong {
				return fmt.Sprintf("%q: %q is not a valid %s (%d to %d)", schedule, part, f.name, f.least, f.most)
			}
		}
	}
	return ""
}

// cronNumber returns the number in a text of at most two digits, or otherwise if the text is empty.
func cronNumber(text string, otherwise int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return n
}

// When returns in words when Cloud Scheduler calls a job, e.g. "daily 03:00 Asia/Tokyo". A schedule for which it has no words
// stays as it is.
func (e Entry) When() string {
	return scheduleWords(e.Schedule) + " " + e.TimeZone
}

var (
	weekdays = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

	oneTime    = regexp.MustCompile(`^([0-9]{1,2}) ([0-9]{1,2}) (\*|[0-9]{1,2}) \* (\*|[0-6]|[0-6]-[0-6])$`)
	someTime   = regexp.MustCompile(`^0~59 (?:([0-9]{1,2})~)?([0-9]{1,2}) \* \* \*$`)
	eachMinute = regexp.MustCompile(`^\*/([2-9]|[1-5][0-9]) \* \* \* \*$`)
	eachHour   = regexp.MustCompile(`^([0-9]{1,2}) \* \* \* \*$`)
)

func scheduleWords(schedule string) string {
	if m := oneTime.FindStringSubmatch(schedule); m != nil {
		at := twoDigits(m[2]) + ":" + twoDigits(m[1])
		first, last, ranged := strings.Cut(m[4], "-")
		switch day, weekday := m[3] != "*", m[4] != "*"; {
		case day && weekday: // unix-cron calls on either of them, which hardly anybody means
			return schedule
		case day:
			return "day " + m[3] + " of each month " + at
		case ranged:
			return weekdays[cronNumber(first, 0)] + " to " + weekdays[cronNumber(last, 0)] + " " + at
		case weekday:
			return "every " + weekdays[cronNumber(first, 0)] + " " + at
		}
		return "daily " + at
	}
	if m := someTime.FindStringSubmatch(schedule); m != nil {
		first := m[1]
		if first == "" {
			first = m[2]
		}
		return "daily, some time from " + twoDigits(first) + ":00 to " + twoDigits(m[2]) + ":59"
	}
	if m := eachMinute.FindStringSubmatch(schedule); m != nil && 60%cronNumber(m[1], 60) == 0 {
		return "every " + m[1] + " minutes"
	}
	if m := eachHour.FindStringSubmatch(schedule); m != nil {
		return "hourly at minute " + m[1]
	}
	return schedule
}

func twoDigits(number string) string { return strings.Repeat("0", max(0, 2-len(number))) + number }
