package orphanedmedia

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// newFunction returns the function with a now by which all that is uploaded during the test is two days old.
func newFunction(t *testing.T) *sweeptest.Function {
	t.Helper()
	f := sweeptest.New(t, functions.New(Job))
	f.Now = time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	return f
}

func put(t *testing.T, f *sweeptest.Function, name, postID string) {
	t.Helper()
	metadata := map[string]string{}
	if postID != "" {
		metadata["postId"] = postID
	}
	f.Put(t, name, metadata, []byte("x"))
}

// lift makes the belts of a small test data set none of the test's business.
func lift(f *sweeptest.Function) { f.Env["MAX_MISSING_PERCENT"] = "100" }

func ids(documents map[string]map[string]any) []string { return slices.Sorted(maps.Keys(documents)) }

func TestObjects(t *testing.T) {
	f := newFunction(t)
	for _, path := range []string{"posts/p1", "posts/日本 語", "circles/c1", "tasks/t1"} {
		f.Set(t, path, map[string]any{"n": 1})
	}
	kept := map[string]string{
		"posts/u1/a b.png": "p1", "posts/写真 1.png": "日本 語", "posts/no-metadata": "", "posts/slash": "a/b", "posts/dots": "..",
		"posts/young": "young", "circles/c1/icon/a.png": "", "circles/a.png": "",
		"task_attachments/u1/t1/a.pdf": "", "task_attachments/u1/t2": "", "other/p2.png": "p2", "postsx/p2.png": "p2", "PENDING": "PENDING",
	}
	gone := map[string]string{
		"posts/u1/%41+#?.png": "p12", "posts/😀.png": "PENDING", "posts/u1/日本.png": "p2", "circles/c12/icon/a.png": "",
		"circles/c12/a/b/c/d.png": "", "circles/c1x/": "", "task_attachments/u1/t12/a.pdf": "", "task_attachments/u1/t12/deep/a.pdf": "",
	}
	invalid := 2
	if f.EmbeddedStorage() { // for the Firebase Emulator Suite's Storage this would be circles/a.png
		kept["circles//a.png"] = ""
		invalid++
	}
	for name, postID := range kept {
		put(t, f, name, postID)
	}
	for name, postID := range gone {
		put(t, f, name, postID)
	}
	f.Put(t, "posts/young", map[string]string{"postId": "PENDING", "uploadedAt": ms(f.Now.Add(-23 * time.Hour))}, nil)

	got := f.Run(t, "")
	wantActions := map[string]sweep.Counts{
		"delete post media": {Planned: 3, Done: 3}, "delete circle image": {Planned: 3, Done: 3}, "delete task attachment": {Planned: 2, Done: 2},
	}
	if diff := cmp.Diff(wantActions, got.Actions); got.Status != sweep.Completed || diff != "" {
		t.Errorf("%s, actions (-want +got):\n%s", got.Status, diff)
	}
	wantKept := map[string]int{
		keptYoung: 1, keptNoPost: 1, keptInvalidOwner: invalid, keptUnknownPath: 2,
		"belongs to one of posts": 2, "belongs to one of circles": 1, "belongs to one of tasks": 1,
	}
	if diff := cmp.Diff(wantKept, got.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(kept)), f.Objects(t)); diff != "" {
		t.Errorf("objects left (-want +got):\n%s", diff)
	}
	if got.Usage.StorageDeletes != int64(len(gone)) || got.Usage.StorageClassA != 3 || got.Usage.StorageClassB != 0 {
		t.Errorf("usage %+v, want %d deletes and one listing a folder", got.Usage, len(gone))
	}
	if again := f.Run(t, ""); len(again.Actions) != 0 || again.Status != sweep.Completed {
		t.Errorf("second run %+v, want nothing to do", again)
	}
}

