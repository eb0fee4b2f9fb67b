package decide

import (
	"strings"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// A record lists what all jobs keep: single items that an undo brought back, and what an operator says. A run reads the list
// once it has its lease, and again while it looks whether it is to stop.

// A KeptError says that an item is kept because of something on the list.
type KeptError struct{ Reason, Target string }

func (e *KeptError) Error() string {
	return e.Target + " is " + jobstate.KeptListed
}

// With is the error of what it belongs to.
func (e *KeptError) With() *KeptError {
	return &KeptError{Reason: jobstate.KeptWithListed, Target: e.Target}
}

// KeepAll has the job keep, from now on, what is listed.
func (d *Decider) KeepAll(s jobstate.State) {
	keeps := s.Keeps()
	d.keeps.Store(&keeps)
}

// Listed returns what the job keeps because it is listed.
func (d *Decider) Listed() jobstate.Keeps {
	if keeps := d.keeps.Load(); keeps != nil {
		return *keeps
	}
	return jobstate.Keeps{}
}

// KeptBy returns why an item is kept, if the list has it or something that belongs to it; nil if not. Plan and commit ask here.
func (d *Decider) KeptBy(target string) *KeptError {
	switch keeps := d.Listed(); {
	case keeps.Has(target):
		return &KeptError{Reason: jobstate.KeptListed, Target: target}
	case keeps.Within(target):
		return &KeptError{Reason: jobstate.KeptWithListed, Target: "something below " + target}
	}
	return nil
}

// Keeps returns why an item is kept: the list has it, what belongs to it, or a document that is deleted with an account; nil if
// none of these.
func (d *Decider) Keeps(i *Item) *KeptError {
	if kept := d.KeptBy(i.Target); kept != nil || i.Account == nil || i.Account.Next == nil {
		return kept
	}
	return d.keptWith(cleanup.Change{Next: i.Account.Next(i.UID)})
}

// keptWith returns why an item is kept whose change would delete or change something on the list; nil if it would not.
func (d *Decider) keptWith(c cleanup.Change) *KeptError {
	var targets []string
	for _, w := range c.Writes {
		if path := w.Ref.Path(); w.Op == documents.Delete || !w.Sent && w.Op != documents.Create && d.Listed().Has(path) {
			targets = append(targets, path)
		}
	}
	for _, f := range c.Then {
		targets = append(targets, d.TargetOf(f))
	}
	for _, item := range c.Next {
		targets = append(targets, item.Ref.Path())
	}
	for _, target := range targets {
		if kept := d.KeptBy(target); kept != nil {
			return kept.With()
		}
	}
	return nil
}

// FollowsKept returns why a follow-up is not done that would delete something on the list; nil if it would not.
func (d *Decider) FollowsKept(f cleanup.FollowUp) *KeptError {
	if kept := d.KeptBy(d.TargetOf(f)); kept != nil {
		return kept.With()
	}
	return nil
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
