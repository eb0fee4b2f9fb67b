package ghostcircles

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

func TestCheckGhostCircles(t *testing.T) {
	t.Parallel()
	const ja = notifications.Japanese
	lastYear, long := daysAgo(380), daysAgo(1000)
	f := newFunction(t)
	claimedAt := daysAgo(1)
	before := world{
		"users/hana": user("花"), "users/ken": user("健"),

		"circles/ghost":         owned(circle(lastYear, long, nil), "hana", "幽霊"),
		"circles/ghost-false":   with(owned(circle(lastYear, long, nil), "hana", "否"), "isDeleted", false),
		"circles/ghost-null":    with(owned(circle(lastYear, long, nil), "ken", "無"), "isDeleted", nil),
		"circles/abandoned":     owned(circle(nil, daysAgo(40), nil), "ken", "放置"),
		"circles/abandoned-nul": with(owned(circle(nil, daysAgo(40), nil), "ken", "放置"), "lastHumanPostAt", nil),
		"circles/owner-gone":    owned(circle(lastYear, long, nil), "gone", "主なし"),
		"circles/no-owner":      circle(lastYear, long, nil),
		"circles/odd-owner":     owned(circle(lastYear, long, nil), "../hana", "主なし"),
		"circles/stale":         owned(circle(lastYear, long, daysAgo(500)), "hana", "再び"),
		"circles/waiting":       owned(circle(lastYear, long, daysAgo(3)), "hana", "待ち"),
		"circles/revived":       owned(circle(daysAgo(2), long, daysAgo(5)), "hana", "復活"),
		"circles/active":        owned(circle(daysAgo(2), long, nil), "hana", "活発"),
		"circles/new":           owned(circle(nil, daysAgo(2), nil), "hana", "新しい"),

		"circles/due":           owned(circle(lastYear, long, daysAgo(8)), "hana", "消える"),
		"circles/due-abandoned": owned(circle(nil, daysAgo(60), daysAgo(9)), "ken", "放置のまま"),
		"circles/due-no-owner":  owned(circle(lastYear, long, daysAgo(8)), "gone", "主なし"),
		"circles/claimed": {"isDeleted": true, "deletedBy": jobName, "deletedAt": claimedAt, "deleteReason": "ghost",
			"ownerId": "ken", "name": "途中", "lastHumanPostAt": lastYear, "ghostWarningNotifiedAt": daysAgo(9)},
		"circles/soft-deleted": {"isDeleted": true, "deletedBy": "ken", "deletedAt": claimedAt,
			"ownerId": "ken", "name": "自分で", "lastHumanPostAt": lastYear, "ghostWarningNotifiedAt": daysAgo(9)},
		"circles/soft-deleted-by-nobody": with(owned(circle(lastYear, long, daysAgo(8)), "ken", "？"), "isDeleted", true),

		"posts/due-1":     post("due", gs(f, "posts/due-1.png")),
		"posts/due-2":     post("due"),
		"posts/claimed-1": post("claimed"),
		"comments/due":    on("due-1"), "reactions/due": on("due-1"), "comments/claimed": on("claimed-1"),

		"posts/waiting-1": post("waiting", gs(f, "posts/waiting-1.png")),
		"posts/soft-1":    post("soft-deleted", gs(f, "posts/soft-1.png")),
		"posts/no-circle": post(nil),
		"comments/soft":   on("soft-1"), "reactions/soft": on("soft-1"), "comments/waiting": on("waiting-1"), "comments/x": on("due-12"),
		"users/hana/notifications/circle_ghost_warning_": {"title": "前の予告"},
	}
	before.load(t, f)
	put(t, f, "", "circles/due/icon/a.png", "circles/claimed/icon/a.png", "circles/soft-deleted/icon/a.png", "circles/ghost/icon/a.png")
	put(t, f, "due-1", "posts/due-1.png")
	put(t, f, "soft-1", "posts/soft-1.png")
	put(t, f, "waiting-1", "posts/waiting-1.png")

	got := f.Run(t, "")
	ended(t, got, sweep.Completed, map[string]sweep.Counts{
		"warn owner of circle":    {Planned: 9, Done: 9},
		"clear warning of circle": {Planned: 1, Done: 1},
		"delete circle":           {Planned: 3, Done: 3},
		"finish deleting circle":  {Planned: 1, Done: 1},
	})
	if diff := cmp.Diff(map[string]int{keptDeleted: 2, keptInUse: 2, keptWarned: 1}, got.Kept); diff != "" || got.Scanned != 19 {
		t.Errorf("scanned %d, want 19; kept (-want +got):\n%s", got.Scanned, diff)
	}
	after := before.without("circles/due", "circles/due-abandoned", "circles/due-no-owner", "circles/claimed",
		"posts/due-1", "posts/due-2", "posts/claimed-1", "comments/due", "reactions/due", "comments/claimed")
	for _, id := range []string{"ghost", "ghost-false", "ghost-null", "abandoned", "abandoned-nul", "owner-gone", "no-owner", "odd-owner", "stale"} {
		after = after.changed("circles/"+id, map[string]any{"ghostWarningNotifiedAt": now})
	}
	after = after.changed("circles/revived", map[string]any{"ghostWarningNotifiedAt": nil}).
		tell(warnedOf("hana", "ghost", "幽霊", ja.GhostCircleWarning, daysAgo(15)), now).
		tell(warnedOf("hana", "ghost-false", "否", ja.GhostCircleWarning, daysAgo(15)), now).
		tell(warnedOf("ken", "ghost-null", "無", ja.GhostCircleWarning, daysAgo(15)), now).
		tell(warnedOf("ken", "abandoned", "放置", ja.AbandonedCircleWarning, daysAgo(10)), now).
		tell(warnedOf("ken", "abandoned-nul", "放置", ja.AbandonedCircleWarning, daysAgo(10)), now).
		tell(warnedOf("hana", "stale", "再び", ja.GhostCircleWarning, daysAgo(15)), now).
		tell(toldOf("hana", "due", "消える", now), now).
		tell(toldOf("ken", "due-abandoned", "放置のまま", now), now).
		tell(toldOf("ken", "claimed", "途中", claimedAt), now)
	files := []string{"circles/ghost/icon/a.png", "circles/soft-deleted/icon/a.png", "posts/soft-1.png", "posts/waiting-1.png"}
	after.is(t, f, files...)

	nobody := map[string]string{}
	for _, line := range f.LogLines(t) {
		if message := line["message"].(string); strings.Contains(message, "without telling anybody") {
			nobody[line["target"].(string)] = line["reason"].(string)
		}
		if text := fmt.Sprint(line); strings.ContainsAny(text, "幽花主消") {
			t.Errorf("the log repeats what users wrote: %s", text)
		}
	}
	want := map[string]string{
		"circles/owner-gone": "its owner has no document", "circles/no-owner": "its ownerId is missing or invalid",
		"circles/odd-owner": "its ownerId is missing or invalid", "circles/due-no-owner": "its owner has no document",
	}
	if diff := cmp.Diff(want, nobody); diff != "" {
		t.Errorf("logged that nobody was told (-want +got):\n%s", diff)
	}

	again := f.Run(t, "")
	ended(t, again, sweep.Completed, map[string]sweep.Counts{})
	after.is(t, f, files...)
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]map[string][2]string{
		"": {
			"ghost":     {"サークル削除予告", "「50 %s off」は365日以上投稿がないため、1週間後に削除されます。投稿があれば削除されません。"},
			"abandoned": {"サークル削除予告", "「50 %s off」は作成から30日以上たっても投稿がないため、1週間後に削除されます。投稿があれば削除されません。"},
			"due":       {"サークルが削除されました", "「50 %s off」は投稿がなかったため削除されました。"},
		},
		"en": {
			"ghost":     {"Circle will be deleted", "Nobody has posted to “50 %s off” for 365 days or more. It will be deleted in one week unless someone posts."},
			"abandoned": {"Circle will be deleted", "Nobody has posted to “50 %s off” since it was created 30 days ago or more. It will be deleted in one week unless someone posts."},
			"due":       {"Circle deleted", "“50 %s off” was deleted because nobody posted to it."},
		},
	} {
		f := newFunction(t)
		f.Env["NOTIFICATION_LOCALE"] = locale
		world{
			"users/ghost": user(""), "users/abandoned": user(""), "users/due": user(""),
			"circles/ghost":     owned(circle(daysAgo(380), nil, nil), "ghost", "50 %s off"),
			"circles/abandoned": owned(circle(nil, daysAgo(40), nil), "abandoned", "50 %s off"),
			"circles/due":       owned(circle(nil, daysAgo(40), daysAgo(7)), "due", "50 %s off"),
		}.load(t, f)
		f.Run(t, "")
		for owner, text := range want {
			data := map[string]any{"title": text[0], "body": text[1], "isRead": false, "createdAt": now, "circleName": "50 %s off",
				"type": "circle_ghost_warning", "circleId": owner}
			if owner == "due" {
				data["type"] = "circle_ghost_deleted"
				delete(data, "circleId")
			}
			got := slices.Collect(maps.Values(f.Documents(t, "users/"+owner+"/notifications")))
			if diff := cmp.Diff([]map[string]any{data}, got); diff != "" {
				t.Errorf("locale %q, %s (-want +got):\n%s", locale, owner, diff)
			}
		}
	}
}

