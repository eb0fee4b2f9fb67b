// Package decide says what the rules of a job make of items: while planning, in each commit and in a preview. What a rule may not
// do, because it does not declare it or the job keeps something, is not done.
package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
)

// maxWrites is how many writes one commit holds, unless a single item has more.
const maxWrites = 400

// Time says when to end.
type Time interface {
	Now() time.Time         // by the wall clock
	CheckTime() error       // [cleanup.ErrOutOfTime] when nothing more may be begun
	PlanningTimeIsUp() bool // earlier, for planning that took all the time would leave none to apply what was planned, run after run
}

// Decider is what decisions depend on besides the items.
type Decider struct {
	*tell.Teller
	Time      Time
	Job       cleanup.Job
	Run       cleanup.Run
	Documents documents.Reader
	Objects   objects.Reader                 // of no use in a function that does not use Storage
	People    accounts.Reader                // of no use in a function that does not use Authentication
	Saves     bool                           // what the run deletes is saved for undo
	Approved  *report.Approval               // what the run is restricted to; nil: to nothing
	keeps     atomic.Pointer[jobstate.Keeps] // what the job keeps because it is listed

	tenants struct { // what [Decider.noTenants] found out
		once sync.Once
		err  error
	}
}

// Outcome is what was decided about one item.
type Outcome struct {
	Decision cleanup.Decision // what it was judged as
	Change   cleanup.Change
	Place    Place
	Fate     Fate // why it is refused
}

// Place says where the change of an item is made.
type Place int

// The places of a change.
const (
	Refused    Place = iota // nowhere: the item is not due, or may not be done
	Nowhere                 // the change asks for nothing
	InCommit                // its writes are in the commit, or nothing but what follows
	Alone                   // the item needs a commit of its own
	NextCommit              // there was no room for its writes
)

// Decide judges items and says what is to be written for each. An error concerns the group as a whole.
func (d *Decider) Decide(ctx context.Context, src cleanup.Source, group []*Item) ([]Outcome, error) {
	items, found, err := load(ctx, src, group)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(group))
	var due []int
	for i, w := range group {
		if outcomes[i] = d.judged(ctx, items, i, w, found[w.Ref]); outcomes[i].Fate.Kind == Done {
			due = append(due, i)
		}
	}
	if err := items.Gather(ctx, src, due); err != nil {
		return nil, asGroup(err)
	}
	writes, written := 0, map[documents.Ref]bool{} // by the commit
	for _, i := range due {
		o := &outcomes[i]
		if o.Change, o.Fate = d.change(ctx, items, i, group[i], o.Decision); o.Fate.Kind != Done {
			continue
		}
		more := o.Change.Writes
		another := func(w documents.Write) bool { return written[w.Ref] } // item of the group writes there, too
		switch {
		case len(more)+len(o.Change.Then)+len(o.Change.Next) == 0:
			o.Place = Nowhere
			if len(group) > 1 && o.Change.Again && o.Change.From == group[i].From {
				o.Place = Alone
			}
		case writes > 0 && writes+len(more) > maxWrites, slices.ContainsFunc(more, another):
			o.Place = NextCommit
		default:
			o.Place = InCommit
			writes += len(more)
			for _, w := range more {
				written[w.Ref] = true
			}
		}
	}
	return outcomes, nil
}

// load loads the items of a group, and returns their documents.
func load(ctx context.Context, src cleanup.Source, group []*Item) (
	items cleanup.Loaded, found map[documents.Ref]documents.Document, err error,
) {
	refs := make([]documents.Ref, len(group))
	for i, w := range group {
		refs[i] = w.Ref
	}
	if found, err = src.Get(ctx, refs); err != nil {
		return nil, nil, err
	}
	subjects := make([]cleanup.Subject, len(group))
	for i, w := range group {
		doc, ok := found[w.Ref]
		doc.Path, w.Gone = w.Ref.Path(), !ok
		subjects[i] = cleanup.Subject{Document: doc, Found: ok, From: w.From, Alone: len(group) == 1, Room: w.RoomLeft()}
	}
	if items, err = group[0].Rule.LoadAll(ctx, src, subjects); err != nil {
		return nil, nil, asGroup(err)
	}
	return items, found, nil
}

