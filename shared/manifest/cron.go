package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	schedulePattern = regexp.MustCompile(`^([0-9*/,~-]+ ){4}[0-9*/,~-]+$`)

	// cronPart is one part of a list in a field: *, a, a-b or a~b, the first and third with a step.
	cronPart = regexp.MustCompile(`^(?:\*|([0-9]{1,2})(?:([-~])([0-9]{1,2}))?)(?:/([0-9]{1,2}))?$`)
)

// cronFields are the fields of a schedule in their order, and what their values may be.
var cronFields = []struct {
	name        string
	least, most int
}{{"minute", 0, 59}, {"hour", 0, 23}, {"day of the month", 1, 31}, {"month", 1, 12}, {"day of the week", 0, 7}}

// cronProblem returns what is wrong with a schedule, "" if nothing.
func cronProblem(schedule string) string {
	if !schedulePattern.MatchString(schedule) {
		return fmt.Sprintf("schedule %q is no unix-cron", schedule)
	}
	for i, field := range strings.Fields(schedule) {
		f := cronFields[i]
		for part := range strings.SplitSeq(field, ",") {
			m := cronPart.FindStringSubmatch(part)
			wrong := m == nil
			if !wrong {
				first, last, step := cronNumber(m[1], f.least), cronNumber(m[3], f.most), cronNumber(m[4], 1)
				ranged := m[2] != "" || m[1] == ""
				wrong = first < f.least || last > f.most || first > last || // of a single value, last is the most there is
					step < 1 || step > f.most || (m[4] != "" && (!ranged || m[2] == "~")) || (m[2] == "~" && part != field)
			}
			if wrong {
				return fmt.Sprintf("schedule %q: %q is no %s from %d to %d", schedule, part, f.name, f.least, f.most)
			}
		}
	}
	return ""
}

// cronNumber returns the number that a text of at most two digits is, or another one for no text.
func cronNumber(text string, otherwise int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return n
}