// TestBoundaries runs one microsecond before, at and after each instant that counts.
func TestBoundaries(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 3, 18, 30, 0, 123456000, time.UTC)
	for name, tt := range map[string]struct {
		data   map[string]any
		at     time.Time
		action string // done from at on
	}{
		"ghost":             {circle(since.Add(-365*day), nil, nil), since, "warn owner of circle"},
		"abandoned":         {circle(nil, since.Add(-30*day), nil), since, "warn owner of circle"},
		"warned, ghost":     {circle(daysAgo(500), nil, since), since.Add(7 * day), "delete circle"},
		"warned, abandoned": {circle(nil, daysAgo(500), since), since.Add(7 * day), "delete circle"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			f.Set(t, "circles/c", tt.data)
			f.Now = tt.at.Add(-tick)
			ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
			world{"circles/c": tt.data}.is(t, f)
			for _, at := range []time.Time{tt.at, tt.at.Add(tick)} {
				f.Set(t, "circles/c", tt.data)
				f.Now = at
				ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{tt.action: {Planned: 1, Done: 1}})
			}
		})
	}
}

// TestYearsOfACircle follows one circle through two warnings, a post in between, and its end.
func TestYearsOfACircle(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	created := time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)
	w := world{"users/hana": user("花"), "circles/c": owned(circle(nil, created, nil), "hana", "読書会"), "posts/p": post("c")}
	w.load(t, f)
	run := func(at time.Time, action string) {
		t.Helper()
		f.Now = at
		want := map[string]sweep.Counts{}
		if action != "" {
			want[action] = sweep.Counts{Planned: 1, Done: 1}
		}
		ended(t, f.Run(t, ""), sweep.Completed, want)
	}
	for at := created; at.Before(created.Add(30 * day)); at = at.Add(10 * day) {
		run(at, "")
	}
	warned := created.Add(30 * day)
	run(warned, "warn owner of circle")
	run(warned, "")
	run(warned.Add(6*day), "")
	w = w.changed("circles/c", map[string]any{"ghostWarningNotifiedAt": warned}).
		tell(warnedOf("hana", "c", "読書会", notifications.Japanese.AbandonedCircleWarning, warned), warned)
	w.is(t, f)

	posted := warned.Add(6*day + time.Hour)
	w = w.changed("circles/c", map[string]any{"lastHumanPostAt": posted})
	f.Set(t, "circles/c", w["circles/c"])
	run(warned.Add(7*day), "clear warning of circle")
	w = w.changed("circles/c", map[string]any{"ghostWarningNotifiedAt": nil})
	w.is(t, f)
	run(posted.Add(364*day), "")

	warned = posted.Add(365 * day)
	run(warned, "warn owner of circle")
	w = w.changed("circles/c", map[string]any{"ghostWarningNotifiedAt": warned}).
		tell(warnedOf("hana", "c", "読書会", notifications.Japanese.GhostCircleWarning, warned), warned)
	w.is(t, f)

	gone := warned.Add(7 * day)
	run(gone, "delete circle")
	run(gone.Add(day), "")
	w.without("circles/c", "posts/p").tell(toldOf("hana", "c", "読書会", gone), gone).is(t, f)
	if n := len(f.Documents(t, "users/hana/notifications")); n != 3 {
		t.Errorf("%d notifications, want two warnings and the end", n)
	}
}

