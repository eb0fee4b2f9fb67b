package orphanedmedia

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/orphans"
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

// lift makes the safety limits of a small test data set none of the test's business.
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
	sweeptest.WantReport(t, got, sweep.Completed, wantActions)
	wantKept := map[string]int{
		keptYoung: 1, keptNoPost: 1, orphans.KeptInvalidOwner: invalid, keptUnknownPath: 2,
		"belongs to one of posts": 2, "belongs to one of circles": 1, "belongs to one of tasks": 1,
	}
	sweeptest.Want(t, "kept", wantKept, got.Kept)
	sweeptest.Want(t, "objects left", slices.Sorted(maps.Keys(kept)), f.Objects(t))
	if got.Usage.StorageDeletes != int64(len(gone)) || got.Usage.StorageClassA != 3 || got.Usage.StorageClassB != 0 {
		t.Errorf("usage %+v, want %d deletes and one listing a folder", got.Usage, len(gone))
	}
	if again := f.Run(t, ""); len(again.Actions) != 0 || again.Status != sweep.Completed {
		t.Errorf("second run %+v, want nothing to do", again)
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
	sweeptest.WantReport(t, got, sweep.Completed, want)
	left := []string{"circles/c1/a.png", "posts/created", "posts/created-too", "posts/finished", "posts/replaced"}
	sweeptest.Want(t, "objects left", left, f.Objects(t))
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

func TestPendingCountsForNoLimit(t *testing.T) {
	f := newFunction(t)
	f.PutMany(t, 50, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/%04d.png", i), map[string]string{"postId": "PENDING"}
	})
	if got := f.Run(t, ""); got.Status != sweep.Completed || got.Actions["delete post media"].Done != 50 {
		t.Errorf("report %+v", got)
	}
}

// TestCostWhenNothingIsOrphaned is what docs/jobs.md says of it: a read per 30 owners, and a class A operation per 1000 objects.
func TestCostWhenNothingIsOrphaned(t *testing.T) {
	f := newFunction(t)
	f.SetMany(t, 600, func(i int) (string, map[string]any) {
		return fmt.Sprintf("posts/p%04d", i), map[string]any{"text": "hello"}
	})
	f.PutMany(t, 3000, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/%05d.png", i), map[string]string{"postId": fmt.Sprintf("p%04d", i%600)}
	})
	got := f.Run(t, "")
	if got.Status != sweep.Completed || got.Scanned != 3000 || len(got.Actions) != 0 || got.Kept["belongs to one of posts"] != 3000 {
		t.Errorf("report %+v", got)
	}
	// Lease twice, journal, leftovers, circles, posts behind the last, and two counts of posts. Three full pages of objects and
	// an empty one, and one for each other folder.
	if got.Usage.FirestoreReads > 600/30+8 || got.Usage.StorageClassA > 6 {
		t.Errorf("usage %+v", got.Usage)
	}
}

// setPosts writes posts of circles, by their ids.
func setPosts(t *testing.T, f *sweeptest.Function, circles map[string]any) (paths []string) {
	t.Helper()
	for id, circle := range circles {
		f.Set(t, "posts/"+id, map[string]any{"circleId": circle})
		paths = append(paths, "posts/"+id)
	}
	slices.Sort(paths)
	return paths
}

func left(t *testing.T, f *sweeptest.Function) []string {
	t.Helper()
	var paths []string
	for _, id := range ids(f.Documents(t, "posts")) {
		paths = append(paths, "posts/"+id)
	}
	return paths
}

// long returns an id of n bytes that begins and ends as given.
func long(n int, begin, end string) string {
	return begin + strings.Repeat("x", n-len(begin)-len(end)) + end
}

