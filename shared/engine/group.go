package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/guard"
)

// maxGroup is how many items share a commit, at most, of a rule that does not say.
const maxGroup = 25

// maxChildGroups is how many groups of one item's children are under way at once.
const maxChildGroups = 4

// maxIdle is how often in a row an item may be judged again without a commit. A rule that needs more would never end.
const maxIdle = 3

// work is an item that is being done.
type work struct {
	Item
	kind   string          // what it must be judged as; empty: anything but to be kept
	reason string          // why, as the plan says
	begun  bool            // a commit has changed it
	idle   int             // judgments since the last commit
	handed map[string]bool // tasks that were handed over before its commit
	// foreseen says that nothing is committed or handed over: a preview goes through the steps.
	foreseen bool
	room     int           // that is left to it after refusals; 0: all
	refused  bool          // what was to be written for it, with the least room as well
	tried    int           // writes that were last refused or committed for it
	todo     documents.Ref // that remembers that it is not done yet
	gone     bool          // it was not there when it was last looked at
	err      error         // what became of it: nil when it is done, [ErrChanged], [ErrOutOfTime], errLater, or why it failed
}

// settle does the items of one rule, all of which share a commit if they can. What became of each is in its err.
func (r *run) settle(ctx context.Context, group []*work) {
	stack := [][]*work{group}
	size := r.sizeOf(group[0].Rule)
	for len(stack) > 0 {
		group := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if ctx.Err() != nil || r.timeIsUp() {
			finish(group, ErrOutOfTime)
			continue
		}
		n, known := size.begin(len(group))
		if n < len(group) {
			stack = append(stack, group[n:])
			group = group[:n]
		}
		c, err := r.commitSafely(ctx, group)
		known(c)
		if err != nil {
			switch {
			case len(group) > 1 && divisible(err):
				stack = append(stack, group[len(group)/2:], group[:len(group)/2])
			case len(group) == 1 && group[0].shrink(err):
				stack = append(stack, group)
			default:
				finish(group, err)
			}
			continue
		}
		again, apart := r.conclude(ctx, group, c)
		if len(apart) > 0 {
			stack = append(stack, apart)
		}
		if len(again) > 0 {
			stack = append(stack, again) // on top: work that has begun comes before new work
		}
		if err := r.documents.Wait(ctx, c.writes); err != nil {
			for _, g := range stack {
				finish(g, ErrOutOfTime)
			}
			return
		}
	}
}

// commitSafely is [run.commit]; a panic is an error.
func (r *run) commitSafely(ctx context.Context, group []*work) (c committed, err error) {
	defer guard.Recover(&err)
	return r.commit(ctx, group)
}

// groupSize is how many items of a rule share a commit: fewer if much belongs to each. No other commit begins until the first
// has shown how much.
type groupSize struct {
	first sync.Mutex // held by the first commit
	mu    sync.Mutex
	known bool
	most  int
	limit int // of the rule
}

func (r *run) sizeOf(rule AnyRule) *groupSize {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sizes[rule.name()] == nil {
		r.sizes[rule.name()] = &groupSize{most: rule.group(), limit: rule.group()}
	}
	return r.sizes[rule.name()]
}

// begin returns how many of n items the next commit should have, and the function to call with its result.
func (s *groupSize) begin(n int) (size int, known func(committed)) {
	s.first.Lock()
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock := func() {}
	if s.known {
		s.first.Unlock()
	} else {
		unlock = s.first.Unlock
	}
	size = min(n, s.most)
	return size, func(c committed) {
		defer unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		cut := slices.ContainsFunc(c.outcomes, func(o outcome) bool { return o.change.Apart && !o.written })
		switch {
		case cut && size > 1:
			s.most = min(s.most, size/2)
		case len(c.outcomes) == size && size == s.most && c.writes*(size+1)/size <= maxChildren: // there is room for one more like them
			s.most = min(s.most+1, s.limit)
		}
		s.known = s.known || !cut || size == 1
	}
}

