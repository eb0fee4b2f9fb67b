package orphans_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/orphans"
)

// In the job of these tests, files/{userId}/… belong to users, unless their metadata names another owner.
var files = of("files/").Pass("")

func of(folder string) orphans.Objects { return orphans.Objects{Folder: folder, Judge: judgeFile} }

const (
	deleteFile                = "delete file"
	keptUnjudged              = "the file cannot be judged"
	keptByWish, keptOwnerless = "the file is to be kept", "belongs to one of users"
)

// judgeFile decides as the metadata says.
func judgeFile(o objects.Object, _ time.Time) orphans.Verdict {
	user := documents.Ref{Collection: "users", ID: cmp.Or(o.Metadata["of"], strings.Split(o.Name, "/")[1])}
	switch o.Metadata["is"] {
	case "kept":
		return orphans.Verdict{Decision: cleanup.Keep(keptByWish), Owners: []documents.Ref{user}}
	case "odd":
		return orphans.Verdict{Decision: cleanup.Invalid(keptUnjudged), Owners: []documents.Ref{user}}
	case "nobody's":
		return orphans.Verdict{Decision: cleanup.Do(deleteFile, "nobody's"), Owners: []documents.Ref{orphans.Nobody}}
	case "forgotten":
		return orphans.Verdict{Decision: cleanup.Do(deleteFile, "the owner is forgotten")}
	default:
		return orphans.Verdict{Decision: cleanup.Do(deleteFile, ""), Owners: []documents.Ref{user}}
	}
}

// newFunction returns a function with these passes. It lifts the safety limit on shares, because tests have little that stays.
func newFunction(t *testing.T, passes ...orphans.Pass) *enginetest.Function {
	t.Helper()
	t.Parallel()
	job := cleanup.Job{Name: "testJob", Plan: orphans.Plan(passes...), Reach: orphans.Reach(passes...)}
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore, config.Storage}))
	f.Now = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)
	f.Env["MAX_DUE_PERCENT"] = "100"
	return f
}

func put(t *testing.T, f *enginetest.Function, is string, names ...string) {
	t.Helper()
	for _, name := range names {
		f.Put(t, name, map[string]string{"is": is}, []byte("x"))
	}
}

// TestOutOfTime: the next run continues where each run stopped: in the second page of objects, behind each pass.
func TestOutOfTime(t *testing.T) {
	f := newFunction(t, files, of("others/").Pass(""), of("thirds/").Pass(""))
	f.PutMany(t, 1002, func(i int) (string, map[string]string) {
		is := "nobody's"
		if i%100 == 0 || i == 1001 {
			is = "kept"
		}
		return fmt.Sprintf("files/u/%04d.png", i), map[string]string{"is": is}
	})
	put(t, f, "", "others/gone/a.png", "others/gone/b.png", "thirds/gone/a.png")
	f.Set(t, "users/another", map[string]any{"name": "x"}) // if the collection were empty, nothing would be deleted
	wall, scanned := time.Now(), 0
	for partial := 0; ; partial++ {
		started := wall
		var asked atomic.Int64
		f.Clock = func() time.Time {
			if asked.Add(1) > 3 { // time for planning is up at the second checkpoint
				return started.Add(f.Timeout/2 + time.Second)
			}
			return started
		}
		got := f.Run(t, "")
		wall, scanned = wall.Add(time.Hour), scanned+got.Scanned
		if got.Status == report.Completed && partial >= 2 {
			break
		}
		if got.Status != report.Partial || partial > 20 {
			t.Fatalf("after %d partial runs: %+v", partial, got)
		}
	}
	enginetest.Want(t, "objects left", 12, len(f.Objects(t)))
	enginetest.Want(t, "scanned, each once", 1002+2+1, scanned)
	enginetest.Want(t, "checkpoint", "", enginetest.Checkpoint(f.Documents(t, "cleanupJobs")["testJob"]))
}

// TestCheckpointsThatCannotBeUsed are from other versions: the run begins at the beginning.
func TestCheckpointsThatCannotBeUsed(t *testing.T) {
	f := newFunction(t, files, of("others/").Pass(""))
	others := []string{"x", `{"pass":-1,"name":"z"}`, `{"pass":2,"name":"z"}`, `{"pass":"files","name":"z"}`}
	for _, checkpoint := range others {
		f.Set(t, "cleanupJobs/testJob", enginetest.From(checkpoint))
		put(t, f, "nobody's", "files/u/a.png")
		enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(deleteFile, 1))
	}
	f.Set(t, "cleanupJobs/testJob", enginetest.From(`{"pass":0,"name":"files/u/b.png"}`))
	put(t, f, "nobody's", "files/u/a.png", "files/u/b.png", "files/u/c.png")
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(deleteFile, 1))
	enginetest.Want(t, "objects left", []string{"files/u/a.png", "files/u/b.png"}, f.Objects(t))
}

