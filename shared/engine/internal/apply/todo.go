package apply

import (
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

// todoOf returns what is still to be done once changes by a rule are committed: what follows outside of Firestore that no
// document of the application records, and the items that are judged next. Objects that differ in nothing but their names are one
// step.
func (a *Applier) todoOf(rule cleanup.AnyRule, changes []cleanup.Change) runlog.Todo {
	todo := runlog.Todo{Task: a.WorkersTask()}
	var last cleanup.FollowUp
	for _, c := range changes {
		for _, f := range c.Then {
			n := len(todo.Steps)
			step := runlog.Step{Rule: rule.Named(), Absent: f.Absent, Account: f.Account != ""}
			switch {
			case f.Recorded != nil:
				continue
			case n > 0 && joins(f, last):
				todo.Steps[n-1].Objects = append(todo.Steps[n-1].Objects, f.Object.Name)
				continue
			case !step.Account:
				step.Objects, step.Folder, todo.Bucket = []string{f.Object.Name}, f.Object.Folder, a.Run.Config.Bucket
				step.OwnerKey, step.Home = f.Object.OwnerKey, f.Object.Home
			}
			todo.Steps, last = append(todo.Steps, step), f
		}
		for _, item := range c.Next {
			todo.Next = append(todo.Next, runlog.Item{Rule: item.Rule.Named(), Ref: item.Ref})
		}
	}
	return todo
}

// joins reports whether a follow-up deletes an object, and differs from another in nothing but its name.
func joins(f, other cleanup.FollowUp) bool {
	other.Object.Name = f.Object.Name
	return f.Object.Name != "" && f.Object == other.Object && f.Absent == other.Absent && other.Account == ""
}

// finish does what an earlier run left to do.
func (a *Applier) finish(ctx context.Context, one []*decide.Item) {
	one[0].Err = a.finishTodo(ctx, one[0])
}

func (a *Applier) finishTodo(ctx context.Context, item *decide.Item) error {
	d, found, err := a.Documents.Get(ctx, item.Ref.Path())
	switch {
	case err != nil:
		return err
	case !found, decide.VersionAt(d.UpdateTime) != item.Version: // what it holds now was neither counted nor shown
		return documents.ErrChanged
	}
	then, next, err := a.ReadTodo(d)
	if err != nil {
		return err
	}
	if then, err = a.StillAbsent(ctx, then); err != nil {
		return err
	}
	for _, f := range then {
		f.Most = item.Most
	}
	switch left := a.doRest(ctx, []*decide.Item{item}, then, [][]*decide.Item{next}); {
	case left == nil:
		a.Log.Over(item.Ref)
		return nil
	case mustStay(left): // which is counted, and no failure
		return errLater
	case errors.Is(left, cleanup.ErrOutOfTime), ctx.Err() != nil:
		item.Begun = true
		return cleanup.ErrOutOfTime
	default:
		return left
	}
}