// TestOldScheduleTimeShortensNoGrace has runs whose schedule time lies days back warn and delete: the owner has a week from
// when the warning was given.
func TestOldScheduleTimeShortensNoGrace(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	f.Set(t, "users/hana", user("花"))
	f.Set(t, "circles/c", owned(circle(daysAgo(380), nil, nil), "hana", "読書会"))
	wall := now.Add(6*day + 12*time.Hour)
	f.Clock = func() time.Time { return wall }
	run := func(schedule, at time.Time, want map[string]sweep.Counts) {
		t.Helper()
		f.Now, wall = schedule, at
		ended(t, f.Run(t, ""), sweep.Completed, want)
	}
	warned := wall
	run(now, wall, sweeptest.Done("warn owner of circle", 1))
	told := slices.Collect(maps.Values(f.Documents(t, "users/hana/notifications")))
	if len(told) != 1 || told[0]["createdAt"] != warned || f.Documents(t, "circles")["c"]["ghostWarningNotifiedAt"] != warned {
		t.Errorf("warned %v, want at %v", told, warned)
	}
	run(now, wall.Add(time.Hour), map[string]sweep.Counts{}) // a retry is no second warning, and no doubt
	run(now.Add(7*day), now.Add(7*day), map[string]sweep.Counts{})
	run(warned.Add(7*day-tick), warned.Add(7*day-time.Millisecond), map[string]sweep.Counts{})
	run(warned.Add(6*day), warned.Add(7*day), sweeptest.Done("delete circle", 1))
}

