package orphanedmedia

import (
	"context"
	"time"

	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

// kind is a folder of the bucket whose objects belong to documents of a collection.
type kind struct {
	prefix, collection string
	action             string
	judge              func(o objects.Object, now time.Time) decision
}

var kinds = []kind{
	{"posts/", "posts", "delete post media", judgePostMedia},
	{"circles/", "circles", "delete circle image", judgeCircleImage},
	{"task_attachments/", "tasks", "delete task attachment", judgeTaskAttachment},
}

// maxRemembered bounds how many ids a run remembers the existence of; beyond, some may be looked up twice.
const maxRemembered = 200_000

// plan goes through the folder's objects in the order of their names.
func (k kind) plan(ctx context.Context, p *sweep.Planner, at checkpoint) error {
	exists := map[string]bool{} // what has been looked up
	for page, err := range p.Objects.Pages(ctx, k.prefix, at.After) {
		if err != nil {
			return err
		}
		p.Scanned(len(page))
		decisions := make([]decision, len(page))
		for i, o := range page {
			decisions[i] = k.judge(o, p.Now)
		}
		if len(exists) > maxRemembered {
			clear(exists)
		}
		if err := k.lookUp(ctx, p, decisions, exists); err != nil {
			return err
		}
		for i, o := range page {
			if err := k.propose(ctx, p, o, decisions[i], exists); err != nil {
				return err
			}
		}
		at.After = page[len(page)-1].Name
		if err := at.save(p); err != nil {
			return err
		}
	}
	return nil
}

// lookUp asks for the existence of the decisions' owners that have not been looked up yet.
func (k kind) lookUp(ctx context.Context, p *sweep.Planner, decisions []decision, exists map[string]bool) error {
	var ids []string
	for _, v := range decisions {
		if _, known := exists[v.owner]; v.owner != "" && !known {
			exists[v.owner] = true
			ids = append(ids, v.owner)
		}
	}
	missing, err := p.Documents.Missing(ctx, k.collection, ids)
	if err != nil {
		return err
	}
	for _, id := range missing {
		exists[id] = false
	}
	p.LookedUp(k.collection, len(ids), len(missing))
	return nil
}

func (k kind) propose(ctx context.Context, p *sweep.Planner, o objects.Object, v decision, exists map[string]bool) error {
	target := "gs://" + p.Config.Bucket + "/" + o.Name
	switch {
	case v.invalid:
		p.KeepInvalid(ctx, target, v.keep, 1)
		return nil
	case v.keep != "":
		p.Keep(v.keep, 1)
		return nil
	case !v.orphan && exists[v.owner]:
		p.Keep("belongs to one of "+k.collection, 1)
		return nil
	}
	owner := ""
	if !v.orphan {
		owner = k.collection + "/" + v.owner
	}
	return p.Propose(ctx, sweep.Action{
		Kind: k.action, Target: target, Reason: v.reason(owner),
		Effect: sweep.DeleteObject{
			Deletion: objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration},
			Absent:   owner,
		},
	})
}
