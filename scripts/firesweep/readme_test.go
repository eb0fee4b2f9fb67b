package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// between returns what of a text is after one mark and before the next other one.
func between(t *testing.T, text, after, before string) string {
	t.Helper()
	_, rest, begins := strings.Cut(text, after)
	part, _, ends := strings.Cut(rest, before)
	if !begins || !ends {
		t.Fatalf("nothing between %q and %q", after, before)
	}
	return part
}

// TestReadme: the plan in README.md is that of its rule, but for the project and times, on the drafts that docs/plan.svg shows, and its nine jobs are the manifest's.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme := read(t, "../../README.md")
	o := newOperator(t)
	o.inApp(t, map[string]string{"firebase.json": "{}", "firesweep.json": between(t, readme, "```json\n", "```\n")})
	drafts := regexp.MustCompile(`draft\("(\S+)", (true|false), (\d+)\)`).FindAllStringSubmatch(read(t, "../../release/record"), -1)
	for _, draft := range drafts {
		days, err := strconv.Atoi(draft[3])
		ok(t, err)
		o.Set(t, draft[1], fields{"published": draft[2] == "true", "updatedAt": now.AddDate(0, 0, -days)})
	}
	o.now = now.Add(time.Second) // a full minute is shown without its seconds
	masked := func(text string) string {
		return regexp.MustCompile(`(?s)  project .*? ms\n|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d`).ReplaceAllString(text, "…")
	}
	planned := between(t, readme, "$ firesweep plan\n", "```\n")
	want(t, "README.md's plan", masked(planned), masked(o.well(t, "plan")))

	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(between(t, readme, "## The nine jobs", "\n## "), -1) {
		names = append(names, row[1])
	}
	slices.Sort(names)
	want(t, "README.md's nine jobs", jobNames(), names)
}
