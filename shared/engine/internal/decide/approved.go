package decide

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	FellTripped    = "its pass tripped a safety limit"
	FellUnjudged   = "its pass could not be held against the safety limits"
)

// NotApproved returns why an action is kept that is not in the approved plan exactly as it is; empty if nothing restricts the run.
func (d *Decider) NotApproved(action Action) string {
	if d.Approved == nil {
		return ""
	}
	item, version := action.Planned().Key()
	switch approved, named := d.Approved.Items[item]; {
	case !named:
		return KeptUnapproved
	case approved != version:
		return keptChanged
	}
	return ""
}

// Ended says what became of an action: why it fell away, or empty if something was done of it or failed.
func (d *Decider) Ended(action Action, fellAway string) {
	if d.Approved != nil {
		item, _ := action.Planned().Key()
		d.fates.Store(item, fellAway)
	}
}

// maxFell is how many items that fell away a report names.
const maxFell = 100

// ReportApproved says in the report of a run that has ended which items of the approved plan fell away, and why. whole says that it
// looked at all there is.
func (d *Decider) ReportApproved(whole bool) {
	if d.Approved == nil {
		return
	}
	unseen := fellUnreached
	if whole {
		unseen = fellUndue
	}
	all := &report.Approved{Items: len(d.Approved.Items), Which: map[string]string{}}
	for _, item := range slices.Sorted(maps.Keys(d.Approved.Items)) {
		fate, ended := d.fates.Load(item)
		if !ended {
			fate = unseen
			d.Keep(unseen, 1)
		}
		if fate == "" {
			continue
		}
		if all.FellAway++; all.FellAway <= maxFell {
			all.Which[item] = fate.(string)
		}
	}
	d.Report.Approved = all
}

// Newer returns why an item is kept with which a change deletes something that was written since the plan was made, which nobody has
// seen who approved it; nil if nothing would go, or nothing restricts the run.
func (d *Decider) Newer(ctx context.Context, src cleanup.Source, item *Asked, c cleanup.Change) (*KeptError, error) {
	if d.Approved == nil {
		return nil, nil
	}
	refs := slices.DeleteFunc(goneWith(c), func(ref documents.Ref) bool { return ref == item.Ref })
	many := max(1, len(refs))
	if item.Foreseen {
		many = 50
	}
	for some := range slices.Chunk(refs, many) {
		if item.Foreseen { // what is imagined was not written; and nobody needs these documents afterwards
			src = d.Source()
		}
		found, err := src.Get(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, ref := range some {
			if found[ref].UpdateTime.After(d.Approved.Made) {
				return &KeptError{keptNewer, ref.Path()}, nil
			}
		}
	}
	return nil, nil
}

// Planned is the action as a plan lists it.
func (a Action) Planned() report.Planned {
	return report.Planned{
		Target: a.Target, Action: a.Kind, Reason: a.Reason, Writes: a.Writes, More: a.More, Version: a.Version,
	}
}

// VersionAt is the version of a document that was written then; of one that does not exist, that is the zero time.
func VersionAt(updated time.Time) string { return updated.UTC().Format(time.RFC3339Nano) }

// AccountVersion is that of an account: when it was made and used.
func AccountVersion(a accounts.Account) string {
	return digest.Of(fmt.Sprint(a.Created, a.LastLogin, a.LastRefresh, a.Disabled))
}
