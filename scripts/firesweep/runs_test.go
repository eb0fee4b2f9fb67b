package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
	"github.com/firesweep/firesweep/shared/version"
)

type standings struct{ Jobs []standing }

// standingOf returns how a job stands.
func (o *operator) standingOf(t *testing.T, job string) standing {
	t.Helper()
	out, _, _ := o.run(t, "runs", "--json", job)
	jobs := parsed[standings](t, out).Jobs
	if len(jobs) != 1 || jobs[0].Job != job {
		t.Fatalf("%+v", jobs)
	}
	return jobs[0]
}

func TestRuns(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	wantParts(t, o.well(t, "runs"), "No run is saved for: cleanupOrphanedMedia, ")
	first := o.called(t, "cleanupReports", "")
	o.called(t, "cleanupReports", `{"dryRun":true}`) // is saved nowhere
	o.now = o.now.Add(24 * time.Hour)
	o.Set(t, "reports/old", map[string]any{"status": "reviewed", "createdAt": now.AddDate(0, -2, 0)})
	o.Set(t, "reports/older", map[string]any{"status": "reviewed", "createdAt": now.AddDate(0, -3, 0)})
	o.env["MAX_ACTIONS"] = "1"
	second := o.called(t, "cleanupReports", "")
	o.env["MAX_ACTIONS"] = ""
	o.now = o.now.Add(time.Minute)
	third := o.called(t, "cleanupReports", `{"force":true}`)
	o.now = o.now.Add(time.Hour)
	o.called(t, "removeUnacceptedMemberInvites", "")

	text := o.well(t, "runs", "--limit", "3")
	if strings.Index(text, "removeUnacceptedMemberInvites (") > strings.Index(text, "cleanupReports (") {
		t.Errorf("the job whose last run is the newest does not stand first:\n%s", text)
	}
	wantNarrow(t, text, defaultWidth)
	wantParts(t, text, "cleanupReports (0 0 * * * Asia/Tokyo)\n",
		"2026-01-11 15:01  "+shortID(third.RunID)+"  2        2     0       0 ms  completed, forced\n",
		"2026-01-11 15:00  "+shortID(second.RunID)+"  2        0     0       0 ms  aborted\n    a safety limit stopped it: the plan has more than 1",
		"2026-01-10 15:00  "+shortID(first.RunID)+"  2        2     0       0 ms  completed\n",
		"No run is saved for: cleanupOrphanedMedia, ")
	s := o.standingOf(t, "cleanupReports")
	want(t, "state", stateFine, s.State)
	var ids []string
	for _, r := range s.Runs {
		ids = append(ids, r.RunID)
	}
	want(t, "runs", []string{third.RunID, second.RunID, first.RunID}, ids)
	want(t, "the newest alone", third.RunID, parsed[standings](t,
		o.well(t, "runs", "--json", "--limit", "1", "cleanupReports")).Jobs[0].Runs[0].RunID)
}