// TestPassesThatAreLeftOut are not gone through, and those behind them keep their checkpoints.
func TestPassesThatAreLeftOut(t *testing.T) {
	passes := []orphans.Pass{of("files/").Pass("files"), of("others/").Pass("others"), of("thirds/").Pass("thirds")}
	f := newFunction(t, passes...)
	f.Job.Settings = orphans.Settings(passes...)
	f.Env["ORPHANS"] = "thirds, files"
	put(t, f, "nobody's", "files/u/a.png", "others/u/a.png", "thirds/u/a.png")
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(deleteFile, 2))
	enginetest.Want(t, "objects left", []string{"others/u/a.png"}, f.Objects(t))

	f.Env["ORPHANS"] = "others"
	f.Set(t, "cleanupJobs/testJob", enginetest.From(`{"pass":2,"name":"a"}`))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{}) // it went on behind the only one
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(deleteFile, 1))
}

func TestObjects(t *testing.T) {
	f := newFunction(t, files)
	for _, path := range []string{"users/u1", "users/写 真", "people/u2", "users/u1/users/u3"} {
		f.Set(t, path, map[string]any{"n": 1})
	}
	put(t, f, "", "files/u1/a.png", "files/u1/b.png", "files/写 真/a.png", "filesx/u12/a.png", "files/u1")
	for _, user := range []string{"...", "u12", "u2", "u3", "U1", "u1x"} {
		put(t, f, "", "files/"+user+"/gone.png")
	}
	put(t, f, "kept", "files/u12/kept.png", "files/__x__/kept.png")
	put(t, f, "odd", "files/u12/odd.png")
	put(t, f, "nobody's", "files/u1/gone.png", "files/__x__/gone.png")
	put(t, f, "", "files/__x__/a.png", "files/u1 /a.png", "files/undefined/a.png") // name no document
	put(t, f, "forgotten", "files/u12/forgotten.png")
	invalid := 4
	if f.EmbeddedStorage() { // the Firebase Emulator Suite does not allow such names
		put(t, f, "", "files//a.png", "files/./a.png", "files/../a.png")
		invalid += 3
	}
	left := slices.DeleteFunc(f.Objects(t), func(name string) bool { return strings.HasSuffix(name, "/gone.png") })
	preview := f.Run(t, `{"dryRun":true}`)
	if !slices.ContainsFunc(preview.Plan, func(a report.Planned) bool {
		return a.Target == "gs://"+f.Bucket+"/files/u12/gone.png" && a.Reason == "users/u12 does not exist"
	}) {
		t.Errorf("plan %+v", preview.Plan)
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deleteFile, 8))
	enginetest.Want(t, "objects left", left, f.Objects(t))
	enginetest.Want(t, "kept", map[string]int{
		keptOwnerless: 4, keptByWish: 2, keptUnjudged: 1, orphans.KeptInvalidOwner: invalid,
	}, got.Kept)
	enginetest.Want(t, "scanned", 4+6+2+1+2+invalid, got.Scanned)
}

func TestEmptyDatabaseEmptiesNoBucket(t *testing.T) {
	f := newFunction(t, files)
	delete(f.Env, "MAX_DUE_PERCENT")
	f.PutMany(t, 1000, func(i int) (string, map[string]string) { return fmt.Sprintf("files/u%04d/a.png", i), nil })
	for _, body := range []string{"", `{"dryRun":true}`} {
		enginetest.WantAborted(t, f.Run(t, body), "empty collection: users")
	}
	enginetest.WantAborted(t, f.Run(t, `{"force":true}`), "empty collection: users")
	enginetest.Want(t, "objects left", 1000, len(f.Objects(t)))
	f.Set(t, "users/somebody", map[string]any{"name": "x"})
	enginetest.WantAborted(t, f.Run(t, `{"dryRun":true}`), "MAX_DUE_PERCENT: 1000 of 1000 objects under files/")
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, enginetest.Done(deleteFile, 1000))
	enginetest.Want(t, "objects left then", 0, len(f.Objects(t)))
}