func TestAgeIsCountedFromTheUpload(t *testing.T) {
	f := newFunction(t)
	created := f.Put(t, "posts/a", map[string]string{"postId": "PENDING"}, nil).Created
	f.Put(t, "circles/c1/a", nil, nil)
	f.Set(t, "circles/c2", map[string]any{"name": "so that the database is not an empty one"})
	f.Now = created.Add(24*time.Hour - time.Microsecond).Truncate(time.Microsecond)
	if got := f.Run(t, ""); len(got.Actions) != 0 || got.Kept[keptYoung] != 2 {
		t.Errorf("under a day: %+v", got)
	}
	f.Now = created.Add(24 * time.Hour).Add(time.Second)
	if got := f.Run(t, ""); got.Actions["delete post media"].Done != 1 {
		t.Errorf("after a day: %+v", got)
	}
}

func TestRacesOfObjects(t *testing.T) {
	f := newFunction(t)
	if !f.EmbeddedStorage() {
		t.Skip("only the embedded Storage enforces preconditions; the Firebase Emulator Suite's deletes regardless")
	}
	lift(f)
	for _, name := range []string{"finished", "replaced", "gone", "left"} {
		put(t, f, "posts/"+name, "PENDING")
	}
	put(t, f, "posts/created", "p1")
	put(t, f, "posts/created-too", "p1")
	put(t, f, "circles/c1/a.png", "")
	put(t, f, "circles/c2/a.png", "")
	for _, path := range []string{"posts/another", "circles/another"} { // in an empty collection nothing is concluded
		f.Set(t, path, map[string]any{"name": "x"})
	}
	f.Hooks.BeforeApply = func() {
		bucket := f.Storage(t).Bucket(f.Bucket)
		_, err := bucket.Object("posts/finished").Update(t.Context(), storage.ObjectAttrsToUpdate{Metadata: map[string]string{"postId": "p9"}})
		if err != nil {
			t.Error(err)
		}
		put(t, f, "posts/replaced", "PENDING")
		if err := bucket.Object("posts/gone").Delete(t.Context()); err != nil {
			t.Error(err)
		}
		f.Set(t, "posts/p1", map[string]any{"text": "finished at last"})
		f.Set(t, "circles/c1", map[string]any{"name": "new"})
	}
	got := f.Run(t, "")
	want := map[string]sweep.Counts{
		"delete post media": {Planned: 6, Done: 1, Changed: 5}, "delete circle image": {Planned: 2, Done: 1, Changed: 1},
	}
	if diff := cmp.Diff(want, got.Actions); got.Status != sweep.Completed || diff != "" {
		t.Errorf("%s, actions (-want +got):\n%s", got.Status, diff)
	}
	left := []string{"circles/c1/a.png", "posts/created", "posts/created-too", "posts/finished", "posts/replaced"}
	if diff := cmp.Diff(left, f.Objects(t)); diff != "" {
		t.Errorf("objects left (-want +got):\n%s", diff)
	}
}

func TestEmptyDatabaseEmptiesNoBucket(t *testing.T) {
	f := newFunction(t)
	f.PutMany(t, 1000, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/%04d.png", i), map[string]string{"postId": fmt.Sprintf("p%d", i)}
	})
	for _, body := range []string{"", `{"dryRun":true}`} {
		got := f.Run(t, body)
		if got.Status != sweep.Aborted || len(got.Failures) != 1 || !strings.Contains(got.Failures[0].Error, "1000 of 1000 posts") {
			t.Fatalf("body %q: %s %v, want aborted", body, got.Status, got.Failures)
		}
	}
	if n := len(f.Objects(t)); n != 1000 {
		t.Fatalf("%d objects left, want all", n)
	}
	got := f.Run(t, `{"force":true}`)
	if got.Status != sweep.Completed || got.Actions["delete post media"].Done != 1000 || len(f.Objects(t)) != 0 {
		t.Errorf("forced: %s %+v", got.Status, got.Actions)
	}
	// 34 lookups in planning and as many right before the deletes, for none exists; nothing else.
	if got.Usage.FirestoreReads > 100 {
		t.Errorf("%d reads to find 1000 posts missing twice", got.Usage.FirestoreReads)
	}
}