// judged returns what loaded item i is judged as, and why it is refused unless it is due as it was asked for. now is its
// document, the zero one if there is none.
func (d *Decider) judged(ctx context.Context, items cleanup.Loaded, i int, w *Item, now documents.Document) (o Outcome) {
	judged, err := items.Judge(i, d.Run)
	kept := d.Keeps(w)
	switch {
	case err != nil:
		o.Fate = FateOf(ctx, err)
	case d.Approved != nil && w.Version != "" && VersionAt(now.UpdateTime) != w.Version,
		w.Rule.DeletesAlone() && now.UpdateTime.IsZero():
		o.Fate = Fate{Kind: Changed, Because: becauseChanged}
	case judged.Kind != "" && kept.Kind == Kept:
		o.Fate = kept
	case judged.Invalid:
		o.Fate = Fate{Kind: Changed, Reason: judged.Reason, Because: becauseChanged + ", " + judged.Reason}
	case judged.Kind == "" || w.Action != "" && !w.Again && judged.Kind != w.Action:
		o.Fate = Fate{Kind: Changed, Because: becauseChanged}
	}
	o.Decision = judged
	return o
}

// change returns the change of loaded item i, which is due, and why it is refused, if it is.
func (d *Decider) change(
	ctx context.Context, items cleanup.Loaded, i int, w *Item, due cleanup.Decision,
) (c cleanup.Change, f Fate) {
	var err error
	if w.Rule.DeletesAlone() {
		c.Writes = []documents.Write{{Op: documents.Delete, Ref: w.Ref}}
	} else if c, err = items.Change(i, due, d.Run); err == nil {
		if c.Invalid == "" && slices.ContainsFunc(c.Writes, documents.Write.HasUnknown) {
			c.Invalid = "a value beside what would be written is of a type that nobody knows"
		}
		if c.Invalid != "" {
			return c, Fate{Kind: Invalid, Reason: c.Invalid, Because: c.Invalid}
		}
	}
	if err == nil {
		err = d.beyond(w.Rule, w.Ref, c)
	}
	if err != nil {
		return c, FateOf(ctx, err)
	}
	return c, d.kept(d.targetsOf(c)...)
}

// ErrGroup says that a rule failed for a group as a whole, so that the item that is to blame has to be found.
var ErrGroup = errors.New("the group could not be judged")

// asGroup marks an error that concerns a group as a whole, such as a rule's panic, so that the engine looks for the item that
// is to blame. It leaves Firestore's answers as they are.
func asGroup(err error) error {
	if documents.Answered(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrGroup, err)
}

// Accounts decides about accounts by their attributes and, if they are due, by the documents that may keep them.
func (d *Decider) Accounts(
	ctx context.Context, rule *cleanup.AccountRule, found []accounts.Account,
) ([]cleanup.Decision, map[string]cleanup.Count, error) {
	decisions, lookups := make([]cleanup.Decision, len(found)), map[string]cleanup.Count{}
	for i, a := range found {
		decisions[i] = rule.Judge(a, d.Run)
	}
	for _, k := range rule.Keepers {
		var ids []string // of accounts that are due
		for i, a := range found {
			if decisions[i].Kind != "" {
				ids = append(ids, k.ID(a.UID))
			}
		}
		missing, err := d.Documents.Missing(ctx, k.Collection, ids)
		if err != nil {
			return nil, nil, err
		}
		for i, a := range found {
			if decisions[i].Kind != "" && !slices.Contains(missing, k.ID(a.UID)) {
				decisions[i] = cleanup.Keep(k.Reason)
			}
		}
		c := lookups[k.Collection]
		lookups[k.Collection] = cleanup.Count{Exists: c.Exists + len(ids) - len(missing), Missing: c.Missing + len(missing)}
	}
	for i, a := range found {
		if decisions[i].Kind == "" || !rule.Whole {
			continue
		}
		kept, err := d.keptNext(ctx, a.UID, rule.Next(a.UID))
		if err != nil {
			return nil, nil, err
		}
		if kept != "" {
			decisions[i] = cleanup.Invalid(kept)
		}
	}
	return decisions, lookups, nil
}

// keptNext says why documents that would be deleted once an account is are kept; "" if nothing keeps them.
func (d *Decider) keptNext(ctx context.Context, uid string, next []cleanup.Item) (why string, err error) {
	src := d.untransacted()
	src.deleted = uid
	for _, n := range next {
		outcomes, err := d.Decide(ctx, src, []*Item{NewItem(nil, n)})
		if err != nil && !errors.Is(err, documents.ErrTooMuch) {
			return "", err
		}
		if err == nil && outcomes[0].Fate.Kind == Invalid {
			return outcomes[0].Fate.Reason, nil
		}
	}
	return "", nil
}
