package decide

import (
	"context"
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// A record lists what all jobs keep: single items that an undo brought back, and what an operator says. A run reads the list
// once it has its lease, and again while it looks whether it is to stop.

// KeepAll has the job keep, from now on, what is listed.
func (d *Decider) KeepAll(s jobstate.State) {
	keeps := s.Keeps()
	d.keeps.Store(&keeps)
}

// Heed reads again, of a worker, whether it is held and what it keeps, and returns an error if it is held. It has no lease, so
// nobody who holds it waits for its end. What a transaction reads holds until its commit: so a worker deletes nothing again that
// an undo brings back meanwhile.
func (d *Decider) Heed(ctx context.Context, get func(context.Context, []string) (map[string]documents.Document, error)) error {
	if d.Job.Task == nil {
		return nil
	}
	s, err := jobstate.ReadBy(ctx, get, d.Job.Name)
	if err != nil {
		return err
	}
	if s.Held != nil {
		return &jobstate.HeldError{Hold: *s.Held}
	}
	d.KeepAll(s)
	return nil
}

// target is something that is deleted or changed, as the list names it.
type target struct {
	path  string
	with  bool // it belongs to an item, which stays if this does
	stays bool // it is changed, and what is below it is not touched
}

// Keeps returns the fate of an item that is kept: because of itself, of what it leads to, or of documents that are deleted with
// an account. The plan and what follows a commit ask here; the commit, with the change of its item, in [Decider.change].
func (d *Decider) Keeps(i *Item) Fate {
	targets := []target{{path: i.Target}}
	if i.Then != nil {
		targets = d.targetsOf(cleanup.Change{Then: []cleanup.FollowUp{*i.Then}})
	} else if i.Account != nil && i.Account.Next != nil {
		targets = append(targets, d.targetsOf(cleanup.Change{Next: i.Account.Next(i.UID)})...)
	}
	return d.kept(targets...)
}

// targetsOf returns what a change of an item deletes or changes.
func (d *Decider) targetsOf(c cleanup.Change) (all []target) {
	for _, w := range c.Writes {
		if w.Op == documents.Delete || !w.Sent && w.Op != documents.Create {
			all = append(all, target{path: w.Ref.Path(), with: true, stays: w.Op != documents.Delete})
		}
	}
	for _, f := range c.Then {
		all = append(all, target{path: d.TargetOf(f), with: true})
	}
	for _, item := range c.Next {
		all = append(all, target{path: item.Ref.Path(), with: true})
	}
	return all
}

// kept returns the fate of what stays because of the first of some targets that the list keeps; it is not kept if that keeps
// none. Every question about the list comes here.
func (d *Decider) kept(targets ...target) Fate {
	var keeps jobstate.Keeps
	if listed := d.keeps.Load(); listed != nil {
		keeps = *listed
	}
	for _, t := range targets {
		reason, what := keeps.Why(t.path), t.path
		if reason == "" || t.stays && reason != jobstate.KeptListed {
			continue
		}
		if reason == jobstate.KeptWithListed {
			what = "something below " + what
		}
		if t.with {
			reason = jobstate.KeptWithListed
		}
		return Fate{Kind: Kept, Reason: reason, Because: what + " is " + jobstate.KeptListed}
	}
	return Fate{}
}

// TargetOf is what plans, logs and lists call what a follow-up is about.
func (d *Decider) TargetOf(f cleanup.FollowUp) string {
	switch {
	case f.Task != nil:
		return "task " + strings.Join(f.Task.Key, "/")
	case f.Account != "":
		return report.AccountTarget(f.Account)
	default:
		return report.ObjectTarget(d.Run.Config.Bucket, f.Object.Name)
	}
}
