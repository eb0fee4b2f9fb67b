package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
)

// Bounds of what a preview works out. Each action costs the reads that its commit would.
const (
	maxForeseen       = 100  // actions of a run
	maxForeseenWrites = 30   // of one action
	maxForeseenLooks  = 100  // at objects, for one action
	maxForeseenLeft   = 1000 // writes and looks at objects, of what an interrupted run left
	foreseenAtOnce    = 8
)

// foresee adds to actions what they would write. It goes through the steps of a commit without committing, on a copy of what is
// read. It is for previews.
func (p *Planner) foresee(ctx context.Context, actions []decide.Action) error {
	actions = actions[:min(len(actions), max(0, maxForeseen-p.foreseen))]
	p.foreseen += len(actions)
	underWay, ctx := errgroup.WithContext(ctx)
	underWay.SetLimit(foreseenAtOnce)
	for i := range actions {
		effect, ok := actions[i].Effect.(decide.Ruled)
		if !ok || effect.Rule.DeletesAlone() {
			continue
		}
		underWay.Go(func() (err error) {
			defer guard.Recover(&err)
			f := p.foresight(maxForeseenWrites, maxForeseenLooks)
			err = f.item(ctx, effect, actions[i].Kind, 0)
			actions[i].Writes, actions[i].More = f.writes, f.more
			return err
		})
	}
	return underWay.Wait()
}

// foreseeAccount is foresee for an account with which items go.
func (p *Planner) foreseeAccount(ctx context.Context, a *decide.Action) error {
	effect := a.Effect.(decide.DeleteAccount)
	if effect.Rule.Next == nil || !p.Report.DryRun || p.foreseen >= maxForeseen {
		return nil
	}
	p.foreseen++
	f := p.foresight(maxForeseenWrites, maxForeseenLooks)
	f.source.Account = effect.UID
	f.add("delete " + a.Target)
	for _, next := range effect.Rule.Next(effect.UID) {
		if err := f.item(ctx, decide.Ruled{Item: next}, "", 1); err != nil {
			return fmt.Errorf("work out what would go with %s: %w", a.Target, err)
		}
	}
	a.Writes, a.More = f.writes, f.more
	return nil
}

// foresight is what one action would write.
type foresight struct {
	*Planner
	source *decide.Imagined
	writes []string
	more   bool // than the writes
	looked int  // at objects

	most, looks int // writes and looks at objects
}

func (p *Planner) foresight(most, looks int) foresight {
	return foresight{Planner: p, source: p.ask.Decider.Imagine(p.CheckTime), most: most, looks: looks}
}

func (f *foresight) add(write string) {
	if len(f.writes) == f.most {
		f.more = true
		return
	}
	f.writes = append(f.writes, write)
}

// item goes through the commits of one item. If there are several, it looks ahead, as a run does.
func (f *foresight) item(ctx context.Context, item decide.Ruled, kind string, depth int) error {
	d, asked, several := f.ask.Decider, decide.Asked{Ruled: item, Kind: kind}, false
	first := asked
	err := d.Foresee(ctx, f.source, []*decide.Asked{&asked}, depth, func(o decide.Outcome, at int) error {
		several = several || at > depth || o.Change.Again != ""
		return f.see(ctx, o, at)
	})
	if errors.Is(err, decide.ErrMore) || errors.Is(err, cleanup.ErrOutOfTime) { // the item is due all the same
		f.more, err = true, nil
	}
	if err != nil || depth > 0 || !several || !d.MayKeep() {
		return err
	}
	var kept *decide.KeptError
	switch err = d.Ahead(ctx, first, f.CheckTime); {
	case errors.As(err, &kept):
		f.writes, f.more, err = []string{"nothing: " + kept.Error()}, false, nil
	case errors.Is(err, cleanup.ErrOutOfTime):
		f.more, err = true, nil
	}
	return err
}

// see adds what a commit of an item, or of one within it, would do.
func (f *foresight) see(ctx context.Context, o decide.Outcome, depth int) error {
	c := o.Change
	if o.Err != nil { // it would be found to have changed, or fail
		var kept *decide.KeptError
		switch {
		case depth == 0 && errors.As(o.Err, &kept):
			f.add("nothing: " + kept.Error())
		case depth == 0 && c.Invalid != "":
			f.add("nothing: " + c.Invalid)
		}
		return nil
	}
	for _, w := range c.Writes {
		f.add(w.String())
	}
	for _, then := range c.Then {
		if then.Object.Name == "" || then.Object.Folder || f.deletes(ctx, then.Object) {
			f.add(decide.Shown(then, f.Config.Bucket))
		}
		if then.Recorded == nil {
			continue
		}
		for _, w := range then.Recorded.Done {
			f.add(w.String())
		}
	}
	if f.more {
		return decide.ErrMore
	}
	return nil
}

// foreseeTodo returns what a run would do of what an earlier one left to do, or why it would do nothing, and what somebody has to look
// at then.
func (p *Planner) foreseeTodo(ctx context.Context, todo decide.Todo, refused error) (writes []string, more bool, err error) {
	f := p.foresight(maxForeseenLeft, maxForeseenLeft)
	if refused != nil {
		f.add("nothing: " + refused.Error())
		for _, t := range todo.Then {
			f.add("left to do: " + decide.Shown(t, cmp.Or(todo.Bucket, p.Config.Bucket)))
		}
		for _, next := range todo.Next {
			f.add("left to do: judge " + next.Ref.Path())
		}
		return f.writes, f.more, nil // that it is refused is what is foreseen
	}
	then, err := p.ask.Decider.StillAbsent(ctx, todo.Then)
	for _, t := range then {
		if kept := p.ask.Decider.FollowsKept(t); kept != nil {
			f.add("nothing: " + kept.Error())
		} else if err == nil && t.Object.Folder {
			err = f.folder(ctx, t.Object, todo.At)
		} else if t.Object.Name == "" || f.deletes(ctx, t.Object) {
			f.add(decide.Shown(t, p.Config.Bucket))
		}
	}
	for _, next := range todo.Next {
		if err == nil {
			err = f.item(ctx, decide.Ruled{Item: next}, "", 1)
		}
	}
	return f.writes, f.more, err
}

// folder adds the objects of a folder.
func (f *foresight) folder(ctx context.Context, o cleanup.ObjectDeletion, at time.Time) error {
	for page, err := range f.Objects.Pages(ctx, o.Name, objects.Names{}) {
		if err != nil {
			return err
		}
		for _, object := range page {
			if decide.KeepsObject(o, object, at) == "" {
				f.add("delete " + f.ask.Decider.ObjectTarget(object.Name))
			}
		}
		if f.more {
			break
		}
	}
	return nil
}

// deletes reports whether an object exists and would be deleted, not kept because of its owner.
func (f *foresight) deletes(ctx context.Context, o cleanup.ObjectDeletion) bool {
	if len(f.writes) == f.most || f.looked == f.looks {
		f.more = true
		return false
	}
	f.looked++
	object, found, err := f.Objects.Get(ctx, o.Name)
	return err != nil || found && decide.KeepsObject(o, object, object.Created) == ""
}