func TestPendingCountsForNoBelt(t *testing.T) {
	f := newFunction(t)
	f.PutMany(t, 50, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/%04d.png", i), map[string]string{"postId": "PENDING"}
	})
	if got := f.Run(t, ""); got.Status != sweep.Completed || got.Actions["delete post media"].Done != 50 {
		t.Errorf("report %+v", got)
	}
}

func TestCostWhenNothingIsOrphaned(t *testing.T) {
	f := newFunction(t)
	f.SetMany(t, 5000, func(i int) (string, map[string]any) {
		return fmt.Sprintf("posts/p%04d", i), map[string]any{"text": "hello"}
	})
	f.PutMany(t, 20_000, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/%05d.png", i), map[string]string{"postId": fmt.Sprintf("p%04d", i%5000)}
	})
	got := f.Run(t, "")
	if got.Status != sweep.Completed || got.Scanned != 20_000 || len(got.Actions) != 0 || got.Kept["belongs to one of posts"] != 20_000 {
		t.Errorf("report %+v", got)
	}
	if got.Usage.FirestoreReads >= 300 {
		t.Errorf("%d reads for 20,000 objects of 5,000 posts, want under 300", got.Usage.FirestoreReads)
	}
	// 20 full pages and an empty one, and one for each other folder.
	if got.Usage.StorageClassA > 23 {
		t.Errorf("%d class A operations", got.Usage.StorageClassA)
	}
	t.Logf("usage %+v", got.Usage)
}

// circlePosts writes circles and posts of them, of circles that are gone, and of none.
func circlePosts(t *testing.T, f *sweeptest.Function) (orphaned, kept []string) {
	t.Helper()
	existing := []string{"a", "c1", "c12", "c2", "m", "z", "丸", "😀"}
	for _, id := range existing {
		f.Set(t, "circles/"+id, map[string]any{"name": id})
	}
	for i, circle := range existing {
		path := fmt.Sprintf("posts/kept%d", i)
		f.Set(t, path, map[string]any{"circleId": circle})
		kept = append(kept, path)
	}
	for name, circle := range map[string]any{"none": nil, "empty": "", "number": 7, "list": []any{"gone"}, "slash": "a/b", "dots": "..", "reserved": "__g__"} {
		f.Set(t, "posts/kept-"+name, map[string]any{"circleId": circle})
		kept = append(kept, "posts/kept-"+name)
	}
	f.Set(t, "posts/kept-unset", map[string]any{"text": "no circle"})
	kept = append(kept, "posts/kept-unset")
	for i, circle := range []string{"!", "C1", "b", "c", "c11", "c1 ", "c13", "zz", "丸1", "丸", "あ", "😀😀"} {
		if circle == "丸" {
			continue // it exists
		}
		path := fmt.Sprintf("posts/orphan%02d", i)
		f.Set(t, path, map[string]any{"circleId": circle})
		orphaned = append(orphaned, path)
	}
	slices.Sort(kept)
	return orphaned, kept
}

func left(t *testing.T, f *sweeptest.Function) []string {
	t.Helper()
	var paths []string
	for _, id := range ids(f.Documents(t, "posts")) {
		paths = append(paths, "posts/"+id)
	}
	return paths
}

