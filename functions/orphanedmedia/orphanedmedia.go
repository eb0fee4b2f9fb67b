// Package orphanedmedia is cleanupOrphanedMedia: it deletes files that no post, circle or task refers to, and posts of
// circles that are gone. The rules are in rules.go.
package orphanedmedia

import (
	"context"
	"encoding/json"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is cleanupOrphanedMedia.
var Job = sweep.Job{
	Name: jobName, Plan: plan, Rules: []sweep.AnyRule{postRule}, Earlier: []sweep.Earlier{sweep.Leftovers(jobName)},
}

const jobName = "cleanupOrphanedMedia"

func init() { functions.Register(Job) }

// checkpoint is where a run that was out of time got to.
type checkpoint struct {
	Target int    `json:"target"` // index of kinds; behind the last, the posts
	After  string `json:"after"`  // the last name or circle id looked at
}

// save saves a checkpoint.
func (at checkpoint) save(p *sweep.Planner) error {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return p.SaveCheckpoint(string(text))
}

// plan looks through the objects of each kind and then through the posts, from the checkpoint on.
func plan(ctx context.Context, p *sweep.Planner) error {
	var at checkpoint
	if text := p.Checkpoint(); text != "" {
		// A checkpoint that cannot be read is one of another version: the whole is looked through again.
		if err := json.Unmarshal([]byte(text), &at); err != nil || at.Target < 0 || at.Target > len(kinds) {
			at = checkpoint{}
		}
	}
	for ; at.Target < len(kinds); at = (checkpoint{Target: at.Target + 1}) {
		if err := kinds[at.Target].plan(ctx, p, at); err != nil {
			return err
		}
	}
	return planCirclePosts(ctx, p, at)
}