// TestCirclePosts has posts of circles that exist, of circles that are gone, and of none. Ids may have 1,500 bytes, of which a
// query can ask for 1,499.
func TestCirclePosts(t *testing.T) {
	f := newFunction(t)
	lift(f)
	circles := []string{"a", "c1", "c12", "c2", "m", "z", "丸", "😀", long(1499, "m10", ""), long(1499, "m99", ""), long(1500, "", "長")}
	gone := []string{"!", "C1", "b", "c", "c11", "c1 ", "c13", "zz", "丸1", "あ", "😀😀", long(1499, "m10", "w"), long(1500, "m10", "長")}
	for i := range 60 { // more than one query has gaps, one beside the other
		circles = append(circles, long(1500, fmt.Sprintf("m%02d", i), "e"))
		gone = append(gone, long(1500, fmt.Sprintf("m%02d", i), "g"))
	}
	stay := map[string]any{"none": nil, "empty": "", "number": 7, "list": []any{"gone"}, "slash": "a/b", "dots": "..", "reserved": "__g__"}
	for i, id := range circles {
		f.Set(t, "circles/"+id, map[string]any{"name": "x"})
		stay[fmt.Sprintf("of-circle%02d", i)] = id
	}
	orphans := map[string]any{}
	for i, id := range gone {
		orphans[fmt.Sprintf("orphan%02d", i)] = id
	}
	kept := setPosts(t, f, stay)
	setPosts(t, f, orphans)
	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, sweeptest.Done("delete orphaned circle post", len(gone)))
	sweeptest.Want(t, "posts left", kept, left(t, f))
	if got.Kept[keptInvalidCircle] != 3 || got.Kept[keptOddCircle] != 2 {
		t.Errorf("kept %v, want the 3 whose circleId names no document and the 2 whose circleId is no text", got.Kept)
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
	// The names of 100 circles, five queries of gaps and one behind the last; then the one post: found, its circle asked
	// for, and in its transaction the post, the circle, comments and reactions; lease twice, leftovers. And the counts of
	// what is no text, before all texts and after them.
	if got.Usage.FirestoreReads > 100+6+6+4+2 {
		t.Errorf("%d reads", got.Usage.FirestoreReads)
	}
	if len(f.Documents(t, "posts")) != 3000 {
		t.Error("the wrong posts are gone")
	}
}

// TestCircleIDsOfOtherTypes has more posts than are named whose circleId is no text, and one each that says it has none.
func TestCircleIDsOfOtherTypes(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "circles/a", map[string]any{"name": "a"})
	odd := []any{false, true, 0, 7, 3.5, math.NaN(), math.Inf(-1), f.Now, []byte{}, []byte("a"), f.Firestore(t).Doc("circles/gone"),
		[]any{}, []any{"gone"}, map[string]any{}, map[string]any{"id": "gone"}}
	for i := range 30 {
		f.Set(t, fmt.Sprintf("posts/odd%02d", i), map[string]any{"circleId": odd[i%len(odd)]})
	}
	for name, circle := range map[string]any{"null": nil, "empty": "", "member": "a"} {
		f.Set(t, "posts/"+name, map[string]any{"circleId": circle})
	}
	f.Set(t, "posts/unset", map[string]any{"text": "hello"})
	got := f.Run(t, "")
	if got.Status != sweep.Completed || len(got.Actions) != 0 || got.Kept[keptOddCircle] != 30 || len(got.Kept) != 1 {
		t.Errorf("%s %v %v, kept %v, want 30 and nothing else", got.Status, got.Failures, got.Actions, got.Kept)
	}
	named := map[string]bool{}
	for _, line := range f.LogLines(t) {
		if target, _ := line["target"].(string); line["reason"] == keptOddCircle && strings.HasPrefix(target, "posts/") {
			named[target] = true
		}
	}
	if len(named) != 20 {
		t.Errorf("%d posts named, want %d: %v", len(named), 20, named)
	}
	if n := len(f.Documents(t, "posts")); n != 34 {
		t.Errorf("%d posts left, want all", n)
	}
}

