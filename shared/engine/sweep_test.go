package engine_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/version"
)

var start = time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)

// things are deleted because they are there.
var things = cleanup.Rule[cleanup.Subject]{
	Name: "thing", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "things"},
	Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("delete thing", "it is there") },
}

// thingsJob deletes every document of things, page by page, as the engine's tests need it.
func thingsJob(pageSize int) cleanup.Job {
	return cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{things}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		return p.Sweep(ctx, documents.Query{Collection: "things", PageSize: pageSize}, documents.Cursor(p.Checkpoint), things)
	}}
}

// fates come to what they say: "fail", "panic", "change", or they are done.
var fates = cleanup.Rule[cleanup.Subject]{
	Name: "fate", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "things", Deletes: []string{"things"}},
	Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("do", "why not") },
	Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		switch s.Data["fate"] {
		case "fail":
			panic(strings.Repeat("no luck ", 60))
		case "panic":
			panic("poisoned")
		case "change":
			return cleanup.Change{}
		}
		return cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}}}
	},
}

// fatesFunction has a thing for each fate.
func fatesFunction(t *testing.T, all ...string) *enginetest.Function {
	t.Helper()
	f := newFunction(t, ruleJob("things", fates))
	for i, fate := range all {
		f.Set(t, "things/"+string(rune('a'+i)), map[string]any{"fate": fate})
	}
	return f
}

// newFunction returns a function of a job, whose rule is that for things unless it says.
func newFunction(t *testing.T, job cleanup.Job) *enginetest.Function {
	t.Helper()
	if job.Rules == nil {
		job.Rules = []cleanup.AnyRule{things}
	}
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore}))
	f.Clock = func() time.Time { return start }
	return f
}

func seed(t *testing.T, f *enginetest.Function, n int) {
	t.Helper()
	f.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%03d", i), map[string]any{"n": i} })
}

// thingsFunction returns a function that deletes so many things, so many at a time.
func thingsFunction(t *testing.T, pageSize, n int) *enginetest.Function {
	t.Helper()
	f := newFunction(t, thingsJob(pageSize))
	seed(t, f, n)
	return f
}

func left(t *testing.T, f *enginetest.Function) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(f.Documents(t, "things")))
}

func job(t *testing.T, f *enginetest.Function) map[string]any {
	t.Helper()
	return f.Documents(t, "cleanupJobs")["testJob"]
}

func TestReportIsSavedAndLogged(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	f.Env["K_REVISION"], f.Env["SCHEDULE"] = "testjob-00007-abc", "0 3 * * * UTC"
	seed(t, f, 3)
	got := f.Run(t, "")
	want := map[string]any{
		"job": "testJob", "runId": got.RunID, "status": "completed", "dryRun": false, "force": false,
		"database": "(default)", "revision": "testjob-00007-abc", "schedule": "0 3 * * * UTC", "version": version.String(),
		"now": start, "startedAt": start, "durationMs": int64(0), "scanned": int64(3),
		"actions":  map[string]any{"delete thing": map[string]any{"planned": int64(3), "done": int64(3), "changed": int64(0), "failed": int64(0)}},
		"kept":     map[string]any{},
		"failures": []any{},
		"usage": map[string]any{
			// Lease, two for all jobs, two pages, the three that are kept for undoing; the lease, that entry, the job and the run.
			"firestoreReads": int64(9), "firestoreWrites": int64(4), "firestoreDeletes": int64(3),
			"storageClassA": int64(0), "storageClassB": int64(0), "storageDeletes": int64(0), "authCalls": int64(0), "tasks": int64(0),
		},
	}
	record := job(t, f)
	enginetest.Want(t, "free since", time.Time{}, record["until"].(time.Time))
	wantJob := map[string]any{
		"holder": "", "until": record["until"], "begun": nil, "lastReport": want, "schedule": "0 3 * * * UTC",
	}
	enginetest.Want(t, "cleanupJobs", wantJob, record)
	stored := maps.Clone(want)
	stored["expireAt"] = start.AddDate(0, 0, 90)
	enginetest.Want(t, "cleanupRuns", map[string]map[string]any{got.RunID: stored}, f.Documents(t, "cleanupRuns"))
	summaries := f.Summaries(t)
	if len(summaries) != 1 || summaries[0]["severity"] != "INFO" ||
		summaries[0]["message"] != "testJob completed: delete thing 3 of 3; kept 0; 0 ms" {
		t.Fatalf("summary lines: %v", summaries)
	}
	r := summaries[0]["report"].(map[string]any)
	enginetest.Want(t, "the summary's report", []any{got.RunID, "completed"}, []any{r["runId"], r["status"]})
	labels := summaries[0]["logging.googleapis.com/labels"].(map[string]any)
	enginetest.Want(t, "labels", []any{"testJob", got.RunID}, []any{labels["job"], labels["runId"]})
	actions := 0
	for _, line := range f.LogLines(t) {
		writes, _ := line["writes"].([]any)
		for _, w := range writes {
			if w := w.(map[string]any); w["action"] == "delete thing" && w["reason"] == "it is there" && strings.HasPrefix(w["path"].(string), "things/") {
				actions++
			}
		}
		if message := line["message"].(string); strings.HasPrefix(message, "delete thing ") || strings.HasSuffix(message, " started") {
			t.Errorf("a second line of a deletion or of the run: %s", message)
		}
	}
	enginetest.Want(t, "deletions that the log names with an action and its reason", 3, actions)
}

