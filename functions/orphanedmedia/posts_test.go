package orphanedmedia

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const deletePost = "delete orphaned circle post"

// newPosts lifts the safety limit on shares, because tests of posts have little that stays.
func newPosts(t *testing.T) *enginetest.Function {
	t.Helper()
	f := newFunction(t)
	f.Env["MAX_DUE_PERCENT"] = "100"
	return f
}

// setPosts writes posts: by their paths, the circles that they name.
func setPosts(t *testing.T, f *enginetest.Function, circles map[string]any) {
	t.Helper()
	paths := slices.Sorted(maps.Keys(circles))
	f.SetMany(t, len(paths), func(i int) (string, map[string]any) { return paths[i], map[string]any{"circleId": circles[paths[i]]} })
}

func postsLeft(t *testing.T, f *enginetest.Function) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(f.Documents(t, "posts")))
}

// long returns an id of n bytes that begins and ends as given.
func long(n int, begin, end string) string {
	return begin + strings.Repeat("x", n-len(begin)-len(end)) + end
}

// TestDocuments has posts of circles that exist, of circles that do not, and of none. Ids may have 1,500 bytes, of which a query
// can ask for 1,499.
func TestPostsOfCircles(t *testing.T) {
	f := newPosts(t)
	circles := []string{"null", "a", "c1", "c12", "c2", "m", "z", "丸", "😀", long(1499, "m10", ""), long(1499, "m99", ""), long(1500, "", "長")}
	gone := []string{"!", "C1", "b", "c", "c11", "c1x", "c13", "zz", "丸1", "あ", "😀😀", long(1499, "m10", "w"), long(1500, "m10", "長")}
	for i := range 60 { // neighbours, in more gaps than one query has
		circles = append(circles, long(1500, fmt.Sprintf("m%02d", i), "e"))
		gone = append(gone, long(1500, fmt.Sprintf("m%02d", i), "g"))
	}
	of := map[string]any{
		"posts/none": nil, "posts/empty": "", "posts/number": 7, "posts/list": []any{"gone"},
		"posts/slash": "a/b", "posts/dots": "..", "posts/reserved": "__g__", "posts/blank": "c1 ", "posts/undefined": "undefined",
	}
	for i, id := range circles {
		f.Set(t, "circles/"+id, map[string]any{"name": "x"})
		of[fmt.Sprintf("posts/of-circle%02d", i)] = id
	}
	setPosts(t, f, of)
	f.Set(t, "posts/unset", map[string]any{"text": "hello"})
	f.Set(t, "postsx/gone", map[string]any{"circleId": "gone"})
	kept := postsLeft(t, f)
	of = map[string]any{}
	for i, id := range gone {
		of[fmt.Sprintf("posts/orphan%02d", i)] = id
	}
	setPosts(t, f, of)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deletePost, len(gone)))
	enginetest.Want(t, "posts left", kept, postsLeft(t, f))
	enginetest.Want(t, "unnamed and odd, also where a circle is called null", []int{6, 2}, []int{got.Kept[keptInvalidCircle], got.Kept[keptOddCircle]})
	enginetest.Want(t, "look-alikes left", 1, len(f.Documents(t, "postsx")))
}

func TestPostsWhoseCirclesExistAreNotRead(t *testing.T) {
	f := newPosts(t)
	delete(f.Env, "MAX_DUE_PERCENT")
	f.Now = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)
	f.SetAlike(t, 100, "circles/c%03d", map[string]any{"name": "x"})
	f.SetMany(t, 300, func(i int) (string, map[string]any) {
		return fmt.Sprintf("posts/p%04d", i), map[string]any{"circleId": fmt.Sprintf("c%03d", i%100)}
	})
	for i := range 30 {
		f.Set(t, fmt.Sprintf("posts/orphan%02d", i), map[string]any{"circleId": fmt.Sprintf("c050x%02d", i)})
	}
	got := enginetest.NewGolden(t, "posts").Run(t, "300 posts have circles, 30 have none", f, "", "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(deletePost, 30))
	enginetest.Want(t, "posts left", 300, len(postsLeft(t, f)))
}

// TestFieldsOfOtherTypes has more odd posts than are named, and posts that say that they have no circle.
func TestFieldsOfOtherTypes(t *testing.T) {
	f := newPosts(t)
	f.Set(t, "circles/a", map[string]any{"name": "a"})
	odd := []any{
		false, true, 0, 7, 3.5, math.NaN(), math.Inf(-1), f.Now, []byte{}, []byte("a"), f.Firestore(t).Doc("circles/gone"),
		[]any{}, []any{"gone"}, map[string]any{}, map[string]any{"id": "gone"},
	}
	of := map[string]any{"posts/null": nil, "posts/empty": "", "posts/member": "a"}
	for i := range 30 {
		of[fmt.Sprintf("posts/odd%02d", i)] = odd[i%len(odd)]
	}
	setPosts(t, f, of)
	f.Set(t, "posts/unset", map[string]any{"text": "hello"})
	got := f.Run(t, "")
	enginetest.WantKept(t, got, report.Completed, map[string]report.Counts{}, map[string]int{keptOddCircle: 30})
	enginetest.Want(t, "scanned", 30, got.Scanned)
	named := map[any]bool{}
	for _, line := range f.LogLines(t) {
		targets, _ := line["targets"].([]any)
		for _, target := range targets {
			if line["reason"] == keptOddCircle && strings.HasPrefix(target.(string), "posts/odd") {
				named[target] = true
			}
		}
	}
	enginetest.Want(t, "posts named", 20, len(named))
	enginetest.Want(t, "posts left", 34, len(postsLeft(t, f)))
}

