package ghostcircles

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// nextFunction returns a fresh function on the same project, at the same time.
func nextFunction(t *testing.T, f *sweeptest.Function) *sweeptest.Function {
	t.Helper()
	next := sweeptest.On(t, functions.New(Job), f.Project)
	next.Now = f.Now
	next.Clock = func() time.Time { return next.Now }
	return next
}

// TestChangedBetweenPlanAndApply changes each kind of circle in each way that matters.
func TestChangedBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	ghost := func(warned any) map[string]any { return owned(circle(daysAgo(380), nil, warned), "hana", "揺れる") }
	claimedCircle := map[string]any{"isDeleted": true, "deletedBy": jobName, "deletedAt": daysAgo(1), "lastHumanPostAt": daysAgo(380)}
	used := map[string]any{"lastHumanPostAt": now.Add(-time.Hour)}
	softDeleted := map[string]any{"isDeleted": true, "deletedBy": "hana"}
	gone := map[string]any(nil)
	f := newFunction(t)
	before := world{"users/hana": user("花")}
	after := world{"users/hana": user("花")}
	files := []string{}
	changes := map[string]map[string]any{}
	for id, change := range map[string]struct{ before, change map[string]any }{
		"warn-used":          {ghost(nil), used},
		"warn-gone":          {ghost(nil), gone},
		"warn-soft-deleted":  {ghost(nil), softDeleted},
		"warn-warned":        {ghost(nil), map[string]any{"ghostWarningNotifiedAt": daysAgo(1)}},
		"clear-gone":         {circle(daysAgo(1), nil, daysAgo(2)), gone},
		"clear-ghost-again":  {circle(daysAgo(1), nil, daysAgo(2)), map[string]any{"lastHumanPostAt": daysAgo(380)}},
		"clear-soft-deleted": {circle(daysAgo(1), nil, daysAgo(2)), softDeleted},
		"due-used":           {ghost(daysAgo(8)), used},
		"due-gone":           {ghost(daysAgo(8)), gone},
		"due-soft-deleted":   {ghost(daysAgo(8)), softDeleted},
		"due-unwarned":       {ghost(daysAgo(8)), map[string]any{"ghostWarningNotifiedAt": nil}},
		"due-odd":            {ghost(daysAgo(8)), map[string]any{"lastHumanPostAt": "yesterday"}},
		"claimed-revived":    {claimedCircle, map[string]any{"isDeleted": false}},
		"claimed-taken-over": {claimedCircle, map[string]any{"deletedBy": "hana"}},
		"claimed-gone":       {claimedCircle, gone},
		"empty-revived":      {claimedCircle, map[string]any{"isDeleted": false}},
		"empty-taken-over":   {claimedCircle, map[string]any{"deletedBy": "hana"}},
	} {
		before["circles/"+id], changes["circles/"+id] = change.before, change.change
		if !strings.HasPrefix(id, "empty-") {
			before["posts/of-"+id], before["comments/of-"+id] = post(id), on("of-"+id)
			after["posts/of-"+id], after["comments/of-"+id] = before["posts/of-"+id], before["comments/of-"+id]
		}
		if change.change != nil {
			after["circles/"+id] = before.changed("circles/"+id, change.change)["circles/"+id]
		}
		file := "circles/" + id + "/icon.png"
		put(t, f, "", file)
		files = append(files, file)
	}
	before.load(t, f)
	f.Hooks.BeforeApply = func() {
		for path, change := range changes {
			if change != nil {
				f.Set(t, path, after[path])
			} else if _, err := f.Firestore(t).Doc(path).Delete(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{
		"warn owner of circle":    {Planned: 4, Changed: 4},
		"clear warning of circle": {Planned: 3, Changed: 3},
		"delete circle":           {Planned: 5, Changed: 5},
		"finish deleting circle":  {Planned: 5, Changed: 5},
	})
	after.is(t, f, files...)
}

// TestUndeletedByAnOperator takes isDeleted back when the first posts are gone: what is left stays whole, and the owner gets
// another week.
func TestUndeletedByAnOperator(t *testing.T) {
	t.Parallel()
	const n, aCommit = 50, 25
	f := newFunction(t)
	id := func(i int) string { return fmt.Sprintf("p%02d", i) }
	f.Set(t, "users/hana", user("花"))
	f.Set(t, "circles/c", owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "救われる"))
	f.SetMany(t, n, func(i int) (string, map[string]any) { return "posts/" + id(i), post("c", gs(f, "posts/"+id(i)+".png")) })
	f.SetMany(t, n, func(i int) (string, map[string]any) { return "comments/of-" + id(i), on(id(i)) })
	f.PutMany(t, n, func(i int) (string, map[string]string) { return "posts/" + id(i) + ".png", nil })
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
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{toDelete: {Planned: 1, Changed: 1}})
	left := f.Documents(t, "posts")
	sweeptest.Want(t, "posts left, all but those of one commit", n-aCommit, len(left))
	w := world{"users/hana": user("花"), "circles/c": owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "救われる")}.changed("circles/c", map[string]any{
		"isDeleted": false, "deletedBy": jobName, "deletedAt": now,
		"deleteReason": "ghost: the last human post is of 2024-12-26T18:30:00Z, 365 days ago or more; warned 2026-01-02T18:30:00Z"})
	files := []string{"circles/c/icon.png"}
	for id, data := range left {
		w["posts/"+id], w["comments/of-"+id] = data, on(id)
		files = append(files, "posts/"+id+".png")
	}
	w.is(t, f, files...)

	f.Now = now.Add(day)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done(toWarn, 1))
	w.changed("circles/c", map[string]any{"ghostWarningNotifiedAt": f.Now}).
		tell(warnedOf("c", "救われる", notifications.Japanese.GhostCircleWarning, now), f.Now).is(t, f, files...)
	f.Now = now.Add(8 * day)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done(toDelete, 1))
	if rest := f.Documents(t, "posts"); len(rest) != 0 || len(f.Objects(t)) != 0 {
		t.Errorf("left in the end: %v, %v", rest, f.Objects(t))
	}
}

