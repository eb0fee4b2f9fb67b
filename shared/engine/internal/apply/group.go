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
	"github.com/firesweep/firesweep/shared/flow"
	"github.com/firesweep/firesweep/shared/guard"
)

// maxChildGroups is how many groups of one item's children are under way at once.
const maxChildGroups = 4

// maxIdle is how often in a row an item may be judged again without a commit. A rule that needs more would never end.
const maxIdle = 3

// work is an item that is being done.
type work struct {
	decide.Asked
	reason string // why, as the plan says
	begun  bool   // a commit has changed it
	partly bool   // one has changed what is done before it
	handed bool   // a task was handed over before its commit
	idle   int    // judgments since the last commit
	tried  int    // writes that were last refused or committed for it
	err    error  // what became of it: nil when it is done, ErrChanged, ErrOutOfTime, errLater, or why it failed
}

// settle does the items of one rule, all of which share a commit if they can. What became of each is in its err.
func (a *Applier) settle(ctx context.Context, group []*work) {
	stack := [][]*work{group}
	size := a.sizeOf(group[0].Rule)
	for len(stack) > 0 {
		group := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if ctx.Err() != nil || a.Time.CheckTime() != nil {
			finish(group, cleanup.ErrOutOfTime)
			continue
		}
		n, known := size.begin(len(group))
		if n < len(group) {
			stack = append(stack, group[n:])
			group = group[:n]
		}
		c, err := a.commitSafely(ctx, group)
		known(c)
		if err != nil {
			switch {
			case len(group) > 1 && divisible(group[0].Rule, err):
				stack = append(stack, group[len(group)/2:], group[:len(group)/2])
			case len(group) == 1 && group[0].shrink(err):
				stack = append(stack, group)
			default:
				finish(group, err)
			}
			continue
		}
		again, apart := a.conclude(ctx, group, c)
		if len(apart) > 0 {
			stack = append(stack, apart)
		}
		if len(again) > 0 {
			stack = append(stack, again) // on top: work that has begun comes before new work
		}
		if err := a.Documents.Wait(ctx, c.writes); err != nil {
			for _, g := range stack {
				finish(g, cleanup.ErrOutOfTime)
			}
			return
		}
	}
}

// commitSafely is [Applier.commit]; a panic is an error.
func (a *Applier) commitSafely(ctx context.Context, group []*work) (c committed, err error) {
	defer guard.Recover(&err)
	return a.commit(ctx, group)
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
	first sync.Mutex // held by the first commit
	mu    sync.Mutex
	known bool
	most  int
	limit int // of the rule
}

