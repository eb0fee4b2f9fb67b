package engine

import (
	"context"
	"fmt"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// What an undo brought back would be due again, perhaps by another job. So it is pinned: every job keeps it, until it is
// released. An operator pins what no job may touch. Every run reads what is pinned before it plans.

// Reasons to keep what is pinned.
const (
	KeptPinned     = "pinned, until it is released with firesweep release"
	KeptWithPinned = "something pinned goes with it, until that is released with firesweep release"
)

// A pinnedError says that an item is kept because of something pinned.
type pinnedError struct{ reason, target string }

func (e *pinnedError) Error() string { return e.target + " is pinned" }

// readPins reads what is pinned.
func (r *run) readPins(ctx context.Context) (undo.Pins, error) {
	var pins undo.Pins
	pinned := documents.Query{Collection: undo.PinnedIn, Select: []string{undo.TargetsField, undo.WithField}}
	for page, err := range r.documents.Pages(ctx, pinned, "") {
		if err != nil {
			return pins, fmt.Errorf("read what is pinned: %w", err)
		}
		for _, d := range page.Documents {
			targets, err := undo.PinnedTargets(d)
			if err != nil {
				return pins, err
			}
			for _, target := range targets {
				pins.Add(target)
			}
		}
	}
	return pins, nil
}

// First returns the first n documents of a query that are not kept because they or what is below them is pinned, and the kept
// ones among them. Without this, those would keep a job that takes a few at a time from everything after them.
func (p *Planner) First(ctx context.Context, q documents.Query, n int) ([]documents.Document, error) {
	found, err := p.Documents.First(ctx, q, "", n+p.run.pins.In(q.Collection))
	for i, d := range found {
		if p.run.keptBy(d.Path) != nil {
			continue
		}
		if n--; n < 0 {
			return found[:i], err
		}
	}
	return found, err
}

// keepPinned counts and names an item that is kept because of something pinned. It reports whether it is.
func (p *Planner) keepPinned(ctx context.Context, a Action) bool {
	pinned := p.run.keptBy(a.Target)
	if pinned == nil {
		return false
	}
	p.keepNamed(ctx, a.Target, pinned.reason)
	return true
}

// keptBy returns why an item is kept, if it or something that belongs to it is pinned; nil if not.
func (r *run) keptBy(target string) *pinnedError {
	switch {
	case r.pins.Keep(target):
		return &pinnedError{KeptPinned, target}
	case r.pins.Within(target):
		return &pinnedError{KeptWithPinned, "something below " + target}
	}
	return nil
}

// pinnedWith returns why an item is kept whose change would delete or change something pinned; nil if it would not.
func (r *run) pinnedWith(c Change) *pinnedError {
	with := func(targets ...string) *pinnedError {
		for _, target := range targets {
			if pinned := r.keptBy(target); pinned != nil {
				return &pinnedError{KeptWithPinned, pinned.target}
			}
		}
		return nil
	}
	for _, w := range c.Writes {
		path := w.Ref.Path()
		if w.Sent || w.Op == documents.Create || w.Op != documents.Delete && !r.pins.Keep(path) {
			continue
		}
		if pinned := with(path); pinned != nil {
			return pinned
		}
	}
	for _, f := range c.Then {
		if pinned := r.followsPinned(f); pinned != nil {
			return pinned
		}
	}
	for _, items := range [][]Item{c.First, c.Next} {
		for _, item := range items {
			if pinned := with(item.Ref.Path()); pinned != nil {
				return pinned
			}
		}
	}
	return nil
}

// followsPinned returns why a follow-up is not done that would delete something pinned; nil if it would not.
func (r *run) followsPinned(f FollowUp) *pinnedError {
	target := ""
	switch {
	case f.Account != "":
		target = accountTarget(f.Account)
	case f.Object.Name != "":
		target = r.objectTarget(f.Object.Name)
	}
	if pinned := r.keptBy(target); pinned != nil {
		return &pinnedError{KeptWithPinned, pinned.target}
	}
	return nil
}

func (r *run) objectTarget(name string) string { return "gs://" + r.config.Bucket + "/" + name }
