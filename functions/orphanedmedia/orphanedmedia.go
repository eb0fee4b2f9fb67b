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

// position is where a run that was out of time got to.
type position struct {
	Target int    `json:"target"` // index of targets
	After  string `json:"after"`  // the last name or circle id looked at
}

// mark saves a position.
func (at position) mark(p *sweep.Planner) error {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return p.Mark(string(text))
}

// target is one of the four things the job looks through, from the name after on.
type target func(ctx context.Context, p *sweep.Planner, at position) error

func targets() []target {
	targets := make([]target, 0, len(kinds)+1)
	for _, k := range kinds {
		targets = append(targets, k.plan)
	}
	return append(targets, planCirclePosts)
}

func plan(ctx context.Context, p *sweep.Planner) error {
	var from position
	if text := p.Position(); text != "" {
		// A position that cannot be read is one of another version: the whole is looked through again.
		if err := json.Unmarshal([]byte(text), &from); err != nil || from.Target >= len(targets()) {
			from = position{}
		}
	}
	for i, plan := range targets() {
		if i < from.Target {
			continue
		}
		at := position{Target: i}
		if i == from.Target {
			at.After = from.After
		}
		if err := plan(ctx, p, at); err != nil {
			return err
		}
	}
	return nil
}