// TestRestoredBeforeItsFilesAreGone has somebody restore a circle that was deleted by a run which did not get to its files.
func TestRestoredBeforeItsFilesAreGone(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	restored := circle(now, nil, nil)
	for _, id := range []string{"restored", "gone"} {
		f.Set(t, "circles/"+id, circle(daysAgo(380), nil, daysAgo(8)))
		put(t, f, "", "circles/"+id+"/icon.png")
	}
	f.Hooks.Transport = func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusForbidden, Status: "403 Forbidden", Request: r, Header: http.Header{}, Body: http.NoBody}, nil
		})
	}
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Failed, map[string]sweep.Counts{"delete circle": {Planned: 2, Failed: 2}})
	f.Set(t, "circles/restored", restored)
	next := nextFunction(t, f)
	sweeptest.WantReport(t, next.Run(t, ""), sweep.Completed, sweeptest.Done("finish interrupted action", 1))
	world{"circles/restored": restored}.is(t, f, "circles/restored/icon.png")
}

// TestPostsWrittenMeanwhile has more posts than a commit looks at, one that comes in when the first of them are gone, and one that
// leaves.
func TestPostsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	before := world{"circles/c": circle(daysAgo(380), nil, daysAgo(8)), "circles/d": circle(daysAgo(380), nil, daysAgo(8)), "circles/e": circle(daysAgo(1), nil, nil), "posts/d": post("d")}
	before.load(t, f)
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
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, sweeptest.Done(toDelete, 2))
	world{"circles/e": before["circles/e"], "posts/z": post("e")}.is(t, f)
}

// afterPosts calls after each commit that deleted posts, before the next begins.
func afterPosts(f *sweeptest.Function, do func()) {
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		err := send()
		if err == nil && slices.ContainsFunc(commit.GetWrites(), func(w *firestorepb.Write) bool { return strings.Contains(w.GetDelete(), "/documents/posts/") }) {
			do()
		}
		return err
	})
}
