package cleanup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/guard"
	"github.com/firesweep/firesweep/shared/tasks"
)

// Rule decides about one kind of item: a document, or a path that may have no document. The engine loads and judges items
// twice, while planning and in the commit that changes them, with the same functions. Load and Gather only read; Judge and
// Change are pure.
type Rule[S any] struct {
	// Name is how a Todo refers to the rule; it is unique within a job.
	Name string
	// Reach says what Change can ask for at most.
	Reach Reach
	// Group is how many items share a commit, at most; 0 stands for 25, or 200 of a rule that only deletes them or has accounts
	// deleted. With 1, items are so large that each has a commit of its own, and that few are under way at once.
	Group int
	// Load reads what Judge needs, for many items at once, and returns one state for each subject.
	Load func(ctx context.Context, src Source, subjects []Subject) ([]S, error)
	// Judge decides about one item.
	Judge func(state S, run Run) Decision
	// Gather reads what only Change needs, for the items that are due; nil if that is nothing.
	Gather func(ctx context.Context, src Source, due []*S) error
	// Change says what is written for an item that is due; nil deletes the document, and nothing else.
	Change func(state S, d Decision, run Run) Change
	// Keeps says why what follows an item that is deleted stays, as things are by now; "" if nothing keeps it. It is asked before a
	// later run does what an interrupted one has left to do, perhaps months later; nil if nothing can have changed.
	Keeps func(ctx context.Context, src Source, f FollowUp) (why string, err error)
}

// Run is what a rule may know of the run.
type Run struct {
	Job     string
	ID      string
	Now     time.Time // the run's one instant
	Started time.Time // the wall clock's time when it began
	Promise time.Time // from which on what is promised to people counts: Now, or the wall clock's time if that is later
	Config  config.Config
	Task    map[string]string // a worker's: what to do
}

// Subject is an item as it was found: while planning, the document of the page; in a commit, the document at that moment.
type Subject struct {
	documents.Document
	Found bool   // there is such a document
	From  string // where [Change.From] left off
	Alone bool   // no other item shares the commit
	// Room is how many documents besides the item's own the commit should hold, at most: [MaxRoom], or less after Firestore
	// refused what was to be written for this item alone; far more where what would go is looked at, and nothing committed.
	Room int
}

// MaxRoom is how many documents besides the items' own a commit holds. Firestore's limits are 10 MiB and, in effect, the index
// entries of a commit.
const MaxRoom = 400

// Decision says what happens to an item. The zero value keeps it without counting it.
type Decision struct {
	Kind    string  // what is done, e.g. "delete report"; empty: the item is kept
	Reason  string  // why
	Invalid bool    // it is kept because it cannot be judged
	Notice  *Notice // logged as a warning while planning, of an item that is kept
}

// Keep keeps an item for a reason that is in order.
func Keep(reason string) Decision { return Decision{Reason: reason} }

// Invalid keeps an item that cannot be judged: a field is missing or of the wrong type, an id names no document.
func Invalid(reason string) Decision { return Decision{Reason: reason, Invalid: true} }

// Do changes an item.
func Do(kind, reason string) Decision { return Decision{Kind: kind, Reason: reason} }

// Item is a thing to judge by a rule.
type Item struct {
	Rule AnyRule
	Ref  documents.Ref
	From string // where [Change.From] left off
}

// Change says what is written for one item, as data. Without Writes nothing is committed, and no Todo remembers Then and Next:
// the documents still lead a later run there. So what must be done before an item, such as its children, is asked for without
// Writes and with Again.
type Change struct {
	// Writes are committed together, with those of the other items of the group.
	Writes []documents.Write
	// Then is done after the commit, at least once: a Todo remembers it, unless it is [Recorded].
	Then []FollowUp
	// Next are items that are done after the commit. A Todo remembers them, because nothing else leads to them.
	Next []Item
	// Again says that more of the item is left: it is judged again after this. If a change asks for nothing else, the item has the
	// next commit to itself. A run may be killed before that: what this commit writes must lead a later run's plan to the item.
	Again bool
	From  string // is handed to the next judgment
	// Invalid says why the item is kept, because it turns out that it cannot be done. It is counted and named, and nothing else is
	// done of the change.
	Invalid string
	// Notices are logged as warnings, once committed: the first 20 of them.
	Notices []Notice
}

// Notice is a warning about one item.
type Notice struct {
	Message string
	Fields  map[string]any // further ones of the log line
	Error   bool           // it is logged as an error instead
	Kept    map[string]int // how many further things count as kept, by their reasons, once a change is committed
}

// FollowUp is something outside of Firestore that follows a commit. Exactly one of Object, Account and Task is set. All can
// be repeated without harm. A Todo remembers it with Absent, or else documents of the application do: then it is Recorded.
// A task must be.
type FollowUp struct {
	Object  ObjectDeletion
	Account string      // the uid of an account to delete, which is the item's id
	Task    *tasks.Task // to hand over
	// Apart, if set, is how long after the run's task before it a task is due; the first is due at once.
	Apart time.Duration
	// Absent is the item, which the commit deletes or an earlier one deleted. If it exists again when a later run finishes an
	// interrupted one, the follow-up is left out.
	Absent documents.Ref
	// Recorded, if set, says that documents of the application record the follow-up: what the job's plan finds by them does it in
	// a later run, and no Todo remembers it.
	Recorded *Recorded
}

// Recorded says what happens after a follow-up that documents of the application record. The zero value makes its failure the
// item's.
type Recorded struct {
	Since  time.Time              // when an earlier run recorded it, zero: this commit did; an account that was made later stays
	Done   []documents.Write      // committed after it succeeded
	Failed []documents.Write      // committed after it failed
	Kept   string                 // where set: it is not the item's failure, but counts as kept for this reason
	Notice func(err error) Notice // what is logged then; pure
}

