// Package posts deletes a post of the Firebase application with all that hangs on it: its comments and reactions
// (top-level collections, field postId) and its media (mediaItems[].url). Two jobs do: cleanupOrphanedMedia and
// checkGhostCircles.
package posts

import (
	"context"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

// State is a post with the circle that it is judged by.
type State struct {
	sweep.Subject
	Circle sweep.Subject // not Found if the post names none, or one that does not exist

	children []documents.Document
	whole    bool // there are no more children
}

// belonging are the documents that belong to a post.
var belonging = []sweep.Children{{Collection: "comments", Field: "postId"}, {Collection: "reactions", Field: "postId"}}

// Rule returns the rule that deletes the posts of which judge says so. The post, its comments and its reactions go in one
// commit, so that nobody sees half of it; its media follow. Of a post with more of them than one commit takes, some go
// first, and each commit judges the post once more.
func Rule(name string, judge func(State, sweep.Run) sweep.Decision) sweep.Rule[State] {
	load := sweep.EachWith(CircleOf, func(post, circle sweep.Subject) State { return State{Subject: post, Circle: circle} })
	return sweep.Rule[State]{Name: name, Load: load, Judge: judge, Gather: gather, Change: change}
}

// CircleOf returns the circle that a post belongs to; ok is false if the post belongs to none or its circleId cannot
// name a document.
func CircleOf(post documents.Document) (circle documents.Ref, ok bool) {
	id, _ := post.Text("circleId")
	return documents.Ref{Collection: "circles", ID: id}, documents.ValidID(id)
}

// gather reads the posts' children.
func gather(ctx context.Context, src sweep.Source, due []*State) error {
	ids := make([]string, len(due))
	for i, s := range due {
		ids[i], s.whole = s.ID(), true
	}
	for _, collection := range belonging {
		found, err := src.Children(ctx, collection, ids)
		if err != nil {
			return err
		}
		for i, s := range due {
			of := found[ids[i]]
			s.children = append(s.children, of.Documents...)
			s.whole = s.whole && of.Whole
		}
	}
	return nil
}

func change(s State, d sweep.Decision, run sweep.Run) (c sweep.Change) {
	if !s.whole && !s.Alone {
		return sweep.Change{Again: d.Kind, Apart: true}
	}
	for _, child := range s.children {
		c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: child.Ref()})
	}
	if !s.whole {
		c.Again = d.Kind
		return c
	}
	c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: s.Ref()})
	files, kept := media(s.Document, run.Config.Bucket, run.Config.Emulators.Storage)
	for _, name := range files {
		c.Then = append(c.Then, sweep.FollowUp{
			Object: sweep.ObjectDeletion{Name: name, OwnerKey: "postId", Owner: s.ID()}, Absent: s.Ref(),
		})
	}
	c.Kept = kept
	for _, reason := range kept { // a URL is what a user wrote, and in no log
		c.Notices = append(c.Notices, sweep.Notice{Message: s.Path + ": deleted, but not its file: " + reason, Fields: map[string]any{"reason": reason}})
	}
	return c
}
