package ghostcircles

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// TestHumanPostBetweenPlanAndClaim has somebody post to a circle at the last moment.
func TestHumanPostBetweenPlanAndClaim(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	w := world{
		"users/hana":  user("花"),
		"circles/c":   owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "危うい"),
		"posts/old":   post("c", gs(f, "posts/old.png")),
		"comments/x":  on("old"),
		"reactions/x": on("old"),
	}
	w.load(t, f)
	put(t, f, "old", "posts/old.png")
	put(t, f, "", "circles/c/icon.png")
	f.Hooks.BeforeApply = func() {
		w = w.changed("posts/new", post("c")).changed("circles/c", map[string]any{"lastHumanPostAt": now.Add(-time.Second)})
		f.Set(t, "posts/new", w["posts/new"])
		f.Set(t, "circles/c", w["circles/c"])
	}
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete circle": {Planned: 1, Changed: 1}})
	w.is(t, f, "circles/c/icon.png", "posts/old.png")
	f.Hooks.BeforeApply = nil
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"clear warning of circle": {Planned: 1, Done: 1}})
	w.changed("circles/c", map[string]any{"ghostWarningNotifiedAt": nil}).is(t, f, "circles/c/icon.png", "posts/old.png")
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
	} {
		before["circles/"+id], changes["circles/"+id] = change.before, change.change
		before["posts/of-"+id] = post(id)
		before["comments/of-"+id] = on("of-" + id)
		after["posts/of-"+id], after["comments/of-"+id] = before["posts/of-"+id], before["comments/of-"+id]
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
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{
		"warn owner of circle":    {Planned: 4, Changed: 4},
		"clear warning of circle": {Planned: 3, Changed: 3},
		"delete circle":           {Planned: 5, Changed: 5},
		"finish deleting circle":  {Planned: 3, Changed: 3},
	})
	after.is(t, f, files...)
}

// TestUndeletedByAnOperator takes isDeleted back when the first posts are gone: what is left stays whole.
func TestUndeletedByAnOperator(t *testing.T) {
	t.Parallel()
	for comments := range 2 {
		t.Run(fmt.Sprintf("posts with %d comments", comments), func(t *testing.T) { undelete(t, newFunction(t), comments) })
	}
}

func undelete(t *testing.T, f *sweeptest.Function, comments int) {
	const n, aCommit = 50, 25
	id := func(i int) string { return fmt.Sprintf("p%02d", i) }
	f.Set(t, "users/hana", user("花"))
	f.Set(t, "circles/c", owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "救われる"))
	f.SetMany(t, n, func(i int) (string, map[string]any) { return "posts/" + id(i), post("c", gs(f, "posts/"+id(i)+".png")) })
	f.SetMany(t, n*comments, func(i int) (string, map[string]any) { return "comments/of-" + id(i), on(id(i)) })
	f.PutMany(t, n, func(i int) (string, map[string]string) { return "posts/" + id(i) + ".png", nil })
	put(t, f, "", "circles/c/icon.png")

	var deleted, undone atomic.Bool
	db := f.Firestore(t)
	onUnary(f, func(req any, send func() error) error {
		// Before the next transaction begins, so that nothing holds the circle.
		if _, begins := req.(*firestorepb.BeginTransactionRequest); begins && deleted.Load() && !undone.Swap(true) {
			if _, err := db.Doc("circles/c").Update(t.Context(), []firestore.Update{{Path: "isDeleted", Value: false}}); err != nil {
				t.Error(err)
			}
		}
		err := send()
		if err == nil && deletes(req, "posts") {
			deleted.Store(true)
		}
		return err
	})
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete circle": {Planned: 1, Changed: 1}})
	left := f.Documents(t, "posts")
	if len(left) != n-aCommit {
		t.Errorf("%d posts left of %d, want all but those of one commit", len(left), n)
	}
	w := world{
		"users/hana": user("花"),
		"circles/c": owned(with(with(with(circle(daysAgo(380), nil, daysAgo(8)), "isDeleted", false), "deletedBy", jobName), "deletedAt", now),
			"hana", "救われる"),
	}
	w["circles/c"]["deleteReason"] = "ghost: the last human post is of 2024-12-26T18:30:00Z, 365 days ago or more; warned 2026-01-02T18:30:00Z"
	files := []string{"circles/c/icon.png"}
	for id, data := range left {
		w["posts/"+id] = data
		if comments > 0 {
			w["comments/of-"+id] = on(id)
		}
		files = append(files, "posts/"+id+".png")
	}
	w.is(t, f, files...)

	// The next run gives the owner a week more.
	next := nextFunction(t, f)
	next.Now = now.Add(day)
	ended(t, next.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"warn owner of circle": {Planned: 1, Done: 1}})
	w = w.changed("circles/c", map[string]any{"ghostWarningNotifiedAt": next.Now}).
		tell(warnedOf("hana", "c", "救われる", notifications.Japanese.GhostCircleWarning, now), next.Now)
	w.is(t, f, files...)
	next.Now = now.Add(8 * day)
	ended(t, next.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete circle": {Planned: 1, Done: 1}})
	if rest := f.Documents(t, "posts"); len(rest) != 0 || len(f.Objects(t)) != 0 {
		t.Errorf("left in the end: %v, %v", rest, f.Objects(t))
	}
}

