package ghostcircles

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// TestAClaimedCircleOfNobody is deleted though its owner is gone, and the log says that nobody was told.
func TestAClaimedCircleOfNobody(t *testing.T) {
	f := newFunction(t)
	claimed := with(with(owned(circle(daysAgo(380), nil, nil), "gone", "主なし"), "isDeleted", true), "deletedBy", jobName)
	f.Set(t, "circles/lost", claimed)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(toFinish, 1))
	check.Holds(t, fmt.Sprint(f.Warnings(t)["circles/lost"]), "deleted without telling anybody: its owner has no document")
}

// TestOldScheduleTimeShortensNoGrace has runs whose schedule time lies days back warn and delete: the owner has a week from
// when the warning was given.
func TestOldScheduleTimeShortensNoGrace(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/hana", hana)
	f.Set(t, "circles/c", owned(circle(daysAgo(380), nil, nil), "hana", "読書会"))
	wall := now.Add(6*day + 12*time.Hour)
	f.Clock = func() time.Time { return wall }
	run := func(schedule, at time.Time, want map[string]report.Counts) {
		t.Helper()
		f.Now, wall = schedule, at
		enginetest.WantReport(t, f.Run(t, ""), report.Completed, want)
	}
	warned := wall
	run(now, wall, enginetest.Done("warn owner of circle", 1))
	var told []any
	for _, notification := range f.Documents(t, "users/hana/notifications") {
		told = append(told, notification["createdAt"])
	}
	enginetest.Want(t, "told at", []any{warned}, told)
	enginetest.Want(t, "marked at", any(warned), f.Documents(t, "circles")["c"]["ghostWarningNotifiedAt"])
	run(now, wall.Add(time.Hour), map[string]report.Counts{}) // a retry is no second warning, and nothing invalid
	run(now.Add(7*day), now.Add(7*day), map[string]report.Counts{})
	run(warned.Add(7*day-tick), warned.Add(8*day), map[string]report.Counts{})
	run(warned.Add(7*day), warned.Add(8*day), enginetest.Done("delete circle", 1))
}

type world = enginetest.World

func newFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Now = now
	f.Set(t, "users/hana", hana)
	f.Clock = func() time.Time { return f.Now } // promises count from the wall clock
	return f
}

// told is a document of notifications.
func told(n notifications.Notification, at time.Time) world { return world{n.Ref().Path(): n.Data(at)} }

// owned returns a circle of an owner's with a name.
func owned(data map[string]any, owner any, name string) map[string]any {
	return with(with(data, "ownerId", owner), "name", name)
}

var hana = map[string]any{"displayName": "花"}

func gs(f *enginetest.Function, name string) string { return "gs://" + f.Bucket + "/" + name }

func post(circle any, urls ...string) map[string]any {
	items := []any{}
	for _, url := range urls {
		items = append(items, map[string]any{"type": "image", "url": url})
	}
	return map[string]any{"circleId": circle, "userId": "ken", "text": "こんにちは", "mediaItems": items}
}

func on(post string) map[string]any { return map[string]any{"postId": post, "text": "!"} }

// warnedOf and toldOf are the notifications about a circle of hana's, as they must be.
func warnedOf(id, name string, text func(string) notifications.Text, since time.Time) notifications.Notification {
	return notifications.Notification{
		UserID: "hana", Type: "circle_ghost_warning", Text: text(name),
		Fields:    map[string]any{"circleId": id, "circleName": name},
		Announces: []string{id, since.UTC().Format(time.RFC3339Nano)},
	}
}

func toldOf(id, name string, text func(string) notifications.Text, claimedAt time.Time) notifications.Notification {
	return notifications.Notification{
		UserID: "hana", Type: "circle_ghost_deleted", Text: text(name),
		Fields:    map[string]any{"circleName": name},
		Announces: []string{id, claimedAt.UTC().Format(time.RFC3339Nano)},
	}
}

// circlesOf writes circles, the first posted of which have a human post of long ago, the next active one of yesterday.
func circlesOf(t *testing.T, f *enginetest.Function, n, posted, active int) {
	t.Helper()
	f.Set(t, "users/hana", hana)
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		c := circle(nil, daysAgo(100), nil)
		switch {
		case i < posted:
			c = circle(daysAgo(380), nil, nil)
		case i < posted+active:
			c = circle(daysAgo(1), nil, nil)
		}
		return fmt.Sprintf("circles/c%03d", i), owned(c, "hana", "x")
	})
}