// TestTwoRunsAtOnce: the second does nothing, for the lease of the first outlasts its timeout.
func TestTwoRunsAtOnce(t *testing.T) {
	f := thingsFunction(t, 10, 2)
	var second *report.Report
	var during jobstate.State
	f.Hooks.BeforeApply = func() {
		f.Hooks.BeforeApply = nil
		during, second = stateOf(t, f), f.Run(t, "")
		f.Delete(t, "things/t001")
	}
	first := f.Run(t, "")
	enginetest.WantReport(t, second, report.Skipped, map[string]report.Counts{})
	enginetest.Want(t, "scanned", 0, second.Scanned)
	enginetest.WantReport(t, first, report.Completed, map[string]report.Counts{"delete thing": {Planned: 2, Done: 1, Changed: 1}})
	enginetest.Want(t, "holder during the run", first.RunID, during.Holder)
	enginetest.Want(t, "its lease ends at", start.Add(f.Timeout+time.Minute), during.Until.UTC())
	enginetest.Want(t, "holder", "", enginetest.Holder(job(t, f)))
	saved := f.Documents(t, "cleanupRuns")
	enginetest.Want(t, "saved", []any{"completed", "skipped"}, []any{saved[first.RunID]["status"], saved[second.RunID]["status"]})
	enginetest.Want(t, "afterwards", report.Completed, f.Run(t, "").Status)
}

// TestRunThatLostItsLease, while it applies or right before it gives the lease back: what it did is reported, and the other's lease and
// checkpoint stay.
func TestRunThatLostItsLease(t *testing.T) {
	for lost := range 2 {
		f := newFunction(t, thingsJob(10))
		other := enginetest.Leased("testJob-other", start.Add(time.Hour))
		if lost == 0 {
			seed(t, f, 1)
			f.Hooks.BeforeApply = func() { f.Set(t, "cleanupJobs/testJob", other) }
		}
		f.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
			if lost == 1 && n == 2 { // the first took the lease
				f.Set(t, "cleanupJobs/testJob", other)
			}
			return send()
		})
		got := f.Run(t, "")
		enginetest.Want(t, "status", report.Completed, got.Status)
		enginetest.Want(t, "the other run's lease", other, job(t, f))
		enginetest.Want(t, "saved", any("completed"), f.Documents(t, "cleanupRuns")[got.RunID]["status"])
		oneLine(t, f, "lost its lease")
	}
}

// TestRunThatWasTakenBackMeanwhile: its report is saved where the undo came before it, for the lease was over, and keeps the note of an
// undo that came right after it, when its answer was lost.
func TestRunThatWasTakenBackMeanwhile(t *testing.T) {
	for _, lost := range []bool{false, true} {
		takenBackMeanwhile(t, lost)
	}
}

