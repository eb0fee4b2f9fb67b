// Package orphanedmedia is cleanupOrphanedMedia: it deletes objects whose post, circle or task does not exist, and posts of
// circles that do not exist. The rules are in rules.go; shared/orphans goes through the objects, and posts.go through the posts.
package orphanedmedia

import (
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/posts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/orphans"
)

// Job is cleanupOrphanedMedia.
var Job = cleanup.Job{
	Name: jobName, Plan: orphans.Plan(passes...), Settings: orphans.Settings(passes...),
	Rules: []cleanup.AnyRule{postRule}, Reach: orphans.Reach(passes...),
}

const jobName = "cleanupOrphanedMedia"

func init() { functions.Register(Job) }

// postRule deletes posts of circles that do not exist. The commit reads the circle again.
var postRule = posts.Rule("post", func(s posts.State, _ cleanup.Run) cleanup.Decision {
	return judgePost(s.Document, s.Circle.Found)
})
