package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/report"
)

type ranHere struct{ Runs []ran }

// dueDrafts puts an application with a rule into a folder, and drafts into its project: n are due, and one is not.
func (o *operator) dueDrafts(t *testing.T, n int) {
	t.Helper()
	rules := strings.Replace(drafts, `"collection":`, `"maxDuePercent": 100, "collection":`, 1)
	o.inApp(t, map[string]string{"firesweep.json": rules, "firebase.json": "{}"})
	o.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("drafts/d%04d", i), map[string]any{"editedAt": now.AddDate(-1, 0, 0)}
	})
	o.Set(t, "drafts/young", map[string]any{"editedAt": now})
}

// TestRunHere goes the way of somebody who has nothing deployed: preview, the first run, the next one, and undo.
func TestRunHere(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 2)
	before := o.everything(t)
	out := o.well(t, "run", "--here", "--project", o.ID)
	wantParts(t, out, "planned: 2 delete document", "Nothing was changed. Do it:", "firesweep run --here --apply --project "+o.ID+"\n")
	o.env["npm_command"] = "exec" // as npx sets it
	wantParts(t, o.well(t, "plan"), "\n    npx firesweep run --here --apply\n")
	o.refuses(t, exitWrongUse, "cleanupDrafts never ran in "+o.ID+", database (default), and standard input is not a terminal: give the project's id: --confirm "+
		o.ID, "run", "--here", "--apply")
	o.refuses(t, exitWrongUse, `--confirm is "other", and the project is `+o.ID, "run", "--here", "--apply", "--confirm", "other")
	want(t, "the project", before, o.everything(t))

	runs := parsed[ranHere](t, o.well(t, "run", "--here", "--apply", "--confirm", o.ID, "--json")).Runs
	rep := runs[0].Report
	want(t, "done", report.Counts{Planned: 2, Done: 2}, rep.Actions["delete document"])
	wantParts(t, rep.Revision, "run --here by ")
	want(t, "what is left", []string{"young"}, slices.Collect(maps.Keys(o.Documents(t, "drafts"))))
	if len(o.Documents(t, "cleanupRuns")[rep.RunID]) == 0 {
		t.Error("its report is not saved")
	}
	wantParts(t, o.well(t, "runs"), "cleanupDrafts")

	wantParts(t, o.well(t, "show", "--project", o.ID, rep.RunID), "firesweep undo --project "+o.ID+" "+rep.RunID)
	wantParts(t, o.well(t, "run", "--here", "--apply"), "completed") // it ran here before, so nobody is asked
	wantParts(t, o.well(t, "undo", "--apply", rep.RunID), "2 things taken back")
	want(t, "what is back", 3, len(o.Documents(t, "drafts")))
	wantParts(t, o.well(t, "run", "--here", "--apply"), "completed")
	want(t, "what is pinned", 3, len(o.Documents(t, "drafts")))
}

// TestForgetOnly: a rule whose schedule is never does nothing but where a user is forgotten.
func TestForgetOnly(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 1)
	both := read(t, filepath.Join(o.dir, "firesweep.json"))
	posts := `{"name": "forgetPosts", "schedule": "never", "collection": "posts", "age": "any", "gone": [{"account": "{by}"}]},`
	both = strings.Replace(both, `"functions": [`, `"functions": [`+posts, 1)
	o.inApp(t, map[string]string{"firesweep.json": both, "firebase.json": "{}"})
	o.Set(t, "posts/a", map[string]any{"by": "hana"})
	run := []string{"run", "--here", "--apply", "--confirm", o.ID}
	o.well(t, run...)
	want(t, "posts", 1, len(o.Documents(t, "posts")))
	want(t, "drafts", 1, len(o.Documents(t, "drafts")))
	wantNone(t, o.well(t, "plan"), "forgetPosts")
	wantParts(t, o.well(t, "runs", "--limit", "50", "forgetPosts"), "never ran") // which ends, though its period is a century
	for _, args := range [][]string{run, {"run", "--here"}, {"run", "--local"}, {"plan"}, {"backtest"}} {
		o.refuses(t, exitWrongUse, "only firesweep forget UID uses forgetPosts", append(args, "forgetPosts")...)
	}
	o.inApp(t, map[string]string{"firesweep.json": `{"functions": [` + strings.TrimSuffix(posts, ",") + `]}`, "firebase.json": "{}"})
	o.refuses(t, exitWrongUse, "only firesweep forget UID uses forgetPosts", run...)
	want(t, "posts", 1, len(o.Documents(t, "posts")))
	o.Import(t, new(auth.UserToImport).UID("hana"))
	o.well(t, "forget", "--apply", "--yes", "--force", "hana")
	want(t, "posts, forgotten", 0, len(o.Documents(t, "posts")))
}

