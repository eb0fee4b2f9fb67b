package leftovers_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

var start = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)

const records = "cleanupJobs/testJob/leftovers"

// newFunction returns a function that finishes leftovers and then deletes the documents by their paths, remembering their
// objects. between, where not nil, is called when a document is deleted and its objects are not; its error ends the
// action there, as a crash would.
func newFunction(t *testing.T, objects map[string][]leftovers.Object, between func() error) *sweeptest.Function {
	t.Helper()
	job := sweep.Job{Name: "testJob", Plan: func(ctx context.Context, p *sweep.Planner) error {
		if err := leftovers.Plan(ctx, p); err != nil {
			return err
		}
		for _, document := range slices.Sorted(maps.Keys(objects)) {
			err := p.Propose(ctx, sweep.Action{Kind: "delete", Target: document, Reason: "due",
				Effect: sweep.Steps(func(ctx context.Context, w *sweep.Writers) error {
					return deleteDocument(ctx, w, document, objects[document], between)
				})})
			if err != nil {
				return err
			}
		}
		return nil
	}}
	f := sweeptest.New(t, sweep.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore, config.Storage}))
	f.Clock = func() time.Time { return start }
	for document := range objects {
		f.Set(t, document, map[string]any{"text": "x"})
	}
	return f
}

func deleteDocument(ctx context.Context, w *sweep.Writers, document string, objects []leftovers.Object, between func() error) error {
	id := path.Base(document)
	err := w.Documents.Transact(ctx, func(_ context.Context, tx *documents.Transaction) error {
		if _, found, err := tx.Get(document); err != nil || !found {
			return err
		}
		if err := leftovers.Remember(tx, w, id, objects); err != nil {
			return err
		}
		return tx.Delete(document)
	})
	if err == nil && between != nil {
		err = between()
	}
	if err != nil {
		return err
	}
	return leftovers.Finish(ctx, w, id)
}

// crash ends a run between a document's deletion and that of its objects.
func crash() error { return sweep.ErrOutOfTime }

// nextRun returns a function for the run after a crash, which finds nothing to delete but leftovers.
func nextRun(t *testing.T, f *sweeptest.Function) *sweeptest.Function {
	t.Helper()
	next := sweeptest.On(t, newFunction(t, nil, nil).Function, f.Project)
	next.Clock = func() time.Time { return start.Add(24 * time.Hour) }
	return next
}

func put(t *testing.T, f *sweeptest.Function, metadata map[string]string, names ...string) {
	t.Helper()
	for _, name := range names {
		f.Put(t, name, metadata, []byte("x"))
	}
}

func named(names ...string) []leftovers.Object {
	var objects []leftovers.Object
	for _, name := range names {
		objects = append(objects, leftovers.Object{Name: name})
	}
	return objects
}

func files(t *testing.T, f *sweeptest.Function, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), f.Objects(t)); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
}

func recorded(t *testing.T, f *sweeptest.Function, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(f.Documents(t, records)))); diff != "" {
		t.Errorf("records left (-want +got):\n%s", diff)
	}
}

func ended(t *testing.T, report *sweep.Report, status sweep.Status, actions map[string]sweep.Counts) {
	t.Helper()
	if diff := cmp.Diff(actions, report.Actions); report.Status != status || diff != "" {
		t.Errorf("%s %v, want %s; actions (-want +got):\n%s", report.Status, report.Failures, status, diff)
	}
}

