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
	if p.left > 0 { // which is a pass by itself, so that it does not keep the job's own from beginning, nor they it
		p.section = &section{first: len(p.Items)}
		p.sections = append(p.sections, p.section)
	}
	return nil
}

// planTodo proposes what an earlier run left to do. Each object, account and item in it counts as an
// action. Items that it continues are not proposed again. What is more than a run may do ends the plan: the next runs do the rest, for
// nobody could make it less.
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
	most := p.ask.Limits.MaxActions - p.Size
	tooMany := 1+i.Also > most && !p.ask.Limits.Lifted
	if tooMany && p.Size > 0 {
		return p.leaveTodos(ctx)
	}
	if tooMany {
		i.Also, i.Most = most-1, &most
	}
	before := p.Size
	err = p.propose(ctx, i)
	p.left += p.Size - before
	if err == nil && tooMany {
		return p.leaveTodos(ctx)
	}
	return err
}

// leaveTodos ends a plan that holds as much of what interrupted runs left to do as a run may.
func (p *Planner) leaveTodos(ctx context.Context) error {
	p.Warn(ctx, fmt.Sprintf("interrupted runs left more to do than MAX_ACTIONS allows (%d): this run does some of it, the next runs "+
		"the rest, before anything else", p.ask.Limits.MaxActions))
	return cleanup.ErrOutOfTime
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