// TestRunHereOnAnotherBucket: one that nobody named must be that of the last run, and one that somebody named is confirmed.
func TestRunHereOnAnotherBucket(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.inApp(t, map[string]string{"firesweep.json": `{"functions":[{"name":"cleanupExports","schedule":"0 4 * * *",
		"objects":"exports/{uid}/**","gone":[{"document":"users/{uid}"}],"age":{"days":0}}]}`})
	o.now = time.Now().Add(time.Hour)
	o.Set(t, "users/u2", map[string]any{})
	run := []string{"run", "--here", "--apply"}
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
		"run --here --apply --confirm ID --plan", "run --here --apply --confirm ID --project", "run --here --apply --confirm ID --rules",
		"run --here --apply --confirm", "undo --apply 01234567 --where", "forget --apply -y u --project", "plan --now", "plan --out",
		"release --run",
	} {
		flag := args[strings.LastIndex(args, " ")+1:]
		o.refuses(t, exitWrongUse, flag+" is empty", append(strings.Fields(strings.ReplaceAll(args, "ID", o.ID)), "")...)
	}
	want(t, "the project", before, o.everything(t))
}

// TestRunHereAsksOnce: at a terminal the project's id is typed, and anything else runs nothing.
func TestRunHereAsksOnce(t *testing.T) {
	t.Parallel()
	for answer, left := range map[string]int{"": 2, "yes\n": 2, "ID\n": 1} {
		o := newOperator(t)
		o.dueDrafts(t, 1)
		o.screen.in, o.in = true, strings.ReplaceAll(answer, "ID", o.ID)
		code := exitFailed
		if left == 1 {
			code = exitFine
		}
		_, errs := o.ends(t, code, "run", "--here", "--apply", "cleanupDrafts")
		wantParts(t, errs, "cleanupDrafts never ran in "+o.ID+", database (default). Type the project's id to run: ")
		want(t, answer+", drafts", left, len(o.Documents(t, "drafts")))
	}
}

// TestRunHereGoesOn: what is left when the time of a call is over, the same run does in this process until nothing is left.
func TestRunHereGoesOn(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 3000)
	// The first two calls have planned for half of their time when they have read a page.
	var passed atomic.Int64
	var late atomic.Bool
	o.running.Dial = queried(func(collection string) error {
		if collection == "drafts" && passed.Load() < 2*260 && late.CompareAndSwap(false, true) {
			passed.Add(260)
		}
		return nil
	})
	o.running.BeforeApply = func() { late.Store(false) }
	a, out, errs := o.app()
	a.clock = func() time.Time { return o.now.Add(time.Duration(passed.Load()) * time.Second) }
	if code := a.run(t.Context(), []string{"run", "--here", "--apply", "--confirm", o.ID, "--json"}); code != exitFine {
		t.Fatalf("%d, %s%s", code, errs, out)
	}
	rep := parsed[ranHere](t, out.String()).Runs[0].Report
	want(t, "status", report.Completed, rep.Status)
	want(t, "done", 3000, rep.Actions["delete document"].Done)
	want(t, "drafts", 1, len(o.Documents(t, "drafts")))
	saved := o.Documents(t, "cleanupRuns")
	want(t, "saved runs", []string{rep.RunID}, slices.Collect(maps.Keys(saved)))
	ranges := o.Documents(t, "cleanupJobs")["cleanupDrafts"]["ranges"].([]any)
	calls := ranges[0].(map[string]any)["ended"].(map[string]any)["calls"].(int64)
	if calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
	want(t, "tasks", 0, len(o.Tasks().Pending("")))
}

