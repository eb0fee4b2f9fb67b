package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/harmless"
	"github.com/firesweep/firesweep/shared/objects"
)

// planTodos proposes what interrupted runs have left to do. A worker looks for its own task's alone, for others of its kind may
// be running.
func (p *Planner) planTodos(ctx context.Context) error {
	switch j := p.decider.Job; {
	case j.Task != nil || j.Leaves():
	case p.Leaves:
		return p.tellLeft(ctx)
	default:
		return nil // nothing ever follows
	}
	for page, err := range p.Documents.Pages(ctx, runlog.PendingOf(p.Job, p.decider.WorkersTask()), "") {
		if err != nil {
			return err
		}
		for _, d := range page.Documents {
			if err := p.planTodo(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellLeft warns of what earlier runs have left to do if no rule of the job does such things any more, because it was edited.
func (p *Planner) tellLeft(ctx context.Context) error {
	n, err := p.Documents.Count(ctx, runlog.PendingOf(p.Job, ""), 0)
	if err != nil {
		return fmt.Errorf("count what earlier runs have left to do: %w", err)
	}
	if p.Leaves = n > 0; p.Leaves {
		p.Warn(ctx, fmt.Sprintf("earlier runs left items half done (commits: %d), and the rule deletes nothing along any more, so "+
			"no run finishes them: finish them with the file of then: firesweep run %s --rules OLD.json", n, p.Job))
	}
	return nil
}

// planTodo proposes what an earlier run left to do. Each object, account and item in it counts as an
// action. Items that it continues are not proposed again. What is more than a run may do ends the plan: the next runs do the
// rest, for nobody could make it less.
func (p *Planner) planTodo(ctx context.Context, d documents.Document) error {
	then, next, err := p.decider.ReadTodo(d)
	var led []string // the items that led there, of which a plan names some
	for _, left := range slices.Concat(then, next) {
		led = append(led, left.Record().Item)
	}
	i := &decide.Item{Ref: d.Ref(), Planned: report.Planned{
		Target: d.Path, Action: report.Finish, Version: decide.VersionAt(d.UpdateTime),
		Reason: "an earlier run was interrupted before it was done with: " + some(slices.Compact(led), 200),
	}}
	if err == nil {
		for _, item := range next {
			p.pending[item.Ref] = true
			p.bytes += 2*bytesOfEntry + len(item.Ref.Collection) + len(item.Ref.ID)
		}
		if i.Also, err = p.countTodo(ctx, then, next); err == nil && p.Report.DryRun {
			err = p.decider.PreviewTodo(ctx, i, then, next)
		}
		if err != nil {
			return fmt.Errorf("count what is left to do of %s: %w", d.Path, err)
		}
	} else { // which the run fails with
		i.Kept = err.Error()
	}
	most := p.Config.MaxActions - p.size
	tooMany := 1+i.Also > most && !p.Report.Force
	if tooMany && p.size > 0 {
		return p.leaveTodos(ctx)
	}
	if tooMany {
		i.Also, i.Most = most-1, &most
	}
	if err := p.propose(ctx, i); err != nil || !tooMany {
		return err
	}
	return p.leaveTodos(ctx)
}

// some names the first of several, as many as fit into some room, and says how many more there are.
func some(names []string, room int) (text string) {
	for i, name := range names {
		if i > 0 && len(text)+len(name) > room {
			return fmt.Sprintf("%s and %d more", text, len(names)-i)
		}
		text += []string{"", ", "}[min(i, 1)] + harmless.Clip(name, room)
	}
	return text
}

// leaveTodos ends a plan that holds as much of what interrupted runs left to do as a run may.
func (p *Planner) leaveTodos(ctx context.Context) error {
	p.Warn(ctx, fmt.Sprintf("interrupted runs left more to do than MAX_ACTIONS allows (%d): this run does some of it, the next "+
		"runs the rest, before anything else", p.Config.MaxActions))
	return cleanup.ErrOutOfTime
}

// countTodo returns as how many actions more than one a todo counts, without what the job keeps. It looks into folders, no
// further than a safety limit allows.
func (p *Planner) countTodo(ctx context.Context, then, next []*decide.Item) (also int, err error) {
	n := len(next)
	for _, i := range then {
		f := i.Then
		switch {
		case p.decider.Keeps(i).Kind == decide.Kept:
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
				if decide.KeepsObject(*f, object, i.At) == "" {
					n++
				}
			}
			if !p.Report.Force && p.size+n > p.Config.MaxActions {
				break
			}
		}
	}
	return max(0, n-1), nil
}
