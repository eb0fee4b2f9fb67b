package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestKilledRunIsFound: the run that takes the lease of a dead one over saves a report for it, in the same commit.
func TestKilledRunIsFound(t *testing.T) {
	f := newFunction(t, thingsJob(10))
	seed(t, f, 2)
	wall := start
	f.Clock = func() time.Time { return wall }
	var record map[string]any
	f.Hooks.BeforeApply = func() { record = job(t, f) }
	killed := f.Run(t, `{"force":true}`)
	f.Reset(t)
	f.Set(t, "cleanupJobs/testJob", record) // what a run leaves that is killed while it applies
	f.Hooks.BeforeApply = nil
	doc := documents.Document{Data: record}
	wall = start.Add(f.Timeout + time.Minute)
	if got := engine.KilledIn("testJob", doc, wall.Add(-time.Microsecond)); got != nil {
		t.Errorf("it may still be under way, but its report is %+v", got)
	}
	commits := 0
	f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
		commits++
		if commits == 1 && len(r.GetWrites()) != 2 {
			t.Errorf("the commit that takes the lease has %d writes", len(r.GetWrites()))
		}
		return send()
	})
	next := f.Run(t, "")
	enginetest.WantReport(t, next, engine.Completed, map[string]engine.Counts{})
	saved, err := engine.ReportOf(documents.Document{Data: f.Documents(t, "cleanupRuns")[killed.RunID]})
	if err != nil {
		t.Fatal(err)
	}
	if saved.Status != engine.Killed || saved.Job != "testJob" || !saved.Now.Equal(killed.Now) || !saved.StartedAt.Equal(killed.StartedAt) ||
		!saved.Force || saved.Database != killed.Database || saved.Version != killed.Version || len(saved.Actions) > 0 ||
		len(saved.Failures) != 1 || !strings.Contains(saved.Failures[0].Error, "it was killed") {
		t.Errorf("%+v", saved)
	}
	if at := f.Documents(t, "cleanupRuns")[killed.RunID]["expireAt"]; at != killed.StartedAt.Add(engine.RunRetention) {
		t.Errorf("it is kept until %v", at)
	}
	said := slices.ContainsFunc(f.LogLines(t), func(line map[string]any) bool {
		return line["severity"] == "WARNING" && strings.Contains(line["message"].(string), "found that run "+killed.RunID+" was killed")
	})
	if !said {
		t.Error("no line says so")
	}
}

// TestKilledIn: what is no lease of a run that is over is none of a killed run, and what stands in it names no other document.
func TestKilledIn(t *testing.T) {
	t.Parallel()
	const id = "testJob-20260101T000000Z-0123abcd"
	lease := func(runID string, more any) documents.Document {
		return documents.Document{Data: map[string]any{"lease": map[string]any{"runId": runID, "expiresAt": start, "begun": more}}}
	}
	for name, doc := range map[string]documents.Document{
		"none": {}, "given back": {Data: map[string]any{"lease": nil}}, "foreign": {Data: map[string]any{"lease": "mine"}},
		"an undo's": lease("undo-"+id, nil), "another job's": lease("otherJob-20260101T000000Z-0123abcd", nil),
		"a path": lease("testJob-20260101T000000Z-0123abcd/x/y", nil), "no time": lease("testJob-20269901T000000Z-0123abcd", nil),
	} {
		if got := engine.KilledIn("testJob", doc, start); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, more := range map[string]any{
		"nothing": nil, "a text": "x", "wrong types": map[string]any{"now": 7},
		"another run": map[string]any{"runId": "testJob-20250101T000000Z-0123abcd", "startedAt": start.AddDate(9, 0, 0)},
	} {
		got := engine.KilledIn("testJob", lease(id, more), start)
		if got == nil || got.RunID != id || got.Status != engine.Killed || !got.StartedAt.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestKilledRunThatLives saves its own report in the end, which knows more.
func TestKilledRunThatLives(t *testing.T) {
	f := newFunction(t, thingsJob(10))
	seed(t, f, 2)
	wall := start
	f.Clock = func() time.Time { return wall }
	first := true
	f.Hooks.BeforeApply = func() {
		if first {
			first = false
			wall = start.Add(f.Timeout + time.Minute)
			f.Run(t, "")
			wall = start
		}
	}
	got := f.Run(t, "")
	if saved := f.Documents(t, "cleanupRuns"); len(saved) != 2 || saved[got.RunID]["status"] != string(got.Status) {
		t.Errorf("%s, saved %v", got.Status, saved)
	}
}