// TestHugeFields has more than a page of strings of 5 KB each, before and after the orphans.
func TestHugeFields(t *testing.T) {
	f := newPosts(t)
	f.Set(t, "circles/another", map[string]any{"name": "so that not all are missing"})
	f.SetAlike(t, 55, "posts/huge%02d", map[string]any{"circleId": strings.Repeat("h", 5_000)})
	setPosts(t, f, map[string]any{"posts/orphan0": "g", "posts/orphan1": "h", "posts/orphan2": "i"})
	enginetest.WantKept(t, f.Run(t, ""), report.Completed, enginetest.Done(deletePost, 3), map[string]int{keptInvalidCircle: 55})
	enginetest.Want(t, "posts left", 55, len(postsLeft(t, f)))
}

// onQuery lets a test see and refuse queries for a collection's documents, and counts of them.
func onQuery(f *enginetest.Function, collection string, handle func(counts bool) error) {
	var mu sync.Mutex
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, m any) error {
		var q *firestorepb.StructuredQuery
		count, counts := m.(*firestorepb.RunAggregationQueryRequest)
		if q = count.GetStructuredAggregationQuery().GetStructuredQuery(); !counts {
			query, _ := m.(*firestorepb.RunQueryRequest)
			q = query.GetStructuredQuery()
		}
		if from := q.GetFrom(); len(from) == 1 && from[0].GetCollectionId() == collection {
			mu.Lock()
			defer mu.Unlock()
			return handle(counts)
		}
		return nil
	})...)
}

// TestQueriesThatFail: Firestore refuses the count of odd posts, which are more than are named and on which nothing depends, or
// the query for posts of missing circles. Objects are deleted all the same.
func TestQueriesThatFail(t *testing.T) {
	var odd []string
	all := map[string]any{"posts/orphan": "gone"}
	for i := range 21 {
		odd = append(odd, fmt.Sprintf("odd%02d", i))
		all["posts/"+odd[i]] = 7
	}
	for name, tt := range map[string]struct {
		counts bool // counts are refused, and nothing else
		status report.Status
		left   []string
	}{
		"counts":  {true, report.Completed, odd},
		"queries": {false, report.Failed, append(slices.Clone(odd), "orphan")},
	} {
		t.Run(name, func(t *testing.T) {
			f := newPosts(t)
			f.PutOf(t, "PENDING", "posts/u/a.png")
			f.Set(t, "circles/another", map[string]any{"name": "so that not all are missing"})
			setPosts(t, f, all)
			refuse := true
			onQuery(f, "posts", func(counts bool) error {
				if refuse && counts == tt.counts {
					return status.Error(codes.InvalidArgument, "Firestore refuses it")
				}
				return nil
			})
			enginetest.Want(t, "status", tt.status, f.Run(t, "").Status)
			enginetest.Want(t, "objects left", 0, len(f.Objects(t)))
			enginetest.Want(t, "posts left", tt.left, postsLeft(t, f))
			if !slices.ContainsFunc(f.LogLines(t), func(line map[string]any) bool {
				return line["severity"] != "INFO" && strings.Contains(fmt.Sprint(line["message"]), "Firestore refuses it")
			}) {
				t.Error("the log does not say so")
			}
			refuse = false
			enginetest.Want(t, "the next run", report.Completed, f.Run(t, "").Status)
			enginetest.Want(t, "posts left then", odd, postsLeft(t, f))
		})
	}
}

// TestPostsOutOfTime: the next run continues where each run stopped between circles.
func TestPostsOutOfTime(t *testing.T) {
	f := newPosts(t)
	f.SetAlike(t, 120, "circles/c%03d", map[string]any{"name": "x"})
	setPosts(t, f, map[string]any{"posts/0": "a", "posts/1": "c010x", "posts/2": "c080x", "posts/3": "c119x", "posts/4": "d"})
	wall, scanned, partial := time.Now(), 0, 0
	for ; ; partial++ {
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
		if got.Status == report.Completed {
			break
		}
		if got.Status != report.Partial || partial > 20 {
			t.Fatalf("after %d partial runs: %+v", partial, got)
		}
	}
	if partial < 2 {
		t.Errorf("%d partial runs", partial)
	}
	enginetest.Want(t, "posts left", 0, len(postsLeft(t, f)))
	enginetest.Want(t, "scanned, each once", 5, scanned)
	enginetest.Want(t, "checkpoint", "", enginetest.Checkpoint(f.Documents(t, "cleanupJobs")[jobName]))
}