// TestLongIDs has a circle, a post, an owner and a child with ids as long as ids can be, and others that begin alike.
func TestLongIDs(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	long := func(end string) string { return strings.Repeat("x", 1500-len(end)) + end }
	before := world{
		"users/" + long("花"):    user("花"),
		"circles/" + long("c"):  owned(circle(daysAgo(380), nil, daysAgo(8)), long("花"), "消える"),
		"circles/" + long("長"):  owned(circle(daysAgo(1), nil, nil), long("花"), "残る"),
		"circles/warned":        owned(circle(daysAgo(380), nil, nil), long("花"), "幽霊"),
		"posts/" + long("p"):    post(long("c")),
		"posts/" + long("q"):    post(long("長")),
		"posts/other":           post("c"),
		"comments/" + long("x"): on(long("p")),
		"reactions/x":           on(long("p")),
		"comments/other":        on(long("q")),
	}
	before.load(t, f)
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{
		"delete circle": {Planned: 1, Done: 1}, "warn owner of circle": {Planned: 1, Done: 1},
	})
	before.without("circles/"+long("c"), "posts/"+long("p"), "comments/"+long("x"), "reactions/x").
		changed("circles/warned", map[string]any{"ghostWarningNotifiedAt": now}).
		tell(warnedOf(long("花"), "warned", "幽霊", notifications.Japanese.GhostCircleWarning, daysAgo(15)), now).
		tell(toldOf(long("花"), long("c"), "消える", now), now).is(t, f)
}

// TestMarkRemovedByHand warns again in a week's time without a second notification: it is the same warning.
func TestMarkRemovedByHand(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	f.Set(t, "users/hana", user("花"))
	f.Set(t, "circles/c", owned(circle(daysAgo(380), nil, nil), "hana", "読書会"))
	f.Run(t, "")
	f.Set(t, "circles/c", owned(circle(daysAgo(380), nil, nil), "hana", "読書会"))
	f.Now = now.Add(day)
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"warn owner of circle": {Planned: 1, Done: 1}})
	told := slices.Collect(maps.Values(f.Documents(t, "users/hana/notifications")))
	if len(told) != 1 || !told[0]["createdAt"].(time.Time).Equal(f.Now) {
		t.Errorf("notifications %v, want one, of the second run", told)
	}
}