// TestRunHereInterrupted: it ends in order, says what it did, and the next run need not wait.
func TestRunHereInterrupted(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	o.running.BeforeApply = cancel
	a, out, errs := o.app()
	want(t, "exit code", exitInterrupted, a.run(ctx, []string{"run", "--here", "--apply", "--confirm", o.ID}))
	wantParts(t, out.String(), "cleanupDrafts: partial", "or was interrupted")
	wantParts(t, errs.String(), "firesweep: interrupted")
	want(t, "drafts", 2001, len(o.Documents(t, "drafts")))
	o.running.BeforeApply = nil
	runs := parsed[ranHere](t, o.well(t, "run", "--here", "--apply", "--json")).Runs
	want(t, "the next run", 2000, runs[0].Report.Actions["delete document"].Done)
}

// TestRunHereInterruptedBehindACommit: documents are gone and their files are not. The run says of how many, and the next one does the rest.
func TestRunHereInterruptedBehindACommit(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.inApp(t, map[string]string{"firesweep.json": strings.Replace(drafts, `"collection":`,
		`"maxDuePercent": 100, "with": [{"subcollection": "parts"}, {"objects": "drafts/{id}/**"}], "collection":`, 1)})
	for _, id := range []string{"a", "b", "c"} {
		o.Set(t, "drafts/"+id, map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
		o.Set(t, "drafts/"+id+"/parts/p", map[string]any{})
		o.Put(t, "drafts/"+id+"/cover", nil, nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.running.Dial = wire.Before(func(_ context.Context, _ string, message any) error {
		c, _ := message.(*firestorepb.CommitRequest)
		if slices.ContainsFunc(c.GetWrites(), func(w *firestorepb.Write) bool { return strings.Contains(w.GetDelete(), "/parts/") }) {
			cancel()
		}
		return nil
	})
	a, out, errs := o.app()
	if code := a.run(ctx, []string{"run", "--here", "--apply", "--confirm", o.ID}); code != exitInterrupted {
		t.Fatalf("exit code %d, %s%s", code, errs, out)
	}
	want(t, "documents, files", []int{0, 3}, []int{len(o.Documents(t, "drafts")), len(o.Objects(t))})
	begun := "3 planned actions were left to the next run, or turned out to be kept begun of these: 3, documents of which are changed or " +
		"deleted; the next run does the rest, such as files"
	wantParts(t, oneLine(out.String()), "partial", begun, "firesweep undo cleanupDrafts-")
	wantParts(t, oneLine(o.well(t, "show", "cleanupDrafts")), begun)
	wantParts(t, oneLine(o.well(t, "runs", "cleanupDrafts")), "3 begun, and the next run does the rest")
	o.running.Dial = nil
	rep := parsed[ranHere](t, o.well(t, "run", "--here", "--apply", "--json")).Runs[0].Report
	want(t, "the next run", report.Completed, rep.Status)
	want(t, "files", 0, len(o.Objects(t)))
}

// TestRunHereBesideDeployedJobs: both have one lease and one record, whoever came first.
func TestRunHereBesideDeployedJobs(t *testing.T) {
	t.Parallel()
	o := withReports(t)
	o.underWayRun(t)
	out, _ := o.ends(t, exitFailed, "run", "--here", "--apply", "cleanupReports") // the job has run here, as its record says
	wantParts(t, out, "cleanupReports: skipped", "nothing was planned")
	wantNone(t, out, "nothing was due")
	want(t, "reports", 3, len(o.Documents(t, "reports")))
	o.now = o.now.Add(time.Hour)
	wantParts(t, o.well(t, "run", "--here", "--apply", "cleanupReports"), "completed", "firesweep undo cleanupReports-")
	want(t, "reports", 1, len(o.Documents(t, "reports")))
	want(t, "deployed, after it", report.Completed, o.called(t, "cleanupReports", "").Status)
}

// TestRunHereKeepsLimits: they hold as they do deployed, and are lifted in the same way.
func TestRunHereKeepsLimits(t *testing.T) {
	t.Parallel()
	o := withReports(t, "MAX_ACTIONS=1")
	args := []string{"run", "--here", "--apply", "--confirm", o.ID, "cleanupReports"}
	out, _ := o.ends(t, exitFailed, args...)
	wantParts(t, oneLine(out), "aborted", "A safety limit tripped: nothing was deleted or changed",
		"2 planned actions were not done: a safety limit tripped, and nothing does them before somebody acts")
	want(t, "reports", 3, len(o.Documents(t, "reports")))
	o.running.Dial = queried(func(string) error { return status.Error(codes.InvalidArgument, "broken") })
	out, _ = o.ends(t, exitFailed, args...)
	wantParts(t, oneLine(out), "A retry is safe: firesweep run --here --apply cleanupReports.")
	o.running.Dial = documents.ReadOnly() // as of somebody with the role of a viewer
	out, _ = o.ends(t, exitFailed, args...)
	wantParts(t, oneLine(out), "PermissionDenied", "-> To run, you need roles/datastore.user")
	wantNone(t, out, "terraform")
	o.running.Dial = nil
	o.refuses(t, exitWrongUse, "use --yes", append(args, "--force")...)
	out = o.well(t, append(args, "--force", "--yes")...)
	wantParts(t, out, "completed, plan only, forced", "completed, forced")
	want(t, "reports", 1, len(o.Documents(t, "reports")))
}

// hint returns the command that the advice on what tripped ends with, as its arguments.
func hint(t *testing.T, out string) []string {
	t.Helper()
	_, command, found := strings.Cut(out, ":\n    firesweep ")
	if !found {
		t.Fatalf("no command in\n%s", out)
	}
	command, _, _ = strings.Cut(command, "\n")
	return strings.Fields(command)
}

// TestHintsCanBePasted: what is printed under an aborted plan or run lifts all that it tripped, and nothing else is needed.
func TestHintsCanBePasted(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	const rules = `{"functions": [{"name": "cleanupDrafts", "schedule": "0 4 * * *", "collection": "drafts",
		"age": {"field": "editedAt", "days": 90}, "where": [{"field": "hidden", "is": "missing"}]}]}`
	o.dueDrafts(t, 20)
	o.inApp(t, map[string]string{"firesweep.json": rules, "firebase.json": "{}"})
	wanted := []string{"run", "--here", "--apply", "cleanupDrafts", "--force", "--lift", "unwritten:drafts.hidden"}
	for _, args := range [][]string{{"plan", "cleanupDrafts"}, {"plan", "--now", "+1d"}, {"run", "--here", "--apply", "--confirm", o.ID},
		{"plan", "--lift", "unwritten:drafts.hidden"}, {"plan", "--force"}} {
		out, _ := o.ends(t, exitFailed, args...)
		want(t, fmt.Sprint(args), wanted, hint(t, out))
	}
	o.well(t, append(wanted, "--yes", "--confirm", o.ID)...)
	want(t, "what is left", []string{"young"}, slices.Collect(maps.Keys(o.Documents(t, "drafts"))))
}

// TestRunHereRefuses what it cannot do, before it does anything.
func TestRunHereRefuses(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 1)
	before := o.everything(t)
	for args, says := range map[string]string{
		"--here --apply cleanupPlaceholderUsers":                    "cleanupPlaceholderUsers: it hands work to its worker through Cloud Tasks, so it only runs deployed",
		"--here --local cleanupDrafts":                              "--here runs jobs in this process",
		"--here --location asia-northeast1":                         "--here runs jobs in this process",
		"--here --dry-run":                                          "--here runs jobs in this process",
		"--here --confirm p":                                        "--confirm needs --apply",
		"--apply cleanupDrafts":                                     "--apply, --confirm and --log need --here",
		"--here --lift x":                                           `--lift: "x" cannot be lifted`,
		"--here --apply --force --yes cleanupDrafts cleanupReports": "force one job at a time",
		"--here --apply --confirm " + o.ID + " cleanupOrphanedMedia --rules x": "--rules: open",
	} {
		o.refuses(t, exitWrongUse, says, append([]string{"run"}, strings.Fields(args)...)...)
	}
	o.env["GOOGLE_CLOUD_PROJECT_cleanupDrafts"] = "other"
	o.refuses(t, exitWrongUse, "GOOGLE_CLOUD_PROJECT_cleanupDrafts is other, and the project is "+o.ID, "run", "--here", "--apply", "--confirm", o.ID)
	delete(o.env, "GOOGLE_CLOUD_PROJECT_cleanupDrafts")
	o.env["DRY_RUN"] = "true"
	out, _ := o.ends(t, exitFailed, "run", "--here", "--apply", "--confirm", o.ID)
	wantParts(t, out, "DRY_RUN is true, so nothing runs: unset it")
	want(t, "the project", before, o.everything(t))
}

// TestRunHereLog: the log is that of a deployed function, and goes where a container's goes.
func TestRunHereLog(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.dueDrafts(t, 1)
	_, errs := o.ends(t, exitFine, "run", "--here", "--apply", "--confirm", o.ID, "--log")
	wantParts(t, errs, `"message":"cleanupDrafts started"`, "drafts/d0000", `"logging.googleapis.com/labels":{"job":"cleanupDrafts"`)
}

// TestRights: what is missing is named before anything is deleted, and it is what the functions' own roles have.
func TestRights(t *testing.T) {
	t.Parallel()
	terraform := read(t, "../../terraform/iam.tf")
	for role, permissions := range rights {
		block, _, _ := strings.Cut(strings.SplitN(terraform, role+" = {", 2)[1], "\n    }\n")
		got := regexp.MustCompile(`"((?:storage|firebaseauth)\.[a-z.]+)"`).FindAllStringSubmatch(block, -1)
		var listed []string
		for _, m := range got {
			listed = append(listed, m[1])
		}
		want(t, role, permissions, listed)
	}

	for name, tt := range map[string]struct {
		has, says, errs string
		status          int
	}{
		"all":        {has: `"storage.objects.delete","storage.objects.get","storage.objects.list","firebaseauth.users.delete","firebaseauth.configs.get","firebaseauth.users.get"`},
		"no objects": {has: `"storage.objects.list","firebaseauth.users.delete","firebaseauth.configs.get","firebaseauth.users.get"`, says: "nothing was run: cleanupExports needs on bucket b.appspot.com what your credentials lack: storage.objects.delete, storage.objects.get"},
		"no accounts": {has: `"storage.objects.delete","storage.objects.get","storage.objects.list","firebaseauth.configs.get","firebaseauth.users.get"`,
			says: "nothing was run: cleanupGuests needs on project p what your credentials lack: firebaseauth.users.delete"},
		"nothing": {has: `"storage.objects.delete","storage.objects.get","storage.objects.list"`,
			says: "nothing was run: cleanupGuests needs on project p what your credentials lack: firebaseauth.configs.get, firebaseauth.users.delete, firebaseauth.users.get"},
		"not to be asked": {status: http.StatusForbidden, errs: "it is not known whether you have the rights of cleanupExports on bucket b.appspot.com: 403: it is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if tt.status != 0 {
					w.WriteHeader(tt.status)
				}
				fmt.Fprintf(w, `{"permissions":[%s],"error":{"code":%d,"message":"it is refused"}}`, tt.has, tt.status)
			}))
			t.Cleanup(server.Close)
			o := &operator{env: map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "STORAGE_BUCKET": "b.appspot.com"}, now: now}
			o.inApp(t, map[string]string{"firesweep.json": `{"functions":[
				{"name":"cleanupGuests","schedule":"0 4 * * *","accounts":"anonymous","age":{"by":"creationTime","days":90},"action":"delete account"},
				{"name":"cleanupExports","schedule":"0 4 * * *","objects":"exports/{uid}/**","gone":[{"document":"users/{uid}"}],"age":{"days":90}}]}`})
			o.google = func(context.Context, string, string) []option.ClientOption {
				return []option.ClientOption{option.WithEndpoint(server.URL + "/"), option.WithoutAuthentication()}
			}
			a, _ := o.loaded(t)
			errs := a.errs.(*bytes.Buffer)
			said := ""
			if err := a.checkRights(t.Context(), a.used()); err != nil {
				said = err.Error()
			}
			want(t, "error", tt.says, said)
			wantParts(t, errs.String(), tt.errs)
			want(t, "lines on standard error", min(1, len(tt.errs)), min(1, errs.Len()))
		})
	}
}
