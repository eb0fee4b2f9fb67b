package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
)

// finishKind is what the report calls it to do what an interrupted run has left to do.
const finishKind = "finish interrupted action"

// todoOf returns what is still to be done once changes by a rule are committed: follow-ups that no document of the application
// records, and the items that are judged next. Objects that differ in nothing but their names are one step.
func (r *run) todoOf(rule AnyRule, changes []Change) runlog.Todo {
	todo := runlog.Todo{Shard: r.number(), Task: r.taskID()}
	var last FollowUp
	for _, c := range changes {
		for _, f := range c.Then {
			n := len(todo.Steps)
			step := runlog.Step{Rule: rule.name(), Absent: f.Absent, Account: f.Account != ""}
			switch {
			case f.Recorded != nil:
				continue
			case n > 0 && f.joins(last):
				todo.Steps[n-1].Objects = append(todo.Steps[n-1].Objects, f.Object.Name)
				continue
			case !step.Account:
				step.Objects, step.Folder = []string{f.Object.Name}, f.Object.Folder
				step.OwnerKey, step.Marked = f.Object.OwnerKey, f.Object.Marked
			}
			todo.Steps, last = append(todo.Steps, step), f
		}
		for _, item := range c.Next {
			todo.Next = append(todo.Next, runlog.Item{Rule: item.Rule.name(), Ref: item.Ref, From: item.From})
		}
	}
	return todo
}

// joins reports whether a follow-up deletes an object, and differs from another in nothing but its name.
func (f FollowUp) joins(other FollowUp) bool {
	other.Object.Name = f.Object.Name
	return f.Object.Name != "" && f.Object == other.Object && f.Absent == other.Absent && other.Account == ""
}

// taskID identifies a worker's task; "" for a job.
func (r *run) taskID() string {
	if r.job.Task == nil {
		return ""
	}
	var parts []string
	for _, field := range r.job.Task.Fields {
		parts = append(parts, r.task[field])
	}
	return digest.Of(parts...)
}