// TestFilesOfACircle has look-alikes beside everything that is deleted.
func TestFilesOfACircle(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	before := world{
		"circles/c1": circle(daysAgo(380), nil, daysAgo(8)), "circles/c12": circle(daysAgo(1), nil, nil), "circles/c": circle(daysAgo(1), nil, nil),
		"posts/p1": post("c1", gs(f, "posts/p1.png"), gs(f, "posts/unnamed.png"), gs(f, "posts/of-p12.png"), gs(f, "circles/c12/icon/a.png"),
			"gs://another-bucket/posts/p1.png", "https://storage.googleapis.com/another-bucket/posts/p1.png"),
		"posts/p12":       post("c12", gs(f, "posts/of-p12.png")),
		"posts/p1-in-c":   post("c"),
		"posts/odd-1":     post([]any{"c1"}),
		"posts/odd-2":     post("circles/c1"),
		"comments/p1":     on("p1"),
		"reactions/p1":    on("p1"),
		"comments/p12":    on("p12"),
		"reactions/p12":   on("p12"),
		"comments/p1-of":  on("p1-in-c"),
		"circles_old/c1":  circle(daysAgo(380), nil, daysAgo(8)),
		"users/u/posts/p": post("c1"),
	}
	before.load(t, f)
	put(t, f, "", "circles/c1/icon/a.png", "circles/c1/icon/b.png", "circles/c1/header.png", "posts/unnamed.png")
	put(t, f, "p1", "posts/p1.png", "circles/c1/odd.png")
	theirs := []string{"circles/c12/icon/a.png", "circles/c/icon/a.png", "circles/c1", "circles/c1.png", "posts/c1/a.png", "circles2/c1/a.png"}
	put(t, f, "", theirs...)
	put(t, f, "p12", "posts/of-p12.png", "posts/p1.png.bak")
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, map[string]sweep.Counts{"delete circle": {Planned: 1, Done: 1}})
	before.without("circles/c1", "posts/p1", "comments/p1", "reactions/p1").
		is(t, f, append(theirs, "posts/of-p12.png", "posts/p1.png.bak")...)
	want := map[string]int{keptInUse: 2, "a file that belongs to another post": 1,
		"a media item with a file outside posts/": 1, "a media item with a URL of another bucket": 2}
	if diff := cmp.Diff(want, got.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// TestPoisonedCircles has circles that nobody can judge beside one that is due.
func TestPoisonedCircles(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	odd := []any{"2020-01-01T00:00:00Z", 1577836800000.5, true, []any{daysAgo(400)}, map[string]any{"seconds": "1577836800"}}
	before := world{
		"circles/due":       owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "消える"),
		"circles/empty":     {},
		"circles/long-name": owned(circle(daysAgo(380), nil, nil), "hana", strings.Repeat("長", 300_000)),
		"users/hana":        user("花"),
		"posts/due":         {"circleId": "due", "mediaItems": map[string]any{"url": 7}},
		"posts/p-odd-0":     post("odd-0"),
	}
	for i, v := range odd {
		before[fmt.Sprintf("circles/odd-%d", i)] = map[string]any{
			"lastHumanPostAt": v, "createdAt": v, "ghostWarningNotifiedAt": v, "deletedBy": v, "ownerId": v, "name": v}
		before[fmt.Sprintf("circles/odd-post-%d", i)] = circle(v, daysAgo(1000), daysAgo(8))
		before[fmt.Sprintf("circles/odd-created-%d", i)] = circle(nil, v, daysAgo(8))
		before[fmt.Sprintf("circles/odd-warned-%d", i)] = circle(daysAgo(380), daysAgo(1000), v)
		if v != true {
			before[fmt.Sprintf("circles/odd-deleted-%d", i)] = with(circle(daysAgo(380), daysAgo(1000), daysAgo(8)), "isDeleted", v)
		}
	}
	before.load(t, f)
	put(t, f, "", "circles/odd-0/icon.png", "circles/empty/icon.png")
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, map[string]sweep.Counts{
		"delete circle": {Planned: 1, Done: 1}, "warn owner of circle": {Planned: 1, Done: 1}})
	want := map[string]int{keptOddWarning: 10, keptOddPost: 5, keptUndated: 6, keptOddDeleted: 4, "mediaItems is not a list: its files are kept": 1}
	if diff := cmp.Diff(want, got.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	short := strings.Repeat("長", 200) + "…"
	before.without("circles/due", "posts/due").changed("circles/long-name", map[string]any{"ghostWarningNotifiedAt": now}).
		tell(warnedOf("hana", "long-name", short, notifications.Japanese.GhostCircleWarning, daysAgo(15)), now).
		tell(toldOf("hana", "due", "消える", now), now).
		is(t, f, "circles/empty/icon.png", "circles/odd-0/icon.png")
}

