package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// preview shows what an undo would do where nobody can be asked.
func (o *operator) preview(t *testing.T, args ...string) string {
	t.Helper()
	out, errs := o.ends(t, exitWrongUse, append([]string{"undo"}, args...)...)
	return out + errs
}

// TestUndoAsks: what is not agreed to does not come back; a job's name is that of its last run.
func TestUndoAsks(t *testing.T) {
	t.Parallel()
	for answer, back := range map[string]int{"": 0, "n\n": 0, "y\n": 2} {
		for _, asJSON := range []bool{false, true} {
			o := withReports(t)
			o.called(t, "cleanupReports", "")
			o.screen.in, o.in = true, answer
			args := []string{"undo", "cleanupReports"}
			if asJSON {
				args = append(args, "--json")
			}
			out, errs, code := o.run(t, args...)
			want(t, "well", back > 0, code == exitFine)
			wantParts(t, errs, "Bring back 2 things in "+o.ID+" on emulators? (y/N) ")
			want(t, "left and back", 1+back, len(o.Documents(t, "reports")))
			switch {
			case asJSON && back > 0:
				want(t, "applied", true, parsed[taken](t, out).Applied)
				fallthrough
			case asJSON:
				want(t, "shown to the person", 1, strings.Count(errs, "reports/old\n"))
			default:
				want(t, "shown once", 1, strings.Count(out, "reports/old\n"))
				want(t, "said", back > 0, strings.Contains(out, "  2 things came back.\n") && strings.Contains(out, "firesweep resume cleanupReports new-jobs\n"))
			}
		}
	}
}

// TestUndo deletes reports, shows what would come back, brings it back, and the job is held.
func TestUndo(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "UNDO_DAYS=7")
	for _, id := range []string{"a", "b", "c"} {
		o.Set(t, "reports/"+id, map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0), "text": id})
	}
	first := o.called(t, "cleanupReports", "")
	want(t, "left", 0, len(o.Documents(t, "reports")))
	o.Set(t, "reports/c", map[string]any{"status": "new"})
	o.Set(t, "cleanupJobs/cleanupOfAnotherCheckout", map[string]any{})
	shown := o.preview(t, "--claims=false", first.RunID)
	wantParts(t, shown, "bring back", "reports/a", "reports/b", "left  ", "somebody has created it since", "1 conflict",
		"nothing was changed, because nobody can be asked. Do it:\n    firesweep undo "+first.RunID+" --yes\n")
	want(t, "there after it was shown", 1, len(o.Documents(t, "reports")))
	out, _ := o.ends(t, exitFailed, "undo", "--yes", "--json", first.RunID)
	got := parsed[taken](t, out)
	want(t, "applied", true, got.Applied)
	want(t, "outcomes", 3, len(got.Outcomes))
	back := o.Documents(t, "reports")
	want(t, "what is there", []any{"a", "b", "new"}, []any{back["a"]["text"], back["b"]["text"], back["c"]["status"]})
	again, _ := o.ends(t, exitFailed, "undo", "--yes", first.RunID)
	wantParts(t, again, "nothing to bring back")
	wantParts(t, oneLine(again), "Held, because they could delete it again: cleanupReports; because they are not in your file "+
		"of rules, and nobody knows what they delete: cleanupOfAnotherCheckout, and every job that is new (new-jobs).",
		"firesweep resume cleanupOfAnotherCheckout cleanupReports new-jobs")
	o.now = o.now.Add(time.Hour)
	want(t, "the next run", report.Skipped, o.called(t, "cleanupReports", "").Status)
	wantParts(t, oneLine(o.well(t, "hold")), "cleanupReports", "it came back by undoing a run", first.RunID)
	want(t, "left", 3, len(o.Documents(t, "reports")))
}