func finish(group []*work, err error) {
	for _, w := range group {
		w.err = err
	}
}

// divisible reports whether a commit of fewer items may succeed: what Firestore refuses or denies may concern one item only,
// and fewer items mean less contention.
func divisible(err error) bool {
	return documents.Refused(err) || documents.Contended(err) || documents.Denied(err) ||
		errors.Is(err, documents.ErrTooMuch) || errors.Is(err, errGroup)
}

// shrink reduces the room of an item that alone is too large for a commit. It reports whether that was possible.
func (w *work) shrink(err error) bool {
	if !documents.Refused(err) && !errors.Is(err, documents.ErrTooMuch) {
		return false
	}
	room := w.roomLeft() / 2
	if documents.Refused(err) {
		room = min(room, w.tried/2)
	}
	if room == 0 && (w.refused || w.Rule.group() != 1) {
		return false
	}
	w.room, w.refused = room, w.refused || room == 0
	return true
}

func (w *work) roomLeft() int {
	if w.room == 0 {
		return MaxRoom
	}
	return w.room
}

// errGroup says that a rule failed for a group as a whole, so that the item that is to blame has to be found.
var errGroup = errors.New("the group could not be judged")

// conclude handles the result of a commit, hands over the tasks that go before others, and returns the items to be judged again,
// together or in smaller groups.
func (r *run) conclude(ctx context.Context, group []*work, c committed) (again, apart []*work) {
	left := r.follow(ctx, group, c)
	r.first(ctx, group, c)
	var waiting []int // for their tasks to be handed over
	for i, w := range group {
		o, before := c.outcomes[i], len(again)+len(apart)
		moved := o.change.Again != "" && o.change.From != w.From
		if w.idle++; o.written || moved || o.change.Apart && len(group) > 1 { // a smaller group is a step as well
			w.idle = 0
		}
		if o.written {
			w.todo, w.refused = documents.Ref{}, false
			if o.change.Remember && left == nil {
				w.todo = c.todo
			}
		}
		w.begun = w.begun || o.written
		if o.invalid != "" {
			r.notice(ctx, w.Ref.Path(), Notice{Message: fmt.Sprintf("%s: left alone, %s", w.Ref.Path(), o.invalid)})
		}
		switch {
		case w.err != nil: // a follow-up failed, or what goes first did
		case w.gone && len(w.handed) > 0 && errors.Is(o.err, ErrChanged): // whoever does its tasks was quicker
		case o.err != nil:
			w.err = o.err
		case w.idle > maxIdle:
			w.err = fmt.Errorf("%s: judged %d times without any progress: this is a bug in the job", w.Ref.Path(), w.idle)
		case o.postponed:
			again = append(again, w)
		case len(o.change.First) > 0:
			again = append(again, w)
		case len(o.change.Before) > o.handed(w):
			waiting = append(waiting, i)
			continue
		case o.change.Again != "":
			w.kind, w.From = o.change.Again, o.change.From
			if o.change.Apart && !o.written {
				apart = append(apart, w)
			} else {
				again = append(again, w)
			}
		case !o.written && !w.begun:
			w.err = ErrChanged
		}
		ended := before == len(again)+len(apart)
		forgotten := w.err == nil || errors.Is(w.err, ErrChanged) || o.change.Fail != nil && !o.change.Remember
		if ended && forgotten && w.todo != (documents.Ref{}) {
			r.runlog.Over(w.todo)
		}
	}
	var handing errgroup.Group
	handing.SetLimit(maxFollowUps)
	for _, i := range waiting {
		handing.Go(func() error {
			w := group[i]
			defer guard.Recover(&w.err)
			w.err = r.handOver(ctx, w, c.outcomes[i].change.Before)
			return nil
		})
	}
	_ = handing.Wait() // each error is in its work
	for _, i := range waiting {
		if group[i].err == nil {
			again = append(again, group[i])
		}
	}
	return again, apart
}

