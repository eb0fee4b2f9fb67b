package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// underWayRun has a run of cleanupReports hold its lease, and returns its id.
func (o *operator) underWayRun(t *testing.T) string {
	t.Helper()
	runID := "cleanupReports-20260110T145900Z-0123abcd"
	o.Set(t, "cleanupJobs/cleanupReports", enginetest.Leased(runID, o.now.Add(5*time.Minute)))
	return runID
}

// held returns which jobs are held, by what hold lists.
func (o *operator) held(t *testing.T) (names []string) {
	t.Helper()
	for _, j := range parsed[holding](t, o.well(t, "hold", "--json")).Jobs {
		names = append(names, j.Job)
	}
	slices.Sort(names)
	return names
}

// TestHoldAndResume: a job that is held does nothing, every command says so and the way out, and it goes on when it is resumed.
func TestHoldAndResume(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	wantParts(t, o.well(t, "hold"), "No job is held, and nothing is kept.")
	args := []string{"hold", "cleanupreports", "--because", "it's \x1b[2J wrong"}
	out, errs := o.ends(t, exitWrongUse, args...)
	wantParts(t, out, "cleanupReports  (default)")
	wantParts(t, errs, `firesweep hold --because 'it'\''s \x1b[2J wrong' cleanupreports --yes`)
	o.screen.in, o.in = true, "n\n"
	_, errs = o.ends(t, exitWrongUse, args...)
	wantParts(t, errs, "Hold 1 job in "+o.ID+" on emulators? (y/N) ", "nothing was changed")
	want(t, "held", 0, len(o.held(t)))
	o.in = "y\n"
	out, _ = o.ends(t, exitFine, args...)
	wantParts(t, out, "Held. Let them run again:\n    firesweep resume cleanupReports\n")
	o.screen.in = false
	again := parsed[holding](t, o.well(t, "hold", "--yes", "--because", "another reason", "cleanupReports", "--json"))
	want(t, "the first reason", "it's \x1b[2J wrong", again.Jobs[0].Why)

	rep := o.called(t, "cleanupReports", "")
	want(t, "the run", report.Skipped, rep.Status)
	wantParts(t, strings.Join(rep.Warnings, ""), "held since 2026-01-10 15:00 UTC by ")
	const held, wayOut = `held since 2026-01-10 15:00 UTC by `, "firesweep resume cleanupReports"
	wantParts(t, oneLine(o.well(t, "hold")), "since 2026-01-10 15:00 UTC by ", `, because "it's \x1b[2J wrong"`, "firesweep resume JOB")
	wantParts(t, oneLine(o.well(t, "runs", "cleanupReports")), held, wayOut, "skipped")
	wantParts(t, oneLine(o.well(t, "show", rep.RunID)), "The job is "+held, wayOut, "because the job is held")
	wantParts(t, oneLine(o.well(t, "doctor", "cleanupReports")), "warning: cleanupReports: It is "+held, wayOut)
	out = o.well(t, "plan", "cleanupReports")
	wantParts(t, oneLine(out), "cleanupReports: 2 due", "warning: held since", wayOut)
	wantNone(t, out, "Do it:")
	o.screen.in = true
	out, errs = o.ends(t, exitFailed, "run", "cleanupReports") // asks nobody
	wantParts(t, oneLine(out), "warning: held since", wayOut)
	want(t, "asked", "", errs)
	o.screen.in = false
	out, _ = o.ends(t, exitFailed, "run", "--yes", "--confirm", o.ID, "cleanupReports")
	wantParts(t, oneLine(out), "cleanupReports: skipped", "because the job is held: firesweep runs cleanupReports")
	want(t, "reports", 3, len(o.Documents(t, "reports")))

	o.refuses(t, exitFailed, "nobody holds cleanExpiredComped by itself: see firesweep hold", "resume", "--yes", "cleanExpiredComped")
	out, errs = o.ends(t, exitWrongUse, "resume", "cleanupReports")
	wantParts(t, oneLine(out), "Held since 2026-01-10 15:00 UTC", "cleanupReports (default)")
	wantParts(t, errs, "firesweep resume cleanupReports --yes")
	wantParts(t, o.well(t, "resume", "--yes", "cleanupReports"), "Resumed: cleanupReports.")
	want(t, "held", 0, len(o.held(t)))
	o.well(t, "run", "--yes", "--confirm", o.ID, "cleanupReports")
	want(t, "reports", 1, len(o.Documents(t, "reports")))
	wantParts(t, o.well(t, "resume", "--all"), "No job is held.")
}

