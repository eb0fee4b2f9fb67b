package main

import (
	"context"
	"fmt"
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
	wantParts(t, o.well(t, "run", "--yes", "--confirm", o.ID), "doubtful: "+misspelt)

	o.Set(t, "drafts/a", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	o.Set(t, "drafts/b", map[string]any{"editedAt": now.AddDate(-1, 0, 0).UnixMilli()})
	want(t, "of a good one", []string{"age[0]: editedAt is a number of milliseconds since 1970 in 1 of 2, and the rule keeps these"}, says("plan"))
	o.Set(t, "drafts/a/revisions/r", map[string]any{"x": 1})
	o.Set(t, "drafts/c/revisions/r", map[string]any{"x": 1})
	want(t, "below", "with: revisions below 1 of 1 documents would stay: "+
		`add {"subcollection": "revisions"}, or "**" for all that is below`, says("plan")[1])
	want(t, "of one of the nine jobs", 0, len(says("plan", "cleanupReports")))
}

// TestDoubtsAreBounded: a plan reads at most 300 documents more for a rule, and says what it did not look at.
func TestDoubtsAreBounded(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	var unless, with []string
	for i := range 9 {
		unless = append(unless, fmt.Sprintf(`{"document":"keepers/k%d-{id}"},{"collection":"notes%d","field":"of"}`, i, i))
		with = append(with, fmt.Sprintf(`{"document":"teams%d/{team}"}`, i))
		o.Set(t, fmt.Sprintf("teams%d/other", i), map[string]any{"x": 1})
		o.SetMany(t, 25, func(n int) (string, map[string]any) {
			return fmt.Sprintf("notes%d/n%02d", i, n), map[string]any{"of": "x"}
		})
	}
	o.SetMany(t, 130, func(i int) (string, map[string]any) {
		return fmt.Sprintf("drafts/d%03d", i), map[string]any{"editedAt": now.AddDate(-1, 0, 0), "team": fmt.Sprint(i / 50)}
	})
	o.Set(t, "keepers/other", map[string]any{"x": 1})
	o.inApp(t, map[string]string{"firesweep.json": strings.Replace(drafts, `"collection": "drafts",`,
		`"collection": "drafts", "maxDuePercent": 100, "unless": [`+strings.Join(unless, ",")+`], "with": [`+strings.Join(with, ",")+`],`, 1)})
	all := parsed[plans](t, o.well(t, "plan", "--json")).Plans[0].Doubts
	if last := all[len(all)-1]; !strings.HasPrefix(last, "not all of it could be looked at: ") || !strings.Contains(last, "the request was not sent") {
		t.Errorf("the last doubt is %q", last)
	}

	a, _ := o.loaded(t)
	bound := newBound(mostDoubtReads)
	a.doubtsWithin(t.Context(), bound, a.Own[0], []string{"drafts/d001", "drafts/d002"})
	if used := bound.used(); used > mostDoubtReads || used < mostDoubtReads*3/4 {
		t.Errorf("%d reads", used)
	}
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
