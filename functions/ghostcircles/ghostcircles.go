// Package ghostcircles is checkGhostCircles: it warns the owners of circles that nobody posts to and deletes those circles
// a week later, with their posts. The rules are in rules.go.
package ghostcircles

import (
	"context"
	"slices"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/functions/posts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

const jobName = "checkGhostCircles"

// Job is checkGhostCircles.
var Job = cleanup.Job{
	Name: jobName, Plan: plan, Rules: []cleanup.AnyRule{circleRule, postRule},
}

func init() { functions.Register(Job) }

const circles = "circles"

// plan considers the circles that may be due: those a run has claimed, ghosts, abandoned ones, and those that were warned. Counts
// tell where they are. Where the counts fail, and where an earlier run did not end with them, it considers all circles.
func plan(ctx context.Context, p *cleanup.Planner) error {
	if p.Checkpoint != "" {
		return planAll(ctx, p)
	}
	c, err := takeCensus(ctx, p.Documents, p.Now)
	if err != nil {
		p.Warn(ctx, "the circles could not be counted, so every one is read, at a read each "+
			"(a missing index? firesweep doctor): "+err.Error())
		return planAll(ctx, p)
	}
	return (&found{Planner: p, seen: map[string]bool{}}).plan(ctx, c)
}

// planAll considers all circles by name.
func planAll(ctx context.Context, p *cleanup.Planner) error {
	q := documents.Query{Collection: circles, Select: judged}
	return p.EachPage(ctx, q, documents.Cursor(p.Checkpoint), func(page []documents.Document) error {
		posted := 0
		for _, d := range alive(page) {
			if d.Value(postedField) != nil {
				posted++
			}
		}
		p.FieldSeen(q, postedField, len(alive(page)), posted)
		p.Share(circles, len(alive(page)), due(p, page), 0)
		return p.Consider(ctx, circleRule, page)
	})
}

// alive returns the circles that are not deleted. A deleted one is no part of the whole that the safety limits judge by.
func alive(all []documents.Document) []documents.Document {
	return slices.DeleteFunc(slices.Clone(all), func(d documents.Document) bool { return d.Data[deletedField] == true })
}

// due returns how many circles count as due for the safety limits.
func due(p *cleanup.Planner, all []documents.Document) (n int) {
	for _, d := range alive(all) {
		if kind := judge(state{Subject: cleanup.Subject{Document: d, Found: true}}, p.Run).Kind; kind == toWarn || kind == toDelete {
			n++
		}
	}
	return n
}

// state is a circle with what a commit needs of it.
type state struct {
	cleanup.Subject
	posts    cleanup.Belonging // of a claimed circle
	hasOwner bool              // its owner has a document
}

// circleRule warns, clears, claims and deletes circles. A claimed circle is shown by the application no longer. It can only be
// finished, by this run or another, or revived by a person: then it keeps what is left of it.
var circleRule = cleanup.Rule[state]{
	Name: "circle", Load: cleanup.Each(func(s cleanup.Subject) state { return state{Subject: s} }),
	Judge: judge, Gather: gather, Change: change,
	Reach: cleanup.Reach{
		Items: "circles", Deletes: []string{"circles"}, Writes: []string{"circles", "users/*/notifications"},
		Objects: []cleanup.Files{{Folder: "circles/{id}/", Whole: true}},
	},
}

// postRule deletes the posts of claimed circles. Whether the circle is claimed is asked again in the commit.
var postRule = posts.Rule("post", func(s posts.State, _ cleanup.Run) cleanup.Decision {
	if !claimed(s.Circle) {
		return cleanup.Keep("its circle is not to be deleted")
	}
	return cleanup.Do("delete post", "its circle is deleted")
})

var postsOf = cleanup.Children{Collection: "posts", Field: "circleId"}

// gather reads the posts of claimed circles, and the owners who are to be told something.
func gather(ctx context.Context, src cleanup.Source, due []*state) error {
	var ids []string
	for _, c := range due {
		if claimed(c.Subject) {
			ids = append(ids, c.ID())
		}
	}
	found, err := src.Children(ctx, postsOf, ids)
	if err != nil {
		return err
	}
	var owners []documents.Ref
	for _, c := range due {
		c.posts = found[c.ID()]
		told := c.posts.Whole && len(c.posts.Documents) == 0 || judge(*c, src.Run()).Kind == toWarn
		if owner, ok := c.owner(); ok && told {
			owners = append(owners, owner)
		}
	}
	users, err := src.Get(ctx, owners)
	for _, c := range due {
		owner, _ := c.owner()
		_, c.hasOwner = users[owner]
	}
	return err
}

// owner returns the user who owns the circle; ok is false if its ownerId can name nobody.
func (c state) owner() (user documents.Ref, ok bool) {
	id, ok := c.IDIn("users", c.Value("ownerId"))
	return documents.Ref{Collection: "users", ID: id}, ok
}

func change(c state, d cleanup.Decision, run cleanup.Run) cleanup.Change {
	switch d.Kind {
	case toWarn:
		i, _ := idlenessOf(c.Document)
		warning := notifications.Notification{
			Type: "circle_ghost_warning", Text: i.text(notifications.Locale(run.Config.Locale), notifications.NameOf(c.Document)),
			Fields: map[string]any{"circleId": c.ID()},
		}
		mark := cleanup.Update(c.Ref(), map[string]any{warnedField: run.Promise})
		return c.tell(mark, warning, i.countsFrom, run.Promise, "marked as warned")
	case toClear:
		return cleanup.Update(c.Ref(), map[string]any{warnedField: documents.DeleteField})
	case toDelete:
		claim := map[string]any{"isDeleted": true, "deletedAt": run.Promise, "deletedBy": jobName, "deleteReason": d.Reason}
		change := cleanup.Update(c.Ref(), claim)
		change.Again = toFinish
		return change
	default:
		return c.finish(run)
	}
}

// finish deletes a claimed circle: its posts, and once there are none, itself and its files. Until then they are the files of
// a circle that can still be revived. Its owner is told in the commit that deletes it.
func (c state) finish(run cleanup.Run) (change cleanup.Change) {
	if !c.posts.Whole && !c.Alone {
		return cleanup.Change{Again: toFinish}
	}
	for _, post := range c.posts.Documents {
		change.Next = append(change.Next, cleanup.Item{Rule: postRule, Ref: post.Ref()})
	}
	if len(change.Next) > 0 || !c.posts.Whole {
		change.Again = toFinish
		return change
	}
	farewell := notifications.Notification{
		Type: "circle_ghost_deleted", Fields: map[string]any{},
		Text: notifications.Locale(run.Config.Locale).GhostCircleDeleted(notifications.NameOf(c.Document)),
	}
	claimedAt, _ := c.Time("deletedAt") // without, the id alone tells circles apart
	change = c.tell(cleanup.Delete(c.Document), farewell, claimedAt, run.Now, "deleted")
	files := cleanup.ObjectDeletion{Name: "circles/" + c.ID() + "/", Folder: true}
	change.Then = []cleanup.FollowUp{{Object: files, Absent: c.Ref()}}
	return change
}

// tell adds to a change what the circle's owner is told, or a warning that nobody is. The circle and the occasion are what is
// announced: told again, it is no second notification.
func (c state) tell(change cleanup.Change, n notifications.Notification, occasion, at time.Time, done string) cleanup.Change {
	owner, ok := c.owner()
	if c.hasOwner {
		n.UserID, n.Announces = owner.ID, []string{c.ID(), occasion.UTC().Format(time.RFC3339Nano)}
		n.Fields["circleName"] = notifications.NameOf(c.Document)
		change.Writes = append(change.Writes, documents.Write{Op: documents.Set, Ref: n.Ref(), Data: n.Data(at), Sent: true})
		return change
	}
	nobody := "its owner has no document"
	if !ok {
		nobody = "its ownerId is missing or names nobody"
	}
	change.Notices = []cleanup.Notice{{
		Message: c.Path + ": " + done + " without telling anybody: " + nobody, Fields: map[string]any{"reason": nobody},
	}}
	return change
}
