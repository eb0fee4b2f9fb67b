package orphanedmedia

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// newFunction returns the function with a now at which everything that the test uploads is two days old.
func newFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Now = time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	return f
}

// TestPendingCountsLikeAnyOther for the share of objects that is due.
func TestPendingCountsLikeAnyOther(t *testing.T) {
	f := newFunction(t)
	f.PutAlike(t, 50, "posts/%04d.png", map[string]string{"postId": "PENDING"})
	enginetest.WantAborted(t, f.Run(t, ""), "MAX_DUE_PERCENT: 50 of 50 objects under posts/")
	enginetest.Want(t, "objects left", 50, len(f.Objects(t)))
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, enginetest.Done("delete post media", 50))
}

// TestWrongDatabase has twenty things of one kind, and none of their owners.
func TestWrongDatabase(t *testing.T) {
	for kind, thing := range map[string]func(t *testing.T, f *enginetest.Function, i int){
		"posts": func(t *testing.T, f *enginetest.Function, i int) {
			f.PutOf(t, fmt.Sprintf("p%d", i), fmt.Sprintf("posts/%d", i))
		},
		"circles": func(t *testing.T, f *enginetest.Function, i int) { f.PutOf(t, "", fmt.Sprintf("circles/c%d/icon", i)) },
		"tasks": func(t *testing.T, f *enginetest.Function, i int) {
			f.PutOf(t, "", fmt.Sprintf("task_attachments/u/t%d/a", i))
		},
		"circles of posts": func(t *testing.T, f *enginetest.Function, i int) {
			f.Set(t, fmt.Sprintf("posts/post%d", i), map[string]any{"circleId": fmt.Sprintf("c%d", i)})
		},
	} {
		t.Run(kind, func(t *testing.T) {
			f := newFunction(t)
			for i := range 20 {
				thing(t, f, i)
			}
			empty := strings.TrimSuffix(kind, " of posts")
			enginetest.WantAborted(t, f.Run(t, ""), "empty collection: "+empty+" holds no document at all")
			enginetest.Want(t, "things left", 20, len(f.Objects(t))+len(f.Documents(t, "posts")))
		})
	}
}

// TestForgedEntries: what somebody else writes into cleanupTodo deletes no file that names no post outside of its author's folder, nor one
// that names another. TestForgedEntriesNeverGoBeyondReach of the engine has all else.
func TestForgedEntries(t *testing.T) {
	f := newFunction(t)
	f.PutOf(t, "p1", "posts/u1/theirs.png", "posts/u1/own.png")
	f.Set(t, "posts/p1", map[string]any{"text": "there"})
	f.PutOf(t, "", "posts/u1/of no post.png", "posts/of no post.png")
	before := f.Objects(t)
	in := func(home string, files ...string) (steps []map[string]any) {
		for _, file := range files {
			step := enginetest.StepOf("post", "posts/gone", file, "postId")
			step["object"].(map[string]any)["home"] = home
			steps = append(steps, step)
		}
		return steps
	}
	for name, stored := range map[string][]map[string]any{
		"unmarked": {enginetest.StepOf("post", "posts/gone", "posts/u1/of no post.png", "postId")},
		"home":     in("posts/", "posts/of no post.png"),
		"deep":     in("posts/u1/x/", "posts/of no post.png"),
		"nobody's": in("posts//", "posts/of no post.png"),
		// These reach what the job can delete, and there the file is another post's, or outside of its author's folder.
		"theirs":  in("posts/u1/", "posts/u1/theirs.png", "posts/u1/own.png"),
		"of none": in("/", "posts/u1/of no post.png", "posts/of no post.png"),
		"outside": in("posts/u2/", "posts/u1/of no post.png", "posts/of no post.png"),
	} {
		f.SetTodo(t, name, stored...)
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"finish interrupted action": {Planned: 7, Done: 3, Failed: 4}})
	enginetest.Want(t, "objects", before, f.Objects(t))
}

// owned uploads objects of posts that exist.
func owned(t *testing.T, f *enginetest.Function, n int) {
	t.Helper()
	f.SetAlike(t, n, "posts/live%03d", map[string]any{"n": 1})
	f.PutMany(t, n, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/live/%03d.png", i), map[string]string{"postId": fmt.Sprintf("live%03d", i)}
	})
}

// TestOneSentinelEmptiesNoCollection: an application that writes "public" for posts of no circle loses none of them, although
// only one id of 29 is missing.
func TestOneSentinelEmptiesNoCollection(t *testing.T) {
	f := newFunction(t)
	f.SetAlike(t, 28, "circles/c%02d", map[string]any{"n": 1})
	f.SetMany(t, 28, func(i int) (string, map[string]any) {
		return fmt.Sprintf("posts/own%02d", i), map[string]any{"circleId": fmt.Sprintf("c%02d", i)}
	})
	f.SetAlike(t, 300, "posts/p%03d", map[string]any{"circleId": "public"})
	f.PutOf(t, "", "circles/gone/icon.png")
	for _, body := range []string{`{"dryRun":true}`, ""} {
		got := f.Run(t, body)
		enginetest.Want(t, "posts left", 328, len(f.Documents(t, "posts")))
		enginetest.WantAborted(t, got, "pass postsOfCircles: MAX_DUE_PERCENT: 300 of 328 documents of posts are due (91.5 %), but at most 50 %",
			`run once with {"force":true}`)
	}
	enginetest.Want(t, "objects left, of a pass that tripped no limit", []string{}, f.Objects(t))
	f.Env["MAX_DUE_PERCENT"] = "92"
	f.Now = f.Now.Add(24 * time.Hour) // a retry of an aborted run is not planned again
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete orphaned circle post", 300))
}