// ObjectDeletion is an object to delete, or a folder of them.
type ObjectDeletion struct {
	Name   string `json:"name"` // ends with a slash for a folder: every object whose name begins with it is deleted
	Folder bool   `json:"folder,omitempty"`
	// OwnerKey, if set, is a key of custom metadata. An object whose metadata has another value there than the item's id is kept,
	// because data must not be able to delete somebody else's object.
	OwnerKey string `json:"ownerKey,omitempty"`
	// Home, if set, is the folder of somebody to whom the item belonged, or [NoHome]. Elsewhere an object whose metadata names no
	// owner is kept too.
	Home string `json:"home,omitempty"`
}

// NoHome is a folder that no object is in.
const NoHome = "/"

// AnyRule is a [Rule] of any state, as the engine uses it.
type AnyRule interface {
	Named() string
	Reaches() Reach
	DeletesAlone() bool // nothing but the document
	Together() int      // items that share a commit, at most
	LoadAll(ctx context.Context, src Source, subjects []Subject) (Loaded, error)
	WhyKept(ctx context.Context, src Source, f FollowUp) (why string, err error)
}

// Loaded are loaded items of one rule, by their index. A panic of the rule is an error.
type Loaded interface {
	Judge(i int, run Run) (Decision, error)
	Gather(ctx context.Context, src Source, due []int) error
	Change(i int, d Decision, run Run) (Change, error)
}

// How many items share a commit, at most, of a rule that does not say; while they are small, many of one that only deletes them,
// and of one whose items' accounts are deleted: those of a commit share a call, and there may be one call a second.
const (
	maxGroup     = 25
	maxDeletions = 200
)

// Named implements [AnyRule].
func (r Rule[S]) Named() string { return r.Name }

// DeletesAlone implements [AnyRule].
func (r Rule[S]) DeletesAlone() bool { return r.Change == nil }

// Reaches implements [AnyRule].
func (r Rule[S]) Reaches() Reach {
	reach := r.Reach
	if r.DeletesAlone() {
		reach.Deletes = append(slices.Clone(reach.Deletes), reach.Items)
	}
	return reach
}

// Together implements [AnyRule].
func (r Rule[S]) Together() int {
	if r.DeletesAlone() || r.Reach.Account {
		return cmp.Or(r.Group, maxDeletions)
	}
	return cmp.Or(r.Group, maxGroup)
}

// LoadAll implements [AnyRule].
func (r Rule[S]) LoadAll(ctx context.Context, src Source, subjects []Subject) (_ Loaded, err error) {
	defer guard.Recover(&err)
	states, err := r.Load(ctx, src, subjects)
	if err != nil {
		return nil, err
	}
	if len(states) != len(subjects) {
		return nil, fmt.Errorf("rule %s loaded %d states for %d items: this is a bug in the job", r.Name, len(states), len(subjects))
	}
	return loaded[S]{rule: r, states: states}, nil
}

// WhyKept says why what follows an item stays, by [Rule.Keeps].
func (r Rule[S]) WhyKept(ctx context.Context, src Source, f FollowUp) (why string, err error) {
	if r.Keeps == nil {
		return "", nil
	}
	defer guard.Recover(&err)
	return r.Keeps(ctx, src, f)
}

type loaded[S any] struct {
	rule   Rule[S]
	states []S
}

// Judge decides what happens to the item, by [Rule.Judge].
func (l loaded[S]) Judge(i int, run Run) (d Decision, err error) {
	defer guard.Recover(&err)
	return l.rule.Judge(l.states[i], run), nil
}

// Gather adds what only items that are due need, by [Rule.Gather].
func (l loaded[S]) Gather(ctx context.Context, src Source, due []int) (err error) {
	if l.rule.Gather == nil || len(due) == 0 {
		return nil
	}
	defer guard.Recover(&err)
	states := make([]*S, len(due))
	for n, i := range due {
		states[n] = &l.states[i]
	}
	return l.rule.Gather(ctx, src, states)
}

// Change returns what a decision does to the item, by [Rule.Change].
func (l loaded[S]) Change(i int, d Decision, run Run) (c Change, err error) {
	defer guard.Recover(&err)
	return l.rule.Change(l.states[i], d, run), nil
}

// Update returns the change that sets fields of a document that exists; [documents.DeleteField] removes one.
func Update(ref documents.Ref, fields map[string]any) Change {
	return Change{Writes: []documents.Write{{Op: documents.Update, Ref: ref, Data: fields}}}
}

// Delete returns the change that deletes documents.
func Delete(all ...documents.Document) (c Change) {
	for _, d := range all {
		c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: d.Ref()})
	}
	return c
}

// AccountRule says which accounts of Authentication are deleted. The engine judges each account twice with the same functions:
// while planning, and right before the deletion.
type AccountRule struct {
	// Judge decides about an account by its attributes in Authentication; it is pure.
	Judge func(a accounts.Account, run Run) Decision
	// Keepers are documents. An account that is due is kept while one of them exists.
	Keepers []Keeper
	Limit   int // how many a run deletes at most; 0: any number
	// Next are the items to judge once the account is gone; nil if there are none. A Todo remembers them before the account goes.
	Next func(uid string) []Item
	// Whole says that something may keep what is deleted with one of Next. Then it keeps the account, too.
	Whole bool
}

// Keeper says which document keeps an account.
type Keeper struct {
	Collection string
	ID         func(uid string) string // it must be valid for accounts that are due
	Reason     string                  // why the account is kept
}

// Considered says what happened to accounts that were considered.
type Considered struct {
	Due     int              // proposed, or left for a later run because of the rule's limit
	Left    bool             // some were left
	Lookups map[string]Count // of the keepers, by collection
}
