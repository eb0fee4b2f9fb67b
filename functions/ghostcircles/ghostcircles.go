// Package ghostcircles is checkGhostCircles: it warns the owners of circles that nobody posts to and deletes those circles
// a week later, with their posts. The rules are in rules.go.
package ghostcircles

import (
	"context"
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

// plan considers all circles, page after page: no query finds those that lack a field, and a circle without lastHumanPostAt may
// be abandoned.
func plan(ctx context.Context, p *cleanup.Planner) error {
	q := documents.Query{Collection: circles, Select: judged}
	return p.EachPage(ctx, q, documents.Cursor(p.Checkpoint), func(page []documents.Document) error {
		p.Count(cleanup.Count{Collection: circles, Looked: len(page)})
		return consider(ctx, p, page)
	})
}

// consider considers circles. Those that are warned of or deleted count as due for the safety limits.
func consider(ctx context.Context, p *cleanup.Planner, page []documents.Document) error {
	due := -p.Planned()
	if err := p.Consider(ctx, circleRule, page); err != nil {
		return err
	}
	due += p.Planned()
	for _, d := range page {
		if judge(state{Subject: cleanup.Subject{Document: d, Found: true}}, p.Run).Kind != "" { // whoever owns it
			due--
		}
	}
	p.Count(cleanup.Count{Collection: circles, Due: max(0, due)})
	return nil
}

// state is a circle with what a commit needs of it.
type state struct {
	cleanup.Subject
	posts    cleanup.Belonging // of a claimed circle
	hasOwner bool              // its owner has a document; asked only where that decides, or where the owner is told something
}

// circleRule warns, clears, claims and deletes circles. A claimed circle is shown by the application no longer. It can only be
// finished, by this run or another, or revived by a person: then it keeps what is left of it.
var circleRule = cleanup.Rule[state]{
	Name: "circle", Load: load,
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

// begun is what a circle's next judgment is told that a run has begun to delete.
const begun = "begun"

var postsOf = cleanup.Children{Collection: "posts", Field: "circleId"}

// load looks whether there are owners of the circles that are warned of or deleted if there are.
func load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]state, error) {
	states := make([]state, len(subjects))
	var owners []documents.Ref
	for i, s := range subjects {
		states[i] = state{Subject: s, hasOwner: true}
		owner, ok := states[i].owner()
		kind := judge(states[i], src.Run()).Kind
		states[i].hasOwner = ok && (kind == toWarn || kind == toDelete)
		if states[i].hasOwner {
			owners = append(owners, owner)
		}
	}
	users, err := src.Get(ctx, owners)
	for i, c := range states {
		if c.hasOwner {
			owner, _ := c.owner()
			_, states[i].hasOwner = users[owner]
		}
	}
	return states, err
}

// gather reads the posts of claimed circles, and the owners who are to be told that theirs are deleted.
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
	var told []*state
	for _, c := range due {
		c.posts = found[c.ID()]
		if owner, ok := c.owner(); ok && c.posts.Whole && len(c.posts.Documents) == 0 {
			owners, told = append(owners, owner), append(told, c)
		}
	}
	users, err := src.Get(ctx, owners)
	for i, c := range told {
		_, c.hasOwner = users[owners[i]]
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
		return c.tell(mark, warning, i.countsFrom, run.Promise)
	case toClear:
		return cleanup.Update(c.Ref(), map[string]any{warnedField: documents.DeleteField})
	case toDelete:
		claim := map[string]any{"isDeleted": true, "deletedAt": run.Promise, "deletedBy": jobName, "deleteReason": d.Reason}
		change := cleanup.Update(c.Ref(), claim)
		change.Again, change.From = true, begun
		return change
	default:
		return c.finish(run)
	}
}

// finish deletes a claimed circle: its posts, and once there are none, itself and its files. Until then they are the files of
// a circle that can still be revived. Its owner is told in the commit that deletes it.
func (c state) finish(run cleanup.Run) (change cleanup.Change) {
	if !c.posts.Whole && !c.Alone {
		return cleanup.Change{Again: true, From: begun}
	}
	for _, post := range c.posts.Documents {
		if !documents.Queryable(post.ID()) {
			continue // it is kept, and cleanupOrphanedMedia names it
		}
		change.Next = append(change.Next, cleanup.Item{Rule: postRule, Ref: post.Ref()})
	}
	if len(change.Next) > 0 || !c.posts.Whole {
		change.Again, change.From = true, begun
		return change
	}
	farewell := notifications.Notification{
		Type: "circle_ghost_deleted", Fields: map[string]any{},
		Text: notifications.Locale(run.Config.Locale).GhostCircleDeleted(notifications.NameOf(c.Document)),
	}
	claimedAt, _ := c.Time("deletedAt") // without, the id alone tells circles apart
	change = c.tell(cleanup.Delete(c.Document), farewell, claimedAt, run.Now)
	files := cleanup.ObjectDeletion{Name: "circles/" + c.ID() + "/", Folder: true}
	change.Then = []cleanup.FollowUp{{Object: files, Absent: c.Ref()}}
	return change
}

// tell adds to a change what the circle's owner is told. The circle and the occasion are what is announced: told again, it is no
// second notification. Of an owner who has vanished since a run claimed the circle, it adds a warning that nobody is told.
func (c state) tell(change cleanup.Change, n notifications.Notification, occasion, at time.Time) cleanup.Change {
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
		Message: c.Path + ": deleted without telling anybody: " + nobody, Fields: map[string]any{"reason": nobody},
	}}
	return change
}
