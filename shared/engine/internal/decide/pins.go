package decide

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// What an undo brought back would be due again, perhaps by another job. So it is pinned: every job keeps it, until it is
// released. An operator pins what no job may touch. Every run reads what is pinned before it plans.

// A KeptError says that an item is kept because of something that is pinned.
type KeptError struct{ Reason, Target string }

func (e *KeptError) Error() string {
	return e.Target + " is " + undo.KeptPinned
}

// With is the error of what it belongs to.
func (e *KeptError) With() *KeptError {
	return &KeptError{Reason: undo.KeptWithPinned, Target: e.Target}
}

// ReadPins reads what is pinned.
func (d *Decider) ReadPins(ctx context.Context) (undo.Pins, error) {
	var pins undo.Pins
	pinned := documents.Query{Collection: undo.PinnedIn, Select: []string{undo.TargetsField, undo.WithField}}
	for page, err := range d.Documents.Pages(ctx, pinned, "") {
		if err != nil {
			return pins, fmt.Errorf("read what is pinned: %w", err)
		}
		for _, doc := range page.Documents {
			pinned, err := undo.PinnedOf(doc)
			if err != nil {
				return pins, err
			}
			for _, target := range pinned.All() {
				pins.Add(target)
			}
		}
	}
	return pins, nil
}

// KeptBy returns why an item is kept, if it or something that belongs to it is pinned; nil if not.
func (d *Decider) KeptBy(target string) *KeptError {
	switch {
	case d.Pins.Keep(target):
		return &KeptError{Reason: undo.KeptPinned, Target: target}
	case d.Pins.Within(target):
		return &KeptError{Reason: undo.KeptWithPinned, Target: "something below " + target}
	}
	return nil
}

// Keeps returns why the target of an action is kept: it, what belongs to it, or a document that would go with an account is pinned;
// nil if none of it is.
func (d *Decider) Keeps(a Action) *KeptError {
	effect, ok := a.Effect.(DeleteAccount)
	if pinned := d.KeptBy(a.Target); pinned != nil || !ok || effect.Rule.Next == nil {
		return pinned
	}
	return d.pinnedWith(cleanup.Change{Next: effect.Rule.Next(effect.UID)})
}

// pinnedWith returns why an item is kept whose change would delete or change something pinned; nil if it would not.
func (d *Decider) pinnedWith(c cleanup.Change) *KeptError {
	var targets []string
	for _, w := range c.Writes {
		if path := w.Ref.Path(); !w.Sent && w.Op != documents.Create && d.Pins.Keep(path) {
			targets = append(targets, path)
		}
	}
	for _, f := range c.Then {
		targets = append(targets, d.targetOf(f))
	}
	for _, ref := range goneWith(c) {
		targets = append(targets, ref.Path())
	}
	for _, target := range targets {
		if pinned := d.KeptBy(target); pinned != nil {
			return pinned.With()
		}
	}
	return nil
}

// goneWith returns the documents that a change deletes, and those of the items that follow.
func goneWith(c cleanup.Change) (refs []documents.Ref) {
	for _, w := range c.Writes {
		if w.Op == documents.Delete {
			refs = append(refs, w.Ref)
		}
	}
	for _, item := range c.Next {
		refs = append(refs, item.Ref)
	}
	return refs
}

// FollowsPinned returns why a follow-up is not done that would delete something pinned; nil if it would not.
func (d *Decider) FollowsPinned(f cleanup.FollowUp) *KeptError {
	if pinned := d.KeptBy(d.targetOf(f)); pinned != nil {
		return pinned.With()
	}
	return nil
}

// targetOf returns what a follow-up deletes; empty if it is a task.
func (d *Decider) targetOf(f cleanup.FollowUp) string {
	switch {
	case f.Account != "":
		return AccountTarget(f.Account)
	case f.Object.Name != "":
		return d.ObjectTarget(f.Object.Name)
	}
	return ""
}

// ObjectTarget is what plans, logs and pins call an object.
func (d *Decider) ObjectTarget(name string) string { return "gs://" + d.Run.Config.Bucket + "/" + name }

// AccountTarget is what plans, logs and pins call an account.
func AccountTarget(uid string) string { return "account " + uid }
