package main

import (
	"context"
	"strings"
	"testing"
)

// TestDoubtsOfAPlan: every plan of one's own rules says them, for people and as JSON, and so does a run before it asks. They fail no
// plan.
func TestDoubtsOfAPlan(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.inApp(t, map[string]string{"firesweep.json": drafts})
	says := func(command ...string) []string {
		t.Helper()
		return parsed[plans](t, o.well(t, append(command, "--json")...)).Plans[0].Doubts
	}
	const misspelt = "the collection drafts has no document: is that its name?"
	want(t, "of an empty collection", []string{misspelt}, says("plan"))
	wantParts(t, o.well(t, "plan"), "cleanupDrafts: nothing is due\n", "  doubtful: "+misspelt+"\n")
	wantParts(t, oneLine(o.well(t, "plan")), "No rule found anything in the project "+o.ID+" on emulators: is it the right one?")
	wantParts(t, o.well(t, "run", "--yes", "--confirm", o.ID), "doubtful: "+misspelt)

	o.Set(t, "drafts/a", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	o.Set(t, "drafts/b", map[string]any{"editedAt": now.AddDate(-1, 0, 0).UnixMilli()})
	want(t, "of a good one", []string{"age[0]: editedAt is a number of milliseconds since 1970 in 1 of 2, and the rule keeps these"}, says("plan"))
	o.Set(t, "drafts/a/revisions/r", map[string]any{"x": 1})
	o.Set(t, "drafts/c/revisions/r", map[string]any{"x": 1})
	wantParts(t, o.well(t, "plan"), "warning: with: revisions below 1 of 1 documents would stay: add")
	want(t, "of one of the nine jobs", 0, len(says("plan", "cleanupReports")))
}

// TestDoubtsThatCannotBeRead: that is said, and the plan is well.
func TestDoubtsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Set(t, "drafts/a", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	o.inApp(t, map[string]string{"firesweep.json": drafts})
	a, _ := o.loaded(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want(t, "after an interruption", []string(nil), a.doubts(ctx, a.Own[0], nil))
	o.env["FIRESTORE_DATABASE"] = "-"
	a, _ = o.loaded(t)
	all := a.doubts(t.Context(), a.Own[0], nil)
	if len(all) != 1 || !strings.Contains(all[0], "FIRESTORE_DATABASE") {
		t.Errorf("%q", all)
	}
}