func TestCirclePosts(t *testing.T) {
	f := newFunction(t)
	lift(f)
	orphaned, kept := circlePosts(t, f)
	for _, collection := range []string{"comments", "reactions"} {
		f.Set(t, collection+"/1", map[string]any{"postId": "orphan02"})
		f.Set(t, collection+"/2", map[string]any{"postId": "orphan02"})
		f.Set(t, collection+"/3", map[string]any{"postId": "orphan0"})
		f.Set(t, collection+"/4", map[string]any{"postId": "kept1"})
		f.Set(t, collection+"/5", map[string]any{"text": "no post"})
	}
	got := f.Run(t, "")
	want := map[string]sweep.Counts{"delete orphaned circle post": {Planned: len(orphaned), Done: len(orphaned)}}
	if diff := cmp.Diff(want, got.Actions); got.Status != sweep.Completed || diff != "" {
		t.Errorf("%s %v, actions (-want +got):\n%s", got.Status, got.Failures, diff)
	}
	if diff := cmp.Diff(kept, left(t, f)); diff != "" {
		t.Errorf("posts left (-want +got):\n%s", diff)
	}
	if got.Kept[keptInvalidCircle] != 3 {
		t.Errorf("kept %v, want the 3 whose circleId names no document", got.Kept)
	}
	for _, collection := range []string{"comments", "reactions"} {
		if diff := cmp.Diff([]string{"3", "4", "5"}, ids(f.Documents(t, collection))); diff != "" {
			t.Errorf("%s left (-want +got):\n%s", collection, diff)
		}
	}
}

func TestPostsOfExistingCirclesAreNotRead(t *testing.T) {
	f := newFunction(t)
	f.SetMany(t, 100, func(i int) (string, map[string]any) {
		return fmt.Sprintf("circles/c%03d", i), map[string]any{"name": "x"}
	})
	f.SetMany(t, 3000, func(i int) (string, map[string]any) {
		return fmt.Sprintf("posts/p%04d", i), map[string]any{"circleId": fmt.Sprintf("c%03d", i%100)}
	})
	f.Set(t, "posts/orphan", map[string]any{"circleId": "c050x"})
	got := f.Run(t, "")
	if diff := cmp.Diff(map[string]sweep.Counts{"delete orphaned circle post": {Planned: 1, Done: 1}}, got.Actions); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	// The names of 100 circles, four counts of gaps and one behind the last; then the one post: found, its circle asked
	// for, and in its transaction the post, the circle, comments and reactions; lease twice, leftovers.
	if got.Usage.FirestoreReads > 100+5+6+4 {
		t.Errorf("%d reads", got.Usage.FirestoreReads)
	}
	if len(f.Documents(t, "posts")) != 3000 {
		t.Error("the wrong posts are gone")
	}
}

