package decide

import (
	"cmp"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// Item is one thing that a run does something to, from the plan to the report: a document, an object, an account, a task, or what
// an earlier run left to do. The plan lists items; to do one may lead to further ones. Items of a plan do not depend on each
// other.
type Item struct {
	report.Planned // its action is empty where it is done as it is judged

	// One of these says what it is; if none does, it is what an earlier run left to do, in the Todo Ref.
	Rule    cleanup.AnyRule       // judges the document Ref
	Object  *cleanup.DeleteObject // an object as it was found
	Account *cleanup.AccountRule  // judges the account UID
	Then    *cleanup.FollowUp     // what follows from Of outside of Firestore

	Ref documents.Ref
	UID string
	By  cleanup.AnyRule // of what an earlier run left to do outside of Firestore: the rule that asks for it
	Of  *Item           // the item that it follows from; nil of one that is in the plan
	At  time.Time       // of what follows outside of Firestore: when that was decided; what was made later stays

	Also int  // how many actions more it counts as, for MAX_ACTIONS
	Most *int // how much of what an earlier run left to do may still be done; nil: all

	State
}

// State is how far an item is done.
type State struct {
	From   string            // see [cleanup.Change]
	Again  bool              // its last change asked to judge it again, as whatever it is now
	Room   int               // documents besides its own that are left to its commit after refusals; 0: all
	Tried  int               // writes that were last refused or committed for it
	Idle   int               // judgments since the last commit
	Gone   bool              // the document was not there when it was last judged
	Seen   *accounts.Account // when somebody last looked; nil: there was none, or nobody looked
	There  bool              // it was there after its deletion had failed
	Begun  bool              // a commit has changed it
	Partly bool              // one has changed what is done before it
	Handed bool              // a task was handed over before its commit
	Logged bool              // a line of what was written names it
	Fate   Fate              // what became of it
}

// NewItem returns a document to judge by a rule, which follows from another item unless of is nil.
func NewItem(of *Item, item cleanup.Item) *Item {
	return &Item{Planned: report.Planned{Target: item.Ref.Path()}, Of: of, Rule: item.Rule, Ref: item.Ref}
}

// RoomLeft returns how many documents besides its own its commit may hold.
func (i *Item) RoomLeft() int { return cmp.Or(i.Room, cleanup.MaxRoom) }

// Wrote returns what the log says of something that was written for the item: the item itself, if it is in the plan and that is
// what was written, else nothing. sure says that the answer is there.
func (i *Item) Wrote(target string, sure bool) (by report.Planned) {
	if i.Of == nil && i.Target == target {
		i.Logged, by = i.Logged || sure, i.Planned
	}
	return by
}

// Record is what the log says of the item that something belongs to: of what follows outside of Firestore, that is the document
// that led there, and of a document that is deleted once an account is, that account.
func (i *Item) Record() undo.Record {
	for i.Of != nil && (i.Rule == nil || i.Of.UID != "") {
		i = i.Of
	}
	r := undo.Record{Item: i.Target, Action: i.Action, Reason: i.Reason}
	for of := i.Of; of != nil; of = of.Of {
		r.After = of.Target
	}
	return r
}
