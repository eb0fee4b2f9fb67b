package sampledata_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/manifest"
)

// TestEveryJobHasSomethingToDo: the demo, the privacy test and the reliability harness run every job on its part, and prove
// nothing of one that does nothing there.
func TestEveryJobHasSomethingToDo(t *testing.T) {
	t.Parallel()
	jobs := sampledata.Jobs()
	upstream, err := functions.With(manifest.File{Name: "none", Text: []byte("{}")}) // a rule of your own has no sample
	check.OK(t, err)
	for _, e := range upstream.All {
		name := e.Name
		if e.Trigger != manifest.Schedule {
			continue // it is called by a job
		}
		if !slices.Contains(jobs, name) {
			t.Errorf("%s has no sample data: add a part for it in a file of emulator/sampledata", name)
			continue
		}
		s := sampledata.Job(name, time.Now(), "bucket")
		gone := slices.ContainsFunc(s.Objects, func(o sampledata.Object) bool { return !o.Kept })
		changes := gone || slices.ContainsFunc(s.Documents,
			func(d sampledata.Document) bool { return !reflect.DeepEqual(d.Before, d.After) })
		keeps := slices.ContainsFunc(s.Documents, func(d sampledata.Document) bool {
			return d.Before != nil &&
				reflect.DeepEqual(d.Before, d.After)
		})
		if !changes || !keeps {
			t.Errorf("the sample data of %s (emulator/sampledata) has something for it to delete or change: %t, "+
				"and something to keep: %t; it must have both", name, changes, keeps)
		}
	}
}

// TestDifferences: what is left is compared as Firestore returns it.
func TestDifferences(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 10, 15, 0, 0, 1999, time.UTC)
	want := map[string]any{"n": 1, "at": at, "all": []string{"x"}, "deep": map[string]any{"f": nil}}
	left := func(n, f any) sampledata.State {
		return sampledata.State{Documents: map[string]map[string]any{"c/d": {"n": n, "at": at.Truncate(time.Microsecond),
			"all": []any{"x"}, "deep": map[string]any{"f": f}}}}
	}
	s := sampledata.Sample{Documents: []sampledata.Document{{Path: "c/d", After: want}}}
	for _, tt := range []struct {
		left      sampledata.State
		different int
	}{{left(int64(1), nil), 0}, {left(int64(2), nil), 1}, {left(1.0, nil), 1}, {left(int64(1), ""), 1}, {sampledata.State{}, 1}} {
		check.Same(t, fmt.Sprint(tt.left), tt.different, len(s.Differences(tt.left)))
	}
}