// TestTasksElsewhere: an application whose tasks lie in subcollections loses no attachment, and the other passes are done.
// ORPHANS leaves the pass out.
func TestTasksElsewhere(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u/tasks/t1", map[string]any{"n": 1})
	f.Set(t, "circles/c1", map[string]any{"n": 1})
	f.Set(t, "posts/p1", map[string]any{"circleId": "c1"})
	fill := func() {
		f.Set(t, "posts/orphan", map[string]any{"circleId": "gone"})
		f.PutOf(t, "gone", "posts/gone.png")
		f.PutOf(t, "", "circles/gone/icon.png")
	}
	f.PutOf(t, "", "task_attachments/u/t1/a.pdf")
	others := map[string]report.Counts{"delete post media": {Planned: 1, Done: 1}, "delete circle image": {Planned: 1, Done: 1},
		"delete orphaned circle post": {Planned: 1, Done: 1}}
	fill()
	got := f.Run(t, "")
	withTasks := map[string]report.Counts{"delete task attachment": {Planned: 1}}
	for kind, counts := range others {
		withTasks[kind] = counts
	}
	enginetest.WantReport(t, got, report.Aborted, withTasks)
	enginetest.WantAborted(t, got, "pass tasks: empty collection: tasks holds no document",
		"put a document into it, or leave the pass out with ORPHANS (Terraform: orphans)")
	enginetest.Want(t, "objects left", []string{"task_attachments/u/t1/a.pdf"}, f.Objects(t))
	enginetest.Want(t, "checkpoint", "", enginetest.Checkpoint(f.Documents(t, "cleanupJobs")[jobName]))

	fill()
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Aborted, withTasks)
	enginetest.Want(t, "objects left by a forced run", []string{"task_attachments/u/t1/a.pdf"}, f.Objects(t))
	fill()
	f.Now = f.Now.Add(24 * time.Hour) // a retry of an aborted run is not planned again
	f.Env["ORPHANS"] = "posts, circles,postsOfCircles"
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, others)
	enginetest.Want(t, "objects left", []string{"task_attachments/u/t1/a.pdf"}, f.Objects(t))
	f.Env["ORPHANS"] = ""
	f.Set(t, "tasks/any", map[string]any{"n": 1})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete task attachment", 1))
}

func TestWrongOrphans(t *testing.T) {
	f := newFunction(t)
	for _, wrong := range []string{"posts,task", "posts,", ",", "Posts", "postsofcircles"} {
		f.Env["ORPHANS"] = wrong
		got := f.Post(t, "")
		enginetest.Want(t, "code", http.StatusInternalServerError, got.Code)
		for _, part := range []string{"ORPHANS is", "posts, circles, tasks, postsOfCircles"} {
			check.Holds(t, got.Body.String(), part)
		}
	}
}

// TestPendingInPortions: uploads of no post yet, which are deleted by their age alone, trip no limit on actions, however many somebody
// makes: each run does some, and the others of the pass.
func TestPendingInPortions(t *testing.T) {
	f := newFunction(t)
	f.Env["MAX_ACTIONS"] = "5"
	owned(t, f, 20)
	f.PutOf(t, "gone", "posts/zoe/gone.png")
	for i := range 7 {
		f.PutOf(t, "PENDING", fmt.Sprintf("posts/attacker/%d.png", i))
	}
	for _, n := range []int{4, 3, 1} { // with the one of zoe's in the first run
		enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete post media", n))
		f.Now = f.Now.Add(24 * time.Hour)
	}
	enginetest.Want(t, "objects left", 20, len(f.Objects(t)))
}

// TestAClientStopsOnePassAlone: one upload for a task that never was, in an application without tasks, or many for invented posts,
// stop what depends on these lookups, and nothing else.
func TestAClientStopsOnePassAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pass, file, postID string
		uploads            int
		said               string
	}{
		"a task":         {"tasks", "task_attachments/attacker/x/%d", "", 1, "empty collection: tasks"},
		"invented posts": {"posts", "posts/attacker/%d.png", "invented%d", 40, "MAX_DUE_PERCENT: 40 of 43 objects under posts/ are due (93.0 %, 40 of them in posts/attacker/)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			owned(t, f, 3)
			f.Set(t, "circles/c1", map[string]any{"n": 1})
			f.PutOf(t, "", "circles/gone/icon.png")
			for i := range tt.uploads {
				f.PutOf(t, strings.Replace(tt.postID, "%d", fmt.Sprint(i), 1), fmt.Sprintf(tt.file, i))
			}
			got := f.Run(t, "")
			numbers := []int{got.Actions["delete circle image"].Done, len(f.Objects(t)), len(got.Failures)}
			enginetest.Want(t, "circle images deleted, objects left and failures", []int{1, 3 + tt.uploads, 1}, numbers)
			enginetest.WantAborted(t, got, "pass "+tt.pass+": "+tt.said)
			lines := f.LogLines(t)
			last := lines[len(lines)-1]
			if last["severity"] != "ERROR" || !strings.Contains(last["message"].(string), "only what tripped no safety limit was done") {
				t.Errorf("the log ends with %v", last)
			}
		})
	}
}
