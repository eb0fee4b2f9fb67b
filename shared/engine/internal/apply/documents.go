package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
)

// maxIdle is how often in a row an item may be judged again without a commit. A rule that needs more would never end.
const maxIdle = 3

// changeDocuments does documents of one rule, all of which share a commit if they can.
func (a *Applier) changeDocuments(ctx context.Context, group []*decide.Item) {
	stack := [][]*decide.Item{group}
	size := a.sizeOf(group[0].Rule)
	for len(stack) > 0 {
		group := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if ctx.Err() != nil || a.Time.CheckTime() != nil {
			fail(group, cleanup.ErrOutOfTime)
			continue
		}
		n, known := size.begin(len(group))
		if n < len(group) {
			stack = append(stack, group[n:])
			group = group[:n]
		}
		c, err := a.commit(ctx, group)
		known(c)
		if err != nil {
			switch {
			case len(group) > 1 && divisible(group[0].Rule, err):
				stack = append(stack, group[len(group)/2:], group[:len(group)/2])
			case len(group) == 1 && shrink(group[0], err):
				stack = append(stack, group)
			default:
				fail(group, err)
			}
			continue
		}
		a.follow(ctx, group, c)
		var again, apart []*decide.Item
		for i, item := range group {
			switch o := c.outcomes[i]; {
			case !a.moveOn(ctx, item, o):
			case o.Apart:
				apart = append(apart, item)
			default:
				again = append(again, item)
			}
		}
		for _, some := range [][]*decide.Item{apart, again} { // on top: what has begun comes before what has not
			if len(some) > 0 {
				stack = append(stack, some)
			}
		}
		if err := a.Documents.Wait(ctx, c.sent); err != nil {
			for _, g := range stack {
				fail(g, cleanup.ErrOutOfTime)
			}
			return
		}
	}
}

// firstGroup is how many items share the first commit of a rule at most.
const firstGroup = 25

// How many bytes of documents, as they were before it, a commit of several items keeps. Firestore takes 10 MiB, emulators 4;
// several commits are under way, and all that they keep is in memory.
const (
	maxTogether = 3 << 20 // or it is not sent, and the next ones are of fewer items
	muchBefore  = 1 << 20 // from which on they are not of more
)

// groupSize is how many items of a rule share a commit: fewer if they are large or much belongs to each, more while they are
// small. No other commit begins until the first has shown that.
type groupSize struct {
	mu    sync.Mutex
	known bool
	most  int
	limit int // of the rule
}

func (a *Applier) sizeOf(rule cleanup.AnyRule) *groupSize {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sizes == nil {
		a.sizes = map[string]*groupSize{}
	}
	if a.sizes[rule.Named()] == nil {
		a.sizes[rule.Named()] = &groupSize{most: min(firstGroup, rule.Together()), limit: rule.Together()}
	}
	return a.sizes[rule.Named()]
}

// begin returns how many of n items the next commit should have, and the function to call with its result.
func (s *groupSize) begin(n int) (size int, result func(*commit)) {
	s.mu.Lock()
	size = min(n, s.most)
	if !s.known { // others wait for it
		return size, func(c *commit) {
			defer s.mu.Unlock()
			s.learn(size, c)
		}
	}
	defer s.mu.Unlock()
	return size, func(c *commit) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.learn(size, c)
	}
}