func takenBackMeanwhile(t *testing.T, lost bool) {
	t.Helper()
	f := thingsFunction(t, 10, 1)
	f.Clock = func() time.Time {
		if lost {
			return time.Now()
		}
		return time.Now().Add(-time.Hour)
	}
	undone := false
	f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
		for _, w := range r.GetWrites() {
			if name := w.GetUpdate().GetName(); !undone && strings.Contains(name, "/cleanupRuns/testJob-") && !strings.Contains(name, "/cleanupUndo/") {
				undone = true
				if lost {
					if err := send(); err != nil {
						return err
					}
				}
				if err := f.Restorer(t, time.Now).Undo(t.Context(), path.Base(name), restore.Options{Apply: true, WithoutReport: true},
					func(restore.Outcome) error { return nil }); err != nil {
					t.Error(err)
				}
				if lost {
					return status.Error(codes.Unavailable, "lost")
				}
			}
		}
		return send()
	})
	id := f.Run(t, "").RunID
	got, err := report.Of(documents.Document{Path: "cleanupRuns/" + id, Data: f.Documents(t, "cleanupRuns")[id]})
	ok(t, err)
	enginetest.Want(t, "status", report.Completed, got.Status)
	if lost && (got.Undone == nil || got.Undone.Partial) {
		t.Errorf("undone: %+v", got.Undone)
	}
	if !lost {
		oneLine(t, f, "lost its lease")
	}
}

// TestRunWhoseRecordWasSpoiled cannot give its lease back, and names the field to delete.
func TestRunWhoseRecordWasSpoiled(t *testing.T) {
	f := thingsFunction(t, 10, 1)
	f.Hooks.BeforeApply = func() { f.Set(t, "cleanupJobs/testJob", map[string]any{"until": "mine"}) }
	f.Run(t, "")
	has(t, oneLine(t, f, "cannot give its lease back")["message"].(string), "the field until of cleanupJobs/testJob is not one that this program wrote: delete that field in the Firebase console")
	enginetest.Want(t, "lines about another run", 0, len(linesWith(t, f, "lost its lease")))
}

// filed take as many commits as they are to have, the last of which deletes them; a file goes after each.
var filed = cleanup.Rule[cleanup.Subject]{
	Name: "filed", Group: 1, Load: cleanup.Itself, Judge: whileThere,
	Reach: cleanup.Reach{Items: "things", Deletes: []string{"things"}, Writes: []string{"things"}, Objects: []cleanup.Files{{Folder: "files/"}}},
	Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		left, _ := s.Data["left"].(int64)
		c := cleanup.Change{
			Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}},
			Then:   []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "files/" + s.ID()}, Absent: s.Ref()}},
		}
		if left > 1 {
			c.Writes[0] = documents.Write{Op: documents.Update, Ref: s.Ref(), Data: map[string]any{"left": left - 1}}
			c.Again = true
		}
		return c
	},
}

// TestCanceledRequestEndsAsPartial: it is not said not to keep up, though its time of its own is over.
func TestCanceledRequestEndsAsPartial(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	f.StopAfter = time.Minute
	seed(t, f, 3)
	ctx, cancel := context.WithCancel(t.Context())
	f.Hooks.BeforeApply = cancel
	wantAnswer(t, "answer", f.PostQuery(ctx, t, "", ""), http.StatusOK, `"status":"partial"`)
	enginetest.Want(t, "left", 3, len(left(t, f)))
	enginetest.Want(t, "holder", "", enginetest.Holder(job(t, f)))
	enginetest.Want(t, "lines about time", 0, len(linesWith(t, f, "does not keep up")))
	oneLine(t, f, "testJob partial: canceled by its caller or by the platform after 0s, 3 planned actions left")
}

func TestOneBadItemDoesNotStopTheRest(t *testing.T) {
	f := fatesFunction(t, "done", "fail", "panic", "change", "done")
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"do": {Planned: 5, Done: 2, Changed: 1, Failed: 2}})
	slices.SortFunc(got.Failures, func(a, b report.Failure) int { return strings.Compare(a.Target, b.Target) })
	if len(got.Failures) != 2 || got.Failures[0].Target != "things/b" || !strings.HasPrefix(got.Failures[0].Error, "panic: no luck") ||
		!strings.HasPrefix(got.Failures[1].Error, "panic: poisoned goroutine") || len(got.Failures[1].Error) > 600 {
		t.Errorf("failures %v", got.Failures)
	}
	enginetest.Want(t, "left", []string{"b", "c", "d"}, left(t, f))
}

