package decide

import (
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestPreviewOfATodoThatTimeWasUpFor: it says that there may be more, and shows what was looked at.
func TestPreviewOfATodoThatTimeWasUpFor(t *testing.T) {
	d := &Decider{Teller: &tell.Teller{Report: &report.Report{}}}
	file := func(name string, f Fate) *Item {
		then := cleanup.FollowUp{Object: cleanup.ObjectDeletion{Name: name}}
		return &Item{Then: &then, By: cleanup.Rule[cleanup.Subject]{}, State: State{Fate: f}}
	}
	var todo Item
	check.OK(t, d.PreviewTodo(t.Context(), &todo, []*Item{file("a", Fate{Kind: OutOfTime}), file("b", Fate{})}, nil))
	check.Same(t, "with", map[string]int{"delete file": 1}, todo.With)
	check.Same(t, "more", true, todo.More)
	check.Is(t, "one that failed", d.PreviewTodo(t.Context(), &todo, []*Item{file("a", FateOf(t.Context(), ErrReach))}, nil), ErrReach)
}