// learn has the next commits be of more items, or of fewer, than one of a size.
func (s *groupSize) learn(size int, c *commit) {
	cut := slices.ContainsFunc(c.outcomes, func(o decide.Outcome) bool { return o.Apart })
	switch whole := len(c.outcomes) == size && size == s.most; {
	case cut && size > 1:
		s.most = min(s.most, size/2)
	case c.bytes > maxTogether && size > 1:
		s.most = max(1, min(s.most, size*muchBefore/c.bytes))
	case whole && 2*c.sent <= cleanup.MaxRoom && 2*c.bytes <= muchBefore: // there is room for as many again
		s.most = min(2*s.most, s.limit)
	case whole && c.sent*(size+1)/size <= cleanup.MaxRoom && c.bytes*(size+1)/size <= muchBefore: // or for one more like them
		s.most = min(s.most+1, s.limit)
	}
	s.known = s.known || !cut || size == 1
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

// moveOn takes an item on by what was decided about it, and reports whether it is judged once more. Otherwise its Err says what
// became of it.
func (a *Applier) moveOn(ctx context.Context, item *decide.Item, o decide.Outcome) (again bool) {
	wrote := o.Written && len(o.Change.Writes) > 0
	moved := o.Change.Again && o.Change.From != item.From
	if item.Idle++; wrote || moved || o.Apart { // a smaller group is a step as well
		item.Idle = 0
	}
	item.Begun = item.Begun || wrote
	item.Handed = item.Handed || o.Written && !wrote && len(o.Change.Then) > 0
	if o.Written {
		item.Version = "" // what it is from now on is this run's doing
	}
	if o.Invalid != "" && !item.Begun {
		a.Notice(ctx, item.Target, cleanup.Notice{Message: tell.Kept(item.Target, o.Invalid)})
	}
	switch {
	case item.Err != nil: // what follows failed
	case item.Gone && item.Handed && errors.Is(o.Err, documents.ErrChanged): // whoever does its tasks was quicker
	case o.Err != nil:
		item.Err = stays(item, o.Err)
	case item.Idle > maxIdle:
		item.Err = fmt.Errorf("%s: judged %d times without any progress: this is a bug in the job", item.Target, item.Idle)
	case o.Postponed:
		return true
	case o.Change.Again:
		item.Again, item.From = true, o.Change.From
		return true
	case !o.Written && !item.Begun:
		item.Err = documents.ErrChanged
	}
	return false
}

// stays returns why an item is not done: it is left half done if it changed between its commits, or if something keeps it by
// then.
func stays(item *decide.Item, err error) error {
	var kept *decide.KeptError
	if item.Begun && !item.Gone && (errors.Is(err, documents.ErrChanged) || errors.As(err, &kept)) {
		return fmt.Errorf("%w, %w", errHalfDone, err)
	}
	return err
}

// itemsOf returns the documents that follow from an item.
func itemsOf(of *decide.Item, next []cleanup.Item) []*decide.Item {
	items := make([]*decide.Item, len(next))
	for i, item := range next {
		items[i] = decide.NewItem(of, item)
	}
	return items
}

// doNext does the documents that follow from each of some items, those of one rule together, and says why some are left to do. Of an
// item that is judged again after them, a failure does not stop the others as long as some succeed: it is the item's in the end.
func (a *Applier) doNext(ctx context.Context, of []*decide.Item, next [][]*decide.Item) (left error) {
	all := slices.Concat(next...)
	a.doAll(ctx, maxChildGroups, all)
	for _, item := range all {
		if errors.Is(item.Err, errHalfDone) {
			a.Notice(ctx, item.Target, cleanup.Notice{Message: item.Target + ": " + a.halfDone(item.Err)})
		}
	}
	for i, item := range of {
		done, err := a.resultOf(ctx, item, next[i])
		item.Partly = item.Partly || slices.ContainsFunc(next[i], func(c *decide.Item) bool { return c.Begun || c.Partly })
		if done > 0 {
			item.Idle = 0
		}
		halfDone := slices.ContainsFunc(next[i], func(c *decide.Item) bool { return c.Begun && c.Err != nil })
		if err != nil && (!item.Again || done == 0 || halfDone || errors.Is(err, cleanup.ErrOutOfTime)) {
			item.Err, left = cmp.Or(item.Err, stays(item, err)), cmp.Or(left, err)
		}
	}
	return left
}

// maxFailedNamed is how many failures of what follows from one item the log names; all are counted.
const maxFailedNamed = 20

// resultOf returns how many of the documents that follow from an item were done, and the failure of the others. Kept ones do not
// matter, unless the list of what the job keeps has them: the item stays with these.
func (a *Applier) resultOf(ctx context.Context, of *decide.Item, all []*decide.Item) (done int, err error) {
	failed := 0
	var kept *decide.KeptError
	for _, item := range all {
		switch {
		case item.Err == nil:
			done++
		case errors.Is(item.Err, documents.ErrChanged):
		case errors.Is(item.Err, cleanup.ErrOutOfTime), ctx.Err() != nil:
			return done, cleanup.ErrOutOfTime
		case errors.As(item.Err, &kept):
		default:
			if failed++; failed == 1 {
				err = fmt.Errorf("%s: %w", item.Target, item.Err)
			}
			if failed <= maxFailedNamed {
				a.Logger.ErrorContext(ctx, item.Target+": failed, "+of.Target+" stays: "+item.Err.Error(), slog.String("target", item.Target))
			}
		}
	}
	if failed > 0 {
		err = fmt.Errorf("%d of its follow-ups failed, the first: %w", failed, err)
	} else if kept != nil {
		err = kept.With()
	}
	return done, err
}
