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

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/inorder"
	"github.com/firesweep/firesweep/shared/objects"
)

// finishKind is what the report calls it to do what an interrupted run has left to do.
const finishKind = "finish interrupted action"

// entryPage is how many entries of the journal are held at once: each may be as large as a document.
const entryPage = 20

// beginReplay begins to read what interrupted runs have left to do, which is planned before anything else. A worker looks for
// its own task's alone, for others of its kind may be running.
func (r *run) beginReplay(ctx context.Context, p *Planner) Reading {
	if !slices.ContainsFunc(r.job.Rules, func(rule AnyRule) bool { return !rule.deletes() }) && r.job.Task == nil {
		return Reading{Plan: func() error { return nil }, Stop: func() {}} // nothing ever follows
	}
	q := documents.Query{
		Collection: journalOf(r.job.Name), Where: []documents.Filter{{Field: "task", Op: "==", Value: r.taskID()}},
		Select: []string{"open", "then", "next", "shard"}, PageSize: entryPage,
	}
	entries := inorder.Begin(ctx, 1,
		func(ctx context.Context) iter.Seq2[documents.Page, error] { return p.Documents.Pages(ctx, q, "") },
		func(context.Context, documents.Page) (none struct{}, err error) { return none, nil })
	return Reading{Stop: entries.Stop, Plan: func() error {
		return entries.Each(func(page documents.Page, _ struct{}) error {
			for _, d := range page.Documents {
				if err := r.planEntry(ctx, p, d); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// planEntry proposes what an entry of the journal holds, if it is the run's to do. Each object, account and item in it counts
// as an action. Items that it continues are not proposed again.
func (r *run) planEntry(ctx context.Context, p *Planner, d documents.Document) error {
	if !r.concerns(d) {
		return nil
	}
	if d.Data["open"] == false {
		r.journal.finished(d.Ref())
		return nil
	}
	a := Action{
		Kind: finishKind, Target: d.Path, Reason: "an earlier run was interrupted after a commit, before its follow-ups",
		Effect: replayed{ref: d.Ref(), at: d.UpdateTime},
	}
	e, err := r.parseEntry(d)
	if err == nil {
		for _, item := range e.next {
			p.replayed[item.Ref] = true
		}
		if a.also, err = r.countLeft(ctx, p, e, d.UpdateTime); err != nil {
			return fmt.Errorf("count what is left to do of %s: %w", d.Path, err)
		}
	}
	if r.report.DryRun {
		if a.Writes, a.More, err = r.foreseeEntry(ctx, e, d.UpdateTime, err); err != nil {
			return fmt.Errorf("work out what is left to do of %s: %w", d.Path, err)
		}
	}
	p.left += 1 + a.also
	return p.Propose(ctx, a)
}

// countLeft returns as how many actions more than one an entry counts. It looks into folders, no further than a safety limit
// allows.
func (r *run) countLeft(ctx context.Context, p *Planner, e entry, at time.Time) (also int, err error) {
	n := len(e.next)
	for _, f := range e.then {
		if !f.Object.Folder {
			n++
			continue
		}
		for page, err := range r.objects.Pages(ctx, f.Object.Name, objects.Names{}) {
			if err != nil {
				return 0, err
			}
			for _, object := range page {
				if f.Object.keep(object, at) == "" {
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

// concerns reports whether an entry is the run's to replay. Those of other shards may be of runs that are under way. Where the job was
// in more shards once, each takes those of some.
func (r *run) concerns(entry documents.Document) bool {
	if r.report.Part == nil {
		return true
	}
	shard, _ := entry.Data["shard"].(int64)
	return int(shard)%r.report.Part.Shards == r.report.Part.Number
}

// replayed does what an entry of an earlier run holds, if it is still the one that was planned.
type replayed struct {
	ref documents.Ref
	at  time.Time
}

// replay does what an entry of an earlier run holds, and forgets the entry.
func (r *run) replay(ctx context.Context, left replayed) error {
	d, found, err := r.documents.Get(ctx, left.ref.Path())
	switch {
	case err != nil:
		return err
	case !found, !d.UpdateTime.Equal(left.at): // what it holds now was neither counted nor shown
		return ErrChanged
	}
	e, err := r.parseEntry(d)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Path, err)
	}
	then, err := r.stillAbsent(ctx, e.then)
	if err != nil {
		return err
	}
	err = r.replayFollowUps(ctx, then, d.UpdateTime)
	if err == nil || isHeld(err) {
		next := works(e.next)
		if len(next) == 1 && next[0].Rule.group() == 1 && err == nil {
			next[0].entry = left.ref // its next commit takes over
		}
		err = cmp.Or(r.children(ctx, &work{Item: Item{Ref: left.ref}}, next), err)
	}
	switch {
	case err == nil:
		r.journal.finished(left.ref)
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

// replayFollowUps deletes accounts and objects of an entry. at is when the entry was written. It goes on after a failure, which
// it returns in the end; whether something is held, only if nothing failed.
func (r *run) replayFollowUps(ctx context.Context, all []FollowUp, at time.Time) (failed error) {
	var accounts []pending
	var named []FollowUp
	for _, f := range all {
		switch {
		case f.Account != "":
			of := &work{Item: Item{Ref: f.Absent}, kind: finishKind, reason: goneBecause(f)}
			accounts = append(accounts, pending{FollowUp: f, of: of})
		case f.Object.Folder:
			failed = worse(failed, r.replayFolder(ctx, f, at))
		default:
			named = append(named, f)
		}
	}
	failed = worse(failed, r.replayAccounts(ctx, accounts))
	for some := range slices.Chunk(named, maxObjects) {
		found, err := r.lookAt(ctx, some)
		failed = worse(failed, cmp.Or(err, r.deleteLed(ctx, found, at)))
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

// replayAccounts deletes accounts, having looked again whether their documents are still absent, after the undo log has them.
func (r *run) replayAccounts(ctx context.Context, all []pending) (failed error) {
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

// replayFolder deletes the objects of a folder.
func (r *run) replayFolder(ctx context.Context, f FollowUp, at time.Time) (failed error) {
	for page, err := range r.objects.Pages(ctx, f.Object.Name, objects.Names{}) {
		if err != nil {
			return err
		}
		for some := range slices.Chunk(page, maxObjects) {
			found := make([]led, len(some))
			for i, object := range some {
				found[i] = led{object, f}
			}
			failed = worse(failed, r.deleteLed(ctx, found, at))
		}
	}
	return failed
}

// deleteLed deletes objects as a plan's actions would: the undo log has them before, and right before the deletion it is asked
// whether the document that led to them is still absent. It looks again at what has changed meanwhile.
func (r *run) deleteLed(ctx context.Context, all []led, at time.Time) (failed error) {
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
		if err := r.keepObjects(ctx, unlogged); err != nil {
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