// TestBrokenRules fail for every item, in the group and alone, and end neither the run nor the process.
func TestBrokenRules(t *testing.T) {
	planned := false
	short, poisoned := fates, fates
	short.Load = func(_ context.Context, _ cleanup.Source, subjects []cleanup.Subject) ([]cleanup.Subject, error) {
		if !planned { // that is no commit yet
			planned = true
			return subjects, nil
		}
		return subjects[1:], nil
	}
	poisoned.Gather = func(context.Context, cleanup.Source, []*cleanup.Subject) error { panic("poisoned") }
	for name, rule := range map[string]cleanup.AnyRule{"loads less": short, "panics while it gathers": poisoned} {
		f := newFunction(t, ruleJob("things", rule))
		seed(t, f, 3)
		enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"do": {Planned: 3, Failed: 3}})
		enginetest.Want(t, name+": left", 3, len(left(t, f)))
	}
}

// TestPanicsOfFollowUps are failures of what led to them: requests to Cloud Storage are sent side by side.
func TestPanicsOfFollowUps(t *testing.T) {
	f := ruleFunction(t, ruleJob("things", filed))
	f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "c") {
			panic("poisoned")
		}
		return send()
	})
	for _, id := range []string{"a", "b", "c"} {
		f.Set(t, "things/"+id, map[string]any{"left": 1})
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete things": {Planned: 3, Done: 2, Failed: 1}})
	begins(t, got.Failures[0].Error, "panic: poisoned goroutine")
}

func TestPlanThatPanics(t *testing.T) {
	job := thingsJob(10)
	plan := job.Plan
	job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		if err := plan(ctx, p); err != nil {
			return err
		}
		panic("no index")
	}
	f := newFunction(t, job)
	seed(t, f, 1)
	f.Run(t, `{"dryRun":true}`) // which wakes nobody
	line := f.Summaries(t)[0]
	enginetest.Want(t, "severity", "WARNING", line["severity"])
	begins(t, line["problem"].(string), "plan testJob: ")
	got := f.Run(t, "")
	enginetest.Want(t, "status", report.Failed, got.Status)
	failure := onlyFailure(t, got)
	enginetest.Want(t, "action", "plan", failure.Action)
	has(t, failure.Error, "no index")
	enginetest.Want(t, "left", 1, len(left(t, f)))
	enginetest.Want(t, "holder", "", enginetest.Holder(f.Documents(t, "cleanupJobs")["testJob"]))
}

func TestLongPlanIsTruncated(t *testing.T) {
	bad := fates
	bad.Judge = func(cleanup.Subject, cleanup.Run) cleanup.Decision { panic(strings.Repeat("長", 400)) }
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		all := make([]cleanup.Proposal, 1001)
		for i := range all {
			all[i] = cleanup.Proposal{Document: documents.Document{Path: fmt.Sprintf("things/%d", i)}, Decision: cleanup.Do("do", strings.Repeat("x", 300))}
		}
		return p.ProposeItems(ctx, bad, all)
	}})
	got := f.Run(t, `{"dryRun":true}`)
	enginetest.Want(t, "plan", 1000, len(got.Plan))
	enginetest.Want(t, "truncated", true, got.Truncated)
	enginetest.Want(t, "do planned", 1001, got.Actions["do"].Planned)
	logged := f.Summaries(t)[0]["report"].(map[string]any)
	if n := len(logged["plan"].([]any)); n < 300 || n > 500 {
		t.Errorf("the log holds %d entries of the plan, want what fits into a line", n)
	}
	enginetest.Want(t, "truncated", true, logged["truncated"])
	got = f.Run(t, "")
	enginetest.Want(t, "failures", 20, len(got.Failures))
	enginetest.Want(t, "truncated", true, got.Truncated)
	enginetest.Want(t, "do failed", 1001, got.Actions["do"].Failed)
	enginetest.Want(t, "status", report.Failed, got.Status)
	if e := got.Failures[0].Error; len(e) > 600 || strings.ContainsRune(e, '\uFFFD') {
		t.Errorf("error of %d bytes, want at most 600 and whole characters: %q", len(e), e)
	}
}