// TestHugeCircleIDs has more circleIds than a page, of 5 KB each, before and after the orphans.
func TestHugeCircleIDs(t *testing.T) {
	f := newFunction(t)
	lift(f)
	huge := 50 + 5
	f.Set(t, "circles/another", map[string]any{"name": "so that not all are missing"})
	f.SetMany(t, huge, func(i int) (string, map[string]any) {
		return fmt.Sprintf("posts/huge%02d", i), map[string]any{"circleId": strings.Repeat("h", 5_000)}
	})
	for i, circle := range []string{"g", "h", "i"} {
		f.Set(t, fmt.Sprintf("posts/orphan%d", i), map[string]any{"circleId": circle})
	}
	got := f.Run(t, "")
	if got.Status != sweep.Completed || got.Actions["delete orphaned circle post"].Done != 3 || got.Kept[keptInvalidCircle] != huge {
		t.Errorf("%s %v %v, kept %v", got.Status, got.Failures, got.Actions, got.Kept)
	}
	if n := len(f.Documents(t, "posts")); n != huge {
		t.Errorf("%d posts left, want %d", n, huge)
	}
}

// TestCircleFoundedDuringTheRun has it founded after the circles were listed and before its posts are judged.
func TestCircleFoundedDuringTheRun(t *testing.T) {
	f := newFunction(t)
	lift(f)
	f.Set(t, "circles/another", map[string]any{"name": "so that not all are missing"})
	f.Set(t, "posts/first", map[string]any{"circleId": "new"})
	f.Set(t, "posts/orphan", map[string]any{"circleId": "gone"})
	founded := false
	onQuery(f, "posts", func(counts bool) error {
		if !counts && !founded {
			founded = true
			f.Set(t, "circles/new", map[string]any{"name": "new"})
		}
		return nil
	})
	got := f.Run(t, "")
	want := map[string]sweep.Counts{"delete orphaned circle post": {Planned: 1, Done: 1}}
	if diff := cmp.Diff(want, got.Actions); got.Status != sweep.Completed || diff != "" || got.Kept[keptOfCircle] != 1 {
		t.Errorf("%s %v, kept %v, actions (-want +got):\n%s", got.Status, got.Failures, got.Kept, diff)
	}
	sweeptest.Want(t, "posts left", []string{"posts/first"}, left(t, f))
}

// onQuery lets a test see and refuse the queries for a collection's documents, and for their count.
func onQuery(f *sweeptest.Function, collection string, handle func(counts bool) error) {
	send := func(m any) error {
		var q *firestorepb.StructuredQuery
		count, counts := m.(*firestorepb.RunAggregationQueryRequest)
		if q = count.GetStructuredAggregationQuery().GetStructuredQuery(); !counts {
			query, _ := m.(*firestorepb.RunQueryRequest)
			q = query.GetStructuredQuery()
		}
		if from := q.GetFrom(); len(from) == 1 && from[0].GetCollectionId() == collection {
			return handle(counts)
		}
		return nil
	}
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := stream(ctx, desc, cc, method, opts...)
			return &onSend{ClientStream: s, send: send}, err
		}))
}

// onSend calls send with what a stream sends, and fails with its error.
type onSend struct {
	grpc.ClientStream
	send func(m any) error
}

func (s *onSend) SendMsg(m any) error {
	if err := s.send(m); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m)
}