// TestHowAJobStands: runs and the doctor say so by its record, on emulators where the doctor sees nothing else.
func TestHowAJobStands(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	if s := o.standingOf(t, "cleanupReports"); s.State != stateNever || s.Runs == nil {
		t.Errorf("before any run: %+v", s)
	}
	saved := "cleanupRuns/" + o.called(t, "cleanupReports", "").RunID
	well := o.Documents(t, "cleanupRuns")[strings.TrimPrefix(saved, "cleanupRuns/")]
	record := o.Documents(t, "cleanupJobs")["cleanupReports"]
	late := now.Add(25*time.Hour + 300*time.Second) // a day, an hour's grace, and the timeout
	minute := enginetest.Leased("cleanupReports-1", now.Add(time.Minute))
	undoing := enginetest.Leased("undo-r-1", now.Add(time.Minute))
	undoing["run"] = ""
	weekly := map[string]any{"schedule": "30 5 * * 1 Europe/Berlin"}
	for _, tt := range []struct {
		name          string
		lease         map[string]any // what the record says instead or, with a status, the report of the last run
		now           time.Time
		state, detail string
		problem       string // what the doctor says; empty: nothing
	}{
		{"has run", nil, late, stateFine, "", ""},
		{"failed", map[string]any{"status": "failed", "failures": []any{map[string]any{"target": "reports/x", "action": "delete report", "error": "no luck"}}},
			late, stateFailed, "delete report reports/x: no luck", "Failed. delete report reports/x: no luck."},
		{"was aborted", map[string]any{"status": "aborted", "failures": []any{map[string]any{"limit": map[string]any{"limit": "MAX_ACTIONS", "most": 1}}}},
			late, stateAborted, "the plan has more than 1 actions (MAX_ACTIONS)", "Aborted. a safety limit stopped it: the plan has more than 1 actions"},
		{"should have run", nil, late.Add(time.Second), stateMissing, "The last run started at 2026-01-10 15:00 UTC, 25h05m ago; its schedule is 0 0 * * * Asia/Tokyo.",
			"Did not run in time."},
		{"is on time by Terraform's schedule", weekly, late.Add(time.Second), stateFine, "", ""},
		{"should have run by that", weekly, late.AddDate(0, 0, 1), stateMissing, "its schedule is 30 5 * * 1 Europe/Berlin.", "Did not run in time."},
		{"has a schedule that nobody can read", map[string]any{"schedule": "* UTC"}, late, stateFine, "", ""},
		{"runs", minute, now.Add(59 * time.Second), stateUnderWay, "Run cleanupReports-1 is under way.", ""},
		{"was killed", minute, now.Add(time.Minute), stateKilled, "Run cleanupReports-1 ended without a report",
			"Killed. Run cleanupReports-1 ended without a report"},
		{"an undo was killed", undoing, now.Add(time.Minute), stateKilled, "(undo-r-1) was interrupted", "Killed. "},
		{"runs deployed, for longer than here", enginetest.Leased("cleanupReports-1", now.Add(31*time.Minute)), now, stateUnderWay,
			"Run cleanupReports-1 is under way.", ""},
		{"is held for too long", enginetest.Leased("cleanupReports-1", now.AddDate(100, 0, 0)), now, stateUnderWay, "Run cleanupReports-1 is under way.",
			"longer than any run may"},
		{"a foreign lease", map[string]any{"until": "mine"}, now, stateBroken, "is not one that this program wrote",
			"No run can begin: the field until"},
		{"a foreign holder", map[string]any{"holder": 7}, now, stateBroken, "is not one that this program wrote", "No run can begin: the field holder"},
	} {
		changed, path := maps.Clone(record), "cleanupJobs/cleanupReports"
		o.Set(t, path, record)
		o.Set(t, saved, well)
		if tt.lease["status"] != nil {
			changed, path = maps.Clone(well), saved
		}
		maps.Copy(changed, tt.lease)
		o.Set(t, path, changed)
		o.now = tt.now
		s := o.standingOf(t, "cleanupReports")
		want(t, tt.name, tt.state, s.State)
		wantParts(t, s.Detail, tt.detail)
		code, said := exitFailed, tt.state+": "
		switch tt.state {
		case stateFine:
			code, said = exitFine, ""
			want(t, tt.name+", detail", "", s.Detail)
		case stateUnderWay:
			code = exitFine
		}
		out, _ := o.ends(t, code, "runs", "cleanupReports")
		wantParts(t, out, said)

		code = exitFine
		if tt.problem != "" {
			code = exitFailed
		}
		out, _ = o.ends(t, code, "doctor", "--json", "cleanupReports")
		found := parsed[struct{ Findings []finding }](t, out).Findings
		is := func(f finding) bool {
			return f.About == "cleanupReports" && f.Level == levelProblem && strings.Contains(f.Text, tt.problem) && f.Do != ""
		}
		if slices.ContainsFunc(found, is) != (tt.problem != "") || tt.problem == "" && len(found) > 0 {
			t.Errorf("%s: no problem alone that says %q in %+v", tt.name, tt.problem, found)
		}
	}
}