// TestAPlanThatIsFullAmidAPage is applied as far as it goes, and the next run begins with that page.
func TestAPlanThatIsFullAmidAPage(t *testing.T) {
	f := thingsFunction(t, 100, 25)
	f.Hooks.PlanBytes = 8000
	got, partial, done := f.Run(t, `{"force":true}`), 0, 0
	for ; got.Status == report.Partial && partial < 25; partial++ {
		enginetest.Want(t, "failures", 0, len(got.Failures))
		has(t, got.Warnings[0], "the plan holds as much as the memory allows")
		if done += got.Done(); got.Done() == 0 || len(left(t, f)) != 25-done {
			t.Fatalf("%d were done by %d runs, and %v are left", done, partial+1, left(t, f))
		}
		got = f.Run(t, "")
	}
	enginetest.Want(t, "status of the last", report.Completed, got.Status)
	enginetest.Want(t, "left", 0, len(left(t, f)))
	if partial == 0 {
		t.Error("the first plan was not full")
	}
}

func TestPermissionDeniedFailsAtOnce(t *testing.T) {
	f := thingsFunction(t, 10, 3)
	onCalls(f, deletions, func(int) error { return denied })
	got := f.Run(t, "")
	enginetest.Want(t, "status", report.Failed, got.Status)
	enginetest.Want(t, "delete thing failed", 3, got.Actions["delete thing"].Failed)
	enginetest.Want(t, "failures", 3, len(got.Failures))
	enginetest.Want(t, "attempts: it will not be allowed a second later, nor for fewer", 1, f.Request.Count("BeginTransaction"))
	enginetest.Want(t, "left", 3, len(left(t, f)))
}

func TestWorksOnceTheBackendIsThere(t *testing.T) {
	f := newFunction(t, thingsJob(10))
	f.Env["DRY_RUN"] = "false"
	seed(t, f, 1)
	emulator := f.Env["FIRESTORE_EMULATOR_HOST"]
	for name := range f.Env {
		if strings.HasSuffix(name, "_EMULATOR_HOST") {
			delete(f.Env, name)
			t.Setenv(name, "") // Google's library looks there
		}
	}
	t.Setenv("HOME", t.TempDir()) // with no credentials of the developer's
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	w := f.Post(t, "")
	wantAnswer(t, "answer", w, http.StatusInternalServerError, "credentials")
	f.Env["FIRESTORE_EMULATOR_HOST"] = emulator
	t.Setenv("FIRESTORE_EMULATOR_HOST", emulator)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 1))
}

// filesJob deletes every object of files/.
func filesJob(named func(context.Context, documents.Reader, cleanup.Run) (func(string) bool, error)) cleanup.Job {
	reach := cleanup.Reach{Objects: []cleanup.Files{{Folder: "files/"}}}
	return cleanup.Job{Name: "testJob", Reach: reach, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		for page, err := range p.Objects.Pages(ctx, "files/", objects.Names{}) {
			if err != nil {
				return err
			}
			for _, o := range page {
				file := cleanup.DeleteObject{Named: named,
					Deletion: objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}}
				if err := p.ProposeObject(ctx, "delete file", "it is there", file); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}

// TestFilesToWhichDocumentsReferByThen stay. Where time is up when the references are read, all do.
func TestFilesToWhichDocumentsReferByThen(t *testing.T) {
	var late *atomic.Bool
	takesLong := true
	f := ruleFunction(t, filesJob(func(context.Context, documents.Reader, cleanup.Run) (func(string) bool, error) {
		late.Store(takesLong)
		return func(object string) bool { return object == "files/a" }, nil
	}))
	late = lateClock(f)
	f.Env["UNDO_DAYS"] = "0"
	f.Put(t, "files/a", nil, []byte("x"))
	f.Put(t, "files/b", nil, []byte("x"))
	enginetest.WantReport(t, f.Run(t, ""), report.Partial, map[string]report.Counts{"delete file": {Planned: 2}})
	takesLong = false
	late.Store(false)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete file": {Planned: 2, Done: 1, Changed: 1}})
	enginetest.Want(t, "objects", []string{"files/a"}, f.Objects(t))
	enginetest.Want(t, "kept for undo", 0, len(f.Documents(t, runlog.DoneOf(got.RunID))))
}

// TestLargeDocuments: a commit of several keeps at most 3 MiB of them, whatever comes after small ones, and is not sent to be refused.
func TestLargeDocuments(t *testing.T) {
	const small, large = 60, 12
	f := newFunction(t, thingsJob(100))
	f.SetMany(t, small, func(i int) (string, map[string]any) { return fmt.Sprintf("things/a%03d", i), map[string]any{"n": i} })
	for i := range large {
		f.Set(t, fmt.Sprintf("things/b%03d", i), map[string]any{"text": strings.Repeat("x", 700<<10)})
	}
	var mu sync.Mutex
	most := 0
	f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
		large := slices.DeleteFunc(thingsIn(r), func(name string) bool { return strings.HasPrefix(name, "things/a") })
		mu.Lock()
		most = max(most, len(large))
		mu.Unlock()
		return send()
	})
	f.Hooks.Dial = append(f.Hooks.Dial, wire.After(func(method string, _ any, err error) error {
		if strings.HasSuffix(method, "/Commit") && err != nil {
			t.Errorf("refused: %v", err)
		}
		return err
	})...)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete thing", small+large))
	if most == 0 || most > 4 {
		t.Errorf("a commit deletes %d large documents", most)
	}
	if got.Usage.FirestoreReads > 4*(small+large) {
		t.Errorf("%d reads of %d documents", got.Usage.FirestoreReads, small+large)
	}
}

