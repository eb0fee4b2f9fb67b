package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/scripts/firesweep/done"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestShowSaysWhatWasDoneAndWhy compares what each job's run did by its undo log with what its preview had planned.
func TestShowSaysWhatWasDoneAndWhy(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.env["UNDO_DAYS"] = "7"
	o.now = time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second) // the files are uploaded now
	o.sample(t)
	for _, job := range []string{
		"cleanupReports", "checkGhostCircles", "cleanupBannedUsers", "cleanupOrphanedMedia", "cleanupResolvedInquiries",
		"cleanExpiredComped",
		"removeUnacceptedMemberInvites",
	} {
		planned := map[string]done.Item{}
		for _, p := range o.called(t, job, `{"dryRun":true}`).Plan {
			planned[p.Target] = done.Item{Target: p.Target, Action: p.Action, Reason: p.Reason}
		}
		report := o.called(t, job, "")
		run := parsed[shownRun](t, o.well(t, "show", "--json", "--all", report.RunID))
		if run.Did == nil {
			t.Fatalf("%s: %+v", job, run)
		}
		want(t, job+", run", report.RunID, run.RunID)
		want(t, job+", items", run.Did.ItemsTotal, len(run.Did.Items))
		want(t, job+", writes", run.Did.WriteTotal, len(run.Did.Writes))
		done := 0
		for _, item := range run.Did.Items {
			if want, ok := planned[item.Target]; ok { // and not what goes with it
				done++
				if item != want {
					t.Errorf("%s: %+v, planned was %+v", job, item, want)
				}
			}
		}
		if done == 0 || done < totals(report).Done {
			t.Errorf("%s: %d of %d done are listed: %+v", job, done, totals(report).Done, run.Did.Items)
		}
		wantNarrow(t, o.well(t, "show", report.RunID), screen.DefaultWidth)
	}
}

// TestShowListsTheFirst of much, and all if that is asked for.
func TestShowListsTheFirst(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.env["UNDO_DAYS"] = "7"
	for i := range listed + 2 {
		o.Set(t, fmt.Sprintf("reports/r%02d", i), map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)})
	}
	rep := o.called(t, "cleanupReports", "")
	text := o.well(t, "show", "cleanupReports")
	wantParts(t, text, "What it did, and why:", "delete report", "and 2 items more: use --all",
		"\n    firesweep undo "+rep.RunID+"\n")
	want(t, "items, and none of their own deletions", listed, strings.Count(text, "  reports/r"))
	all := o.well(t, "show", "--all", "cleanupReports")
	want(t, "all items", listed+2, strings.Count(all, "  reports/r"))
	want(t, "left out of all", 0, strings.Count(all, "use --all"))
	short := parsed[shownRun](t, o.well(t, "show", "--json", "cleanupReports"))
	want(t, "items as JSON", listed, len(short.Did.Items))
	short.Did.Items = nil
	want(t, "the rest", did{ItemsTotal: listed + 2, Writes: []done.Write{}}, *short.Did)

	// Likewise of what was in things.
	text = o.well(t, "show", "--contents", "cleanupReports")
	want(t, "things", listed, strings.Count(text, "deleted reports/r"))
	wantParts(t, text, "and 2 things more: use --all")
	text = o.well(t, "show", "--contents", "cleanupReports", "reports/r31")
	want(t, "the one that is named", 1, strings.Count(text, "deleted reports/r"))
	o.refuses(t, exitWrongUse, "reports/none is not in the undo log", "show", "--contents", "cleanupReports", "reports/r31",
		"reports/none")
	want(t, "last run", string(report.Completed), string(short.Status))
}

// TestShowOfARunWithoutAReport was killed: what it did is known nevertheless.
func TestShowOfARunWithoutAReport(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.env["UNDO_DAYS"] = "7"
	o.Set(t, "reports/a", map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)})
	report := o.called(t, "cleanupReports", "")
	o.Delete(t, "cleanupRuns/"+report.RunID)
	wantParts(t, o.well(t, "show", report.RunID), report.RunID, "There is no report of it", "reports/a",
		"firesweep undo "+report.RunID)
	run := parsed[shownRun](t, o.well(t, "show", "--json", report.RunID))
	if run.Report != nil && run.RunID != "" || run.Did.ItemsTotal != 1 {
		t.Errorf("%+v", run)
	}
	o.refuses(t, exitFailed, "there is no report", "show", "cleanupReports-20260110T150000Z-01234567")
}

// TestShowWithoutUndoLog says where else what was deleted is named.
func TestShowWithoutUndoLog(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.env["UNDO_DAYS"] = "0"
	o.Set(t, "reports/a", map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)})
	report := o.called(t, "cleanupReports", "")
	wantParts(t, o.well(t, "show", "cleanupReports"), "The undo log has nothing of this run (UNDO_DAYS)",
		"\n    firesweep show --log "+report.RunID+"\n")
	o.now = o.now.Add(24 * time.Hour)
	o.called(t, "cleanupReports", "")
	wantNone(t, o.well(t, "show", "cleanupReports"), "nothing is kept")
}

// TestWhatIsListedOfWrites names fields and nothing of what was in them.
func TestWhatIsListedOfWrites(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.env["UNDO_DAYS"] = "7"
	o.now = time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	o.sample(t)
	circles := o.called(t, "checkGhostCircles", "")
	writes := parsed[shownRun](t, o.well(t, "show", "--json", "--all", circles.RunID)).Did.Writes
	for what, is := range map[string]func(done.Write) bool{
		"a notification that was sent": func(w done.Write) bool { return w.Sent && strings.Contains(w.Path, "/notifications/") },
		"a field that was written": func(w done.Write) bool {
			return w.Op == "update" && strings.HasPrefix(w.Path, "circles/") && len(w.Fields) > 0
		},
		"files": func(w done.Write) bool {
			return strings.HasPrefix(w.Op, "delete object") && strings.HasPrefix(w.Path, "gs://"+o.Bucket+"/")
		},
	} {
		if !slices.ContainsFunc(writes, is) {
			t.Errorf("%s is missing in %+v", what, writes)
		}
	}
	users := o.called(t, "cleanupBannedUsers", "")
	writes = parsed[shownRun](t, o.well(t, "show", "--json", "--all", users.RunID)).Did.Writes
	if !slices.ContainsFunc(writes, func(w done.Write) bool {
		return w.Op == "delete account" &&
			w.Path == "user-banned-last-month"
	}) {
		t.Errorf("the account is missing in %+v", writes)
	}
	wantParts(t, o.well(t, "show", users.RunID), "What it deleted or wrote for that:", "delete account")
}