// TestKilledRun is in the list, is shown and taken back by the end of its id, before another run has followed it and after.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	for _, followed := range []bool{false, true} {
		o := withReports(t, "UNDO_DAYS=7")
		killed := o.called(t, "cleanupReports", "") // what it did stands for what the killed run did
		o.Delete(t, "cleanupRuns/"+killed.RunID)
		o.Set(t, "cleanupJobs/cleanupReports", enginetest.Leased(killed.RunID, o.now.Add(6*time.Minute)))
		short := shortID(killed.RunID)
		o.now = o.now.Add(time.Minute)
		wantParts(t, oneLine(o.well(t, "runs", "--project", o.ID, "cleanupReports")), "Stop it: firesweep hold --project "+o.ID+" cleanupReports --stop")
		wantParts(t, o.well(t, "show", short), killed.RunID, "Run "+killed.RunID+" is under way.", "reports/old")
		o.refuses(t, exitFailed, "is under way", "undo", short)
		o.now = o.now.Add(5 * time.Minute)
		state := stateKilled
		if followed {
			o.called(t, "cleanupReports", "")
			state = stateFine
		}
		s := o.standingOf(t, "cleanupReports")
		i := slices.IndexFunc(s.Runs, func(r *report.Report) bool { return r.RunID == killed.RunID })
		if i < 0 {
			t.Fatalf("followed: %t: the run is not in %+v", followed, s.Runs)
		}
		want(t, "state", state, s.State)
		want(t, "status", report.Killed, s.Runs[i].Status)
		want(t, "start", killed.StartedAt, s.Runs[i].StartedAt)
		text, _, _ := o.run(t, "runs", "cleanupReports")
		wantParts(t, text, "2026-01-10 15:00  "+short, "killed\n", "run cleanupReports: it was killed")
		wantNarrow(t, text, defaultWidth)
		out, _ := o.ends(t, exitFailed, "show", short)
		wantParts(t, out, "cleanupReports: killed", "what was planned is not known", "reports/old", "reports/older",
			"firesweep undo "+killed.RunID)
		wantParts(t, o.preview(t, short), "reports/old", "reports/older")
		wantParts(t, o.well(t, "undo", "--yes", short), "2 things came back.")
		want(t, "reports", 3, len(o.Documents(t, "reports")))
		if saved := o.Documents(t, "cleanupRuns")[killed.RunID]; saved["status"] != "killed" || saved["expireAt"] == nil {
			t.Errorf("after the undo its report is %v", saved)
		}
		wantParts(t, o.well(t, "undo", short), "There is nothing to bring back.", "firesweep resume cleanupReports")
	}
}

// TestRunsLieFarBack: the newest runs are found however long ago they were, and none of another job with a like name.
func TestRunsLieFarBack(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	report := func(job string, at time.Time, suffix string) {
		id := fmt.Sprintf("%s-%s-%s", job, at.Format("20060102T150405Z"), suffix)
		o.Set(t, "cleanupRuns/"+id, map[string]any{"job": job, "runId": id, "status": "completed", "startedAt": at})
	}
	report("deleteInactiveProjects", now, "00000001")
	report("deleteInactiveProjects", now.Add(-time.Second), "00000002")
	report("deleteInactiveProjects", now.AddDate(0, 0, -89), "00000003")
	report("deleteInactiveProjects", now.AddDate(0, 0, -900), "00000004")
	report("deleteInactiveProjectsToo", now, "00000005")
	var ids []string
	for _, r := range o.standingOf(t, "deleteInactiveProjects").Runs {
		ids = append(ids, shortID(r.RunID))
	}
	want(t, "runs", []string{"00000001", "00000002", "00000003"}, ids)
	for _, short := range ids {
		wantParts(t, o.well(t, "show", short), "deleteInactiveProjects: completed", "-"+short)
	}
	o.Set(t, "cleanupRuns/cleanupReports-20260110T140000Z-00000007", map[string]any{"by": "somebody else"})
	o.refuses(t, exitFailed, "cleanupRuns/cleanupReports-20260110T140000Z-00000007: it has no runId: no run wrote it", "runs")
	o.Set(t, "cleanupRuns/cleanupReports-20260110T140000Z-00000007",
		map[string]any{"runId": "cleanupReports-20260110T140000Z-00000007"})
	o.refuses(t, exitFailed, "no run whose id ends with 00000006 is saved: reports are kept for 90 days; see firesweep runs", "show", "00000006")
}

