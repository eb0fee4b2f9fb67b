package decide

import (
	"context"
	"errors"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// Fate is what became of an item. The zero one is done.
type Fate struct {
	Kind     FateKind
	Reason   string // why it cannot be done, of Invalid and Changed; under which it counts as kept, of Invalid, Kept and Back
	Because  string // why it is not done, for people
	HalfDone bool   // a commit has changed it, and it stays
	// Err is what it failed with: of Failed, and of OutOfTime if time was up while it was under way.
	Err error
}

// FateKind says in a word what became of an item.
type FateKind int

// The fates of an item, in the order by which one outweighs another: see [Fate.Outweighs].
const (
	Done FateKind = iota
	// Changed is no longer what was judged.
	Changed
	// Invalid turned out, in its commit, to be none that can be done.
	Invalid
	// Back has its document again, whose absence is the reason for its deletion, or its rule keeps it by now.
	Back
	// Kept is on the list of what the job keeps, or Cloud Storage does not let it go: what it belongs to stays, too.
	Kept
	// Later is what a later run finds by itself: neither done nor a failure, for which Cloud Scheduler would call again at once.
	Later
	// OutOfTime is what a later run judges again.
	OutOfTime
	Failed
)

const becauseChanged = "it changed since it was judged"

// FateOf returns the fate of an item that ended with an error, or with none.
func FateOf(ctx context.Context, err error) Fate {
	var held *objects.HeldError
	switch {
	case err == nil:
		return Fate{}
	case errors.Is(err, documents.ErrChanged):
		return Fate{Kind: Changed, Because: becauseChanged}
	case errors.As(err, &held):
		return Fate{Kind: Kept, Reason: held.Reason, Because: held.Reason}
	case errors.Is(err, cleanup.ErrOutOfTime):
		return Fate{Kind: OutOfTime}
	case ctx.Err() != nil:
		return Fate{Kind: OutOfTime, Err: err}
	}
	return Fate{Kind: Failed, Err: err}
}

// Outweighs reports whether the fate of one thing that an item leads to takes the place of another's as the item's own: what
// stays that of what was left alone, and what is left to do or has failed that of either, the first of several.
func (f Fate) Outweighs(other Fate) bool { return other.Kind <= Kept && f.Kind > other.Kind }

// Ends says what became of the item, unless that is known already.
func (i *Item) Ends(f Fate) {
	if i.Fate.Kind != Done {
		return
	}
	stays := f.Kind == Changed || f.Kind == Invalid || f.Kind == Kept
	f.HalfDone = stays && i.Begun && !i.Gone
	i.Fate = f
}
