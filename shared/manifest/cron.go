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
