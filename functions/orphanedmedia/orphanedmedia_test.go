package orphanedmedia

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/orphans"
)

// newFunction returns the function with a now at which everything that the test uploads is two days old.
func newFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Now = time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	return f
}

func put(t *testing.T, f *enginetest.Function, name, postID string) {
	t.Helper()
	metadata := map[string]string{}
	if postID != "" {
		metadata["postId"] = postID
	}
	f.Put(t, name, metadata, []byte("x"))
}

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
		"circlesx/c2/a.png": "", "task_attachmentsx/u1/t2/a.pdf": "",
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
	wantActions := map[string]report.Counts{
		"delete post media": {Planned: 3, Done: 3}, "delete circle image": {Planned: 3, Done: 3}, "delete task attachment": {Planned: 2, Done: 2},
	}
	enginetest.WantReport(t, got, report.Completed, wantActions)
	wantKept := map[string]int{
		keptYoung: 1, keptNoPost: 1, orphans.KeptInvalidOwner: invalid, keptUnknownPath: 2,
		"belongs to one of posts": 2, "belongs to one of circles": 1, "belongs to one of tasks": 1,
	}
	enginetest.Want(t, "kept", wantKept, got.Kept)
	enginetest.Want(t, "objects left", slices.Sorted(maps.Keys(kept)), f.Objects(t))
}

// TestPendingCountsLikeAnyOther for the share of objects that is due.
func TestPendingCountsLikeAnyOther(t *testing.T) {
	f := newFunction(t)
	f.PutMany(t, 50, func(i int) (string, map[string]string) {
		return fmt.Sprintf("posts/%04d.png", i), map[string]string{"postId": "PENDING"}
	})
	enginetest.WantAborted(t, f.Run(t, ""), "MAX_DUE_PERCENT: 50 of 50 objects under posts/")
	enginetest.Want(t, "objects left", 50, len(f.Objects(t)))
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, enginetest.Done("delete post media", 50))
}

// TestWrongDatabase has twenty things of one kind, and none of their owners.
func TestWrongDatabase(t *testing.T) {
	for kind, thing := range map[string]func(t *testing.T, f *enginetest.Function, i int){
		"posts": func(t *testing.T, f *enginetest.Function, i int) {
			put(t, f, fmt.Sprintf("posts/%d", i), fmt.Sprintf("p%d", i))
		},
		"circles": func(t *testing.T, f *enginetest.Function, i int) { put(t, f, fmt.Sprintf("circles/c%d/icon", i), "") },
		"tasks": func(t *testing.T, f *enginetest.Function, i int) {
			put(t, f, fmt.Sprintf("task_attachments/u/t%d/a", i), "")
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

// TestForgedEntries: what somebody else writes into cleanupTodo deletes no file outside of posts/, no account, and writes nothing.
func TestForgedEntries(t *testing.T) {
	f := newFunction(t)
	for _, name := range []string{"avatars/victim.png", "secrets/a", "posts/u1/theirs.png", "posts/u1/own.png"} {
		put(t, f, name, "p1")
	}
	f.Set(t, "posts/p1", map[string]any{"text": "there"})
	f.Set(t, "users/victim-admin", map[string]any{"name": "A"})
	put(t, f, "posts/u1/of no post.png", "")
	put(t, f, "posts/of no post.png", "")
	in := func(home string, files ...any) map[string]any {
		step := enginetest.StepOf("post", "posts/gone", false, "postId", files...)
		step["home"] = home
		return step
	}
	write := enginetest.AccountOf("post", "posts/gone")
	write["done"] = []any{map[string]any{"op": "set", "path": "roles/attacker", "data": map[string]any{}}}
	for name, stored := range map[string]map[string]any{
		"object":   enginetest.StepOf("post", "posts/gone", false, "postId", "avatars/victim.png"),
		"unmarked": enginetest.StepOf("post", "posts/gone", false, "postId", "posts/u1/of no post.png"),
		"home":     in("posts/", "posts/of no post.png"),
		"deep":     in("posts/u1/x/", "posts/of no post.png"),
		"nobody's": in("posts//", "posts/of no post.png"),
		"folder":   enginetest.StepOf("post", "posts/gone", true, "", "secrets/"),
		"no owner": enginetest.StepOf("post", "posts/gone", false, "", "posts/u1/theirs.png"),
		"write":    write,
		"document": {"absent": "", "done": []any{map[string]any{"op": "delete", "path": "users/victim-admin"}}, "object": map[string]any{}},
		"account":  enginetest.AccountOf("post", "posts/victim-admin"),
		// These reach what the job can delete, and there the file is another post's, or outside of its author's folder.
		"theirs":  in("posts/u1/", "posts/u1/theirs.png", "posts/u1/own.png"),
		"of none": in("/", "posts/u1/of no post.png", "posts/of no post.png"),
		"outside": in("posts/u2/", "posts/u1/of no post.png", "posts/of no post.png"),
	} {
		f.SetTodo(t, name, stored)
	}
	before := f.Objects(t)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"finish interrupted action": {Planned: 13, Done: 3, Failed: 10}})
	enginetest.Want(t, "objects", before, f.Objects(t))
	enginetest.Want(t, "roles", 0, len(f.Documents(t, "roles")))
	enginetest.Want(t, "users", []string{"victim-admin"}, ids(f.Documents(t, "users")))
}