func TestShow(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	o.refuses(t, exitFailed, "no run of cleanupReports is saved", "show", "cleanupReports")
	report := o.called(t, "cleanupReports", "")
	for _, name := range []string{report.RunID, shortID(report.RunID), "cleanupReports"} {
		text := o.well(t, "show", name)
		wantNarrow(t, text, defaultWidth)
		wantParts(t, text, "cleanupReports: completed\n", "run "+report.RunID+", started 2026-01-10 15:00 UTC,\n  version "+version.String()+"\n", "project "+o.ID+" on emulators",
			"  delete report: 2 of 2 done\n", "kept 1: not due", " reads, ")
		wantNone(t, text, " 0 reads", " 0 writes", " 0 deletes", "Storage", "task")
		if got := parsed[shownRun](t, o.well(t, "show", "--json", name)); got.RunID != report.RunID ||
			got.Actions["delete report"].Done != 2 {
			t.Errorf("%+v", got)
		}
	}
	for _, job := range []string{"cleanupReports", "nobody"} {
		run := job + "-20260110T150000Z-00000000"
		o.refuses(t, exitFailed, "there is no report of "+run, "show", run)
	}
}

// TestWhatToDo: every way for a run to end says what comes next, and each failure what to do about it.
func TestWhatToDo(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	for status, says := range map[report.Status]string{
		report.Completed: "cleanupReports: completed", report.Partial: "The next run continues from there",
		report.Skipped: "another run was under way: firesweep runs cleanupReports",
		report.Aborted: "Nothing was deleted or changed.", report.Failed: "The next run tries again what failed",
		report.Killed: "What it did is in its undo log.",
	} {
		o.Set(t, "cleanupJobs/cleanupReports", map[string]any{"lastReport": map[string]any{
			"job": "cleanupReports", "runId": "cleanupReports-20260110T150000Z-00000000", "status": string(status), "startedAt": now,
			"failures": []any{map[string]any{"target": "reports/r", "action": "delete report",
				"error": "it is refused", "code": "PermissionDenied"}},
		}})
		code := exitFine
		if slices.Contains([]report.Status{report.Aborted, report.Failed, report.Killed}, status) {
			code = exitFailed
		}
		out, _ := o.ends(t, code, "show", "cleanupReports")
		wantParts(t, oneLine(out), "cleanupReports: "+string(status), says, "-> A right is missing.")
	}
}

// TestALateRunIsTold: the next time that was due counts, not the longest time of the year between two.
func TestALateRunIsTold(t *testing.T) {
	t.Parallel()
	night := manifest.Entry{Name: "cleanupThings", Schedule: "30 2 * * *", TimeZone: "Europe/Berlin", TimeoutSeconds: 60}
	for last, wait := range map[string]time.Duration{
		"2026-01-10T01:30:00Z": 24 * time.Hour, "2026-01-10T01:45:00Z": 23*time.Hour + 45*time.Minute,
		"2026-03-28T01:30:00Z": 47 * time.Hour, // the night after has no 02:30
	} {
		at, err := time.Parse(time.RFC3339, last)
		ok(t, err)
		want(t, "from "+last+" until the next run", wait, untilNext(night, at))
	}
	night.Schedule = "0~59 2 * * *"
	if got := untilNext(night, time.Date(2026, 1, 10, 1, 59, 0, 0, time.UTC)); got < 24*time.Hour {
		t.Errorf("a minute that Terraform chooses: %s", got)
	}
}