func (a *Applier) sizeOf(rule cleanup.AnyRule) *groupSize {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sizes[rule.Named()] == nil {
		a.sizes[rule.Named()] = &groupSize{most: min(firstGroup, rule.Together()), limit: rule.Together()}
	}
	return a.sizes[rule.Named()]
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
		cut := slices.ContainsFunc(c.outcomes, func(o decide.Outcome) bool { return o.Apart })
		switch whole := len(c.outcomes) == size && size == s.most; {
		case cut && size > 1:
			s.most = min(s.most, size/2)
		case c.bytes > maxTogether && size > 1:
			s.most = max(1, min(s.most, size*muchBefore/c.bytes))
		case whole && 2*c.writes <= cleanup.MaxRoom && 2*c.bytes <= muchBefore: // there is room for as many again
			s.most = min(2*s.most, s.limit)
		case whole && c.writes*(size+1)/size <= cleanup.MaxRoom && c.bytes*(size+1)/size <= muchBefore: // or for one more like them
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

// divisible reports whether a commit of fewer items of a rule may succeed: what Firestore refuses or denies may concern one item
// only, and fewer items mean less contention. Who may not delete some documents of a collection may delete none.
func divisible(rule cleanup.AnyRule, err error) bool {
	return documents.Refused(err) || documents.Contended(err) || documents.Denied(err) && !rule.DeletesAlone() ||
		errors.Is(err, documents.ErrTooMuch) || errors.Is(err, decide.ErrGroup)
}

// shrink reduces the room of an item that alone is too large for a commit. It reports whether that was possible.
func (w *work) shrink(err error) bool {
	if !documents.Refused(err) && !errors.Is(err, documents.ErrTooMuch) {
		return false
	}
	room := w.RoomLeft() / 2
	if documents.Refused(err) {
		room = min(room, w.tried/2)
	}
	w.Room = room
	return room > 0
}

// conclude handles the result of a commit, and returns the items to be judged again, together or in smaller groups.
func (a *Applier) conclude(ctx context.Context, group []*work, c committed) (again, apart []*work) {
	a.follow(ctx, group, c)
	for i, w := range group {
		o := c.outcomes[i]
		w.note(o)
		if o.Invalid != "" && !w.begun {
			a.Notice(ctx, w.Ref.Path(), cleanup.Notice{Message: tell.Kept(w.Ref.Path(), o.Invalid)})
		}
		switch next := w.next(o); {
		case next == toJudge && o.Apart:
			apart = append(apart, w)
		case next == toJudge:
			again = append(again, w)
		}
	}
	return again, apart
}

// note notes what a commit, or a judgment that led to none, changed of an item.
func (w *work) note(o decide.Outcome) {
	moved := o.Change.Again != "" && o.Change.From != w.From
	wrote := o.Written && len(o.Change.Writes) > 0
	if w.idle++; wrote || moved || o.Apart { // a smaller group is a step as well
		w.idle = 0
	}
	w.begun = w.begun || wrote
	w.handed = w.handed || o.Written && !wrote && len(o.Change.Then) > 0
	if o.Written {
		w.Version = nil // what it is from now on is this run's doing
	}
}

// step is what comes next for an item.
type step int

const (
	ended   step = iota // its err says what became of it
	toJudge             // once more
)

// next says what comes next for an item of which a commit made this.
func (w *work) next(o decide.Outcome) step {
	switch {
	case w.err != nil: // a follow-up failed
	case w.Gone && w.handed && errors.Is(o.Err, documents.ErrChanged): // whoever does its tasks was quicker
	case o.Err != nil:
		w.err = w.stays(o.Err)
	case w.idle > maxIdle:
		w.err = fmt.Errorf("%s: judged %d times without any progress: this is a bug in the job", w.Ref.Path(), w.idle)
	case o.Postponed:
		return toJudge
	case o.Change.Again != "":
		w.Kind, w.From = o.Change.Again, o.Change.From
		return toJudge
	case !o.Written && !w.begun:
		w.err = documents.ErrChanged
	}
	return ended
}

// stays returns why an item is not done: it is left half done if it changed between its commits, or if something keeps it by then.
func (w *work) stays(err error) error {
	var kept *decide.KeptError
	if w.begun && !w.Gone && (errors.Is(err, documents.ErrChanged) || errors.As(err, &kept)) {
		return fmt.Errorf("%w, %w", errHalfDone, err)
	}
	return err
}

func workOf(item cleanup.Item) *work {
	return &work{Asked: decide.Asked{Ruled: decide.Ruled{Item: item}}}
}

func works(items []cleanup.Item) []*work {
	all := make([]*work, len(items))
	for i, item := range items {
		all[i] = workOf(item)
	}
	return all
}

// family is an item with the items that follow from it.
type family struct {
	of    *work
	all   []*work
	again bool // it is judged again after them
}

// next does the items that follow from those of a group, and says why some are left to do. Of one that is judged again after them,
// a failure does not stop the others as long as some succeed: it is the item's in the end.
func (a *Applier) next(ctx context.Context, group []*work, c committed) (left error) {
	var families []family
	for i, w := range group {
		if o := c.outcomes[i]; o.Written && len(o.Change.Next) > 0 {
			families = append(families, family{of: w, all: works(o.Change.Next), again: o.Change.Again != ""})
		}
	}
	a.settleFamilies(ctx, families)
	for _, f := range families {
		done, err := a.resultOf(ctx, f)
		halfDone := slices.ContainsFunc(f.all, func(w *work) bool { return w.begun && w.err != nil })
		f.of.partly = f.of.partly || slices.ContainsFunc(f.all, func(w *work) bool { return w.begun || w.partly })
		if done > 0 {
			f.of.idle = 0
		}
		if err != nil && (!f.again || done == 0 || halfDone || errors.Is(err, cleanup.ErrOutOfTime)) {
			f.of.err, left = cmp.Or(f.of.err, f.of.stays(err)), cmp.Or(left, err)
		}
	}
	return left
}

// children does the items that follow from another item. Kept ones do not matter; a failure is the other item's failure.
func (a *Applier) children(ctx context.Context, parent *work, all []*work) error {
	f := family{of: parent, all: all}
	a.settleFamilies(ctx, []family{f})
	_, err := a.resultOf(ctx, f)
	return err
}

// settleFamilies does the items of families, those of one rule together.
func (a *Applier) settleFamilies(ctx context.Context, families []family) {
	byRule := map[string][]*work{}
	var names []string
	for _, f := range families {
		for _, w := range f.all {
			name := w.Rule.Named()
			if byRule[name] == nil {
				names = append(names, name)
			}
			byRule[name] = append(byRule[name], w)
		}
	}
	for _, name := range names {
		a.settleMany(ctx, byRule[name])
		for _, w := range byRule[name] {
			if errors.Is(w.err, errHalfDone) {
				a.Notice(ctx, w.Ref.Path(), cleanup.Notice{Message: w.Ref.Path() + ": " + a.halfDone(w.err)})
			}
		}
	}
}

// maxFailedNamed is how many failures of one family the log names; all are counted.
const maxFailedNamed = 20

// resultOf returns how many of a family were done, and the failure of the others.
func (a *Applier) resultOf(ctx context.Context, f family) (done int, err error) {
	failed := 0
	var kept *decide.KeptError // the other item stays with it
	for _, w := range f.all {
		switch {
		case w.err == nil:
			done++
		case errors.Is(w.err, documents.ErrChanged):
		case errors.Is(w.err, cleanup.ErrOutOfTime), ctx.Err() != nil:
			return done, cleanup.ErrOutOfTime
		case errors.As(w.err, &kept):
		default:
			if failed++; failed == 1 {
				err = fmt.Errorf("%s: %w", w.Ref.Path(), w.err)
			}
			if failed <= maxFailedNamed {
				a.Logger.ErrorContext(ctx, w.Ref.Path()+": failed, "+f.of.Ref.Path()+" stays: "+w.err.Error(), slog.String("target", w.Ref.Path()))
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

// settleMany does any number of items of one rule, in groups, several at a time. A panic is the failure of its group's items.
func (a *Applier) settleMany(ctx context.Context, all []*work) {
	groups := slices.Collect(slices.Chunk(all, all[0].Rule.Together()))
	for i, err := range flow.Many(maxChildGroups, len(groups), func(i int) error {
		a.settle(ctx, groups[i])
		return nil
	}) {
		if err != nil {
			finish(groups[i], err)
		}
	}
}
