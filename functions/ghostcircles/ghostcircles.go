// Package ghostcircles is checkGhostCircles: it warns the owners of circles that nobody posts to and deletes those circles
// a week later, with their posts. The rules are in rules.go, what becomes of a circle in circle.go, what its owner is told in
// notify.go.
package ghostcircles

import (
	"context"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

const jobName = "checkGhostCircles"

// Job is checkGhostCircles.
var Job = sweep.Job{
	Name: jobName, Plan: plan, Rules: []sweep.AnyRule{circleRule, postRule}, Earlier: []sweep.Earlier{sweep.Leftovers(jobName)},
}

func init() { functions.Register(Job) }

// plan goes through all circles by name: a field that is missing, as isDeleted and lastHumanPostAt may be, cannot be
// queried for.
func plan(ctx context.Context, p *sweep.Planner) error {
	return p.Sweep(ctx, documents.Query{Collection: "circles", Select: judged}, documents.Cursor(p.Checkpoint()), circleRule)
}
