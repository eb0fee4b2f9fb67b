package apply

import (
	"cmp"
	"context"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

// todoOf returns what is still to be done once changes by a rule are committed: what follows outside of Firestore that no
// document of the application records, and the items that are judged next.
func (a *Applier) todoOf(rule cleanup.AnyRule, changes []cleanup.Change) runlog.Todo {
	todo := runlog.Todo{Task: a.WorkersTask()}
	for _, c := range changes {
		for _, f := range c.Then {
			if f.Recorded != nil {
				continue
			}
			step := runlog.Step{Rule: rule.Named(), Absent: f.Absent, Account: f.Account != "", Object: f.Object}
			if todo.Steps = append(todo.Steps, step); !step.Account {
				todo.Bucket = a.Run.Config.Bucket
			}
		}
		for _, item := range c.Next {
			todo.Next = append(todo.Next, runlog.Item{Rule: item.Rule.Named(), Ref: item.Ref})
		}
	}
	return todo
}

// finish does what an earlier run left to do.
func (a *Applier) finish(ctx context.Context, one []*decide.Item) {
	item := one[0]
	d, _, err := a.Documents.Get(ctx, item.Ref.Path())
	if err == nil && decide.VersionAt(d.UpdateTime) != item.Version {
		err = documents.ErrChanged // what it holds now was neither counted nor shown
	}
	if err != nil {
		end(ctx, one, err)
		return
	}
	then, next, err := a.ReadTodo(d)
	if err != nil {
		end(ctx, one, err)
		return
	}
	for _, f := range then {
		f.Most = item.Most
	}
	a.JudgeAgain(ctx, then) // what is kept must not count for Most
	if err := a.forget(ctx, d, then); err != nil {
		end(ctx, one, err)
		return
	}
	left := a.doThen(ctx, then)
	if left.Kind == decide.Done {
		left = a.doSome(ctx, item, next)
	}
	switch left.Kind {
	case decide.Done:
		a.Log.Over(item.Ref)
	case decide.Kept: // which is counted, and no failure
		left = decide.Fate{Kind: decide.Later}
	case decide.OutOfTime:
		item.Begun = true
	default:
	}
	item.Fate = left
}

// forget takes what is kept out of a Todo, or else a later run that finishes the rest would delete it once nothing keeps it any
// more.
func (a *Applier) forget(ctx context.Context, todo documents.Document, then []*decide.Item) error {
	var kept []int
	for n, item := range then {
		if item.Fate.Kind == decide.Back {
			kept = append(kept, n)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	w, err := runlog.Forget(todo, kept)
	if err != nil {
		return err
	}
	return a.Documents.Put(ctx, []documents.Write{w})
}

// doSome does documents that an interrupted run has left to do, no more than may still be done. What turns out to be done, or not
// due any more, does not count, so that the next run comes further. It returns why some are left.
func (a *Applier) doSome(ctx context.Context, of *decide.Item, next []*decide.Item) (left decide.Fate) {
	for len(next) > 0 {
		n := len(next)
		if of.Most != nil {
			n = min(n, *of.Most)
		}
		if n <= 0 {
			return cmp.Or(left, decide.FateOf(ctx, cleanup.ErrOutOfTime))
		}
		left = cmp.Or(left, a.doNext(ctx, []*decide.Item{of}, [][]*decide.Item{next[:n]}))
		for _, item := range next[:n] {
			if item.Begun || item.Fate.Kind == decide.Done {
				a.mayDo(of)
			}
		}
		next = next[n:]
	}
	return left
}
