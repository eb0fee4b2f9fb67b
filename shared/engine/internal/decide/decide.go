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
	Decision  cleanup.Decision // what it was judged as
	Change    cleanup.Change
	Written   bool   // its writes are in the commit
	Apart     bool   // it needs a commit of its own
	Postponed bool   // there was no room for its writes
	Invalid   string // why it cannot be judged now, although it could be while planning
	Err       error  // it could not be decided
}

// Decide judges items and says what is to be written for each. An error concerns the group as a whole.
func (d *Decider) Decide(ctx context.Context, src cleanup.Source, group []*Item) ([]Outcome, error) {
	items, found, err := load(ctx, src, group)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(group))
	var due []int
	for i, w := range group {
		if outcomes[i] = d.judged(items, i, w, found[w.Ref]); outcomes[i].Err == nil {
			due = append(due, i)
		}
	}
	if err := items.Gather(ctx, src, due); err != nil {
		return nil, asGroup(err)
	}
	together := &commit{written: map[documents.Ref]bool{}}
	for _, i := range due {
		d.change(items, i, group[i], &outcomes[i])
		outcomes[i].place(group[i], len(group) == 1, together)
	}
	return outcomes, nil
}

// load loads the items of a group, and returns their documents.
func load(ctx context.Context, src cleanup.Source, group []*Item) (
	items cleanup.Loaded, found map[documents.Ref]documents.Document, err error,
) {
	refs := make([]documents.Ref, 0, len(group))
	for _, w := range group {
		refs = append(append(refs, w.Ref), w.Rule.ReadsWith(w.Ref)...)
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

// judged returns what loaded item i is judged as. Unless it is due as it was asked for, Err says why not. now is its document,
// the zero one if there is none.
func (d *Decider) judged(items cleanup.Loaded, i int, w *Item, now documents.Document) (o Outcome) {
	judged, err := items.Judge(i, d.Run)
	switch {
	case err != nil:
		o.Err = err
	case d.Approved != nil && w.Version != "" && VersionAt(now.UpdateTime) != w.Version,
		w.Rule.DeletesAlone() && now.UpdateTime.IsZero():
		o.Err = documents.ErrChanged
	case judged.Kind != "" && d.KeptBy(w.Ref.Path()) != nil:
		o.Err = d.KeptBy(w.Ref.Path())
	case judged.Kind == "" || w.Action != "" && !w.Again && judged.Kind != w.Action:
		o.Err = documents.ErrChanged
		if judged.Invalid {
			o.Invalid, o.Err = judged.Reason, fmt.Errorf("%w, %s", documents.ErrChanged, judged.Reason)
		}
	default:
		o.Decision = judged
	}
	return o
}

// change adds the change of loaded item i, which is due, to its outcome, or why there is to be none.
func (d *Decider) change(items cleanup.Loaded, i int, w *Item, o *Outcome) {
	if w.Rule.DeletesAlone() {
		o.Change.Writes = []documents.Write{{Op: documents.Delete, Ref: w.Ref}}
	} else if o.Change, o.Err = items.Change(i, o.Decision, d.Run); o.Err == nil && o.Change.Invalid != "" {
		o.Invalid, o.Err = o.Change.Invalid, &InvalidError{o.Change.Invalid}
	}
	if o.Err == nil {
		o.Err = d.beyond(w.Rule, w.Ref, o.Change)
	}
	if kept := d.keptWith(o.Change); kept != nil && o.Err == nil {
		o.Err = kept
	}
}

// place says whether the outcome of an item is written by the commit, which it has to itself if it is alone.
func (o *Outcome) place(w *Item, alone bool, together *commit) {
	switch {
	case o.Err != nil:
	case len(o.Change.Writes)+len(o.Change.Then)+len(o.Change.Next) == 0:
		o.Apart = !alone && o.Change.Again && o.Change.From == w.From
	case together.takes(o.Change.Writes):
		o.Written = true
	default:
		o.Postponed = true
	}
}

// InvalidError says why an item is kept that turned out to be none that can be done.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// Is makes it a [documents.ErrChanged]: the item is no longer what was planned.
func (e *InvalidError) Is(target error) bool { return target == documents.ErrChanged }

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

// commit is what the items of a group write together.
type commit struct {
	writes  int
	written map[documents.Ref]bool
}

// takes adds writes if there is room for them, and if no other item of the commit writes to the same documents.
func (c *commit) takes(writes []documents.Write) bool {
	same := func(w documents.Write) bool { return c.written[w.Ref] }
	if c.writes > 0 && c.writes+len(writes) > maxWrites || slices.ContainsFunc(writes, same) {
		return false
	}
	for _, w := range writes {
		c.written[w.Ref] = true
	}
	c.writes += len(writes)
	return true
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
		var kept *InvalidError
		if err == nil && errors.As(outcomes[0].Err, &kept) {
			return kept.Reason, nil
		}
	}
	return "", nil
}