func kept(t *testing.T, report *sweep.Report, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, report.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestUndisturbed(t *testing.T) {
	t.Parallel()
	f := newFunction(t, map[string][]leftovers.Object{
		"things/a": named("posts/a.png", "posts/a.png", "posts/gone.png", "posts/写 真#1.png"),
		"things/b": nil,
	}, nil)
	put(t, f, map[string]string{"postId": "p9"}, "posts/a.png", "posts/写 真#1.png")
	put(t, f, nil, "posts/a.png2", "posts/b.png")
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, map[string]sweep.Counts{"delete": {Planned: 2, Done: 2}})
	kept(t, got, map[string]int{})
	files(t, f, "posts/a.png2", "posts/b.png")
	recorded(t, f)
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	f := newFunction(t, map[string][]leftovers.Object{"things/a": named("posts/a.png", "posts/b.png")}, crash)
	put(t, f, nil, "posts/a.png", "posts/b.png", "posts/b.png2")
	ended(t, f.Run(t, ""), sweep.Partial, map[string]sweep.Counts{"delete": {Planned: 1}})
	files(t, f, "posts/a.png", "posts/b.png", "posts/b.png2")
	recorded(t, f, "a")
	if len(f.Documents(t, "things")) != 0 {
		t.Error("the document is still there")
	}

	next := nextRun(t, f)
	if got := next.Run(t, `{"dryRun":true}`); len(got.Plan) != 1 || got.Plan[0].Target != records+"/a" {
		t.Errorf("plan %v", got.Plan)
	}
	files(t, f, "posts/a.png", "posts/b.png", "posts/b.png2")
	ended(t, next.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete leftover files": {Planned: 1, Done: 1}})
	files(t, f, "posts/b.png2")
	recorded(t, f)
	ended(t, next.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
}

// TestRolledBack makes sure that nothing is remembered of a document that was kept.
// hold puts objects under a hold, or takes them from under it.
func hold(t *testing.T, f *sweeptest.Function, on bool, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := f.Storage(t).Bucket(f.Bucket).Object(name).Update(t.Context(), storage.ObjectAttrsToUpdate{TemporaryHold: on}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeldByStorage: what Cloud Storage does not let go is kept, no failure, and goes when it is released.
func TestHeldByStorage(t *testing.T) {
	t.Parallel()
	f := newFunction(t, map[string][]leftovers.Object{
		"things/a": append(named("posts/a.png", "posts/held.png"), leftovers.Object{Name: "circles/c1/", Folder: true}),
	}, nil)
	if !f.EmbeddedStorage() {
		t.Skip("only the embedded Storage knows holds")
	}
	put(t, f, nil, "posts/a.png", "posts/held.png", "circles/c1/a.png", "circles/c1/b.png", "circles/c1/c.png")
	hold(t, f, true, "posts/held.png", "circles/c1/b.png")

	report := f.Run(t, "")
	ended(t, report, sweep.Completed, map[string]sweep.Counts{"delete": {Planned: 1, Done: 1}})
	kept(t, report, map[string]int{media.HeldByHold: 2})
	files(t, f, "circles/c1/b.png", "posts/held.png")
	recorded(t, f, "a")

	next := nextRun(t, f)
	report = next.Run(t, "")
	ended(t, report, sweep.Completed, map[string]sweep.Counts{"delete leftover files": {Planned: 1}})
	kept(t, report, map[string]int{media.HeldByHold: 2})
	files(t, f, "circles/c1/b.png", "posts/held.png")
	recorded(t, f, "a")

	hold(t, f, false, "posts/held.png", "circles/c1/b.png")
	report = next.Run(t, "")
	ended(t, report, sweep.Completed, map[string]sweep.Counts{"delete leftover files": {Planned: 1, Done: 1}})
	kept(t, report, map[string]int{})
	files(t, f)
	recorded(t, f)
}

func TestRolledBack(t *testing.T) {
	t.Parallel()
	f := newFunction(t, map[string][]leftovers.Object{"things/a": named("posts/a.png")}, nil)
	put(t, f, nil, "posts/a.png")
	f.Hooks.BeforeApply = func() {
		if _, err := f.Firestore(t).Doc("things/a").Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	f.Run(t, "")
	files(t, f, "posts/a.png")
	recorded(t, f)
}

func relabel(t *testing.T, f *sweeptest.Function, name string, metadata map[string]string) {
	t.Helper()
	_, err := f.Storage(t).Bucket(f.Bucket).Object(name).Update(t.Context(), storage.ObjectAttrsToUpdate{Metadata: metadata})
	if err != nil {
		t.Fatal(err)
	}
}

// TestChangedBetweenRuns has people use the files' names and labels before the next run gets to them.
func TestChangedBetweenRuns(t *testing.T) {
	t.Parallel()
	var objects []leftovers.Object
	for _, name := range []string{"same", "replaced", "relabelled", "released", "deleted", "pending"} {
		objects = append(objects, leftovers.Object{Name: "posts/" + name, PostID: "p1", Absent: "posts/p1"})
	}
	f := newFunction(t, map[string][]leftovers.Object{"posts/p1": objects}, crash)
	if !f.EmbeddedStorage() {
		t.Skip("the Firebase Emulator Suite cannot change an object's metadata by this API")
	}
	for _, o := range objects {
		put(t, f, map[string]string{"postId": "p1"}, o.Name)
	}
	f.Run(t, "")
	put(t, f, map[string]string{"postId": "p1"}, "posts/replaced")
	relabel(t, f, "posts/relabelled", map[string]string{"postId": "p2"})
	relabel(t, f, "posts/pending", map[string]string{"postId": "PENDING"})
	relabel(t, f, "posts/released", map[string]string{"postId": ""})
	if err := f.Storage(t).Bucket(f.Bucket).Object("posts/deleted").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := nextRun(t, f).Run(t, "")
	ended(t, got, sweep.Completed, map[string]sweep.Counts{"delete leftover files": {Planned: 1, Done: 1}})
	// A postId that is there and empty is not this post's id, and not absent either.
	kept(t, got, map[string]int{"a file that belongs to another post": 3, "a file uploaded anew since": 1})
	files(t, f, "posts/pending", "posts/relabelled", "posts/released", "posts/replaced")
	recorded(t, f)
}

func TestRestoredDocumentKeepsItsFiles(t *testing.T) {
	t.Parallel()
	f := newFunction(t, map[string][]leftovers.Object{
		"posts/back":   {{Name: "posts/back.png", PostID: "back", Absent: "posts/back"}},
		"posts/gone":   {{Name: "posts/gone.png", PostID: "gone", Absent: "posts/gone"}},
		"circles/home": {{Name: "circles/home/", Folder: true, Absent: "circles/home"}},
	}, crash)
	put(t, f, nil, "posts/back.png", "posts/gone.png", "circles/home/icon/a.png")
	f.Run(t, "")
	f.Set(t, "posts/back", map[string]any{"text": "from the backup"})
	f.Set(t, "circles/home", map[string]any{"name": "from the backup"})
	got := nextRun(t, f).Run(t, "")
	kept(t, got, map[string]int{"a file whose document was restored since": 2})
	files(t, f, "circles/home/icon/a.png", "posts/back.png")
	recorded(t, f)
}

func TestFolder(t *testing.T) {
	t.Parallel()
	folder := leftovers.Object{Name: "circles/c1/", Folder: true, Absent: "circles/c1"}
	theirs := []string{"circles/c1", "circles/c1.png", "circles/c12/icon/a.png", "circles/c/icon/a.png", "posts/circles/c1/a.png"}
	for name, between := range map[string]func() error{"at once": nil, "by the next run": crash} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, map[string][]leftovers.Object{"circles/c1": {folder}}, between)
			put(t, f, nil, theirs...)
			put(t, f, map[string]string{"postId": "p1"}, "circles/c1/", "circles/c1/icon/a.png", "circles/c1/icon/b.png", "circles/c1/x")
			f.Run(t, "")
			left := slices.Sorted(slices.Values(theirs))
			if between != nil {
				put(t, f, nil, "circles/c1/x") // anew
				left = slices.Sorted(slices.Values(append(left, "circles/c1/x")))
				nextRun(t, f).Run(t, "")
			}
			files(t, f, left...)
			recorded(t, f)
		})
	}
}

func TestManyFilesInAFolder(t *testing.T) {
	t.Parallel()
	f := newFunction(t, map[string][]leftovers.Object{"circles/c1": {{Name: "circles/c1/", Folder: true}}}, nil)
	f.PutMany(t, 1100, func(i int) (string, map[string]string) {
		return "circles/c1/" + strings.Repeat("x", i%7) + time.Duration(i).String(), nil
	})
	put(t, f, nil, "circles/c12/icon.png")
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, map[string]sweep.Counts{"delete": {Planned: 1, Done: 1}})
	files(t, f, "circles/c12/icon.png")
	if got.Usage.StorageClassA != 2 || got.Usage.StorageClassB != 0 {
		t.Errorf("usage %+v, want two pages listed and nothing read one by one", got.Usage)
	}
}

