package orphans_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/storage"

	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/orphans"
)

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

func TestObjectsThatChangeMeanwhile(t *testing.T) {
	f := newFunction(t, files)
	if !f.EmbeddedStorage() {
		t.Skip("only the embedded Storage enforces preconditions; the Firebase Emulator Suite's deletes regardless")
	}
	put(t, f, "nobody's", "files/u/relabelled", "files/u/replaced", "files/u/gone", "files/u/left")
	put(t, f, "", "files/u1/created", "files/u1/created-too", "files/u2/left")
	f.Set(t, "users/another", map[string]any{"name": "in an empty collection nothing is concluded"})
	f.Hooks.BeforeApply = func() {
		bucket := f.Storage(t).Bucket(f.Bucket)
		label := storage.ObjectAttrsToUpdate{Metadata: map[string]string{"is": "nobody's", "of": "u"}}
		_, err := bucket.Object("files/u/relabelled").Update(t.Context(), label)
		if err != nil {
			t.Error(err)
		}
		put(t, f, "nobody's", "files/u/replaced")
		if err := bucket.Object("files/u/gone").Delete(t.Context()); err != nil {
			t.Error(err)
		}
		f.Set(t, "users/u1", map[string]any{"name": "back"})
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{deleteFile: {Planned: 7, Done: 2, Changed: 5}})
	left := []string{"files/u/relabelled", "files/u/replaced", "files/u1/created", "files/u1/created-too"}
	enginetest.Want(t, "objects left", left, f.Objects(t))
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
	got := f.Run(t, `{"force":true}`)
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deleteFile, 1000))
	enginetest.Want(t, "objects left then", 0, len(f.Objects(t)))
}

// TestCostOfObjectsWhoseOwnersExist: a read per 30 owners, and a class A operation per 1000 objects.
func TestCostOfObjectsWhoseOwnersExist(t *testing.T) {
	f := newFunction(t, files)
	f.SetMany(t, 600, func(i int) (string, map[string]any) {
		return fmt.Sprintf("users/u%04d", i), map[string]any{"name": "x"}
	})
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
	f.PutMany(t, n, func(i int) (string, map[string]string) {
		return fmt.Sprintf("files/u/%04d%s.png", i, strings.Repeat("n", 900)), map[string]string{"is": "nobody's"}
	})
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
	if done != n || runs != wantRuns || len(f.Objects(t)) != 0 {
		t.Errorf("%d done in %d runs, want %d in %d; %d objects are left", done, runs, n, wantRuns, len(f.Objects(t)))
	}
}

// TestListingsAreCutWhereTheLastOneSaysSo: a run saves cuts, and the next one lists by them. A preview saves none. What somebody else
// wrote costs nothing but time.
func TestListingsAreCutWhereTheLastOneSaysSo(t *testing.T) {
	const n, job = 5200, "cleanupJobs/testJob"
	f := newFunction(t, files)
	if !f.EmbeddedStorage() {
		t.Skip("the Firebase Emulator Suite heeds no offsets")
	}
	f.PutMany(t, n, func(i int) (string, map[string]string) {
		return fmt.Sprintf("files/u/%04d.png", i), map[string]string{"is": "kept"}
	})
	var mu sync.Mutex
	var offsets []string
	f.Hooks.Transport = func(base http.RoundTripper) http.RoundTripper {
		return sent(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if q := r.URL.Query(); q.Get("startOffset") != "" && q.Get("pageToken") == "" {
				offsets = append(offsets, q.Get("startOffset"))
			}
			return base.RoundTrip(r)
		})
	}
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
		got := f.Run(t, run.body)
		enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
		enginetest.Want(t, run.what+", kept", map[string]int{keptByWish: n}, got.Kept)
		enginetest.Want(t, run.what+", saved", run.want, saved())
		slices.Sort(offsets)
		enginetest.Want(t, run.what+", offsets", run.offsets, offsets)
	}
}

// sent is what sends a request.
type sent func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (s sent) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }
