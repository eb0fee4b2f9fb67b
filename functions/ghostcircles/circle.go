package ghostcircles

import (
	"context"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/posts"
	"github.com/firesweep/firesweep/shared/sweep"
)

// state is a circle with what a commit needs of it.
type state struct {
	sweep.Subject
	posts       sweep.Belonging // of a claimed circle
	ownerExists bool            // the owner has a document, if that was asked
}

// circleRule warns, clears, claims and deletes circles. A claimed circle is shown by the application no longer. It can only be
// finished, by this run or another, or revived by a person: then it keeps what is left of it.
var circleRule = sweep.Rule[state]{
	Name: "circle",
	Load: func(_ context.Context, _ sweep.Source, subjects []sweep.Subject) ([]state, error) {
		states := make([]state, len(subjects))
		for i, s := range subjects {
			states[i].Subject = s
		}
		return states, nil
	},
	Judge:  func(s state, run sweep.Run) sweep.Decision { return judge(s.Document, run.Now, run.Promise) },
	Gather: gather,
	Change: change,
}

// postRule deletes the posts of claimed circles. Whether the circle is claimed is asked again in the commit.
var postRule = posts.Rule("post", func(s posts.State, _ sweep.Run) sweep.Decision {
	if !claimed(s.Circle.Document) {
		return sweep.Keep("its circle is not to be deleted")
	}
	return sweep.Do("delete post", "its circle is deleted")
})

var postsOf = sweep.Children{Collection: "posts", Field: "circleId"}

// gather reads the posts of claimed circles, and whether the owners exist who are to be told now.
func gather(ctx context.Context, src sweep.Source, due []*state) error {
	var ids []string
	for _, s := range due {
		if claimed(s.Document) {
			ids = append(ids, s.ID())
		}
	}
	found, err := src.Children(ctx, postsOf, ids)
	if err != nil {
		return err
	}
	var owners []documents.Ref
	for _, s := range due {
		s.posts = found[s.ID()]
		if owner, ok := ownerOf(s.Document); ok && s.isToldNow() {
			owners = append(owners, owner)
		}
	}
	there, err := src.Get(ctx, owners)
	for _, s := range due {
		owner, _ := ownerOf(s.Document)
		_, s.ownerExists = there[owner]
	}
	return err
}

// isToldNow reports whether the commit tells a circle's owner something: that it will be deleted, or that it was.
func (s state) isToldNow() bool {
	if claimed(s.Document) {
		return s.isEmpty()
	}
	return !warningCounts(s.Document) // else it is to be claimed
}

// isEmpty reports whether a claimed circle has no post left.
func (s state) isEmpty() bool { return s.posts.Whole && len(s.posts.Documents) == 0 }

func change(s state, d sweep.Decision, run sweep.Run) sweep.Change {
	update := func(fields map[string]any) sweep.Change {
		return sweep.Change{Writes: []documents.Write{{Op: documents.Update, Ref: s.Ref(), Data: fields}}}
	}
	switch d.Kind {
	case toWarn:
		c := update(map[string]any{warnedField: run.Promise})
		s.tell(&c, warning(s.Document, notifications.Locale(run.Config.Locale)), run.Promise, "marked as warned")
		return c
	case toClear:
		return update(map[string]any{warnedField: documents.DeleteField})
	case toDelete:
		c := update(map[string]any{"isDeleted": true, "deletedAt": run.Promise, "deletedBy": jobName, "deleteReason": d.Reason})
		c.Again = toFinish
		return c
	default:
		return s.finish(run)
	}
}

// finish deletes a claimed circle: its posts, and once there are none, itself and its files. Until then they are the files of
// a circle that can still be revived. Its owner is told in the commit that deletes it.
func (s state) finish(run sweep.Run) (c sweep.Change) {
	if !s.posts.Whole && !s.Alone {
		return sweep.Change{Again: toFinish, Apart: true}
	}
	for _, post := range s.posts.Documents {
		c.First = append(c.First, sweep.Item{Rule: postRule, Ref: post.Ref()})
	}
	if !s.isEmpty() {
		return c
	}
	c.Writes = []documents.Write{{Op: documents.Delete, Ref: s.Ref()}}
	s.tell(&c, farewell(s.Document, notifications.Locale(run.Config.Locale)), run.Now, "deleted")
	c.Then = []sweep.FollowUp{{Object: sweep.ObjectDeletion{Name: "circles/" + s.ID() + "/", Folder: true}, Absent: s.Ref()}}
	return c
}