// TestHoldAll: one command holds every job of any database, also what nobody here knows, and what fails to be read. Another
// resumes all.
func TestHoldAll(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "FIRESTORE_DATABASE_cleanupReports=other")
	o.called(t, "cleanupReports", "")
	o.Set(t, "cleanupJobs/cleanupOfAnotherCheckout", enginetest.HeldBy("ann", "mine"))
	o.Set(t, "cleanupJobs/cleanExpiredComped", map[string]any{"until": 7})
	h := parsed[holding](t, o.well(t, "hold", "--yes", "--json", "--all", "--because", "restoring"))
	want(t, "held", []string{"all-jobs", "all-jobs"}, jobsWhere(h, func(j heldJob) bool { return j.Error == "" }))
	for _, job := range []string{"cleanupReports", "cleanupBannedUsers"} { // which has a record, and has none
		want(t, job, report.Skipped, o.called(t, job, "").Status)
	}
	o.refuses(t, exitFailed, "nobody holds cleanupReports by itself: see firesweep hold", "resume", "--yes", "cleanupReports")
	o.Delete(t, "cleanupJobs/cleanExpiredComped")
	want(t, "listed", []string{"all-jobs", "all-jobs", "cleanupOfAnotherCheckout"}, o.held(t))
	wantParts(t, oneLine(o.well(t, "runs", "cleanupReports")), "because \"restoring\"", "firesweep resume all-jobs")
	wantParts(t, oneLine(o.well(t, "resume", "--yes", "all-jobs")), "Resumed: all-jobs.")
	want(t, "left", []string{"cleanupOfAnotherCheckout"}, o.held(t))
	want(t, "goes on", report.Completed, o.called(t, "cleanupReports", "").Status)
	o.well(t, "resume", "--yes", "--all")
	want(t, "held", 0, len(o.held(t)))
}

// TestHeldBecauseItIsNew: a job of which an undo did not know is listed, and resumed by itself.
func TestHeldBecauseItIsNew(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	known := append(jobNames(), "deletePlaceholderUser", "sendInactiveProjectWarning")
	known = slices.DeleteFunc(known, func(name string) bool { return name == "cleanupReports" || name == "cleanExpiredComped" })
	o.Set(t, "cleanupJobs/new-jobs", map[string]any{"known": known, "held": map[string]any{"at": o.now, "why": "it came back"}})
	want(t, "listed", []string{"cleanExpiredComped", "cleanupReports", "new-jobs"}, o.held(t))
	wantParts(t, o.well(t, "resume", "--yes", "cleanupReports"), "Resumed: cleanupReports.")
	want(t, "resumed", report.Completed, o.called(t, "cleanupReports", "").Status)
	want(t, "another", report.Skipped, o.called(t, "cleanExpiredComped", "").Status)
	o.well(t, "resume", "--yes", "new-jobs")
	want(t, "another", report.Completed, o.called(t, "cleanExpiredComped", "").Status)
}

func jobsWhere(h holding, is func(heldJob) bool) (names []string) {
	for _, j := range h.Jobs {
		if is(j) {
			names = append(names, j.Job)
		}
	}
	return names
}

// TestHoldAndStop: the run that is under way is told to stop, and what is not under way is not.
func TestHoldAndStop(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	runID := o.underWayRun(t)
	out, _ := o.ends(t, exitFailed, "run", "--yes", "--confirm", o.ID, "cleanupReports")
	wantParts(t, oneLine(out), "a run does nothing yet: Run "+runID+" is under way. Its lease ends at 2026-01-10 15:05 UTC at the latest.",
		"It did nothing: another run was under way")
	wantParts(t, oneLine(o.well(t, "hold", "--yes", "--stop", "cleanupReports")), runID+" is told to stop, which takes seconds. If it was killed, "+
		"its lease ends at 2026-01-10 15:05 UTC. See: firesweep runs cleanupReports", "firesweep resume cleanupReports")
	want(t, "held", []string{"cleanupReports"}, o.held(t))
	want(t, "the mark", any(runID), o.Documents(t, "cleanupJobs")["cleanupReports"]["stop"])
	wantParts(t, o.well(t, "runs", "cleanupReports"), "held since", "under way", "was told to")
	for name, lease := range map[string]map[string]any{
		"an undo goes on": enginetest.Leased("undo-"+runID, o.now.Add(time.Hour)), "dead": enginetest.Leased(runID, o.now.Add(-time.Minute)), "none": {},
	} {
		o.Set(t, "cleanupJobs/cleanupReports", lease)
		held := parsed[holding](t, o.well(t, "hold", "--yes", "--stop", "--json", "cleanupReports")).Jobs[0]
		want(t, name, []any{"", false}, []any{held.Stops, held.At.IsZero()})
		want(t, name+", the mark", nil, o.Documents(t, "cleanupJobs")["cleanupReports"]["stop"])
	}
}