// TestNameTooLong has a circle whose id leaves no room for a file's name.
func TestNameTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1500)
	f := newFunction(t, map[string][]leftovers.Object{"circles/" + long: {{Name: "circles/" + long + "/", Folder: true}}}, nil)
	put(t, f, nil, "circles/x/a")
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete": {Planned: 1, Done: 1}})
	files(t, f, "circles/x/a")
	recorded(t, f)
}

// TestHalfANameIsNoFolder makes sure that no mistake of a job's becomes the deletion of a bucket.
func TestHalfANameIsNoFolder(t *testing.T) {
	t.Parallel()
	for _, o := range []leftovers.Object{
		{}, {Folder: true}, {Name: "/", Folder: true}, {Name: "//", Folder: true}, {Name: "circles/c1", Folder: true},
	} {
		f := newFunction(t, map[string][]leftovers.Object{"circles/c1": {{Name: "circles/c1/a"}, o}}, nil)
		put(t, f, nil, "circles/c1/a", "circles/c12/a")
		ended(t, f.Run(t, ""), sweep.Failed, map[string]sweep.Counts{"delete": {Planned: 1, Failed: 1}})
		files(t, f, "circles/c1/a", "circles/c12/a")
		recorded(t, f)
		if len(f.Documents(t, "circles")) != 1 {
			t.Errorf("%+v: the document is gone, and nothing remembers its files", o)
		}
	}
}