// TestUndoOfWhatALaterRunFinished: an undo names the run that did what this one had left to do, and none that did something else.
func TestUndoOfWhatALaterRunFinished(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ status, action, told string }{
		{"failed", report.Finish, "-00000001 did what this run may have left to do"}, {"failed", "delete report", ""},
		{"completed", report.Finish, ""},
	} {
		o := newOperator(t, "UNDO_DAYS=7")
		o.Set(t, "reports/a", map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)})
		run := o.called(t, "cleanupReports", "").RunID
		stored := o.Documents(t, "cleanupRuns")[run]
		stored["status"] = tt.status
		o.Set(t, "cleanupRuns/"+run, stored)
		later := maps.Clone(stored)
		o.now = o.now.Add(time.Hour)
		later["runId"] = "cleanupReports-" + o.now.UTC().Format(idTime) + "-00000001"
		later["actions"] = map[string]any{tt.action: map[string]any{"planned": 1, "done": 1}}
		o.Set(t, "cleanupRuns/"+later["runId"].(string), later)
		shown := oneLine(o.preview(t, run))
		wantParts(t, shown, "reports/a", tt.told)
		want(t, tt.status+", "+tt.action, tt.told != "", strings.Contains(shown, "firesweep undo 00000001"))
	}
}

// TestUndoOfAPart: the preview proposes to do what it has shown, and what the log does not have is wrong use.
func TestUndoOfAPart(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "UNDO_DAYS=7")
	for i := range listed + 5 {
		o.Set(t, fmt.Sprintf("reports/r%02d", i), map[string]any{
			"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0), "reporter": fmt.Sprintf("u%d", i%2), "text": "it's"})
	}
	run := o.called(t, "cleanupReports", "").RunID
	found := oneLine(o.well(t, "runs", "--of", "reports/r01"))
	wantParts(t, found, "deleted "+shortID(run)+" reports/r01 status reviewed, createdAt ", "firesweep undo --only reports/r01 "+shortID(run))
	project := o.env["GOOGLE_CLOUD_PROJECT"]
	shown := o.preview(t, "--project", project, "--only", "reports/r01", "--only", "reports/r02", run)
	wantParts(t, shown, "firesweep undo --only reports/r01 --only reports/r02 --project "+project+" "+run+" --yes")
	wantParts(t, o.preview(t, "--where", "text=it's", run), `--where 'text=it'\''s' `+run, "and 5 things more: use --all")
	if all := o.preview(t, "--all", run); strings.Count(all, "bring back") != listed+5 || strings.Contains(all, "use --all") {
		t.Error(all)
	}
	o.refuses(t, exitFailed, "no run with the id cleanupReports-20260101T000000Z-0123abcd is known", "undo", "cleanupReports-20260101T000000Z-0123abcd")
	o.refuses(t, exitWrongUse, "reports/typo", "undo", "--yes", "--only", "reports/r01", "--only", "reports/typo", run)
	for _, none := range [][]string{{"--only", "/reports/r01"}, {"--only", "r01"}, {"--where", "reporter=u2"}} {
		o.refuses(t, exitWrongUse, none[1]+": the undo log does not have it: undo alone lists it all, as posts/abc, ",
			append([]string{"undo", "--yes", run}, none...)...)
	}
	o.now = o.now.Add(time.Hour)
	empty := o.called(t, "cleanupReports", "").RunID
	for _, last := range []string{"cleanupReports", empty} {
		o.refuses(t, exitFailed, empty+" changed nothing, so there is nothing to bring back; the last run that did: firesweep undo "+shortID(run), "undo", "--yes", last)
	}
	o.now = o.now.Add(-time.Hour)
	want(t, "reports that are back", 0, len(o.Documents(t, "reports")))
	wantParts(t, oneLine(o.well(t, "undo", "--yes", "--only", "reports/r01", run)), "On the keep list, which no job deletes: 1 item.",
		"firesweep resume --keep "+run)
	want(t, "held", 0, len(o.held(t)))
	o.well(t, "resume", "--yes", "--keep", run)
	want(t, "on the keep list", 0, len(parsed[holding](t, o.well(t, "hold", "--json")).Keep))
	o.well(t, "undo", "--yes", "--where", "reporter=u1", run)
	for id, d := range o.Documents(t, "reports") {
		want(t, "the reporter of "+id+", which is back", any("u1"), d["reporter"])
	}
	want(t, "reports", listed/2+2, len(o.Documents(t, "reports")))
	wantParts(t, o.well(t, "runs", "cleanupReports"), "undone")
	wantParts(t, oneLine(o.well(t, "show", run)), "A part of the run was brought back at")
	wantParts(t, oneLine(o.well(t, "runs", "--of", "reports/r00")), "a part of the run was brought back at", "firesweep undo --only reports/r00")
	o.well(t, "undo", "--yes", run)
	wantParts(t, o.well(t, "show", run), "The run was brought back at")
	found = o.well(t, "runs", "--of", "reports/r01")
	wantParts(t, found, "the run was brought back at 2026-01-10 15:00 UTC", "firesweep show "+shortID(run))
	wantNone(t, found, "firesweep undo")
}

// TestUndoWithoutTheQueue: neither undo nor what goes with it needs the settings of Cloud Tasks, or a bucket where the job has
// none.
func TestUndoWithoutTheQueue(t *testing.T) {
	t.Parallel()
	for _, job := range []string{"deleteInactiveProjects", "cleanupPlaceholderUsers"} {
		o := withSample(t)
		run := o.called(t, job, "").RunID
		o.other = maps.Clone(o.env)
		maps.DeleteFunc(o.env, func(name, _ string) bool { return strings.HasPrefix(name, "TASKS_") || name == "STORAGE_BUCKET" })
		o.preview(t, run)
		o.well(t, "undo", "--yes", run)
		o.well(t, "show", run)
		o.well(t, "hold", "--yes", "--because", "hold", "--keep", "projects/")
		o.well(t, "hold")
		o.well(t, "resume", "--yes", "--all")
	}
}

// TestUndoneAccounts: claims, addresses and identities are shown before and after, and how claims would come back.
func TestUndoneAccounts(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "UNDO_DAYS=7")
	o.Set(t, "users/u1", map[string]any{"banStatus": "permanent", "permanentBanScheduledDeletionAt": o.now.Add(-time.Hour)})
	o.Import(t, new(auth.UserToImport).UID("u1").Email("a@example.com").CustomClaims(map[string]any{"admin": true}))
	run := o.called(t, "cleanupBannedUsers", "").RunID
	wantParts(t, o.preview(t, "--claims", run), "a@example.com", `{"admin":true}`, "firesweep undo --claims "+run+" --yes\n")
	wantParts(t, o.well(t, "undo", "--yes", run), "a@example.com", `{"admin":true}`)
	wantParts(t, oneLine(o.well(t, "undo", run)), `it is back without its claims {"admin":true}: set them by hand`)
}

// TestShowListsTheFirst of much, and all if that is asked for.
func TestShowListsTheFirst(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "UNDO_DAYS=7")
	for i := range listed + 2 {
		o.Set(t, fmt.Sprintf("reports/r%02d", i), map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)})
	}
	rep := o.called(t, "cleanupReports", "")
	text := o.well(t, "show", "cleanupReports")
	wantParts(t, text, "What it did, and why:", "delete report", "and 2 things more: use --all",
		"\n    firesweep undo "+rep.RunID+"\n")
	want(t, "items, and none of their own deletions", listed, strings.Count(text, "  reports/r"))
	all := o.well(t, "show", "--all", "cleanupReports")
	want(t, "all items", listed+2, strings.Count(all, "  reports/r"))
	want(t, "left out of all", 0, strings.Count(all, "use --all"))
	short := parsed[shownRun](t, o.well(t, "show", "--json", "cleanupReports"))
	want(t, "things as JSON", [2]int{listed, listed + 2}, [2]int{len(short.Did.Things), short.Did.Total})

	text = o.well(t, "show", "cleanupReports", "reports/r51")
	want(t, "the one that is named", 1, strings.Count(text, "deleted reports/r"))
	o.refuses(t, exitWrongUse, "reports/none is not in the undo log", "show", "cleanupReports", "reports/r51",
		"reports/none")
	want(t, "last run", string(report.Completed), string(short.Status))
}

