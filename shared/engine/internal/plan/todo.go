package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/objects"
)

// planTodos proposes what interrupted runs have left to do. A worker looks for its own task's alone, for others of its kind may be
// running.
func (p *Planner) planTodos(ctx context.Context) error {
	j := p.ask.Decider.Job
	leaves := slices.ContainsFunc(j.Rules, func(rule cleanup.AnyRule) bool { return !rule.DeletesAlone() })
	if j.Task == nil && !leaves {
		return nil // nothing ever follows
	}
	for page, err := range p.Documents.Pages(ctx, runlog.PendingOf(p.Job, p.ask.Decider.TaskID()), "") {
		if err != nil {
			return err
		}
		for _, d := range page.Documents {
			if err := p.planTodo(ctx, d); err != nil {
				return err
			}
			if p.full() {
				return cleanup.ErrOutOfTime
			}
		}
	}
	return nil
}

// planTodo proposes what an earlier run left to do. Each object, account and item in it counts as an
// action. Items that it continues are not proposed again.
func (p *Planner) planTodo(ctx context.Context, d documents.Document) error {
	then, next, err := p.ask.Decider.ReadTodo(d)
	i := &decide.Item{
		Kind: decide.FinishKind, Target: d.Path, Reason: "an earlier run was interrupted after a commit, before its follow-ups",
		Ref: d.Ref(), Version: decide.VersionAt(d.UpdateTime),
	}
	if err == nil {
		for _, item := range next {
			p.pending[item.Ref] = true
			p.held += 2*bytesOfEntry + len(item.Ref.Collection) + len(item.Ref.ID)
		}
		if i.Also, err = p.countTodo(ctx, then, next); err == nil && p.Report.DryRun {
			i.Preview, err = p.ask.Decider.PreviewTodo(ctx, then, next)
		}
		if err != nil {
			return fmt.Errorf("count what is left to do of %s: %w", d.Path, err)
		}
	} else { // which the run fails with
		i.Kept = err.Error()
	}
	before := p.Size
	err = p.propose(ctx, i)
	p.left += p.Size - before
	return err
}

// countTodo returns as how many actions more than one a todo counts, without what the job keeps. It looks into folders, no further than
// a safety limit allows.
func (p *Planner) countTodo(ctx context.Context, then, next []*decide.Item) (also int, err error) {
	n := len(next)
	for _, i := range then {
		f := i.Then
		switch kept := p.ask.Decider.FollowsKept(*f); {
		case kept != nil:
			continue
		case !f.Object.Folder:
			n++
			continue
		}
		for page, err := range p.Objects.Pages(ctx, f.Object.Name, objects.Names{}) {
			if err != nil {
				return 0, err
			}
			for _, object := range page {
				if decide.KeepsObject(f.Object, object, i.At) == "" {
					n++
				}
			}
			if !p.ask.Limits.Lifted && p.Size+n > p.ask.Limits.MaxActions {
				break
			}
		}
	}
	return max(0, n-1), nil
}
