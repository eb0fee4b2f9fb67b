// Package orphanedmedia is cleanupOrphanedMedia: it deletes objects that no post, circle or task refers to, and posts of
// circles that are gone. The rules are in rules.go; shared/orphans goes through the objects and posts.
package orphanedmedia

import (
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/posts"
	"github.com/firesweep/firesweep/shared/orphans"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is cleanupOrphanedMedia.
var Job = sweep.Job{
	Name: jobName, Plan: orphans.Plan(passes...), Split: orphans.Split(passes...),
	Rules: []sweep.AnyRule{postRule}, Earlier: []sweep.Earlier{sweep.Leftovers(jobName)},
}

const jobName = "cleanupOrphanedMedia"

func init() { functions.Register(Job) }

// postRule deletes posts of circles that do not exist. Whether a circle does is asked again in the commit.
var postRule = posts.Rule("post", func(s posts.State, _ sweep.Run) sweep.Decision {
	return judgePost(s.Document, s.Circle.Found)
})