// TestUndeletedAtTheVeryEnd takes the claim back when all posts are gone and the circle itself is not.
func TestUndeletedAtTheVeryEnd(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	w := world{"users/hana": user("花")}
	var files []string
	changes := map[string]map[string]any{"revived": {"isDeleted": false}, "taken-over": {"deletedBy": "hana"}}
	for id := range changes {
		w["circles/"+id] = map[string]any{"isDeleted": true, "deletedBy": jobName, "deletedAt": daysAgo(1), "ownerId": "hana", "name": "空"}
		file := "circles/" + id + "/icon.png"
		put(t, f, "", file)
		files = append(files, file)
	}
	w.load(t, f)
	f.Hooks.BeforeApply = func() {
		for id, change := range changes {
			w = w.changed("circles/"+id, change)
			f.Set(t, "circles/"+id, w["circles/"+id])
		}
	}
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"finish deleting circle": {Planned: 2, Changed: 2}})
	w.is(t, f, files...)
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
	ended(t, f.Run(t, ""), sweep.Failed, map[string]sweep.Counts{"delete circle": {Planned: 2, Failed: 2}})
	f.Set(t, "circles/restored", restored)
	next := nextFunction(t, f)
	ended(t, next.Run(t, ""), sweep.Completed, sweeptest.Done("finish interrupted action", 1))
	world{"circles/restored": restored}.is(t, f, "circles/restored/icon.png")
}

// TestPostsWrittenMeanwhile has posts come in while the circle's posts are deleted, and before the circle itself is, and
// another leave.
func TestPostsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	before := world{
		"circles/c": circle(daysAgo(380), nil, daysAgo(8)), "posts/m": post("c"), "posts/z": post("c"), "posts/moved": post("c"),
		"posts/other": post("d"), "circles/d": circle(daysAgo(1), nil, nil),
	}
	before.load(t, f)
	var second sync.Once
	var taken, aborted atomic.Bool
	var begun atomic.Int32
	onUnary(f, func(req any, send func() error) error {
		_, begins := req.(*firestorepb.BeginTransactionRequest)
		switch _, rollsBack := req.(*firestorepb.RollbackRequest); {
		case updates(req, "circles/c"):
			taken.Store(true)
		case begins && taken.Load() && begun.Add(1) == 2: // the posts were listed, and their commit has locked nothing yet
			f.Set(t, "posts/a-late", post("c"))
			f.Set(t, "posts/moved", post("d"))
		case deletes(req, "circles") && !aborted.Swap(true):
			return status.Error(codes.Aborted, "somebody wrote a post")
		case rollsBack && aborted.Load():
			err := send()
			second.Do(func() {
				f.Set(t, "posts/a-later", post("c"))
				f.Set(t, "comments/a-later", on("a-later"))
			})
			return err
		}
		return send()
	})
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"delete circle": {Planned: 1, Done: 1}})
	if begun.Load() < 2 || !aborted.Load() {
		t.Error("nothing was written meanwhile")
	}
	before.without("circles/c", "posts/m", "posts/z").changed("posts/moved", map[string]any{"circleId": "d"}).is(t, f)
}

