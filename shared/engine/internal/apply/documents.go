package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
)

// maxIdle is how often in a row an item may be judged again without a commit. A rule that needs more would never end.
const maxIdle = 3

// changeDocuments does documents of one rule, all of which share a commit if they can.
func (a *Applier) changeDocuments(ctx context.Context, all []*decide.Item) {
	rule := all[0].Rule
	stack := [][]*decide.Item{all}
	for len(stack) > 0 {
		group := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if ctx.Err() != nil || a.Time.CheckTime() != nil {
			end(ctx, group, cleanup.ErrOutOfTime)
			continue
		}
		if n := a.shareOf(rule); n < len(group) {
			stack = append(stack, group[n:])
			group = group[:n]
		}
		c, err := a.commit(ctx, group)
		if err != nil {
			a.learn(rule, len(group), errors.Is(err, documents.ErrTooMuch), attempt{})
			stack = append(stack, a.smaller(ctx, group, err)...)
			continue
		}
		a.follow(ctx, group, c)
		var again, alone []*decide.Item
		for i, item := range group {
			switch o := c.outcomes[i]; {
			case !a.moveOn(ctx, item, o):
			case o.Place == decide.Alone:
				alone = append(alone, item)
			default:
				again = append(again, item)
			}
		}
		a.learn(rule, len(group), len(alone) > 0, *c)
		for _, some := range [][]*decide.Item{alone, again} { // on top: what has begun comes before what has not
			if len(some) > 0 {
				stack = append(stack, some)
			}
		}
		if err := a.Documents.Wait(ctx, c.sent); err != nil {
			for _, group := range stack {
				end(ctx, group, cleanup.ErrOutOfTime)
			}
			return
		}
	}
}

// How many items share a commit: fewer if they are large or much belongs to each, more while they are small.
const (
	startShare  = 25      // of the first commits of a rule, at most
	maxTogether = 3 << 20 // bytes of documents as they were before, or a commit of several items is not sent
)

// shareOf returns how many items of a rule share a commit for now, at most.
func (a *Applier) shareOf(rule cleanup.AnyRule) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shares == nil {
		a.shares = map[string]int{}
	}
	a.shares[rule.Named()] = cmp.Or(a.shares[rule.Named()], startShare)
	return a.shares[rule.Named()]
}

// learn has the next commits of a rule be of half as many items after one of n items that was too much, and of twice as many
// after one for which twice as much would be little.
func (a *Applier) learn(rule cleanup.AnyRule, n int, tooMuch bool, c attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch share := a.shares[rule.Named()]; {
	case tooMuch:
		a.shares[rule.Named()] = max(1, min(share, n/2))
	case n == share && len(c.outcomes) == n && 2*c.sent <= cleanup.MaxRoom && 4*c.bytes <= maxTogether:
		a.shares[rule.Named()] = 2 * share // a batch has no more than the rule allows
	}
}

// smaller returns what to commit in place of a group whose commit failed: its halves, or a single item with less of what belongs
// to it. If nothing of that can succeed, there is nothing, and the group has failed.
func (a *Applier) smaller(ctx context.Context, group []*decide.Item, err error) [][]*decide.Item {
	switch half := len(group) / 2; {
	case half > 0 && divisible(group[0].Rule, err):
		return [][]*decide.Item{group[half:], group[:half]}
	case half == 0 && shrink(group[0], err):
		return [][]*decide.Item{group}
	}
	end(ctx, group, err)
	return nil
}

// divisible reports whether a commit of fewer items of a rule may succeed: what Firestore refuses or denies may concern one item
// only, and fewer items mean less contention. Who may not delete some documents of a collection may delete none.
func divisible(rule cleanup.AnyRule, err error) bool {
	return documents.Refused(err) || documents.Contended(err) || documents.Denied(err) && !rule.DeletesAlone() ||
		errors.Is(err, documents.ErrTooMuch) || errors.Is(err, decide.ErrGroup)
}

// shrink reduces the room of an item that alone is too large for a commit. It reports whether that was possible.
func shrink(item *decide.Item, err error) bool {
	if !documents.Refused(err) && !errors.Is(err, documents.ErrTooMuch) {
		return false
	}
	item.Room = item.RoomLeft() / 2
	if documents.Refused(err) {
		item.Room = min(item.Room, item.Tried/2)
	}
	return item.Room > 0
}