func TestForeignRecords(t *testing.T) {
	t.Parallel()
	group := func(changed string, value any) map[string]any {
		g := map[string]any{"names": []any{"posts/a.png"}, "folder": false, "postId": "", "absent": ""}
		g[changed] = value
		return map[string]any{"at": start.AddDate(10, 0, 0), "objects": []any{g}}
	}
	f := newFunction(t, nil, nil)
	put(t, f, nil, "posts/a.png", "posts/b.png")
	foreign := map[string]map[string]any{
		"empty": {}, "no-date": {"objects": group("folder", false)["objects"]}, "odd-date": {"at": "now", "objects": []any{}},
		"no-objects": {"at": start}, "odd-group": {"at": start, "objects": []any{"posts/a.png"}},
		"no-name": group("names", []any{""}), "odd-name": group("names", []any{7}), "odd-names": group("names", "posts/a.png"),
		"odd-folder": group("folder", "yes"), "half-folder": group("folder", true), "odd-post": group("postId", nil), "odd-absent": group("absent", 7),
	}
	for id, data := range foreign {
		f.Set(t, records+"/"+id, data)
	}
	good := group("names", []any{"posts/b.png"})
	f.Set(t, records+"/good", good)
	got := f.Run(t, "")
	ended(t, got, sweep.Failed, map[string]sweep.Counts{"delete leftover files": {Planned: len(foreign) + 1, Done: 1, Failed: len(foreign)}})
	for _, failure := range got.Failures {
		if !strings.Contains(failure.Error, "look at it and delete it") {
			t.Errorf("failure %+v does not say what to do", failure)
		}
	}
	files(t, f, "posts/a.png")
	recorded(t, f, slices.Sorted(maps.Keys(foreign))...)
}

// transport lets a test see and answer requests to Storage; nil means to send them.
type transport struct {
	base http.RoundTripper
	mu   sync.Mutex
	f    func(method, object string) *http.Response
}

func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	_, object, _ := strings.Cut(r.URL.EscapedPath(), "/o/")
	name, err := url.PathUnescape(object)
	if err != nil {
		return nil, err
	}
	if answer := tr.f(r.Method, name); answer != nil {
		answer.Request = r
		return answer, nil
	}
	return tr.base.RoundTrip(r)
}

func intercept(f *sweeptest.Function, handle func(method, object string) *http.Response) {
	f.Hooks.Transport = func(base http.RoundTripper) http.RoundTripper { return &transport{base: base, f: handle} }
}

func forbidden() *http.Response {
	return &http.Response{StatusCode: http.StatusForbidden, Status: "403 Forbidden", Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil))}
}