func works(items []Item) []*work {
	all := make([]*work, len(items))
	for i, item := range items {
		all[i] = &work{Item: item}
	}
	return all
}

// family is an item with the items that go before it or follow from it.
type family struct {
	of  *work
	all []*work
}

// first does the items that go before those of a group. An item is judged again as long as some of them succeed, so that a
// failure does not stop the others; in the end a failure is the item's. A child that failed after the item's commit would not
// be found again.
func (r *run) first(ctx context.Context, group []*work, c committed) {
	var families []family
	for i, w := range group {
		if o := c.outcomes[i]; o.err == nil && len(o.change.First) > 0 {
			families = append(families, family{of: w, all: works(o.change.First)})
		}
	}
	r.settleFamilies(ctx, families)
	for _, f := range families {
		done, err := r.resultOf(ctx, f)
		halfDone := slices.ContainsFunc(f.all, func(w *work) bool { return w.begun && w.err != nil })
		if err != nil && (done == 0 || halfDone || errors.Is(err, ErrOutOfTime)) {
			f.of.err = err
		} else if done > 0 {
			f.of.idle = 0
		}
	}
}

// children does the items that follow from another item. Kept ones do not matter; a failure is the other item's failure.
func (r *run) children(ctx context.Context, parent *work, all []*work) error {
	f := family{of: parent, all: all}
	r.settleFamilies(ctx, []family{f})
	_, err := r.resultOf(ctx, f)
	return err
}

// settleFamilies does the items of families, those of one rule together.
func (r *run) settleFamilies(ctx context.Context, families []family) {
	byRule := map[string][]*work{}
	var names []string
	for _, f := range families {
		for _, w := range f.all {
			name := w.Rule.name()
			if byRule[name] == nil {
				names = append(names, name)
			}
			byRule[name] = append(byRule[name], w)
		}
	}
	for _, name := range names {
		r.settleMany(ctx, byRule[name])
	}
}

// maxFailedNamed is how many failures of one family the log names; all are counted.
const maxFailedNamed = 20

// resultOf returns how many of a family were done, and the failure of the others.
func (r *run) resultOf(ctx context.Context, f family) (done int, err error) {
	failed := 0
	var pinned *pinnedError // the other item stays with it
	for _, w := range f.all {
		switch {
		case w.err == nil:
			done++
		case errors.Is(w.err, ErrChanged):
		case errors.Is(w.err, ErrOutOfTime), ctx.Err() != nil:
			return done, ErrOutOfTime
		case errors.As(w.err, &pinned):
		default:
			if failed++; failed == 1 {
				err = fmt.Errorf("%s: %w", w.Ref.Path(), w.err)
			}
			if failed <= maxFailedNamed {
				r.log.ErrorContext(ctx, w.Ref.Path()+": failed, "+f.of.Ref.Path()+" stays: "+w.err.Error(), slog.String("target", w.Ref.Path()))
			}
		}
	}
	if failed > 0 {
		err = fmt.Errorf("%d of its follow-ups failed, the first: %w", failed, err)
	} else if pinned != nil {
		err = &pinnedError{KeptWithPinned, pinned.target}
	}
	return done, err
}

// settleMany does any number of items of one rule, in groups, several at a time.
func (r *run) settleMany(ctx context.Context, all []*work) {
	var groups errgroup.Group
	groups.SetLimit(maxChildGroups)
	for group := range slices.Chunk(all, all[0].Rule.group()) {
		groups.Go(func() error {
			r.settleSafely(ctx, group)
			return nil
		})
	}
	_ = groups.Wait() // each error is in its work
}

// settleSafely is [run.settle]; a panic is the failure of the items, not the process's end.
func (r *run) settleSafely(ctx context.Context, group []*work) {
	err := guard.Call(func() error {
		r.settle(ctx, group)
		return nil
	})
	if err != nil {
		finish(group, err)
	}
}