// moveOn takes an item on by what was decided about it, and reports whether it is judged once more. Otherwise it has its fate.
func (a *Applier) moveOn(ctx context.Context, item *decide.Item, o decide.Outcome) (again bool) {
	inCommit := o.Place == decide.InCommit
	wrote := inCommit && len(o.Change.Writes) > 0
	moved := o.Change.Again && o.Change.From != item.From
	if item.Idle++; wrote || moved || o.Place == decide.Alone { // a smaller group is a step as well
		item.Idle = 0
	}
	item.Begun = item.Begun || wrote
	item.Handed = item.Handed || inCommit && !wrote && len(o.Change.Then) > 0
	if inCommit {
		item.Version = "" // what it is from now on is this run's doing
	}
	if f := o.Fate; f.Reason != "" && f.Kind != decide.Kept && !item.Begun { // it cannot be judged, or be done
		a.Notice(ctx, item.Target, cleanup.Notice{Message: tell.Kept(item.Target, f.Reason)})
	}
	switch {
	case item.Fate.Kind != decide.Done: // what follows was not done
	case item.Gone && item.Handed && o.Fate.Kind == decide.Changed: // whoever does its tasks was quicker
	case o.Place == decide.Refused:
		item.Ends(o.Fate)
	case item.Idle > maxIdle:
		const text = "%s: judged %d times without any progress: this is a bug in the job"
		item.Ends(decide.Fate{Kind: decide.Failed, Err: fmt.Errorf(text, item.Target, item.Idle)})
	case o.Place == decide.NextCommit:
		return true
	case o.Change.Again:
		item.Again, item.From = true, o.Change.From
		return true
	case !inCommit && !item.Begun:
		item.Ends(decide.FateOf(ctx, documents.ErrChanged))
	}
	return false
}

// itemsOf returns the documents that follow from an item.
func itemsOf(of *decide.Item, next []cleanup.Item) []*decide.Item {
	items := make([]*decide.Item, len(next))
	for i, item := range next {
		items[i] = decide.NewItem(of, item)
	}
	return items
}

// doNext does the documents that follow from each of some items, those of one rule together. It returns why some are left to do.
func (a *Applier) doNext(ctx context.Context, of []*decide.Item, next [][]*decide.Item) (left decide.Fate) {
	a.doAll(ctx, maxChildGroups, slices.Concat(next...))
	for i, item := range of {
		f := a.sumOf(ctx, item, next[i])
		item.Ends(f)
		left = cmp.Or(left, f)
	}
	return left
}

// maxFailedNamed is how many failures of what follows from one item the log names; all are counted.
const maxFailedNamed = 20

// sumOf returns what the documents that follow from an item make of it. Those that are kept do not matter, unless the list of
// what the job keeps has them: the item stays with these. If it is judged again after them, a failure does not stop it as long
// as some succeed: it is the item's in the end.
func (a *Applier) sumOf(ctx context.Context, of *decide.Item, all []*decide.Item) (sum decide.Fate) {
	done, failed, stuck := 0, 0, false
	for _, item := range all {
		of.Partly = of.Partly || item.Begun || item.Partly
		stuck = stuck || item.Begun && item.Fate.Kind != decide.Done
		if item.Fate.HalfDone {
			a.Notice(ctx, item.Target, cleanup.Notice{Message: item.Target + ": " + a.halfDone(item.Fate)})
		}
		switch f := item.Fate; f.Kind {
		case decide.Done:
			done++
		case decide.Changed, decide.Back, decide.Invalid:
		case decide.OutOfTime:
			sum = f
		case decide.Kept, decide.Later:
			if sum.Kind == decide.Done {
				sum = f
				sum.Reason, sum.HalfDone = jobstate.KeptWithListed, false
			}
		case decide.Failed:
			if failed++; failed <= maxFailedNamed {
				a.Logger.ErrorContext(ctx, item.Target+": failed, "+of.Target+" stays: "+f.Err.Error(), slog.String("target", item.Target))
			}
			if sum.Kind != decide.OutOfTime && sum.Kind != decide.Failed {
				sum = decide.Fate{Kind: decide.Failed, Err: fmt.Errorf("%s: %w", item.Target, f.Err)}
			}
		}
	}
	if done > 0 {
		of.Idle = 0
	}
	if sum.Kind == decide.Failed {
		sum.Err = fmt.Errorf("%d of its follow-ups failed, the first: %w", failed, sum.Err)
	}
	if of.Again && done > 0 && !stuck {
		return decide.Fate{}
	}
	return sum
}
