package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/harmless"
)

// columns is how wide the demo's lines are at most.
const columns = 80

// say writes a text in lines that are indented, the second and later ones of a paragraph by two more.
func say(out io.Writer, indent int, format string, args ...any) {
	for paragraph := range strings.Lines(fmt.Sprintf(format, args...)) {
		line := strings.Repeat(" ", indent)
		used := 0
		for _, word := range strings.Fields(paragraph) {
			if used > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
				fmt.Fprintln(out, line)
				line, used = strings.Repeat(" ", indent+2), 0
			}
			if used > 0 {
				line += " "
			}
			line += harmless.Text(word)
			used++
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

// printPlan prints the actions of a plan by their kinds, and what is kept.
func printPlan(out io.Writer, r *report.Report) {
	say(out, 2, "preview, %s:", r.Status)
	kind := ""
	slices.SortStableFunc(r.Plan, func(a, b report.Planned) int { return cmp.Compare(a.Action, b.Action) })
	for _, p := range r.Plan {
		if p.Action != kind {
			kind = p.Action
			say(out, 4, "%d %s", r.Actions[kind].Planned, kind)
		}
		say(out, 6, "%s", strings.TrimPrefix(p.Target, "gs://"+os.Getenv(bucketVariable)+"/")) // the bucket is the same for all
		say(out, 8, "%s", p.Reason)
	}
	for _, reason := range slices.SortedFunc(maps.Keys(r.Kept), func(a, b string) int {
		return cmp.Or(r.Kept[b]-r.Kept[a], strings.Compare(a, b))
	}) {
		say(out, 4, "kept %d: %s", r.Kept[reason], reason)
	}
	for _, warning := range r.Warnings {
		say(out, 4, "warning: %s", warning)
	}
}

// printLeft prints of which collections and folders something was deleted or created. A number that is 0 is left out.
func printLeft(out io.Writer, before, after map[string]int) {
	names := maps.Clone(before)
	maps.Copy(names, after)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nBEFORE\tAFTER\t  OF")
	figure := func(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") }
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			fmt.Fprintf(w, "%s\t%s\t  %s\n", figure(before[name]), figure(after[name]), name)
		}
	}
	_ = w.Flush() // whoever reads it is gone
}
