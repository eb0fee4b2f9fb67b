package ghostcircles

import (
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestCheckGhostCircles has one circle for each thing that is done, and for each way to have no owner who can be told.
func TestCheckGhostCircles(t *testing.T) {
	const ja = notifications.Japanese
	lastYear, claimedAt := daysAgo(380), daysAgo(1)
	f := newFunction(t)
	before := world{
		"users/hana":       hana,
		"circles/ghost":    owned(circle(lastYear, nil, nil), "hana", "幽霊"),
		"circles/stale":    owned(circle(lastYear, nil, daysAgo(500)), "hana", "再び"),
		"circles/no-owner": owned(circle(lastYear, nil, nil), "gone", "主なし"),
		"circles/odd":      owned(circle(lastYear, nil, nil), "../hana", "主なし"),
		"circles/odd-due":  owned(circle(lastYear, nil, daysAgo(8)), " hana", "主なし"),
		"circles/ref":      owned(circle(lastYear, nil, nil), f.Firestore(t).Doc("users/hana"), "参照"),
		"circles/ref-due":  owned(circle(lastYear, nil, daysAgo(8)), f.Firestore(t).Doc("users/hana"), "参照済"),
		"circles/ref-odd":  owned(circle(lastYear, nil, daysAgo(8)), f.Firestore(t).Doc("people/hana"), "他"),
		"circles/revived":  owned(circle(daysAgo(2), nil, daysAgo(5)), "hana", "復活"),
		"circles/waiting":  owned(circle(lastYear, nil, daysAgo(3)), "hana", "待ち"),
		"circles/active":   owned(circle(daysAgo(2), nil, nil), "hana", "活発"),
		"circles/due":      owned(circle(lastYear, nil, daysAgo(8)), "hana", "消える"),
		"circles/due-gone": owned(circle(lastYear, nil, daysAgo(8)), "gone", "主なし"),
		"circles/claimed":  owned(with(with(with(circle(lastYear, nil, nil), "isDeleted", true), "deletedBy", jobName), "deletedAt", claimedAt), "hana", "途中"),
		"circles/lost":     owned(with(with(circle(lastYear, nil, nil), "isDeleted", true), "deletedBy", jobName), "gone", "主なし"),
		"circles/theirs":   owned(with(with(circle(lastYear, nil, daysAgo(9)), "isDeleted", true), "deletedBy", "ken"), "ken", "自分で"),
		"posts/claimed":    post("claimed"), "comments/claimed": on("claimed"),
		"posts/theirs": post("theirs"), "comments/theirs": on("theirs"),
		"users/hana/notifications/circle_ghost_warning_": {"title": "前の予告"},
	}
	before.Write(t, f)
	put(t, f, "", "circles/claimed/icon/a.png", "circles/theirs/icon/a.png", "circles/ghost/icon/a.png")
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{
		toWarn: {Planned: 3, Done: 3}, toClear: {Planned: 1, Done: 1}, toDelete: {Planned: 2, Done: 2}, toFinish: {Planned: 2, Done: 2},
	})
	enginetest.Want(t, "kept", map[string]int{keptDeleted: 1, keptInUse: 1, keptWarned: 1, keptOddOwner: 3, keptNoOwner: 2}, got.Kept)
	after := before.Without("circles/due", "circles/lost", "circles/ref-due", "circles/claimed", "posts/claimed", "comments/claimed").
		Changed("circles/revived", map[string]any{"ghostWarningNotifiedAt": nil}).
		With(told(warnedOf("ghost", "幽霊", ja.GhostCircleWarning, daysAgo(15)), now)).With(told(warnedOf("stale", "再び", ja.GhostCircleWarning, daysAgo(15)), now)).
		With(told(toldOf("due", "消える", ja.GhostCircleDeleted, now), now)).With(told(toldOf("claimed", "途中", ja.GhostCircleDeleted, claimedAt), now))
	after = after.With(told(warnedOf("ref", "参照", ja.GhostCircleWarning, daysAgo(15)), now)).
		With(told(toldOf("ref-due", "参照済", ja.GhostCircleDeleted, now), now))
	for _, id := range []string{"ghost", "stale", "ref"} {
		after = after.Changed("circles/"+id, map[string]any{"ghostWarningNotifiedAt": now})
	}
	after.Is(t, f, "circles/ghost/icon/a.png", "circles/theirs/icon/a.png")
	for target, want := range map[string]string{
		"circles/odd": keptOddOwner, "circles/odd-due": keptOddOwner, "circles/ref-odd": keptOddOwner,
		"circles/no-owner": keptNoOwner, "circles/due-gone": keptNoOwner,
		"circles/lost": "circles/lost: deleted without telling anybody: its owner has no document",
	} {
		if lines := messages(f.Warnings(t)[target]); len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("warnings of %s: %v", target, lines)
		}
	}
}

func messages(lines []map[string]any) (all []string) {
	for _, line := range lines {
		all = append(all, line["message"].(string))
	}
	return all
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

// TestFilesOfACircle has look-alikes beside everything that is deleted.
func TestFilesOfACircle(t *testing.T) {
	f := newFunction(t)
	before := world{
		"circles/c1": circle(daysAgo(380), nil, daysAgo(8)), "circles/c12": circle(daysAgo(1), nil, nil), "circles/c": circle(daysAgo(1), nil, nil),
		"posts/p1": post("c1", gs(f, "posts/p1.png"), gs(f, "posts/ken/unnamed.png"), gs(f, "posts/unnamed.png"), gs(f, "posts/of-p12.png"), gs(f, "circles/c12/icon/a.png"),
			"gs://another-bucket/posts/p1.png", "https://storage.googleapis.com/another-bucket/posts/p1.png"),
		"posts/p12": post("c12", gs(f, "posts/of-p12.png")), "posts/p1-in-c": post("c"), "posts/odd-1": post([]any{"c1"}), "posts/odd-2": post("circles/c1"),
		"comments/p1": on("p1"), "reactions/p1": on("p1"), "comments/p12": on("p12"), "reactions/p12": on("p12"), "comments/p1-of": on("p1-in-c"),
		"circles_old/c1": circle(daysAgo(380), nil, daysAgo(8)), "users/u/posts/p": post("c1"),
	}
	before.Write(t, f)
	put(t, f, "", "circles/c1/icon/a.png", "circles/c1/icon/b.png", "circles/c1/header.png", "posts/ken/unnamed.png")
	put(t, f, "p1", "posts/p1.png", "circles/c1/odd.png")
	theirs := []string{"circles/c12/icon/a.png", "circles/c/icon/a.png", "circles/c1", "circles/c1.png", "posts/c1/a.png", "circles2/c1/a.png", "posts/unnamed.png"}
	put(t, f, "", theirs...)
	put(t, f, "p12", "posts/of-p12.png", "posts/p1.png.bak")
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete circle": {Planned: 1, Done: 1}})
	before.Without("circles/c1", "posts/p1", "comments/p1", "reactions/p1").
		With(world{"users/hana": hana}).With(told(toldOf("c1", "読書会", notifications.Japanese.GhostCircleDeleted, now), now)).
		Is(t, f, append(theirs, "posts/of-p12.png", "posts/p1.png.bak")...)
	want := map[string]int{keptInUse: 2, "a file that belongs to another post": 1,
		"a file without postId outside the folder of its document's author": 1,
		"mediaItems[].url names an object outside posts/":                   1, "mediaItems[].url holds a URL of another bucket": 2}
	enginetest.Want(t, "kept", want, got.Kept)
}