// TestChangedBetweenLookAndDeletion changes each object right before its deletion is sent.
func TestChangedBetweenLookAndDeletion(t *testing.T) {
	t.Parallel()
	for kind, folder := range map[string]bool{"by name": false, "in a folder": true} {
		t.Run(kind, func(t *testing.T) {
			var objects []leftovers.Object
			if folder {
				objects = []leftovers.Object{{Name: "posts/", Folder: true, PostID: "p1"}}
			} else {
				for _, name := range []string{"relabelled", "touched", "replaced", "restless"} {
					objects = append(objects, leftovers.Object{Name: "posts/" + name, PostID: "p1"})
				}
			}
			f := newFunction(t, map[string][]leftovers.Object{"posts/p1": objects}, nil)
			if !f.EmbeddedStorage() {
				t.Skip("only the embedded Storage enforces preconditions; the Firebase Emulator Suite's deletes regardless")
			}
			put(t, f, nil, "posts/relabelled", "posts/touched", "posts/replaced", "posts/restless")
			seen := map[string]int{}
			intercept(f, func(method, object string) *http.Response {
				if method != http.MethodDelete {
					return nil
				}
				seen[object]++
				switch {
				case object == "posts/relabelled" && seen[object] == 1:
					relabel(t, f, object, map[string]string{"postId": "p2"})
				case object == "posts/touched" && seen[object] == 1:
					relabel(t, f, object, map[string]string{"postId": "p1", "seen": "true"})
				case object == "posts/replaced" && seen[object] == 1:
					put(t, f, nil, object)
				case object == "posts/restless":
					relabel(t, f, object, map[string]string{"seen": strings.Repeat("x", seen[object])})
				}
				return nil
			})
			got := f.Run(t, "")
			ended(t, got, sweep.Failed, map[string]sweep.Counts{"delete": {Planned: 1, Failed: 1}})
			kept(t, got, map[string]int{"a file that belongs to another post": 1, "a file uploaded anew since": 1})
			files(t, f, "posts/relabelled", "posts/replaced", "posts/restless")
			recorded(t, f, "p1")
			if seen["posts/restless"] != 3 {
				t.Errorf("%d attempts on an object that changes all the time, want 3", seen["posts/restless"])
			}
			intercept(f, func(string, string) *http.Response { return nil })
			ended(t, nextRun(t, f).Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete leftover files": {Planned: 1, Done: 1}})
			files(t, f, "posts/relabelled", "posts/replaced")
		})
	}
}

func TestOneBadObjectDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	f := newFunction(t, map[string][]leftovers.Object{
		"things/a": append(named("posts/a.png", "posts/bad.png", "posts/c.png"), leftovers.Object{Name: "circles/c1/", Folder: true}),
	}, nil)
	put(t, f, nil, "posts/a.png", "posts/bad.png", "posts/c.png", "circles/c1/a", "circles/c1/bad", "circles/c1/c")
	intercept(f, func(_, object string) *http.Response {
		if strings.Contains(object, "bad") {
			return forbidden()
		}
		return nil
	})
	got := f.Run(t, "")
	ended(t, got, sweep.Failed, map[string]sweep.Counts{"delete": {Planned: 1, Failed: 1}})
	if len(got.Failures) != 1 || !strings.Contains(got.Failures[0].Error, "posts/bad.png") {
		t.Errorf("failures %v, want the first bad object named", got.Failures)
	}
	files(t, f, "circles/c1/bad", "posts/bad.png")
	recorded(t, f, "a")
	ended(t, nextRun(t, f).Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete leftover files": {Planned: 1, Done: 1}})
	files(t, f)
	recorded(t, f)
}

func TestOutOfTime(t *testing.T) {
	t.Parallel()
	for kind, objects := range map[string][]leftovers.Object{
		"by name":     named("posts/a", "posts/b", "posts/c"),
		"in a folder": {{Name: "posts/", Folder: true}},
	} {
		t.Run(kind, func(t *testing.T) {
			f := newFunction(t, map[string][]leftovers.Object{"things/a": objects}, nil)
			put(t, f, nil, "posts/a", "posts/b", "posts/c")
			var mu sync.Mutex
			wall := start
			f.Clock = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return wall
			}
			intercept(f, func(method, _ string) *http.Response {
				if method == http.MethodDelete {
					mu.Lock()
					defer mu.Unlock()
					wall = start.Add(f.Timeout)
				}
				return nil
			})
			ended(t, f.Run(t, ""), sweep.Partial, map[string]sweep.Counts{"delete": {Planned: 1}})
			files(t, f, "posts/b", "posts/c")
			recorded(t, f, "a")
			ended(t, nextRun(t, f).Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete leftover files": {Planned: 1, Done: 1}})
			files(t, f)
			recorded(t, f)
		})
	}
}

// TestRecordReplacedMeanwhile has the same document written and deleted again while its first files are being deleted:
// the record is then the second's.
func TestRecordReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFunction(t, map[string][]leftovers.Object{"things/a": named("posts/a.png")}, nil)
	put(t, f, nil, "posts/a.png", "posts/b.png")
	intercept(f, func(method, _ string) *http.Response {
		if method == http.MethodDelete {
			f.Set(t, records+"/a", map[string]any{"at": time.Now().Add(time.Hour), "objects": []any{
				map[string]any{"names": []any{"posts/b.png"}, "folder": false, "postId": "", "absent": ""},
			}})
		}
		return nil
	})
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete": {Planned: 1, Done: 1}})
	files(t, f, "posts/b.png")
	recorded(t, f, "a")
	nextRun(t, f).Run(t, "")
	files(t, f)
	recorded(t, f)
}
