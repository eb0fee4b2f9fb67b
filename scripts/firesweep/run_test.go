package main

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

type ranHere struct {
	Plans []planned
	Runs  []ran
}

// dueDrafts puts an application with a rule into a folder, and drafts into its project: n are due, and one is not.
func (o *operator) dueDrafts(t *testing.T, n int) {
	t.Helper()
	rules := strings.Replace(drafts, `"collection":`, `"maxDuePercent": 100, "collection":`, 1)
	o.inApp(t, map[string]string{"firesweep.json": rules, "firebase.json": "{}"})
	o.SetAlike(t, n, "drafts/d%04d", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	o.Set(t, "drafts/young", map[string]any{"editedAt": now})
}

// TestRun goes the way of somebody who has nothing deployed: preview, the first run, the next one, and undo.
func TestRun(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 2)
	before := o.everything(t)
	out, errs := o.ends(t, exitWrongUse, "run", "--project", o.ID)
	wantParts(t, out, "cleanupDrafts: 2 due", "  delete draft: 2, because editedAt 2025", "\n    drafts/d0000\n")
	want(t, "standard error", "firesweep: nothing was changed, because nobody can be asked. Do it:\n"+
		"    firesweep run --project "+o.ID+" --confirm "+o.ID+" --yes\n", errs)
	o.env["npm_command"] = "exec" // as npx sets it
	wantParts(t, o.well(t, "plan"), "\n    npx firesweep run\n")
	o.refuses(t, exitWrongUse, "cleanupDrafts never ran in "+o.ID+", database (default): give the project's id: --confirm "+o.ID, "run", "--yes")
	o.refuses(t, exitWrongUse, `--confirm is "other", and the project is `+o.ID, "run", "--yes", "--confirm", "other")
	want(t, "the project", before, o.everything(t))

	runs := parsed[ranHere](t, o.well(t, "run", "--yes", "--confirm", o.ID, "--json")).Runs
	rep := runs[0].Report
	want(t, "done", report.Counts{Planned: 2, Done: 2}, rep.Actions["delete draft"])
	wantParts(t, rep.Revision, "firesweep run by ")
	want(t, "what is left", []string{"young"}, slices.Collect(maps.Keys(o.Documents(t, "drafts"))))
	want(t, "its report is missing", false, len(o.Documents(t, "cleanupRuns")[rep.RunID]) == 0)
	wantParts(t, o.well(t, "runs"), "cleanupDrafts")

	wantParts(t, o.well(t, "show", "--project", o.ID, rep.RunID), "npx firesweep undo --project "+o.ID+" "+rep.RunID)
	out = o.well(t, "run", "--yes") // it ran here before, so nobody is asked
	wantParts(t, out, "cleanupDrafts: nothing is due", "cleanupDrafts: completed")
	wantNone(t, out, "firesweep undo")
	want(t, "runs", 2, len(o.Documents(t, "cleanupRuns")))
	wantNone(t, o.well(t, "run"), "completed") // nothing is due, so nobody need be asked, and nothing runs
	want(t, "runs", 2, len(o.Documents(t, "cleanupRuns")))
	wantParts(t, o.well(t, "undo", "--yes", rep.RunID), "2 things came back.")
	want(t, "what is back", 3, len(o.Documents(t, "drafts")))
	held, _ := o.ends(t, exitFailed, "run", "--yes")
	wantParts(t, oneLine(held), "skipped", "because the job is held: npx firesweep runs cleanupDrafts")
	want(t, "what is left of a job that is held", 3, len(o.Documents(t, "drafts")))
}

// TestRunOnAnotherBucket: one that nobody named must be that of the last run, and one that somebody named is confirmed.
func TestRunOnAnotherBucket(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.inApp(t, map[string]string{"firesweep.json": `{"rules":[{"name":"cleanupExports","schedule":"0 4 * * *",
		"objects":"exports/{uid}/**","gone":[{"document":"users/{uid}"}],"age":{"days":0}}]}`})
	o.now = time.Now().Add(time.Hour)
	o.Set(t, "users/u2", map[string]any{})
	run := []string{"run", "--yes"}
	o.refuses(t, exitWrongUse, "cleanupExports (on the bucket "+o.Bucket+") never ran in "+o.ID, run...)
	o.well(t, append(run, "--confirm", o.ID)...)
	first := o.Bucket
	o.Bucket = o.ID + ".appspot.com"
	o.Put(t, "exports/u1/a", nil, nil)
	o.env["STORAGE_BUCKET"] = ""
	out, errs := o.ends(t, exitWrongUse, append(run, "--confirm", o.ID)...)
	want(t, "output", "", out)
	wantParts(t, errs, "the last run of cleanupExports worked on the bucket "+first+", and not on "+o.Bucket+": set STORAGE_BUCKET")
	o.env["STORAGE_BUCKET"] = o.Bucket
	o.refuses(t, exitWrongUse, "cleanupExports (on the bucket "+o.Bucket+") never ran in "+o.ID, run...)
	want(t, "objects", []string{"exports/u1/a"}, o.Objects(t))
	o.well(t, append(run, "--confirm", o.ID)...)
	want(t, "objects, confirmed", 0, len(o.Objects(t)))
}

// TestEmptyFlags restrict nothing, as a variable that is not set makes them, and nothing is begun.
func TestEmptyFlags(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 1)
	before := o.everything(t)
	for _, args := range []string{
		"run --yes --confirm ID --plan", "run --yes --confirm ID --project", "run --yes --confirm ID --rules",
		"run --yes --confirm", "undo --yes 01234567 --where", "plan --out", "runs --of",
		"hold --all --because", "resume --keep",
	} {
		flag := args[strings.LastIndex(args, " ")+1:]
		o.refuses(t, exitWrongUse, flag+" is empty", append(strings.Fields(strings.ReplaceAll(args, "ID", o.ID)), "")...)
	}
	want(t, "the project", before, o.everything(t))
}

// TestRunAsks: at a terminal the project's id is typed the first time, and anything else runs nothing; later it is agreed to.
func TestRunAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ran    bool // here before
		answer string
		left   int
	}{
		{false, "", 2}, {false, "yes\n", 2}, {false, "ID\n", 1}, {true, "", 2}, {true, "n\n", 2}, {true, "y\n", 1}, {true, "Yes\n", 1},
	} {
		for _, asJSON := range []string{"--json=false", "--json"} {
			o := newOperator(t)
			o.dueDrafts(t, 0)
			question := "cleanupDrafts never ran in " + o.ID + ", database (default). Type the project's id to run: "
			if tt.ran {
				o.well(t, "run", "--yes", "--confirm", o.ID)
				question = "Do this to 1 item in " + o.ID + " on emulators? (y/N) "
			}
			o.dueDrafts(t, 1)
			o.screen.in, o.in = true, strings.ReplaceAll(tt.answer, "ID", o.ID)
			out, errs, code := o.run(t, "run", "cleanupDrafts", asJSON)
			want(t, tt.answer+", well", tt.left == 1, code == exitFine)
			wantParts(t, errs, question)
			want(t, tt.answer+", drafts", tt.left, len(o.Documents(t, "drafts")))
			switch {
			case tt.left > 1:
				wantParts(t, errs, "firesweep: nothing was changed: the answer was not ")
			case asJSON == "--json": // the plan is shown all the same, and not in the way of a program
				wantParts(t, errs, "drafts/d0000")
				want(t, "runs", 1, len(parsed[ranHere](t, out).Runs))
			default:
				wantParts(t, out, "  delete draft: 1 of 1 done\n  Take it back:\n    firesweep undo ")
			}
		}
	}
	o := newOperator(t)
	o.dueDrafts(t, 0)
	o.screen.in = true
	_, errs := o.ends(t, exitWrongUse, "run", "--yes") // nothing is due yet, and the next run would ask nobody
	wantParts(t, errs, "Type the project's id to run: ")
	want(t, "jobs that ran", 0, len(o.Documents(t, "cleanupJobs")))
}

// TestRunDoesWhatItShowed: what becomes due because of the run itself, or while somebody reads, is left to the next one.
func TestRunDoesWhatItShowed(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.inApp(t, map[string]string{"firesweep.json": `{"rules":[
		{"name":"cleanupOwners","schedule":"0 4 * * *","collection":"owners","age":{"field":"seenAt","days":365}},
		{"name":"cleanupPets","schedule":"0 5 * * *","collection":"pets","age":"any","gone":[{"document":"owners/{owner}"}]}]}`})
	o.Set(t, "owners/old", fields{"seenAt": now.AddDate(-2, 0, 0)})
	o.Set(t, "owners/young", fields{"seenAt": now})
	o.Set(t, "pets/rex", fields{"owner": "old"})
	o.Set(t, "pets/tom", fields{"owner": "young"})
	o.Set(t, "pets/stray", fields{"owner": "nobody"})
	o.screen.in, o.in = true, o.ID+"\n"
	out, _ := o.ends(t, exitFine, "run")
	wantParts(t, oneLine(out), "cleanupPets: 1 due", "delete pet: 1 of 1 done", "kept 1: not in the approved plan", "What was agreed to is done. Due as well, and not in the plan: 1 item. ")
	want(t, "pets", []string{"rex", "tom"}, slices.Sorted(maps.Keys(o.Documents(t, "pets"))))
	o.screen.in = false
	o.well(t, "run", "--yes") // which agrees to whatever is due
	want(t, "pets", []string{"tom"}, slices.Sorted(maps.Keys(o.Documents(t, "pets"))))
}

