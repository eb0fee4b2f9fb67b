package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
)

// todoOf returns what is still to be done once changes by a rule are committed: follow-ups that no document of the application
// records, and the items that are judged next. Objects that differ in nothing but their names are one step.
func (a *Applier) todoOf(rule cleanup.AnyRule, changes []cleanup.Change) runlog.Todo {
	todo := runlog.Todo{Task: a.TaskID()}
	if part := a.Report.Part; part != nil {
		todo.Shard = part.Number
	}
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
				step.Objects, step.Folder = []string{f.Object.Name}, f.Object.Folder
				step.OwnerKey, step.Marked = f.Object.OwnerKey, f.Object.Marked
			}
			todo.Steps, last = append(todo.Steps, step), f
		}
		for _, item := range c.Next {
			todo.Next = append(todo.Next, runlog.Item{Rule: item.Rule.Named(), Ref: item.Ref, From: item.From})
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
	a.Also(planned.Also) // even if only some of it gets done
	err = a.doFollowUps(ctx, then, todo.At)
	if err == nil || isHeld(err) {
		next := works(todo.Next)
		if len(next) == 1 && next[0].Rule.Together() == 1 && err == nil {
			next[0].todo = planned.Ref // its next commit takes over
		}
		err = cmp.Or(a.children(ctx, workOf(cleanup.Item{Ref: planned.Ref}), next), err)
	}
	switch {
	case err == nil:
		a.Log.Over(planned.Ref)
	case isHeld(err): // which is counted, and no failure
		return errLater
	}
	return err
}

// doFollowUps deletes accounts and objects that an earlier run left to delete. at is when its commit was. It goes on after a failure, which
// it returns in the end; whether something is held, only if nothing failed.
func (a *Applier) doFollowUps(ctx context.Context, all []cleanup.FollowUp, at time.Time) (failed error) {
	var accounts []ongoing
	var named []cleanup.FollowUp
	for _, f := range all {
		switch {
		case f.Account != "":
			of := workOf(cleanup.Item{Ref: f.Absent})
			of.Kind, of.reason = decide.FinishKind, goneBecause(f)
			accounts = append(accounts, ongoing{FollowUp: f, of: of})
		case f.Object.Folder:
			failed = worse(failed, a.deleteFolder(ctx, f, at))
		default:
			named = append(named, f)
		}
	}
	failed = worse(failed, a.deleteAgain(ctx, accounts))
	for some := range slices.Chunk(named, MaxObjects) {
		found, err := a.lookAt(ctx, some)
		failed = worse(failed, cmp.Or(err, a.deleteFollowing(ctx, found, at)))
	}
	return failed
}

// worse returns the first failure; that something is held counts less.
func worse(a, b error) error {
	if a == nil || b != nil && isHeld(a) {
		return b
	}
	return a
}

func goneBecause(f cleanup.FollowUp) string { return f.Absent.Path() + " is deleted" }

// deleteAgain deletes accounts, having looked again whether their documents are still absent, after the undo log has them.
func (a *Applier) deleteAgain(ctx context.Context, all []ongoing) (failed error) {
	which := make([]int, len(all))
	for i := range all {
		all[i].again, which[i] = true, i
	}
	a.deleteAccounts(ctx, all, which)
	for _, f := range all {
		failed = worse(failed, f.err)
	}
	return failed
}

// led is an object with the follow-up that led to it.
type led struct {
	objects.Object
	by cleanup.FollowUp
}

// lookAt returns those of some objects that exist.
func (a *Applier) lookAt(ctx context.Context, all []cleanup.FollowUp) ([]led, error) {
	looked, there := make([]led, len(all)), make([]bool, len(all))
	underWay, ctx := errgroup.WithContext(ctx)
	underWay.SetLimit(maxFollowUps)
	for i, f := range all {
		underWay.Go(func() (err error) {
			defer guard.Recover(&err)
			looked[i].by = f
			looked[i].Object, there[i], err = a.Objects.Get(ctx, f.Object.Name)
			return err
		})
	}
	err := underWay.Wait()
	var found []led
	for i, o := range looked {
		if there[i] {
			found = append(found, o)
		}
	}
	return found, err
}

// deleteFolder deletes the objects of a folder.
func (a *Applier) deleteFolder(ctx context.Context, f cleanup.FollowUp, at time.Time) (failed error) {
	for page, err := range a.Objects.Pages(ctx, f.Object.Name, objects.Names{}) {
		if err != nil {
			return err
		}
		for some := range slices.Chunk(page, MaxObjects) {
			found := make([]led, len(some))
			for i, object := range some {
				found[i] = led{object, f}
			}
			failed = worse(failed, a.deleteFollowing(ctx, found, at))
		}
	}
	return failed
}

// deleteFollowing deletes objects as a plan's actions would: the undo log has them before, and right before the deletion it is asked
// whether the document that led to them is still absent. It looks again at what has changed meanwhile.
func (a *Applier) deleteFollowing(ctx context.Context, all []led, at time.Time) (failed error) {
	logged := map[objects.Deletion]bool{}
	for range maxLooks {
		var due []led
		var unlogged []decide.Action
		for _, o := range all {
			if reason := decide.KeepsObject(o.by.Object, o.Object, at); reason != "" {
				a.skipObject(ctx, o.Name, reason)
				continue
			}
			due = append(due, o)
			if same := (objects.Deletion{Name: o.Name, Generation: o.Generation}); !logged[same] {
				logged[same] = true
				unlogged = append(unlogged, decide.Action{
					Kind: decide.FinishKind, Target: "gs://" + a.Run.Config.Bucket + "/" + o.Name, Reason: goneBecause(o.by), Effect: o.deletion(),
				})
			}
		}
		if err := a.Time.CheckTime(); err != nil || len(due) == 0 {
			return cmp.Or(err, failed)
		}
		if err := a.saveObjects(ctx, unlogged); err != nil {
			return err
		}
		deletions := make([]cleanup.DeleteObject, len(due))
		for i, o := range due {
			deletions[i] = o.deletion()
		}
		all = nil
		for i, err := range a.deleteObjects(ctx, deletions) {
			var held *objects.HeldError
			switch {
			case errors.As(err, &held):
				a.skipObject(ctx, due[i].Name, held.Reason)
				failed = worse(failed, err)
			case errors.Is(err, documents.ErrChanged):
				again, err := a.changedLed(ctx, due[i])
				all, failed = append(all, again...), worse(failed, err)
			default:
				failed = worse(failed, err)
			}
		}
	}
	if len(all) > 0 {
		failed = worse(failed, fmt.Errorf("delete object %s: it changed %d times meanwhile", all[0].Name, maxLooks))
	}
	return failed
}

// changedLed returns an object that was not deleted as it is now; none if it is gone, or kept because its document is back.
func (a *Applier) changedLed(ctx context.Context, o led) ([]led, error) {
	latest, found, err := a.Objects.Get(ctx, o.Name)
	switch {
	case err != nil || !found:
		return nil, err
	case latest.Generation == o.Generation && latest.Metageneration == o.Metageneration:
		a.KeepRestored(ctx, o.by)
		return nil, nil
	}
	return []led{{latest, o.by}}, nil
}

func (o led) deletion() cleanup.DeleteObject {
	return cleanup.DeleteObject{
		Deletion: objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}, Absent: o.by.Absent,
	}
}
