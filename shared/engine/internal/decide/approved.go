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
	keptUnapproved = "not in the approved plan"
	keptChanged    = "it was changed since the plan was approved"
	keptNewer      = "something that goes with it was written since the plan was approved"
	fellUndue      = "gone, or no longer found to be due"
	fellUnreached  = "not reached in this run: run it again with the same plan"
)

// Approved are the items of a plan that somebody approved: the run does these and nothing else, each if it is still what it was.
// A nil one approves everything.
type Approved struct {
	made     time.Time         // before the plan read anything, by Firestore's clock
	versions map[string]string // by item, as [report.Planned.Approval] names both

	mu    sync.Mutex
	fates map[string]string // of items: why they fell away; empty: something was done, or failed
}

// NewApproved returns what is approved. Each item is a [report.Planned.Approval].
func NewApproved(made time.Time, items []string) *Approved {
	a := &Approved{made: made, versions: map[string]string{}, fates: map[string]string{}}
	for _, item := range items {
		key, version := report.SplitApproval(item)
		a.versions[key] = version
	}
	return a
}

// Keeps returns why an action is kept that is not in the plan exactly as it is, and whether it is in it at all.
func (a *Approved) Keeps(action Action) (reason string, named bool) {
	if a == nil {
		return "", true
	}
	key, version := report.SplitApproval(action.planned().Approval())
	switch want, named := a.versions[key]; {
	case !named:
		return keptUnapproved, false
	case want != version:
		return keptChanged, true
	}
	return "", true
}

// Ended says what became of an action: why it fell away, or empty if something was done of it or failed.
func (a *Approved) Ended(action Action, fellAway string) {
	if a == nil {
		return
	}
	key, _ := report.SplitApproval(action.planned().Approval())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fates[key] = fellAway
}

// Before returns the time up to which files are taken for those that belong to what was deleted at a time.
func (a *Approved) Before(deleted time.Time) time.Time {
	if a == nil {
		return deleted
	}
	return a.made
}

// Report says in the report of a run that has ended which items fell away, and why. whole says that it looked at all there is.
func (a *Approved) Report(r *report.Report, whole bool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	reason := fellUnreached
	if whole {
		reason = fellUndue
	}
	r.Approved = &report.Approved{Items: len(a.versions)}
	for _, key := range slices.Sorted(maps.Keys(a.versions)) {
		why, ended := a.fates[key]
		if !ended {
			why = reason
			r.Kept[reason]++
		}
		if why != "" {
			r.Approved.Fell(key, why)
		}
	}
}

// newerWith returns why an item is kept with which something would go that was written since the plan was made, which nobody has
// seen who approved it; nil if nothing would.
func (d *Decider) newerWith(ctx context.Context, src cleanup.Source, item *Asked, c cleanup.Change) (*KeptError, error) {
	if d.Approved == nil || item.Foreseen {
		return nil, nil
	}
	var refs []documents.Ref
	for _, w := range c.Writes {
		if w.Op == documents.Delete && w.Ref != item.Ref {
			refs = append(refs, w.Ref)
		}
	}
	return d.Newer(ctx, src, slices.Concat(refs, RefsOf(c.First), RefsOf(c.Next)))
}

// RefsOf returns the documents of items.
func RefsOf(items []cleanup.Item) (refs []documents.Ref) {
	for _, item := range items {
		refs = append(refs, item.Ref)
	}
	return refs
}

// Newer returns why something is kept with which these documents would go, if one was written since the plan was approved.
func (d *Decider) Newer(ctx context.Context, src cleanup.Source, refs []documents.Ref) (*KeptError, error) {
	found, err := src.Get(ctx, refs)
	for _, ref := range refs {
		if found[ref].UpdateTime.After(d.Approved.made) {
			return &KeptError{Reason: keptNewer, Target: ref.Path(), Newer: true}, err
		}
	}
	return nil, err
}

// planned is the action as a plan lists it.
func (a Action) planned() report.Planned {
	return report.Planned{Target: a.Target, Action: a.Kind, Version: VersionOf(a.Effect)}
}

// VersionOf returns what tells whether the target of an effect is still what it was, and nothing of what is in it.
func VersionOf(effect Effect) string {
	switch e := effect.(type) {
	case DeleteDocument:
		return versionAt(e.LastUpdateTime)
	case cleanup.DeleteObject:
		return fmt.Sprintf("%d/%d", e.Generation, e.Metageneration)
	case DeleteAccount:
		return e.Version
	case Ruled:
		if e.Version != nil {
			return versionAt(*e.Version)
		}
	case FinishTodo:
		return versionAt(e.Updated)
	}
	return ""
}

// versionAt is the version of a document.
func versionAt(updated time.Time) string {
	if updated.IsZero() {
		return "none"
	}
	return updated.UTC().Format(time.RFC3339Nano)
}

// AccountVersion is that of an account: when it was made and used.
func AccountVersion(a accounts.Account) string {
	return digest.Of(fmt.Sprint(a.Created, a.LastLogin, a.LastRefresh, a.Disabled))
}
