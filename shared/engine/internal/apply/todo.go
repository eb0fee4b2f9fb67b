package apply

import (
	"cmp"
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/objects"
)

// todoOf returns what is still to be done once changes by a rule are committed: follow-ups that no document of the application
// records, and the items that are judged next. Objects that differ in nothing but their names are one step.
func (a *Applier) todoOf(rule cleanup.AnyRule, changes []cleanup.Change) runlog.Todo {
	todo := runlog.Todo{Task: a.TaskID()}
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

// doTodo does what an earlier run left to do.
func (a *Applier) doTodo(ctx context.Context, planned decide.FinishTodo) error {
	d, found, err := a.Documents.Get(ctx, planned.Ref.Path())
	switch {
	case err != nil:
		return err
	case !found, !d.UpdateTime.Equal(planned.Updated): // what it holds now was neither counted nor shown
		return documents.ErrChanged
	}
	todo, err := a.ReadTodo(d)
	if err != nil {
		return err
	}
	then, err := a.StillAbsent(ctx, todo.Then)
	if err != nil {
		return err
	}
	all := make([]*ongoing, len(then))
	for i, f := range then {
		of := workOf(cleanup.Item{Ref: f.Absent})
		of.Kind, of.reason = decide.FinishKind, f.Absent.Path()+" is deleted"
		all[i] = &ongoing{FollowUp: f, of: of}
	}
	a.do(ctx, todo.At, all)
	for _, f := range all {
		err = worse(err, f.err)
	}
	if err == nil || mustStay(err) {
		err = cmp.Or(a.children(ctx, workOf(cleanup.Item{Ref: planned.Ref}), works(todo.Next)), err)
	}
	switch {
	case err == nil:
		a.Log.Over(planned.Ref)
	case mustStay(err): // which is counted, and no failure
		return errLater
	case errors.Is(err, cleanup.ErrOutOfTime), ctx.Err() != nil:
		return errBegun
	}
	return err
}

// worse returns the first failure; that something must stay counts less.
func worse(a, b error) error {
	if a == nil || b != nil && mustStay(a) {
		return b
	}
	return a
}

// mustStay reports whether something stays because Cloud Storage refuses to delete it, or because the job keeps it.
func mustStay(err error) bool {
	var held *objects.HeldError
	var kept *decide.KeptError
	return errors.As(err, &held) || errors.As(err, &kept)
}
