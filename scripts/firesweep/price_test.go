package main

import (
	"strings"
	"testing"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/usage"
)

// TestExpected: what was worked out of some actions counts for all of their kind.
func TestExpected(t *testing.T) {
	t.Parallel()
	r := &report.Report{
		Usage: usage.Usage{FirestoreReads: 500, StorageClassA: 7},
		Actions: map[string]report.Counts{"delete draft": {Planned: 1000}, "delete file": {Planned: 50}, "warn": {Planned: 10},
			"unknown": {Planned: 9}},
		Plan: []report.Planned{
			{Action: "delete draft", Writes: []string{"delete drafts/a", "delete drafts/a/lines/1"}},
			{Action: "delete draft", Writes: []string{"delete drafts/b", "set archive/b", "delete gs://bucket/b.png"}},
			{Action: "delete draft"},
			{Action: "delete file", Writes: []string{"delete gs://bucket/c.png"}},
			{Action: "warn", Writes: []string{"update circles/c", "hand over task t", "delete account u", "nothing: it is pinned"}},
			{Action: "unknown"},
		},
	}
	want(t, "usage", usage.Usage{
		FirestoreReads: 500 + 2000 + 10, FirestoreWrites: 500 + 2000/25 + 10, FirestoreDeletes: 1500, StorageClassA: 7, Tasks: 10,
	}, expected(r))
}

func TestCosts(t *testing.T) {
	t.Parallel()
	for _, e := range functions.All() {
		if e.Rule == nil {
			continue
		}
		text, err := costs(e)
		if err != nil || !strings.HasPrefix(text, "less than a cent a month while nothing is due, besides $0.10 for its schedule; "+
			"about $0.08 (nam5, eur3), $0.04 in a cheap region for 100,000 documents that go") {
			t.Errorf("%s: %q %v", e.Name, text, err)
		}
	}
}