// TestCostOfObjectsWhoseOwnersExist: a read per 30 owners, and a class A operation per 1000 objects.
func TestCostOfObjectsWhoseOwnersExist(t *testing.T) {
	f := newFunction(t, files)
	f.SetAlike(t, 600, "users/u%04d", map[string]any{"name": "x"})
	f.PutMany(t, 3000, func(i int) (string, map[string]string) { // objects of each owner lie in every page
		return fmt.Sprintf("files/x/%04d.png", i), map[string]string{"of": fmt.Sprintf("u%04d", i%600)}
	})
	enginetest.NewGolden(t, "owners").Run(t, "3,000 objects of 600 owners", f, "", "")
}

// TestPlansOfBoundedBytes: a run ends partial, in order, where its plan holds as much as it may, and the next one goes on from there.
func TestPlansOfBoundedBytes(t *testing.T) {
	const n, most, wantRuns = 2200, 700, 4
	f := newFunction(t, files)
	f.Hooks.PlanBytes = 1_500_000
	f.PutAlike(t, n, "files/u/%04d"+strings.Repeat("n", 900)+".png", map[string]string{"is": "nobody's"})
	list, err := f.Plan(t.Context(), engine.Options{})
	if err != nil || list.Status != report.Partial || len(list.Plan) > most || len(list.Plan) < most/2 || len(list.Warnings) != 1 {
		t.Errorf("the list is %s, %d long, with the warnings %q, %v", list.Status, len(list.Plan), list.Warnings, err)
	}
	done, runs := 0, 0
	for status := report.Partial; status == report.Partial && runs < 9; runs++ {
		got := f.Run(t, "")
		status, done = got.Status, done+got.Actions[deleteFile].Done
		if got.Actions[deleteFile].Done > most {
			t.Errorf("a run has done %+v, want at most %d", got.Actions, most)
		}
		if status == report.Partial && (len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "as much as the memory allows")) {
			t.Errorf("warnings %q", got.Warnings)
		}
	}
	enginetest.Want(t, "done, runs, objects left", []int{n, wantRuns, 0}, []int{done, runs, len(f.Objects(t))})
}

// TestListingsAreCutWhereTheLastOneSaysSo: a run saves cuts, and the next one lists by them. A preview saves none. What somebody else
// wrote costs nothing but time.
func TestListingsAreCutWhereTheLastOneSaysSo(t *testing.T) {
	const n, job = 5200, "cleanupJobs/testJob"
	f := newFunction(t, files)
	if !f.EmbeddedStorage() {
		t.Skip("the Firebase Emulator Suite heeds no offsets")
	}
	f.PutAlike(t, n, "files/u/%04d.png", map[string]string{"is": "kept"})
	var mu sync.Mutex
	var offsets []string
	f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if q := r.URL.Query(); q.Get("startOffset") != "" && q.Get("pageToken") == "" {
			offsets = append(offsets, q.Get("startOffset"))
		}
		return send()
	})
	saved := func() any { return f.Documents(t, "cleanupJobs")["testJob"]["cuts"] }
	own := []any{"0:files/u/395"}
	for _, run := range []struct {
		what, body   string
		before, want any // cuts
		offsets      []string
	}{
		{"a preview", `{"dryRun":true}`, nil, nil, nil},
		{"the first run", "", nil, own, nil},
		{"the second run", "", own, own, []string{"files/u/395"}},
		{"a preview by the cuts", `{"dryRun":true}`, own, own, []string{"files/u/395"}},
		{"after somebody wrote another type", "", 7, own, nil},
		{"after somebody wrote no cuts", "", []any{"x", ""}, own, nil},
		{"after somebody wrote what is no text", "", []any{7, map[string]any{"x": 1}}, own, nil},
		{"after somebody wrote other cuts", "", []any{"0:a", "0:files/", "6:u/1", "9:2", "0:z"}, []any{"0:a", "0:files/u/395", "0:z"},
			[]string{"files/", "files/u/1", "files/u/12"}},
	} {
		if run.before != nil {
			f.Set(t, job, map[string]any{"cuts": run.before})
		}
		offsets = nil
		enginetest.WantKept(t, f.Run(t, run.body), report.Completed, map[string]report.Counts{}, map[string]int{keptByWish: n})
		enginetest.Want(t, run.what+", saved", run.want, saved())
		slices.Sort(offsets)
		enginetest.Want(t, run.what+", offsets", run.offsets, offsets)
	}
}
