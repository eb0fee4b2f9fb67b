package decide

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// Reasons to keep what a plan that somebody approved does not name, or not as it is now, and why an approved item fell away.
const (
	KeptUnapproved = "not in the approved plan"
	keptChanged    = "it was changed since the plan was approved"
	keptNewer      = "something that goes with it was written since the plan was approved"
	fellUndue      = "gone, or no longer found to be due"
	fellUnreached  = "not reached in this run: run it again with the same plan"
)

// Approved is a plan that somebody approved: the run does its items and nothing else, each if it is still what it was. A nil one
// approves everything.
type Approved struct {
	*report.Approval
	mu    sync.Mutex
	fates map[string]string // of items: why they fell away; empty: something was done, or failed
}

// Restrict returns what a plan approves.
func Restrict(to *report.Approval) *Approved {
	if to == nil {
		return nil
	}
	return &Approved{Approval: to, fates: map[string]string{}}
}

// Keeps returns why an action is kept that is not in the plan exactly as it is.
func (a *Approved) Keeps(action Action) (reason string) {
	if a == nil {
		return ""
	}
	item, version := action.Planned().Key()
	switch approved, named := a.Items[item]; {
	case !named:
		return KeptUnapproved
	case approved != version:
		return keptChanged
	}
	return ""
}

// Ended says what became of an action: why it fell away, or empty if something was done of it or failed.
func (a *Approved) Ended(action Action, fellAway string) {
	if a != nil {
		item, _ := action.Planned().Key()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.fates[item] = fellAway
	}
}

// Report says in the report of a run that has ended which items fell away, and why. whole says that it looked at all there is.
func (a *Approved) Report(r *report.Report, whole bool) {
	if a == nil {
		return
	}
	reason := fellUnreached
	if whole {
		reason = fellUndue
	}
	r.Approved = &report.Approved{Items: len(a.Items), Which: map[string]string{}}
	for _, item := range slices.Sorted(maps.Keys(a.Items)) {
		why, ended := a.fates[item]
		if !ended {
			why = reason
			r.Kept[reason]++
		}
		if why == "" {
			continue
		}
		if r.Approved.FellAway++; r.Approved.FellAway <= report.MaxFell {
			r.Approved.Which[item] = why
		}
	}
}

// newerWith returns why an item is kept with which something would go that was written since the plan was made, which nobody has
// seen who approved it; nil if nothing would.
func (d *Decider) newerWith(ctx context.Context, src cleanup.Source, item *Asked, c cleanup.Change) (*KeptError, error) {
	if d.Approved == nil || item.Foreseen {
		return nil, nil
	}
	return d.Newer(ctx, src, slices.DeleteFunc(GoneWith(c), func(ref documents.Ref) bool { return ref == item.Ref }))
}

// Newer returns why something is kept with which these documents would go, if one was written since the plan was approved.
func (d *Decider) Newer(ctx context.Context, src cleanup.Source, refs []documents.Ref) (*KeptError, error) {
	found, err := src.Get(ctx, refs)
	for _, ref := range refs {
		if found[ref].UpdateTime.After(d.Approved.Made) {
			return &KeptError{keptNewer, ref.Path()}, err
		}
	}
	return nil, err
}

// Planned is the action as a plan lists it.
func (a Action) Planned() report.Planned {
	return report.Planned{Target: a.Target, Action: a.Kind, Reason: a.Reason, Writes: a.Writes, More: a.More, Version: a.Version}
}

// VersionAt is the version of a document that was written then; of one that does not exist, that is the zero time.
func VersionAt(updated time.Time) string { return updated.UTC().Format(time.RFC3339Nano) }

// AccountVersion is that of an account: when it was made and used.
func AccountVersion(a accounts.Account) string {
	return digest.Of(fmt.Sprint(a.Created, a.LastLogin, a.LastRefresh, a.Disabled))
}
