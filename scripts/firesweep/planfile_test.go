package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// approved plans cleanupReports into a file, and returns its name.
func (o *operator) approved(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	o.well(t, "plan", "--out", file, "cleanupReports")
	return file
}

// rewrite changes a plan file, with a checksum that fits.
func rewrite(t *testing.T, file string, change func(*planFile)) {
	t.Helper()
	f, err := readPlan(file)
	ok(t, err)
	change(&f)
	write(t, file, string(f.text()))
}

// TestRunOfAPlanFile: it holds no contents, what is in it and still as it was is done, and what was changed is kept.
func TestRunOfAPlanFile(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	file := o.approved(t)
	wantParts(t, read(t, file), `"reports/old"`)
	wantNone(t, read(t, file), "reviewed", "dismissed", "2025-")
	o.Set(t, "reports/older", map[string]any{"status": "reviewed", "createdAt": now.AddDate(-1, 0, 0)})
	o.Set(t, "reports/new", map[string]any{"status": "reviewed", "createdAt": now.AddDate(-1, 0, 0)})
	write(t, file, strings.ReplaceAll(read(t, file), "\n", "\r\n")) // as Git does on Windows
	args := []string{"run", "--yes", "--confirm", o.ID, "--plan", file}
	out := o.well(t, args...)
	wantParts(t, oneLine(out), "1 due; 1 more kept", "but is kept: it was changed since the plan was approved ",
		"delete report: 1 of 2 done; 1 changed meanwhile, so it was kept",
		"of 2 items in the approved plan, 1 done", "What was agreed to is done. Due as well, and not in the plan: 1 item. ", "kept 1: not in the approved plan")
	left := o.Documents(t, "reports")
	if _, old := left["old"]; old || len(left) != 3 {
		t.Errorf("left: %v", left)
	}
	wantParts(t, oneLine(o.well(t, "show", "cleanupReports")), "What was agreed to is done. Due as well, and not in the plan: 1 item. ")
	again := parsed[ranHere](t, o.well(t, append(args, "--json")...)).Runs[0].Report
	want(t, "approved", 2, again.Approved)
	want(t, "actions", map[string]report.Counts{"delete report": {Planned: 1, Changed: 1}}, again.Actions)
}

// TestPlanFilesThatAreRefused do nothing, and the message says what to do.
func TestPlanFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	good := o.approved(t)
	plan, err := readPlan(good)
	ok(t, err)
	before := o.everything(t)
	written := o.now
	for name, tt := range map[string]struct {
		change func(file string)
		why    string
		args   []string
	}{
		"altered": {func(file string) {
			write(t, file, strings.Replace(read(t, file), "reports/old\"", "reports/young\"", 1))
		}, "was altered since it was written: write a new one", nil},
		"cut off": {func(file string) {
			write(t, file, read(t, file)[:100])
		}, "is not a plan that firesweep plan --out wrote", nil},
		"two": {func(file string) {
			write(t, file, read(t, file)+read(t, file))
		}, "invalid character '{' after top-level value", nil},
		"of no job": {func(file string) { rewrite(t, file, func(f *planFile) { f.Plans = map[string]*report.Approval{} }) }, "has no plan of ", nil},
		"another project": {func(file string) { rewrite(t, file, func(f *planFile) { f.Plans["cleanupReports"].Project = "other" }) },
			`: its project is "other", and here it is "` + o.ID + `"; make a plan for this`, nil},
		"a job that is not in it": {func(string) {}, "has no plan of cleanupBannedUsers", []string{"cleanupBannedUsers"}},
		"made in the future": {func(file string) {
			rewrite(t, file, func(f *planFile) { f.Plans["cleanupReports"].Made = written.AddDate(1, 0, 0) })
		}, "which is in the future", nil},
		"too old": {func(string) { o.now = plan.Plans["cleanupReports"].Made.Add(7*24*time.Hour + time.Second) },
			"is too old, it was good until", nil},
	} {
		file := write(t, filepath.Join(t.TempDir(), "plan.json"), read(t, good))
		o.now = written
		tt.change(file)
		errs := o.refuses(t, exitWrongUse, tt.why, append([]string{"run", "--yes", "--plan", file}, tt.args...)...)
		want(t, name+", lines", 1, strings.Count(errs, "\n"))
	}
	o.now = written
	o.refuses(t, exitWrongUse, "no such file", "run", "--plan", "none.json")
	o.refuses(t, exitWrongUse, "--out: stat /none: no such file", "plan", "--out", "/none/p.json", "cleanupReports") // it plans nothing before
	o.env["MAX_ACTIONS"] = "1"
	_, errs := o.ends(t, exitFailed, "plan", "--out", filepath.Join(t.TempDir(), "p"), "cleanupReports")
	wantParts(t, errs, "no plan was written ")
	want(t, "the project", before, o.everything(t))
}