// TestShareOfGhosts: the share is that of all documents, whether they are due by their last post or by its lack, and deleted circles are
// never due. It counts those to warn about as those to delete.
func TestShareOfGhosts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		all, posted, active, deleted int
		aborted                      bool
	}{
		{20, 11, 9, 0, true}, {20, 10, 10, 0, false}, {20, 0, 0, 0, true}, {20, 20, 0, 20, false}, {20, 20, 0, 19, true},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			f := newFunction(t)
			circlesOf(t, f, tt.all, tt.posted, tt.active)
			f.SetAlike(t, tt.deleted, "circles/deleted%02d", with(circle(nil, daysAgo(100), nil), "isDeleted", true))
			got := f.Run(t, "")
			if !tt.aborted {
				enginetest.WantReport(t, got, report.Completed, enginetest.Done(toWarn, tt.all-tt.active))
				return
			}
			enginetest.WantAborted(t, got, "MAX_DUE_PERCENT")
			enginetest.Want(t, "warned", 0, got.Actions[toWarn].Done)
			enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, enginetest.Done(toWarn, tt.all-tt.active))
			f.Now = f.Now.Add(8 * day)
			enginetest.WantAborted(t, f.Run(t, ""), "MAX_DUE_PERCENT")
		})
	}
}

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
	f.PutOf(t, "", "circles/c/icon.png")
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
	enginetest.Want(t, "posts and files left in the end", []int{0, 0}, []int{len(f.Documents(t, "posts")), len(f.Objects(t))})
}

// TestPostsWrittenMeanwhile has more posts than a commit looks at, one that comes in when the first of them are gone, and one that
// leaves.
func TestPostsWrittenMeanwhile(t *testing.T) {
	f := newFunction(t)
	before := world{"circles/c": circle(daysAgo(380), nil, daysAgo(8)), "circles/d": circle(daysAgo(380), nil, daysAgo(8)), "circles/e": circle(daysAgo(1), nil, nil), "posts/d": post("d")}
	before.Write(t, f)
	f.SetAlike(t, 450, "posts/p%03d", post("c"))
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

// TestPartOfAnUndo: all that was deleted with a circle comes back with it, whichever of both ways names it, and no other circle.
func TestPartOfAnUndo(t *testing.T) {
	for name, part := range map[string]restore.Options{
		"only": {Only: []string{"circles/c"}}, "where": {Where: &restore.Where{Field: "ownerId", Value: "u0"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			f.Env["UNDO_DAYS"] = "7"
			circles := world{
				"circles/c": owned(circle(daysAgo(400), nil, daysAgo(8)), "u0", "hers"), "posts/c": post("c"), "comments/c": on("c"),
			}
			circles.Write(t, f)
			f.SetAlike(t, 2, "users/u%d", hana)
			f.Set(t, "circles/d", owned(circle(daysAgo(400), nil, daysAgo(8)), "u1", "others"))
			f.Set(t, "posts/d", post("d"))
			rep := f.Run(t, "")
			enginetest.WantReport(t, rep, report.Completed, enginetest.Done(toDelete, 2))
			part.Apply = true
			check.OK(t, f.Restorer(t, f.Clock).Undo(t.Context(), rep.RunID, part, func(restore.Outcome) error { return nil }))
			for path, want := range circles {
				collection, id, _ := strings.Cut(path, "/")
				check.Same(t, path, want, f.Documents(t, collection)[id])
				check.Same(t, collection, 1, len(f.IDs(t, collection)))
			}
		})
	}
}

// afterPosts calls after each commit that deleted posts, before the next begins.
func afterPosts(f *enginetest.Function, do func()) {
	f.AfterCommits(func(_ int, commit *firestorepb.CommitRequest) {
		if slices.ContainsFunc(commit.GetWrites(), func(w *firestorepb.Write) bool { return strings.Contains(w.GetDelete(), "/documents/posts/") }) {
			do()
		}
	})
}