// TestPreviewShowsWhatIsWritten has one of each kind of action.
func TestPreviewShowsWhatIsWritten(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	before := world{
		"users/hana":      user("花"),
		"circles/ghost":   owned(circle(daysAgo(380), nil, nil), "hana", "幽霊"),
		"circles/due":     owned(circle(nil, daysAgo(40), daysAgo(8)), "hana", "消える"),
		"circles/revived": owned(circle(daysAgo(1), nil, daysAgo(8)), "hana", "復活"),
		"circles/claimed": {"isDeleted": true, "deletedBy": jobName},
		"posts/p":         post("due", gs(f, "posts/p.png")),
		"comments/c":      on("p"),
	}
	before.load(t, f)
	put(t, f, "p", "posts/p.png")
	put(t, f, "", "circles/due/icon.png")
	got := f.Run(t, `{"dryRun":true}`)
	ghost := warnedOf("hana", "ghost", "幽霊", notifications.Japanese.GhostCircleWarning, daysAgo(15))
	sweeptest.Want(t, "plan", []sweep.Planned{
		{Target: "circles/claimed", Action: "finish deleting circle", Reason: "a run that was interrupted began to delete it",
			Writes: []string{"delete circles/claimed", "delete objects under " + gs(f, "circles/claimed/")}},
		{Target: "circles/due", Action: "delete circle", Reason: "abandoned: no human post since its creation 2025-12-01T18:30:00Z, 30 days ago or more; warned 2026-01-02T18:30:00Z",
			Writes: []string{"update circles/due", "delete comments/c", "delete posts/p", "delete " + gs(f, "posts/p.png"),
				"delete circles/due", "set " + toldOf("hana", "due", "", now).Path(), "delete objects under " + gs(f, "circles/due/")}},
		{Target: "circles/ghost", Action: "warn owner of circle", Reason: "ghost: the last human post is of 2024-12-26T18:30:00Z, 365 days ago or more",
			Writes: []string{"update circles/ghost", "set " + ghost.Path()}},
		{Target: "circles/revived", Action: "clear warning of circle", Reason: "in use again; the warning was given 2026-01-02T18:30:00Z",
			Writes: []string{"update circles/revived"}},
	}, got.Plan)
	before.is(t, f, "circles/due/icon.png", "posts/p.png")
}

// TestRecordsOfEarlierVersions has files noted as versions before the journal did: of a circle and of a post that are gone, and of a
// circle that was restored.
func TestRecordsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	w := world{"circles/restored": circle(daysAgo(1), nil, nil)}
	w.load(t, f)
	put(t, f, "", "circles/gone/icon.png", "circles/restored/icon.png", "posts/unnamed.png")
	put(t, f, "p1", "posts/p1.png")
	put(t, f, "p2", "posts/p2.png")
	note := func(id string, group map[string]any) {
		f.Set(t, "cleanupJobs/"+jobName+"/leftovers/"+id, map[string]any{"objects": []any{group}, "at": time.Now().Add(time.Minute)})
	}
	for _, id := range []string{"gone", "restored"} {
		note("circle-"+digest.Of(id), map[string]any{"names": []any{"circles/" + id + "/"}, "folder": true, "postId": "", "absent": "circles/" + id})
	}
	note("p1", map[string]any{"names": []any{"posts/p1.png", "posts/p2.png", "posts/unnamed.png", "posts/none.png"}, "folder": false, "postId": "p1", "absent": "posts/p1"})
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, sweeptest.Done("finish interrupted action", 3))
	sweeptest.Want(t, "kept", map[string]int{keptInUse: 1, "a file that belongs to another post": 1, "a file whose document was restored since": 1}, got.Kept)
	w.is(t, f, "circles/restored/icon.png", "posts/p2.png")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestManyCircles plans more than a page and comes to the end of its time after the first.
func TestManyCircles(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	const n = 1200
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		switch i % 100 {
		case 7:
			return fmt.Sprintf("circles/c%04d", i), circle(daysAgo(380), nil, daysAgo(8))
		case 8:
			return fmt.Sprintf("circles/c%04d", i), circle(daysAgo(380), nil, nil)
		default:
			return fmt.Sprintf("circles/c%04d", i), circle(daysAgo(1), nil, nil)
		}
	})
	var reads atomic.Int32
	f.Clock = func() time.Time { // read for the request, the lease and after each page
		if reads.Add(1) > 2 {
			return now.Add(f.Timeout/2 + time.Second)
		}
		return now
	}
	got := f.Run(t, "")
	ended(t, got, sweep.Partial, map[string]sweep.Counts{
		"delete circle": {Planned: 5, Done: 5}, "warn owner of circle": {Planned: 5, Done: 5}})
	f.Clock = func() time.Time { return now.Add(time.Hour) }
	got = f.Run(t, "")
	ended(t, got, sweep.Completed, map[string]sweep.Counts{
		"delete circle": {Planned: 7, Done: 7}, "warn owner of circle": {Planned: 7, Done: 7}})
	if left := len(f.Documents(t, "circles")); got.Scanned != n-500 || left != n-12 {
		t.Errorf("scanned %d, %d circles left; want %d and %d", got.Scanned, left, n-500, n-12)
	}
}