// TestOnePostThatFails keeps the circle until its last post can be deleted.
func TestOnePostThatFails(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	before := world{
		"users/hana": user("花"),
		"circles/c":  owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "頑固"), "circles/d": owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "素直"),
		"posts/a": post("c"), "posts/bad": post("c", gs(f, "posts/bad.png")), "posts/worse": post("c"), "posts/z": post("c"), "posts/d": post("d"),
		"comments/a": on("a"), "comments/bad": on("bad"), "comments/z": on("z"),
	}
	before.load(t, f)
	put(t, f, "bad", "posts/bad.png")
	put(t, f, "", "circles/c/icon.png", "circles/d/icon.png")
	var mended atomic.Bool
	onUnary(f, func(req any, send func() error) error {
		if !mended.Load() && (deletes(req, "posts/bad") || deletes(req, "posts/worse")) {
			return status.Error(codes.PermissionDenied, "no")
		}
		return send()
	})
	got := f.Run(t, "")
	ended(t, got, sweep.Failed, map[string]sweep.Counts{"delete circle": {Planned: 2, Done: 1, Failed: 1}})
	named := map[string]bool{}
	for _, line := range f.LogLines(t) {
		if strings.Contains(line["message"].(string), ": failed, circles/c stays: ") {
			named[line["target"].(string)] = true
		}
	}
	sweeptest.Want(t, "posts named in the log", map[string]bool{"posts/bad": true, "posts/worse": true}, named)
	if len(got.Failures) != 1 || got.Failures[0].Target != "circles/c" || !strings.HasPrefix(got.Failures[0].Error, "2 of what goes with it failed, the first: posts/") {
		t.Errorf("failures %v", got.Failures)
	}
	claim := map[string]any{"isDeleted": true, "deletedBy": jobName, "deletedAt": now,
		"deleteReason": "ghost: the last human post is of 2024-12-26T18:30:00Z, 365 days ago or more; warned 2026-01-02T18:30:00Z"}
	half := before.without("circles/d", "posts/a", "posts/z", "posts/d", "comments/a", "comments/z").
		changed("circles/c", claim).tell(toldOf("hana", "d", "素直", now), now)
	half.is(t, f, "circles/c/icon.png", "posts/bad.png")

	mended.Store(true)
	f.Now = now.Add(day)
	ended(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{"finish deleting circle": {Planned: 1, Done: 1}})
	half.without("circles/c", "posts/bad", "posts/worse", "comments/bad").tell(toldOf("hana", "c", "頑固", now), f.Now).is(t, f)
}

// TestOutOfTimeInTheMiddle needs several runs for one circle, which has more posts than are looked at together. One of them has
// more comments than go in one commit.
func TestOutOfTimeInTheMiddle(t *testing.T) {
	t.Parallel()
	const n, commitsARun = 1000, 12
	f := newFunction(t)
	f.Set(t, "users/hana", user("花"))
	f.Set(t, "circles/c", owned(circle(daysAgo(380), nil, daysAgo(8)), "hana", "大きい"))
	f.Set(t, "circles/d", circle(daysAgo(1), nil, nil))
	f.Set(t, "posts/d", post("d"))
	f.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("posts/p%04d", i), post("c") })
	f.SetMany(t, 450, func(i int) (string, map[string]any) { return fmt.Sprintf("comments/%03d", i), on("p0500") })
	put(t, f, "", "circles/c/icon.png")
	var deleted atomic.Int32
	onUnary(f, func(req any, send func() error) error {
		err := send()
		if deletes(req, "posts") {
			deleted.Add(1)
		}
		return err
	})
	wall := now
	f.Clock = func() time.Time {
		if deleted.Load() >= commitsARun {
			return wall.Add(f.Timeout)
		}
		return wall
	}
	runs, left := 0, n
	var told time.Time // the now of the run that deletes the circle
	for {
		runs++
		deleted.Store(0)
		wall = wall.Add(day)
		f.Now = wall
		got := f.Run(t, "")
		if told.IsZero() && f.Documents(t, "circles")["c"] == nil {
			told = f.Now
		}
		if got.Status == sweep.Completed {
			break
		}
		rest := len(f.Documents(t, "posts")) - 1
		if got.Status != sweep.Partial || rest >= left || runs > n {
			t.Fatalf("run %d: %s %v, %d posts left of %d", runs, got.Status, got.Failures, rest, left)
		}
		if left = rest; left > 0 && (len(f.Objects(t)) != 1 || len(f.Documents(t, "users/hana/notifications")) != 0) {
			t.Fatalf("run %d: the circle's file is gone or its owner told before its last post is", runs)
		}
	}
	if runs < 3 {
		t.Errorf("%d runs, want several", runs)
	}
	world{"users/hana": user("花"), "circles/d": circle(daysAgo(1), nil, nil), "posts/d": post("d")}.
		tell(toldOf("hana", "c", "大きい", now.Add(day)), told).is(t, f)
}

// onUnary lets a test see and disturb the unary requests to Firestore, which all writes are; send sends one.
func onUnary(f *sweeptest.Function, handle func(req any, send func() error) error) {
	f.Hooks.Dial = append(f.Hooks.Dial, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return handle(req, func() error { return invoke(ctx, method, req, reply, cc, opts...) })
		}))
}

// deletes reports whether a request is a commit that deletes a document of a collection, or the document of a path.
func deletes(req any, path string) bool {
	commit, _ := req.(*firestorepb.CommitRequest)
	for _, w := range commit.GetWrites() {
		_, deleted, _ := strings.Cut(w.GetDelete(), "/documents/")
		if deleted == path || strings.HasPrefix(deleted, path+"/") {
			return true
		}
	}
	return false
}

// updates reports whether a request is a commit that writes a document.
func updates(req any, path string) bool {
	commit, _ := req.(*firestorepb.CommitRequest)
	return slices.ContainsFunc(commit.GetWrites(), func(w *firestorepb.Write) bool {
		return strings.HasSuffix(w.GetUpdate().GetName(), "/documents/"+path)
	})
}
