// Package ghostcircles is checkGhostCircles: it warns the owners of circles that nobody posts to and deletes those circles
// a week later, with their posts. The rules are in rules.go, what is done in warn.go and delete.go.
package ghostcircles

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/sweep"
)

const jobName = "checkGhostCircles"

// Job is checkGhostCircles.
var Job = sweep.Job{Name: jobName, Plan: plan}

func init() { functions.Register(Job) }

// maxPosts is how many posts a run deletes at once, of all circles together.
const maxPosts = 16

// plan goes through all circles by name: a field that is missing, as isDeleted and lastHumanPostAt may be, cannot be
// queried for.
func plan(ctx context.Context, p *sweep.Planner) error {
	if err := leftovers.Plan(ctx, p); err != nil {
		return err
	}
	r := remover{underWay: semaphore.NewWeighted(maxPosts)}
	circles := documents.Query{Collection: "circles", Select: judged}
	for page, err := range p.Documents.Pages(ctx, circles, documents.Cursor(p.Position())) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		for _, circle := range page.Documents {
			if err := propose(ctx, p, circle, r); err != nil {
				return err
			}
		}
		if err := p.Mark(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}

func propose(ctx context.Context, p *sweep.Planner, circle documents.Document, r remover) error {
	v := judge(circle, p.Now, p.PromiseFrom())
	a := sweep.Action{Target: circle.Path, Reason: v.reason}
	switch v.outcome {
	case toDoubt:
		p.KeepDoubtful(ctx, circle.Path, v.reason, 1)
		return nil
	case toWarn:
		a.Kind, a.Effect = "warn owner of circle", warn(circle.Path)
	case toClear:
		a.Kind, a.Effect = "clear warning of circle", clearWarning(circle.Path)
	case toDelete:
		a.Kind, a.Effect = "delete circle", r.delete(circle.Path)
	case toFinish:
		a.Kind, a.Effect = "finish deleting circle", r.finish(circle.Path)
	default:
		p.Keep(v.reason, 1)
		return nil
	}
	return p.Propose(ctx, a)
}