// TestQueriesThatFail has Firestore refuse the count of posts whose circleId is no text, which decides nothing, and the query for
// posts of missing circles: files are deleted all the same.
func TestQueriesThatFail(t *testing.T) {
	for name, tt := range map[string]struct {
		counts bool // those are refused, and nothing else
		status sweep.Status
		posts  []string
	}{
		"counts": {true, sweep.Completed, []string{"posts/odd"}},
		"posts":  {false, sweep.Failed, []string{"posts/odd", "posts/orphan"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			lift(f)
			put(t, f, "posts/a", "PENDING")
			f.Set(t, "circles/another", map[string]any{"name": "so that not all are missing"})
			setPosts(t, f, map[string]any{"orphan": "gone", "odd": 7})
			refuse := true
			onQuery(f, "posts", func(counts bool) error {
				if refuse && counts == tt.counts {
					return status.Error(codes.InvalidArgument, "Firestore refuses it")
				}
				return nil
			})
			got := f.Run(t, "")
			if got.Status != tt.status || len(f.Objects(t)) != 0 || got.Actions["delete post media"].Done != 1 {
				t.Errorf("%s %v, objects left %v", got.Status, got.Failures, f.Objects(t))
			}
			sweeptest.Want(t, "posts left", tt.posts, left(t, f))
			if !slices.ContainsFunc(f.LogLines(t), func(line map[string]any) bool {
				return line["severity"] != "INFO" && strings.Contains(fmt.Sprint(line["message"]), "Firestore refuses it")
			}) {
				t.Error("the log does not say so")
			}
			refuse = false
			if got := f.Run(t, ""); got.Status != sweep.Completed || len(left(t, f)) != 1 {
				t.Errorf("the next run: %s %v, left %v", got.Status, got.Failures, left(t, f))
			}
		})
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
	sweeptest.WantReport(t, got, sweep.Completed, want)
	sweeptest.Want(t, "posts left", []string{"posts/founded", "posts/moved"}, left(t, f))
	sweeptest.Want(t, "comments left", []string{"of-deleted", "of-founded", "of-moved"}, ids(f.Documents(t, "comments")))
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

// TestOutOfTime goes on where each run got to: in the second page of files, behind each kind, between circles.
func TestOutOfTime(t *testing.T) {
	f := newFunction(t)
	lift(f)
	f.PutMany(t, 1001, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/%04d.png", i), map[string]string{"postId": "PENDING"}
	})
	put(t, f, "circles/gone/a.png", "")
	put(t, f, "task_attachments/u/gone/a.png", "")
	f.Set(t, "tasks/another", map[string]any{"name": "x"}) // in an empty collection nothing is concluded
	f.SetMany(t, 60, func(i int) (string, map[string]any) {
		return fmt.Sprintf("circles/c%03d", i), map[string]any{"name": "x"}
	})
	setPosts(t, f, map[string]any{"orphan0": "a", "orphan1": "c010x", "orphan2": "c030x", "orphan3": "c059x", "orphan4": "d"})
	wall, scanned := time.Now(), 0
	for partial := 0; ; partial++ {
		started, asked := wall, 0
		f.Clock = func() time.Time {
			if asked++; asked > 3 { // time for planning is up at the second mark
				return started.Add(f.Timeout/2 + time.Second)
			}
			return started
		}
		got := f.Run(t, "")
		wall, scanned = wall.Add(time.Hour), scanned+got.Scanned
		if got.Status == sweep.Completed && partial >= 3 {
			break
		}
		if got.Status != sweep.Partial || partial > 20 {
			t.Fatalf("after %d partial runs: %+v", partial, got)
		}
	}
	if len(f.Objects(t)) != 0 || len(left(t, f)) != 0 || scanned != 1001+2+5 {
		t.Errorf("%d objects and %v left; %d scanned, want each once", len(f.Objects(t)), left(t, f), scanned)
	}
	sweeptest.Want(t, "position", any(""), f.Documents(t, "cleanupJobs")[jobName]["position"])
}

// TestRecordsOfEarlierVersions has files noted as versions before the journal did, of a post that is gone and of one that was restored.
func TestRecordsOfEarlierVersions(t *testing.T) {
	f := newFunction(t)
	f.Now = time.Now() // nothing is old enough to be deleted as an orphan
	f.Set(t, "posts/restored", map[string]any{"text": "back"})
	f.Set(t, "posts/other", map[string]any{"text": "somebody's"})
	for name, post := range map[string]string{"posts/own.png": "p1", "posts/unnamed.png": "", "posts/theirs.png": "other", "posts/restored.png": "restored"} {
		put(t, f, name, post)
	}
	note := func(post string, names ...any) {
		f.Set(t, "cleanupJobs/"+jobName+"/leftovers/"+post, map[string]any{"at": time.Now().Add(time.Minute), "objects": []any{
			map[string]any{"names": names, "folder": false, "postId": post, "absent": "posts/" + post},
		}})
	}
	note("p1", "posts/own.png", "posts/unnamed.png", "posts/theirs.png", "posts/never-was.png")
	note("restored", "posts/restored.png")
	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, sweeptest.Done("finish interrupted action", 2))
	sweeptest.Want(t, "objects left", []string{"posts/restored.png", "posts/theirs.png"}, f.Objects(t))
	sweeptest.Want(t, "records left", 0, len(f.Documents(t, "cleanupJobs/"+jobName+"/leftovers")))
}