func TestRacesOfCirclePosts(t *testing.T) {
	f := newFunction(t)
	lift(f)
	for id, circle := range map[string]string{"founded": "new", "moved": "gone", "edited": "gone", "commented": "gone", "deleted": "gone"} {
		f.Set(t, "posts/"+id, map[string]any{"circleId": circle})
		f.Set(t, "comments/of-"+id, map[string]any{"postId": id})
	}
	f.Set(t, "circles/home", map[string]any{"name": "home"})
	f.Hooks.BeforeApply = func() {
		f.Set(t, "circles/new", map[string]any{"name": "founded during the run"})
		f.Set(t, "posts/moved", map[string]any{"circleId": "home"})
		f.Set(t, "posts/edited", map[string]any{"circleId": "gone", "text": "edited"})
		f.Set(t, "comments/of-commented-2", map[string]any{"postId": "commented"})
		if _, err := f.Firestore(t).Doc("posts/deleted").Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	got := f.Run(t, "")
	// Edited and commented, a post of a circle that is gone is orphaned all the same: nobody can see it.
	want := map[string]sweep.Counts{"delete orphaned circle post": {Planned: 5, Done: 2, Changed: 3}}
	if diff := cmp.Diff(want, got.Actions); got.Status != sweep.Completed || diff != "" {
		t.Errorf("%s, actions (-want +got):\n%s", got.Status, diff)
	}
	if diff := cmp.Diff([]string{"posts/founded", "posts/moved"}, left(t, f)); diff != "" {
		t.Errorf("posts left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"of-deleted", "of-founded", "of-moved"}, ids(f.Documents(t, "comments"))); diff != "" {
		t.Errorf("comments left (-want +got):\n%s", diff)
	}
}

func TestMediaOfCirclePosts(t *testing.T) {
	f := newFunction(t)
	lift(f)
	emulator := f.Env["FIREBASE_STORAGE_EMULATOR_HOST"]
	f.Set(t, "posts/other", map[string]any{"text": "somebody's"})
	for name, postID := range map[string]string{
		"posts/own.png": "p1", "posts/写真 #1.png": "p1", "posts/unnamed.png": "", "posts/theirs.png": "other",
		"circles/c/x.png": "", "avatars/me.png": "", "posts/unrelated.png": "other",
	} {
		put(t, f, name, postID)
	}
	f.Set(t, "circles/c", map[string]any{"name": "c"})
	f.Set(t, "posts/p1", map[string]any{"circleId": "gone", "mediaItems": []any{
		map[string]any{"url": "https://firebasestorage.googleapis.com/v0/b/" + f.Bucket + "/o/posts%2Fown.png?alt=media&token=x"},
		map[string]any{"url": "http://" + emulator + "/v0/b/" + f.Bucket + "/o/posts%2F%E5%86%99%E7%9C%9F%20%231.png?alt=media"},
		map[string]any{"url": "gs://" + f.Bucket + "/posts/unnamed.png"},
		map[string]any{"url": "gs://" + f.Bucket + "/posts/unnamed.png"},
		map[string]any{"url": "gs://" + f.Bucket + "/posts/theirs.png"},
		map[string]any{"url": "gs://" + f.Bucket + "/posts/never-was.png"},
		map[string]any{"url": "https://storage.googleapis.com/" + f.Bucket + "/circles/c/x.png"},
		map[string]any{"url": "https://storage.googleapis.com/" + f.Bucket + "/avatars/me.png"},
		map[string]any{"url": "https://storage.googleapis.com/another-bucket/posts/own.png"},
		map[string]any{"url": "https://example.com/posts/own.png"},
		map[string]any{"url": 7}, map[string]any{}, "posts/own.png", nil,
	}})
	f.Set(t, "posts/p2", map[string]any{"circleId": "gone", "mediaItems": "posts/own.png"})
	got := f.Run(t, "")
	if got.Status != sweep.Completed || got.Actions["delete orphaned circle post"].Done != 2 {
		t.Errorf("report %+v", got)
	}
	if diff := cmp.Diff([]string{"avatars/me.png", "circles/c/x.png", "posts/theirs.png", "posts/unrelated.png"}, f.Objects(t)); diff != "" {
		t.Errorf("objects left (-want +got):\n%s", diff)
	}
	for reason, want := range map[string]int{
		"a media item with a file outside posts/": 2, "a media item without a url": 4, "a file that belongs to another post": 1,
		"a media item with a URL of another bucket": 1, "a media item with a URL that names no object of Cloud Storage": 1,
		"mediaItems is not a list: its files are kept": 1,
	} {
		if got.Kept[reason] != want {
			t.Errorf("kept %d for %q, want %d; all: %v", got.Kept[reason], reason, want, got.Kept)
		}
	}
	if n := len(f.Documents(t, "cleanupJobs/cleanupOrphanedMedia/leftovers")); n != 0 {
		t.Errorf("%d leftovers remembered after they were done", n)
	}
}

func TestWrongCirclesCollectionDeletesNoPost(t *testing.T) {
	f := newFunction(t)
	f.SetMany(t, 60, func(i int) (string, map[string]any) {
		return fmt.Sprintf("posts/p%02d", i), map[string]any{"circleId": fmt.Sprintf("c%d", i%20)}
	})
	got := f.Run(t, "")
	if got.Status != sweep.Aborted || !strings.Contains(got.Failures[0].Error, "20 of 20 circles of posts") || len(f.Documents(t, "posts")) != 60 {
		t.Errorf("report %+v", got)
	}
}

func TestOutOfTimeThenFinishedByFurtherRuns(t *testing.T) {
	f := newFunction(t)
	lift(f)
	f.PutMany(t, 1500, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/%04d.png", i), map[string]string{"postId": "PENDING"}
	})
	put(t, f, "circles/gone/a.png", "")
	put(t, f, "task_attachments/u/gone/a.png", "")
	f.Set(t, "tasks/another", map[string]any{"name": "x"}) // in an empty collection nothing is concluded
	f.SetMany(t, 700, func(i int) (string, map[string]any) {
		return fmt.Sprintf("circles/c%03d", i), map[string]any{"name": "x"}
	})
	for i, circle := range []string{"a", "c100x", "c400x", "c699x", "d"} {
		f.Set(t, fmt.Sprintf("posts/orphan%d", i), map[string]any{"circleId": circle})
	}
	wall := time.Now()
	partial := 0
	for range 50 {
		started, asked := wall, 0
		f.Clock = func() time.Time {
			if asked++; asked > 4 { // time for planning is up at the second or third mark
				return started.Add(f.Timeout/2 + time.Second)
			}
			return started
		}
		got := f.Run(t, "")
		wall = wall.Add(time.Hour)
		if got.Status == sweep.Completed {
			break
		}
		if got.Status != sweep.Partial {
			t.Fatalf("report %+v", got)
		}
		partial++
	}
	if len(f.Objects(t)) != 0 || len(f.Documents(t, "posts")) != 0 || partial < 3 {
		t.Errorf("after %d partial runs %d objects and %d posts are left, want several and none", partial, len(f.Objects(t)), len(f.Documents(t, "posts")))
	}
	if position := f.Documents(t, "cleanupJobs")["cleanupOrphanedMedia"]["position"]; position != "" {
		t.Errorf("position %v left after a full pass", position)
	}
}

func TestOneObjectThatCannotBeDeleted(t *testing.T) {
	f := newFunction(t)
	for _, name := range []string{"a", "b", "c"} {
		put(t, f, "posts/"+name, "PENDING")
	}
	f.Hooks.Transport = func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "b") {
				return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: r, Header: http.Header{}}, nil
			}
			return base.RoundTrip(r)
		})
	}
	got := f.Run(t, "")
	if got.Status != sweep.Failed || got.Actions["delete post media"] != (sweep.Counts{Planned: 3, Done: 2, Failed: 1}) ||
		got.Failures[0].Target != "gs://"+f.Bucket+"/posts/b" {
		t.Errorf("report %+v", got)
	}
	if diff := cmp.Diff([]string{"posts/b"}, f.Objects(t)); diff != "" {
		t.Errorf("objects left (-want +got):\n%s", diff)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDryRunWritesNothing(t *testing.T) {
	f := newFunction(t)
	lift(f)
	orphaned, _ := circlePosts(t, f)
	put(t, f, "posts/a", "PENDING")
	put(t, f, "circles/gone/a", "")
	before := len(f.Documents(t, "posts"))
	got := f.Run(t, `{"dryRun":true}`)
	if got.Status != sweep.Completed || len(got.Plan) != len(orphaned)+2 {
		t.Errorf("%s, %d entries in the plan, want %d", got.Status, len(got.Plan), len(orphaned)+2)
	}
	for _, p := range got.Plan {
		if p.Reason == "" || p.Target == "" {
			t.Errorf("entry %+v", p)
		}
	}
	for _, method := range f.Request.Methods() {
		if !slices.Contains([]string{"BatchGetDocuments", "RunQuery", "RunAggregationQuery"}, method) {
			t.Errorf("a dry run sent %s", method)
		}
	}
	if len(f.Objects(t)) != 2 || len(f.Documents(t, "posts")) != before || got.Usage.StorageDeletes != 0 {
		t.Error("a dry run changed something")
	}
}

func TestTwoRunsAtOnce(t *testing.T) {
	f := newFunction(t)
	put(t, f, "posts/a", "PENDING")
	var second *sweep.Report
	f.Hooks.BeforeApply = func() {
		f.Hooks.BeforeApply = nil
		second = f.Run(t, "")
	}
	if first := f.Run(t, ""); first.Status != sweep.Completed || second.Status != sweep.Skipped {
		t.Errorf("first %s, second %s", first.Status, second.Status)
	}
}
