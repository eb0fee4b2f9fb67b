package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/objects"
)

// Bounds of what a preview works out. Each action costs the reads that its commit would.
const (
	maxForeseen       = 100  // actions of a run
	maxForeseenWrites = 30   // of one action
	maxForeseenRounds = 20   // commits of one item
	maxForeseenDepth  = 3    // of items within items
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
		if !ok {
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
	if effect.Rule.Next == nil || !p.Report.DryRun || p.ask.Past || p.foreseen >= maxForeseen {
		return nil
	}
	p.foreseen++
	f := p.foresight(maxForeseenWrites, maxForeseenLooks)
	f.source.account = effect.UID
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
	source *imagined
	writes []string
	more   bool // than the writes
	looked int  // at objects

	most, looks int // writes and looks at objects
}

func (p *Planner) foresight(most, looks int) foresight {
	source := &imagined{Source: p.ask.Decider.Source(), written: map[documents.Ref]*documents.Document{}}
	return foresight{Planner: p, source: source, most: most, looks: looks}
}

func (f *foresight) add(write string) {
	if len(f.writes) == f.most {
		f.more = true
		return
	}
	f.writes = append(f.writes, write)
}

// item goes through the commits of one item.
func (f *foresight) item(ctx context.Context, item decide.Ruled, kind string, depth int) error {
	item.Version = nil // what is imagined has none
	for range maxForeseenRounds {
		if f.more || depth > maxForeseenDepth {
			break
		}
		outcomes, err := f.ask.Decider.Decide(ctx, f.source, []*decide.Asked{{Ruled: item, Kind: kind, Foreseen: true}})
		if err != nil {
			return err
		}
		o := outcomes[0]
		if o.Err != nil {
			var pinned *decide.KeptError
			switch {
			case depth == 0 && errors.As(o.Err, &pinned):
				f.add("nothing: " + pinned.Error())
			case depth == 0 && o.Change.Fail != nil && !errors.Is(o.Err, documents.ErrChanged):
				f.add("nothing: " + o.Change.Fail.Error())
			}
			return nil // it would be found to have changed, or fail
		}
		c := o.Change
		for _, child := range c.First {
			if err := f.item(ctx, decide.Ruled{Item: child}, "", depth+1); err != nil {
				return err
			}
		}
		for _, t := range c.Before {
			f.add("hand over task " + decide.TaskKey(t))
		}
		for _, w := range c.Writes {
			f.add(w.String())
			f.source.write(w)
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
				f.source.write(w)
			}
		}
		for _, next := range c.Next {
			if err := f.item(ctx, decide.Ruled{Item: next}, "", depth+1); err != nil {
				return err
			}
		}
		switch {
		case len(c.First) > 0:
		case c.Again != "":
			kind, item.From = c.Again, c.From
		default:
			return nil
		}
	}
	f.more = true
	return nil
}

// foreseeTodo returns what a run would do of what an earlier one left to do, or why it would do nothing, and what somebody has to look
// at then.
func (p *Planner) foreseeTodo(ctx context.Context, todo decide.Todo, refused error) (writes []string, more bool, err error) {
	f := p.foresight(maxForeseenLeft, maxForeseenLeft)
	if refused != nil {
		f.add("nothing: " + refused.Error())
		for _, t := range todo.Then {
			f.add("left to do: " + decide.Shown(t, p.Config.Bucket))
		}
		for _, next := range todo.Next {
			f.add("left to do: judge " + next.Ref.Path())
		}
		return f.writes, f.more, nil // that it is refused is what is foreseen
	}
	then, err := p.ask.Decider.StillAbsent(ctx, todo.Then)
	for _, t := range then {
		if pinned := p.ask.Decider.FollowsPinned(t); pinned != nil {
			f.add("nothing: " + pinned.Error())
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
				f.add("delete gs://" + f.Config.Bucket + "/" + object.Name)
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

// imagined is the database as it would be after some writes.
type imagined struct {
	*decide.Source
	written map[documents.Ref]*documents.Document // nil: deleted
	account string                                // deleted
}

// Accounts implements [Source].
func (s *imagined) Accounts(ctx context.Context, uids []string) (map[string]bool, error) {
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return uid == s.account })
	if len(uids) == 0 {
		return nil, nil
	}
	return s.Source.Accounts(ctx, uids)
}

func (s *imagined) write(w documents.Write) {
	d := documents.Document{Path: w.Ref.Path(), Data: map[string]any{}, UpdateTime: time.Now()}
	switch w.Op {
	case documents.Delete:
		s.written[w.Ref] = nil
		return
	case documents.Update:
		if before := s.written[w.Ref]; before != nil {
			d.Database, d.Data = before.Database, maps.Clone(before.Data)
		} else if before := s.Seen(w.Ref); before != nil {
			d.Database, d.Data = before.Database, maps.Clone(before.Data)
		}
	case documents.Create, documents.Set:
	}
	for field, value := range w.Data {
		if d.Data[field] = value; value == documents.DeleteField {
			delete(d.Data, field)
		}
	}
	s.written[w.Ref] = &d
}

// Get implements [cleanup.Source].
func (s *imagined) Get(ctx context.Context, refs []documents.Ref) (map[documents.Ref]documents.Document, error) {
	found, err := s.Source.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if d, written := s.written[ref]; written && d == nil {
			delete(found, ref)
		} else if written {
			found[ref] = *d
		}
	}
	return found, nil
}

// Children implements [cleanup.Source].
func (s *imagined) Children(ctx context.Context, c cleanup.Children, parents []string) (map[string]cleanup.Belonging, error) {
	all, err := s.Source.Children(ctx, c, parents)
	for id, b := range all {
		b.Documents = s.left(b.Documents)
		all[id] = b
	}
	return all, err
}

// First implements [cleanup.Source].
func (s *imagined) First(ctx context.Context, q documents.Query, from documents.Cursor, limit int) ([]documents.Document, error) {
	deleted := 0 // they are there still, and stand before those that would be found
	for ref, d := range s.written {
		if d == nil && ref.Collection == q.Collection {
			deleted++
		}
	}
	found, err := s.Source.First(ctx, q, from, limit+deleted)
	left := s.left(found)
	if from == "" && len(q.Where)+len(q.Any)+len(q.OrderBy) == 0 {
		left = append(left, s.created(q.Collection, found)...)
	}
	return left[:min(limit, len(left))], err
}

// created returns the documents that a collection would have besides those that were found, for queries without conditions.
func (s *imagined) created(collection string, found []documents.Document) []documents.Document {
	var all []documents.Document
	for ref, d := range s.written {
		there := slices.ContainsFunc(found, func(f documents.Document) bool { return f.Ref() == ref })
		if d != nil && ref.Collection == collection && !there {
			all = append(all, *d)
		}
	}
	slices.SortFunc(all, func(a, b documents.Document) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// left returns the documents that have not been deleted.
func (s *imagined) left(found []documents.Document) []documents.Document {
	var left []documents.Document
	for _, d := range found {
		if now, written := s.written[d.Ref()]; !written || now != nil {
			left = append(left, d)
		}
	}
	return left
}