// TestHoldKeep: nothing that is kept goes, nor what leads to it, in whatever job and database.
func TestHoldKeep(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "FIRESTORE_DATABASE_cleanupBannedUsers=other")
	old := map[string]any{"status": "reviewed", "createdAt": o.now.AddDate(0, -2, 0)}
	for _, path := range []string{"reports/a", "reports/b", "reports/c", "reports/b/notes/n"} {
		o.Set(t, path, old)
	}
	args := []string{"hold", "--because", "legal hold", "--keep", "reports/a", "--keep", "reports/b/notes/"}
	out, errs := o.ends(t, exitWrongUse, args...)
	wantParts(t, oneLine(out), "reports/a", "reports/b/notes/", `because "legal hold"`)
	wantParts(t, errs, "firesweep hold --because 'legal hold' --keep reports/a --keep reports/b/notes/ --yes\n")
	wantParts(t, o.well(t, append(args, "--yes")...), "The jobs keep it", "firesweep resume --keep reports/a --keep reports/b/notes/")
	kept := parsed[holding](t, o.well(t, "hold", "--json")).Keep
	want(t, "kept", 4, len(kept)) // two paths in two databases
	got := o.called(t, "cleanupReports", "")
	want(t, "kept", []int{1, 1}, []int{got.Kept[jobstate.KeptListed], got.Kept[jobstate.KeptWithListed]})
	want(t, "left", []string{"a", "b"}, slices.Sorted(maps.Keys(o.Documents(t, "reports"))))
	wantParts(t, oneLine(o.well(t, "plan", "cleanupReports")), "kept 1: "+jobstate.KeptListed)

	o.Import(t, new(auth.UserToImport).UID("ann"))
	o.well(t, "hold", "--yes", "--because", "x", "--keep", "account ann")
	o.refuses(t, exitWrongUse, "--keep: there is no account nobody", "hold", "--yes", "--because", "x", "--keep", "account nobody")
	o.refuses(t, exitFailed, "no job keeps reports/c: see firesweep hold", "resume", "--yes", "--keep", "reports/a", "--keep", "reports/c")
	out, _ = o.ends(t, exitWrongUse, "resume", "--keep", "reports/a")
	wantParts(t, out, "reports/a")
	wantNone(t, out, "reports/b")
	wantParts(t, o.well(t, "resume", "--yes", "--keep", "reports/a", "--keep", "reports/b/notes/", "--keep", "account ann"), "judge it again")
	want(t, "kept", 0, len(parsed[holding](t, o.well(t, "hold", "--json")).Keep))
	o.called(t, "cleanupReports", "")
	want(t, "left", 0, len(o.Documents(t, "reports")))
}

// TestHoldKeepsFiles: what no job would keep is refused, also where the command chooses the bucket itself, and who may not look may
// keep it all the same.
func TestHoldKeepsFiles(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "STORAGE_BUCKET=")
	o.Bucket = o.ID + ".firebasestorage.app"
	o.Put(t, "u1/a.png", nil, nil)
	keep := func(path string) []string {
		return []string{"hold", "--yes", "--because", "court order", "--keep", path}
	}
	for path, says := range map[string]string{
		"gs://" + o.ID + ".appspot.com/u1/": "--keep: no job uses the bucket " + o.ID + ".appspot.com: they use " + o.Bucket,
		"gs://" + o.Bucket + "/u2/":         "--keep: there is no file gs://" + o.Bucket + "/u2/: is it misspelt?",
		"gs://" + o.Bucket + "/u1/b.png":    "--keep: there is no file ",
		"gs://" + o.Bucket + "/u1/a":        "--keep: there is no file ",
		"gs://" + o.Bucket + "/u1":          "--keep: there is no file ",
	} {
		_, errs := o.ends(t, exitWrongUse, keep(path)...)
		wantParts(t, errs, says)
	}
	for _, name := range []string{"u1/", "u1/a.png"} {
		out, _ := o.ends(t, exitFine, keep("gs://"+o.Bucket+"/"+name)...)
		wantParts(t, out, "The jobs keep it")
		wantNone(t, out, "Nobody could look")
	}
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(denied.Close)
	o.env["STORAGE_EMULATOR_HOST"], o.env["STORAGE_BUCKET"] = denied.URL, o.Bucket
	wantParts(t, oneLine(o.well(t, keep("gs://"+o.Bucket+"/u3/")...)), "Nobody could look for gs://"+o.Bucket+"/u3/, so make sure that it is spelt right",
		"The jobs keep it")
}

// TestListOfMuchThatIsKept: the first is shown.
func TestListOfMuchThatIsKept(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	args := []string{"hold", "--yes", "--because", "an appeal"}
	for n := range listed + 2 {
		name := fmt.Sprintf("u%02d", n)
		o.Put(t, name, nil, nil)
		args = append(args, "--keep", "gs://"+o.Bucket+"/"+name)
	}
	o.well(t, args...)
	out := o.well(t, "hold")
	want(t, "listed", listed, strings.Count(out, "  gs://"))
	wantParts(t, out, "and 2 items more: use --json")
}
