package modeltest

import (
	"maps"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// undoAll undoes all runs, the latest first. Then the project holds what it held before them, and what was sent. What becomes of
// things that somebody else changes meanwhile, package undo's model and emulator/reliability prove.
func (r *round) undoAll() {
	r.t.Helper()
	r.inPart = rapid.Bool().Draw(r.t, "in part")
	for _, id := range enginetest.LoggedRuns(r.tb, r.Firestore(r.tb)) {
		twice := rapid.IntRange(0, 3).Draw(r.t, "twice") == 0
		var foretold map[string]restore.Outcome
		if twice || r.inPart {
			foretold = r.undo(id, restore.Options{})
		}
		var only []string
		if r.inPart {
			only = slices.Sorted(maps.Keys(foretold))
		}
		done := r.undo(id, restore.Options{Apply: true, Only: only})
		for _, outcome := range done {
			r.back = r.back || outcome.Step.Back()
			if outcome.Step == undo.Conflict {
				r.t.Fatalf("%s: nobody else has changed %v", id, outcome)
			}
		}
		if foretold != nil && !maps.Equal(foretold, done) {
			r.t.Fatalf("%s: %s", id, gocmp.Diff(foretold, done))
		}
		if !twice {
			continue
		}
		for _, outcome := range r.undo(id, restore.Options{Apply: true}) {
			if outcome.Step.Back() {
				r.t.Fatalf("%s a second time: %v", id, outcome)
			}
		}
	}
	want := r.first.Clone()
	for path := range r.sent {
		if data, there := r.world.Documents[path]; there {
			want.Documents[path] = data
		} else {
			delete(want.Documents, path)
		}
	}
	if r.restorer.Bucket == nil {
		want.Objects = r.world.Objects
	}
	r.is("taken back", want)
}

// undo undoes a run and returns what was done to each target. Several commits may have deleted the same object: the outcome of
// the first counts, because that one deleted it.
func (r *round) undo(runID string, o restore.Options) map[string]restore.Outcome {
	r.t.Helper()
	done := map[string]restore.Outcome{}
	o.WithoutReport, o.Claims = true, true // reports are what runs of the worker do not leave, and by claims a rule may judge
	err := r.restorer.Undo(r.t.Context(), runID, o, func(outcome restore.Outcome) error {
		was := done[outcome.Target].Step
		if isFirst := was != undo.Recreate && (was == undo.Nothing || outcome.Step == undo.Recreate); isFirst && !r.noBucket(outcome) {
			done[outcome.Target] = outcome
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}

// noBucket reports whether an outcome says that objects are not taken back.
func (r *round) noBucket(o restore.Outcome) bool {
	return r.restorer.Bucket == nil && strings.HasPrefix(o.Why, "no bucket")
}
