// Package posts deletes a post of the Firebase application with all that hangs on it: its comments and reactions
// (top-level collections, field postId) and its media (mediaItems[].url). Two jobs do: cleanupOrphanedMedia and
// checkGhostCircles.
package posts

import (
	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/rule"
)

// State is a post with the circle that it is judged by.
type State struct {
	cleanup.Subject
	Circle cleanup.Subject // not Found if the post names none, or one that does not exist
}

// with is what goes along with a post.
var with = cascade.With{Strict: true, Home: home, Rule: rule.Rule{Collection: "posts", With: []rule.Relation{
	{Collection: "comments", Field: "postId"},
	{Collection: "reactions", Field: "postId"},
	{Objects: "posts/**", Field: "mediaItems[].url", Metadata: "postId"},
}}}

// home returns the folder of a post's author. A post must not be able to name a file of somebody else's that names no post.
func home(post documents.Document) string {
	if id, ok := post.IDIn("users", post.Value("userId")); ok {
		return "posts/" + id + "/"
	}
	return ""
}

// Rule returns the rule that deletes the posts that judge decides to delete.
func Rule(name string, judge func(State, cleanup.Run) cleanup.Decision) cleanup.AnyRule {
	load := cleanup.EachWith(CircleOf, func(post, circle cleanup.Subject) State { return State{Subject: post, Circle: circle} })
	return cascade.Rule(cleanup.Rule[State]{Name: name, Load: load, Judge: judge}, with)
}

// CircleOf returns the circle that a post belongs to; ok is false if the post belongs to none or its circleId cannot
// name a document.
func CircleOf(post documents.Document) (circle documents.Ref, ok bool) {
	id, _ := post.Text("circleId")
	return documents.Ref{Collection: "circles", ID: id}, documents.ValidID(id)
}