// beginTodos begins to read what interrupted runs have left to do, which is planned before anything else. A worker looks for
// its own task's alone, for others of its kind may be running.
func (r *run) beginTodos(ctx context.Context, p *Planner) Reading {
	if !slices.ContainsFunc(r.job.Rules, func(rule AnyRule) bool { return !rule.deletes() }) && r.job.Task == nil {
		return Reading{Plan: func() error { return nil }, Stop: func() {}} // nothing ever follows
	}
	todos := flow.Begin(ctx, 1,
		func(ctx context.Context) iter.Seq2[documents.Page, error] {
			return p.Documents.Pages(ctx, runlog.PendingOf(r.job.Name, r.taskID()), "")
		},
		func(context.Context, documents.Page) (none struct{}, err error) { return none, nil })
	return Reading{Stop: todos.Stop, Plan: func() error {
		return todos.Each(func(page documents.Page, _ struct{}) error {
			for _, d := range page.Documents {
				if err := r.planTodo(ctx, p, d); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// planTodo proposes what an earlier run left to do, if it is this run's to do. Each object, account and item in it counts as an
// action. Items that it continues are not proposed again.
func (r *run) planTodo(ctx context.Context, p *Planner, d documents.Document) error {
	todo, err := r.readTodo(d)
	// Those of other shards may be of runs that are under way. Where the job was in more shards once, each takes those of some.
	if part := r.report.Part; part != nil && todo.shard%part.Shards != part.Number {
		return nil
	}
	a := Action{Kind: finishKind, Target: d.Path, Reason: "an earlier run was interrupted after a commit, before its follow-ups"}
	if err == nil {
		for _, item := range todo.next {
			p.pending[item.Ref] = true
		}
		if a.also, err = r.countTodo(ctx, p, todo); err != nil {
			return fmt.Errorf("count what is left to do of %s: %w", d.Path, err)
		}
	}
	if r.report.DryRun {
		if a.Writes, a.More, err = r.foreseeTodo(ctx, todo, err); err != nil {
			return fmt.Errorf("work out what is left to do of %s: %w", d.Path, err)
		}
	}
	a.Effect = pendingTodo{ref: d.Ref(), updated: d.UpdateTime, also: a.also}
	p.left += 1 + a.also
	return p.Propose(ctx, a)
}

// countTodo returns as how many actions more than one a todo counts. It looks into folders, no further than a safety limit
// allows.
func (r *run) countTodo(ctx context.Context, p *Planner, todo todo) (also int, err error) {
	n := len(todo.next)
	for _, f := range todo.then {
		if !f.Object.Folder {
			n++
			continue
		}
		for page, err := range r.objects.Pages(ctx, f.Object.Name, objects.Names{}) {
			if err != nil {
				return 0, err
			}
			for _, object := range page {
				if f.Object.keep(object, todo.at) == "" {
					n++
				}
			}
			if !r.limits.Lifted && p.planned+n > r.limits.MaxActions {
				break
			}
		}
	}
	return max(0, n-1), nil
}

// pendingTodo does what an earlier run left to do, if it is still what was planned.
type pendingTodo struct {
	ref     documents.Ref
	updated time.Time
	also    int // see [Action]
}

// doTodo does what an earlier run left to do.
func (r *run) doTodo(ctx context.Context, planned pendingTodo) error {
	d, found, err := r.documents.Get(ctx, planned.ref.Path())
	switch {
	case err != nil:
		return err
	case !found, !d.UpdateTime.Equal(planned.updated): // what it holds now was neither counted nor shown
		return ErrChanged
	}
	todo, err := r.readTodo(d)
	if err != nil {
		return err
	}
	then, err := r.stillAbsent(ctx, todo.then)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.report.Also += planned.also // even if only some of it gets done
	r.mu.Unlock()
	err = r.doFollowUps(ctx, then, todo.at)
	if err == nil || isHeld(err) {
		next := works(todo.next)
		if len(next) == 1 && next[0].Rule.group() == 1 && err == nil {
			next[0].todo = planned.ref // its next commit takes over
		}
		err = cmp.Or(r.children(ctx, &work{Item: Item{Ref: planned.ref}}, next), err)
	}
	switch {
	case err == nil:
		r.runlog.Over(planned.ref)
	case isHeld(err): // which is counted, and no failure
		return errLater
	}
	return err
}

// keptRestored is why a follow-up is left out.
const keptRestored = "its document was restored since"

// keepRestored counts and names a follow-up that is left out.
func (r *run) keepRestored(ctx context.Context, f FollowUp) {
	reason := keptRestored
	if f.Object != (ObjectDeletion{}) {
		reason = keptFileRestored
	}
	r.keep(reason)
	r.log.InfoContext(ctx, "kept "+f.name()+": "+reason)
}

// stillAbsent looks up the documents that led to some follow-ups, and returns those whose document does not exist. It counts
// and names the others.
func (r *run) stillAbsent(ctx context.Context, all []FollowUp) (still []FollowUp, err error) {
	var absent []documents.Ref
	for _, f := range all {
		if len(absent) == 0 || f.Absent != absent[len(absent)-1] {
			absent = append(absent, f.Absent)
		}
	}
	back, err := r.readerSource().Get(ctx, absent)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if _, restored := back[f.Absent]; restored {
			r.keepRestored(ctx, f)
			continue
		}
		still = append(still, f)
	}
	return still, nil
}

// doFollowUps deletes accounts and objects that an earlier run left to delete. at is when its commit was. It goes on after a failure, which
// it returns in the end; whether something is held, only if nothing failed.
func (r *run) doFollowUps(ctx context.Context, all []FollowUp, at time.Time) (failed error) {
	var accounts []ongoing
	var named []FollowUp
	for _, f := range all {
		switch {
		case f.Account != "":
			of := &work{Item: Item{Ref: f.Absent}, kind: finishKind, reason: goneBecause(f)}
			accounts = append(accounts, ongoing{FollowUp: f, of: of})
		case f.Object.Folder:
			failed = worse(failed, r.deleteFolder(ctx, f, at))
		default:
			named = append(named, f)
		}
	}
	failed = worse(failed, r.deleteAgain(ctx, accounts))
	for some := range slices.Chunk(named, maxObjects) {
		found, err := r.lookAt(ctx, some)
		failed = worse(failed, cmp.Or(err, r.deleteFollowing(ctx, found, at)))
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

func goneBecause(f FollowUp) string { return f.Absent.Path() + " is deleted" }

// deleteAgain deletes accounts, having looked again whether their documents are still absent, after the undo log has them.
func (r *run) deleteAgain(ctx context.Context, all []ongoing) (failed error) {
	which := make([]int, len(all))
	for i := range all {
		all[i].again, which[i] = true, i
	}
	r.deleteAccounts(ctx, all, which)
	for _, f := range all {
		failed = worse(failed, f.err)
	}
	return failed
}

// led is an object with the follow-up that led to it.
type led struct {
	objects.Object
	by FollowUp
}

// lookAt returns those of some objects that exist.
func (r *run) lookAt(ctx context.Context, all []FollowUp) ([]led, error) {
	looked, there := make([]led, len(all)), make([]bool, len(all))
	underWay, ctx := errgroup.WithContext(ctx)
	underWay.SetLimit(maxFollowUps)
	for i, f := range all {
		underWay.Go(func() (err error) {
			defer guard.Recover(&err)
			looked[i].by = f
			looked[i].Object, there[i], err = r.objects.Get(ctx, f.Object.Name)
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
func (r *run) deleteFolder(ctx context.Context, f FollowUp, at time.Time) (failed error) {
	for page, err := range r.objects.Pages(ctx, f.Object.Name, objects.Names{}) {
		if err != nil {
			return err
		}
		for some := range slices.Chunk(page, maxObjects) {
			found := make([]led, len(some))
			for i, object := range some {
				found[i] = led{object, f}
			}
			failed = worse(failed, r.deleteFollowing(ctx, found, at))
		}
	}
	return failed
}

// deleteFollowing deletes objects as a plan's actions would: the undo log has them before, and right before the deletion it is asked
// whether the document that led to them is still absent. It looks again at what has changed meanwhile.
func (r *run) deleteFollowing(ctx context.Context, all []led, at time.Time) (failed error) {
	logged := map[objects.Deletion]bool{}
	for range maxLooks {
		var due []led
		var unlogged []Action
		for _, o := range all {
			if reason := o.by.Object.keep(o.Object, at); reason != "" {
				r.keepObject(ctx, o.Name, reason)
				continue
			}
			due = append(due, o)
			if same := (objects.Deletion{Name: o.Name, Generation: o.Generation}); !logged[same] {
				logged[same] = true
				unlogged = append(unlogged, Action{
					Kind: finishKind, Target: "gs://" + r.config.Bucket + "/" + o.Name, Reason: goneBecause(o.by), Effect: o.deletion(),
				})
			}
		}
		if err := r.checkTime(); err != nil || len(due) == 0 {
			return cmp.Or(err, failed)
		}
		if err := r.saveObjects(ctx, unlogged); err != nil {
			return err
		}
		deletions := make([]DeleteObject, len(due))
		for i, o := range due {
			deletions[i] = o.deletion()
		}
		all = nil
		for i, err := range r.deleteObjects(ctx, deletions) {
			var held *objects.HeldError
			switch {
			case errors.As(err, &held):
				r.keepObject(ctx, due[i].Name, held.Reason)
				failed = worse(failed, err)
			case errors.Is(err, ErrChanged):
				again, err := r.changedLed(ctx, due[i])
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
func (r *run) changedLed(ctx context.Context, o led) ([]led, error) {
	latest, found, err := r.objects.Get(ctx, o.Name)
	switch {
	case err != nil || !found:
		return nil, err
	case latest.Generation == o.Generation && latest.Metageneration == o.Metageneration:
		r.keepRestored(ctx, o.by)
		return nil, nil
	}
	return []led{{latest, o.by}}, nil
}

func (o led) deletion() DeleteObject {
	return DeleteObject{
		Deletion: objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}, Absent: o.by.Absent,
	}
}