// TestForcedRun shows the plan without limits, and asks for a whole yes.
func TestForcedRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer string
		args   []string
		code   int
		left   int
	}{
		{"yes\n", nil, exitFine, 1}, {"", []string{"--yes"}, exitFine, 1}, {"y\n", nil, exitWrongUse, 3}, {"", nil, exitWrongUse, 3},
	} {
		o := withReports(t, "MAX_ACTIONS=1")
		o.called(t, "cleanupReports", `{"dryRun":false}`) // so that it ran here
		o.screen.in, o.in = true, tt.answer
		out, errs := o.ends(t, tt.code, append([]string{"run", "--force", "cleanupReports"}, tt.args...)...)
		wantParts(t, out, "2 due, forced", "    reports/old\n")
		want(t, "completed", tt.code == exitFine, strings.Contains(out, "completed, forced"))
		asks := !slices.Contains(tt.args, "--yes")
		want(t, "asked", asks, strings.Contains(errs, "Run it like this, without its safety limits? Type yes: "))
		want(t, "reports", tt.left, len(o.Documents(t, "reports")))
	}
}

// TestRunInterrupted: it ends in order, says what it did, and the next run need not wait.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	o.running.BeforeApply = cancel
	a, out, errs := o.app()
	want(t, "exit code", exitInterrupted, a.run(ctx, []string{"run", "--yes", "--confirm", o.ID}))
	wantParts(t, out.String(), "cleanupDrafts: partial", "or was interrupted", "2000 were left to the next run")
	wantParts(t, errs.String(), "firesweep: interrupted")
	want(t, "drafts", 2001, len(o.Documents(t, "drafts")))
	o.running.BeforeApply = nil
	runs := parsed[ranHere](t, o.well(t, "run", "--yes", "--json")).Runs
	want(t, "the next run", 2000, runs[0].Report.Actions["delete draft"].Done)
}

// TestRunKeepsLimits: they hold as they do deployed. TestForcedRun lifts them.
func TestRunKeepsLimits(t *testing.T) {
	t.Parallel()
	o := withReports(t, "MAX_ACTIONS=1")
	args := []string{"run", "--yes", "--confirm", o.ID, "cleanupReports"}
	out, _ := o.ends(t, exitFailed, args...)
	wantParts(t, oneLine(out), "aborted", "a safety limit stopped it: the plan has more than 1 actions (MAX_ACTIONS)",
		"2 were not done because of a safety limit, and nothing does them before somebody acts", "Nothing was deleted or changed.")
	want(t, "what tripped is said", 1, strings.Count(oneLine(out), "(MAX_ACTIONS)"))
	wantParts(t, out, "run it once without the limit:\n    firesweep run cleanupReports --force\n") // as TestForcedRun does
	wantNone(t, out, "Terraform", `{"`)
	o.refuses(t, exitFailed, "changed nothing, so there is nothing to bring back", "undo", "cleanupReports")
	want(t, "reports", 3, len(o.Documents(t, "reports")))
	o.running.Dial = queried(func(string) error { return status.Error(codes.InvalidArgument, "broken") })
	out, _ = o.ends(t, exitFailed, args...)
	wantParts(t, oneLine(out), "The next run tries again what failed")
	o.running.Dial = documents.ReadOnly() // as of somebody with the role of a viewer
	out, _ = o.ends(t, exitFailed, args...)
	wantParts(t, oneLine(out), "PermissionDenied", "-> A right is missing.")
}

// TestRunRefuses what it cannot do, before it does anything.
func TestRunRefuses(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 1)
	before := o.everything(t)
	for args, says := range map[string]string{
		"--yes cleanupPlaceholderUsers": "cleanupPlaceholderUsers: it hands work to its worker through Cloud Tasks, so it only runs " +
			"deployed: leave it out, and start it there: gcloud scheduler jobs run cleanupPlaceholderUsers --location=REGION",
		"--force --yes cleanupDrafts cleanupReports":                  "force one job at a time",
		"--yes --confirm " + o.ID + " cleanupOrphanedMedia --rules x": "--rules: open",
	} {
		o.refuses(t, exitWrongUse, says, append([]string{"run"}, strings.Fields(args)...)...)
	}
	o.env["GOOGLE_CLOUD_PROJECT_cleanupDrafts"] = "other"
	o.refuses(t, exitWrongUse, "GOOGLE_CLOUD_PROJECT_cleanupDrafts is other, and the project is "+o.ID, "run", "--yes", "--confirm", o.ID)
	delete(o.env, "GOOGLE_CLOUD_PROJECT_cleanupDrafts")
	o.env["DRY_RUN"] = "true"
	out, _ := o.ends(t, exitFailed, "run", "--yes", "--confirm", o.ID)
	wantParts(t, out, "DRY_RUN is true, so nothing runs: unset it")
	want(t, "the project", before, o.everything(t))
}