// inSections is a job that deletes t000 to t002 in the section odd, in which too much is due, and t003 to t004 in the
// section even. Its checkpoints are the section and a thing.
func inSections() cleanup.Job {
	return cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		n := 0
		for _, s := range []cleanup.Section{{Name: "odd", Next: "even"}, {Name: "even", Next: "end"}} {
			if s.Name == "odd" && p.Checkpoint == "even" {
				n = 3
				continue
			}
			if err := p.Section(ctx, s, func() error {
				for ; n < map[string]int{"odd": 3, "even": 5}[s.Name]; n++ {
					if s.Name == "odd" {
						p.Count(cleanup.Count{Collection: "owners", Looked: 10, Due: 10})
					}
					ref := documents.Ref{Collection: "things", ID: fmt.Sprintf("t%03d", n)}
					if err := p.ConsiderRefs(ctx, things, ref); err != nil {
						return err
					}
					if err := p.SaveCheckpoint(s.Name + " " + ref.ID); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	}}
}

// TestWhereARunContinuesAfterASectionThatTripped: out of time in it, behind it; out of time while the other is done, there; and
// the run after that comes back to it.
func TestWhereARunContinuesAfterASectionThatTripped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asked      int // how often the time is asked before it is up; 0: it is up when the plan is made
		checkpoint string
	}{"while it is planned": {3, "even"}, "before the other is done": {0, "even"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t, inSections())
			seed(t, f, 5)
			f.Set(t, "owners/one", map[string]any{"n": 1})
			late := start.Add(f.Timeout)
			asked, up := 0, false
			f.Clock = func() time.Time {
				if asked++; up || tt.asked > 0 && asked > tt.asked+3 {
					return late
				}
				return start
			}
			f.Hooks.BeforeApply = func() { up = true }
			got := f.Run(t, "")
			enginetest.Want(t, "status", report.Aborted, got.Status)
			enginetest.Want(t, "left", 5, len(left(t, f)))
			enginetest.Want(t, "checkpoint", tt.checkpoint, enginetest.Checkpoint(job(t, f)))
			f.Clock, f.Hooks.BeforeApply = func() time.Time { return late.Add(time.Hour) }, nil
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 2))
			enginetest.Want(t, "the third run", report.Aborted, f.Run(t, "").Status)
			enginetest.Want(t, "left", 3, len(left(t, f)))
		})
	}
}

// TestStoppedBehindASectionThatTripped is aborted all the same: who looks at the run has to know of the limit.
func TestStoppedBehindASectionThatTripped(t *testing.T) {
	t.Parallel()
	s := newStoppable(t, newFunction(t, inSections()))
	seed(t, s.Function, 5)
	s.Set(t, "owners/one", map[string]any{"n": 1})
	s.Hooks.BeforeApply = func() { s.tell(t) }
	got := s.Run(t, "")
	enginetest.Want(t, "status and stopped", []any{report.Aborted, true}, []any{got.Status, got.Stopped})
	enginetest.Want(t, "left", 5, len(left(t, s.Function)))
	enginetest.Want(t, "checkpoint", "even", enginetest.Checkpoint(job(t, s.Function)))
}