// TestShowOfHalfARun: without its report, what it did is known nevertheless; without its log that is said.
func TestShowOfHalfARun(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "UNDO_DAYS=7")
	o.Set(t, "reports/a", map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)})
	report := o.called(t, "cleanupReports", "")
	o.Delete(t, "cleanupRuns/"+report.RunID)
	wantParts(t, o.well(t, "show", report.RunID), report.RunID, "There is no report of "+report.RunID, "reports/a",
		"firesweep undo "+report.RunID)
	run := parsed[shownRun](t, o.well(t, "show", "--json", report.RunID))
	if run.Report != nil && run.RunID != "" || run.Did.Total != 1 {
		t.Errorf("%+v", run)
	}
	o.refuses(t, exitFailed, "there is no report", "show", "cleanupReports-20260110T150000Z-01234567")

	o.env["UNDO_DAYS"] = "0"
	o.now = o.now.Add(24 * time.Hour)
	o.Set(t, "reports/a", map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)})
	o.called(t, "cleanupReports", "")
	wantParts(t, o.well(t, "show", "cleanupReports"), "The undo log has nothing of this run (UNDO_DAYS)")
	o.now = o.now.Add(24 * time.Hour)
	o.called(t, "cleanupReports", "")
	wantNone(t, o.well(t, "show", "cleanupReports"), "The undo log has nothing")
}

// TestWhatIsListedOfThings names fields and nothing of what was in them.
func TestWhatIsListedOfThings(t *testing.T) {
	t.Parallel()
	o := withSample(t)
	did := func(run string) []undo.Thing {
		return parsed[shownRun](t, o.well(t, "show", "--json", "--all", run)).Did.Things
	}
	circles := o.called(t, "checkGhostCircles", "")
	things := did(circles.RunID)
	isFile := func(thing undo.Thing) bool {
		return thing.What == "deleted" && strings.HasPrefix(thing.Target, "gs://"+o.Bucket+"/")
	}
	for what, is := range map[string]func(undo.Thing) bool{
		"a notification that was sent": func(thing undo.Thing) bool {
			return thing.Sent && thing.What == "created" && strings.Contains(thing.Target, "/notifications/")
		},
		"a field that was written": func(thing undo.Thing) bool {
			return thing.What == "changed" && strings.HasPrefix(thing.Target, "circles/") && len(thing.Fields) > 0
		},
		"files": isFile,
	} {
		if !slices.ContainsFunc(things, is) {
			t.Errorf("%s is missing in %+v", what, things)
		}
	}
	for _, thing := range things {
		for _, field := range thing.Fields {
			if field.Before != nil || field.After != nil {
				t.Errorf("what was in %s of %s is listed", field.Name, thing.Target)
			}
		}
	}
	// What runs --of names, undo takes.
	file := things[slices.IndexFunc(things, isFile)].Target
	found := parsed[struct {
		Searched int
		Found    []foundThing
	}](t, o.well(t, "runs", "--json", "--of", file)).Found
	want(t, "found", []foundThing{{Run: circles.RunID, Target: file, What: "deleted"}}, found)
	const access = "Warning: files come back with the bucket's default access"
	wantParts(t, o.preview(t, "--only", file, circles.RunID), file, access)
	bucket := o.env["STORAGE_BUCKET"]
	o.env["STORAGE_BUCKET"] = "" // the run's report has it
	wantParts(t, o.well(t, "runs", "--of", file), file+"\n")
	o.env["STORAGE_BUCKET"] = bucket
	users := o.called(t, "cleanupBannedUsers", "")
	if !slices.ContainsFunc(did(users.RunID), func(thing undo.Thing) bool {
		return thing.What == "deleted" && thing.Target == "account user-banned-last-month" && thing.Account == ""
	}) {
		t.Errorf("the account is missing, or what it was is listed: %+v", did(users.RunID))
	}
	wantNone(t, o.preview(t, users.RunID), access)
	wantParts(t, o.well(t, "show", users.RunID), "deleted  ", "account user-banned-last-month")
}
