package ghostcircles

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestUndeletedByAnOperator takes isDeleted back when the first posts are gone: what is left stays whole, and the owner gets
// another week.
func TestUndeletedByAnOperator(t *testing.T) {
	const n, aCommit = 50, 25
	f := newFunction(t)
	f.Env["NOTIFICATION_LOCALE"] = "en"
	id := func(i int) string { return fmt.Sprintf("p%02d", i) }
	f.Set(t, "users/hana", hana)
	f.Set(t, "circles/c", owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "救われる"))
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		return "posts/" + id(i), post("c", gs(f, "posts/ken/"+id(i)+".png"))
	})
	f.SetMany(t, n, func(i int) (string, map[string]any) { return "comments/of-" + id(i), on(id(i)) })
	f.PutMany(t, n, func(i int) (string, map[string]string) { return "posts/ken/" + id(i) + ".png", nil })
	put(t, f, "", "circles/c/icon.png")
	undone := false
	afterPosts(f, func() {
		if !undone {
			undone = true
			if _, err := f.Firestore(t).Doc("circles/c").Update(t.Context(), []firestore.Update{{Path: "isDeleted", Value: false}}); err != nil {
				t.Error(err)
			}
		}
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{toDelete: {Planned: 1, Changed: 1}})
	left := f.Documents(t, "posts")
	enginetest.Want(t, "posts left, all but those of one commit", n-aCommit, len(left))
	w := world{"users/hana": hana, "circles/c": owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "救われる")}.Changed("circles/c", map[string]any{
		"isDeleted": false, "deletedBy": jobName, "deletedAt": now,
		"deleteReason": "ghost: the last human post is of 2024-12-26T18:30:00Z, 365 days ago or more; warned 2026-01-02T18:30:00Z"})
	files := []string{"circles/c/icon.png"}
	for id, data := range left {
		w["posts/"+id], w["comments/of-"+id] = data, on(id)
		files = append(files, "posts/ken/"+id+".png")
	}
	w.Is(t, f, files...)

	f.Now = now.Add(day)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(toWarn, 1))
	w.Changed("circles/c", map[string]any{"ghostWarningNotifiedAt": f.Now}).
		With(told(warnedOf("c", "救われる", notifications.English.GhostCircleWarning, now), f.Now)).Is(t, f, files...)
	f.Now = now.Add(8 * day)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(toDelete, 1))
	if rest := f.Documents(t, "posts"); len(rest) != 0 || len(f.Objects(t)) != 0 {
		t.Errorf("left in the end: %v, %v", rest, f.Objects(t))
	}
}

// TestPostsWrittenMeanwhile has more posts than a commit looks at, one that comes in when the first of them are gone, and one that
// leaves.
func TestPostsWrittenMeanwhile(t *testing.T) {
	f := newFunction(t)
	before := world{"circles/c": circle(daysAgo(380), nil, daysAgo(8)), "circles/d": circle(daysAgo(380), nil, daysAgo(8)), "circles/e": circle(daysAgo(1), nil, nil), "posts/d": post("d")}
	before.Write(t, f)
	f.SetMany(t, 450, func(i int) (string, map[string]any) { return fmt.Sprintf("posts/p%03d", i), post("c") })
	f.Set(t, "posts/z", post("c"))
	written := false
	afterPosts(f, func() {
		if !written {
			written = true
			f.Set(t, "posts/a-late", post("c"))
			f.Set(t, "comments/a-late", on("a-late"))
			f.Set(t, "posts/z", post("e"))
		}
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(toDelete, 2))
	left := world{"users/hana": hana, "circles/e": before["circles/e"], "posts/z": post("e")}
	for _, id := range []string{"c", "d"} {
		left = left.With(told(toldOf(id, "読書会", notifications.Japanese.GhostCircleDeleted, now), now))
	}
	left.Is(t, f)
}

// afterPosts calls after each commit that deleted posts, before the next begins.
func afterPosts(f *enginetest.Function, do func()) {
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		err := send()
		if err == nil && slices.ContainsFunc(commit.GetWrites(), func(w *firestorepb.Write) bool { return strings.Contains(w.GetDelete(), "/documents/posts/") }) {
			do()
		}
		return err
	})
}

// TestAListedCommentKeepsTheCircle: a circle is not finished whose post stays, and the log says so.
func TestAListedCommentKeepsTheCircle(t *testing.T) {
	f := newFunction(t)
	before := world{"users/hana": hana, "circles/c": circle(daysAgo(380), nil, daysAgo(8)), "comments/x": on("p"), "posts/p": post("c"), "posts/q": post("c"),
		"cleanupJobs/all-jobs": enginetest.Keeping("comments/x")}
	before.Write(t, f)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{toDelete: {Planned: 1}})
	enginetest.Want(t, "kept", map[string]int{jobstate.KeptWithListed: 1}, got.Kept)
	enginetest.Want(t, "comments", []string{"x"}, f.IDs(t, "comments"))
	enginetest.Want(t, "posts", []string{"p"}, f.IDs(t, "posts"))
	if said := fmt.Sprint(f.Warnings(t)["circles/c"]); !strings.Contains(said, "left half done") {
		t.Errorf("the log says %s", said)
	}
	f.Delete(t, "cleanupJobs/all-jobs")
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(toFinish, 1))
	enginetest.Want(t, "circles", 0, len(f.IDs(t, "circles")))
}

// TestAMistakenID names no circle, so nobody knows whose its posts and files are: it stays, even if it is claimed.
func TestAMistakenID(t *testing.T) {
	f := newFunction(t)
	claim := with(with(circle(daysAgo(380), nil, daysAgo(8)), "isDeleted", true), "deletedBy", jobName)
	before := world{"users/hana": hana, "circles/undefined": claim, "circles/ c": circle(daysAgo(380), nil, daysAgo(8)), "posts/p": post("undefined"), "posts/q": post(" c")}
	before.Write(t, f)
	put(t, f, "", "circles/undefined/a.png")
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept", map[string]int{keptBadID: 2}, got.Kept)
	before.Is(t, f, "circles/undefined/a.png")
}