// TestRunSaysWhatStayed: a document is deleted, and a file to which it seems to refer is of another bucket.
func TestRunSaysWhatStayed(t *testing.T) {
	o := newOperator(t)
	o.inApp(t, map[string]string{"firesweep.json": `{"rules":[{"name":"cleanupPosts","schedule":"0 3 * * *","collection":"posts",
		"age":{"field":"at","days":1},"maxDuePercent":100,"with":[{"objects":"pics/**","field":"pic"}]}]}`})
	o.Put(t, "pics/a.png", nil, nil)
	for id, pic := range map[string]string{"a": "pics/a.png", "b": "gs://elsewhere/pics/b.png"} {
		o.Set(t, "posts/"+id, map[string]any{"at": o.now.AddDate(0, 0, -9), "pic": pic})
	}
	out := oneLine(o.well(t, "run", "--yes", "--confirm", o.ID))
	wantParts(t, out, "posts/b: deleted, but not its object: pic holds a URL of another bucket")
	if strings.Contains(out, "posts/a: ") {
		t.Errorf("of posts/a nothing stayed: %s", out)
	}
	want(t, "left", 0, len(o.Documents(t, "posts"))+len(o.Objects(t)))
	wantParts(t, out, "Take it back, its files if the bucket keeps what is deleted")
	o.env["UNDO_DAYS"] = "0"
	o.Put(t, "pics/c.png", nil, nil)
	o.Set(t, "posts/c", map[string]any{"at": o.now.AddDate(0, 0, -9), "pic": "pics/c.png"})
	out = oneLine(o.well(t, "run", "--yes"))
	wantParts(t, out, "UNDO_DAYS is 0: what a run deletes cannot be brought back")
	wantNone(t, out, "Take it back")
}

// TestNoGuessOfABucket: a look for the project's bucket that failed leaves none, is not made again, and ends with the command.
func TestNoGuessOfABucket(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "STORAGE_BUCKET=")
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request, interrupt func()){
		"no right": func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusForbidden) },
		"interrupted": func(_ http.ResponseWriter, r *http.Request, interrupt func()) {
			interrupt()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var asked atomic.Int32
			storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				answer(w, r, interrupt)
			}))
			defer storage.Close()
			o := *o
			o.env = maps.Clone(o.env)
			o.env["STORAGE_EMULATOR_HOST"] = storage.URL
			a, _ := o.loaded(t)
			begun := time.Now()
			for range 2 {
				_, err := a.settings(ctx, a.All[0], config.Firestore, config.Storage)
				check.Fails(t, err, "look for the project's bucket", "set STORAGE_BUCKET")
				want(t, "the bucket", "", a.getenv("STORAGE_BUCKET"))
			}
			want(t, "requests", 1, int(asked.Load()))
			want(t, "at once", true, time.Since(begun) < lookForBucket/2)
		})
	}
}

// TestDefaultBucket: where nothing says which bucket, it is the project's own of the two that may be there, and never a guess.
func TestDefaultBucket(t *testing.T) {
	t.Parallel()
	const today, before = ".firebasestorage.app", ".appspot.com"
	for name, tt := range map[string]struct {
		filled []string
		says   string
		code   int
	}{
		"none holds anything":      {nil, today + " (STORAGE_BUCKET is not set)", exitFine},
		"today's":                  {[]string{today}, today + " (STORAGE", exitFine},
		"that of an older project": {[]string{before}, before + " (STORAGE", exitFine},
		"both":                     {[]string{today, before}, "set STORAGE_BUCKET to one of them", exitWrongUse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, "STORAGE_BUCKET=")
			for _, suffix := range tt.filled {
				o.Bucket = o.ID + suffix
				o.Put(t, "posts/a.jpg", nil, nil)
			}
			out, says := o.ends(t, tt.code, "plan", "cleanupOrphanedMedia")
			wantParts(t, says, tt.says)
			if tt.code == exitFine && len(tt.filled) > 0 {
				wantParts(t, out, "1 scanned")
			}
			out, says = o.ends(t, exitFine, "init", "--yes", "--rules", t.TempDir()+"/firesweep.json")
			wantParts(t, oneLine(says+out), tt.says)
			if len(tt.filled) == 1 {
				wantParts(t, out, "Looked at a part of: posts/. ")
			}
		})
	}
	// What does not use the bucket does not look for it.
	newOperator(t, "STORAGE_BUCKET=").well(t, "plan", "cleanupReports")
}
