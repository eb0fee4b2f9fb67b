package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/retention"
)

// judgeDraft decides about one draft. It is pure, so the engine can ask it while planning and again in the commit.
func judgeDraft(s cleanup.Subject, run cleanup.Run) cleanup.Decision {
	changed, dated := s.Time("updatedAt")
	switch {
	case !dated:
		return cleanup.Invalid("updatedAt is missing or not a timestamp")
	case s.Data["published"] == true:
		return cleanup.Keep("published")
	case !changed.Before(retention.DaysBefore(run.Now, 90)):
		return cleanup.Keep("changed 90 days ago or less")
	}
	return cleanup.Do("delete draft", "not published, last changed "+changed.UTC().Format(time.DateOnly))
}

// deleteDraft says what is written, as data: the draft goes, and a counter beside it in the same commit.
func deleteDraft(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
	return cleanup.Change{Writes: []documents.Write{
		{Op: documents.Delete, Ref: s.Ref()},
		{Op: documents.Delete, Ref: documents.Ref{Collection: "draftViews", ID: s.ID()}},
	}}
}

// A job says which documents to look at; its rule says what is due, and what becomes of that. All else is the engine's.
func ExampleRule() {
	drafts := cleanup.Rule[cleanup.Subject]{
		Name: "draft", Load: cleanup.Itself, Judge: judgeDraft, Change: deleteDraft,
		Reach: cleanup.Reach{Items: "drafts", Deletes: []string{"drafts", "draftViews"}},
	}
	job := cleanup.Job{Name: "cleanupStaleDrafts", Rules: []cleanup.AnyRule{drafts}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		return p.Sweep(ctx, documents.Query{Collection: "drafts"}, documents.Cursor(p.Checkpoint), drafts)
	}}
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

	enginetest.Example(func(t testing.TB) {
		f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore}))
		f.Clock = func() time.Time { return now }
		f.Set(t, "drafts/a-stale", map[string]any{"published": false, "updatedAt": now.AddDate(-1, 0, 0)})
		f.Set(t, "draftViews/a-stale", map[string]any{"n": 12})
		f.Set(t, "drafts/b-fresh", map[string]any{"published": false, "updatedAt": now.AddDate(0, 0, -1)})
		f.Set(t, "drafts/c-published", map[string]any{"published": true, "updatedAt": now.AddDate(-1, 0, 0)})

		preview := f.Run(t, `{"dryRun":true}`)
		for _, p := range preview.Plan {
			fmt.Printf("%s %s: %s; it would %q\n", p.Action, p.Target, p.Reason, p.Writes)
		}
		report := f.Run(t, "")
		fmt.Println(report.Status, report.Actions, report.Kept)
		again := f.Run(t, "")
		fmt.Println(again.Status, again.Actions)
	})
	// Output:
	// delete draft drafts/a-stale: not published, last changed 2025-06-01; it would ["delete drafts/a-stale" "delete draftViews/a-stale"]
	// completed map[delete draft:{1 1 0 0}] map[changed 90 days ago or less:1 published:1]
	// completed map[]
}

// A decision keeps an item, does something to it, or says that it cannot be judged; which of them is the rule's.
func ExampleDecision() {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, fields := range []map[string]any{
		{"updatedAt": now.AddDate(-1, 0, 0)}, {"updatedAt": now.AddDate(-1, 0, 0), "published": true}, {"updatedAt": "last year"},
	} {
		d := judgeDraft(cleanup.Subject{Document: documents.Document{Path: "drafts/d", Data: fields}}, cleanup.Run{Now: now})
		fmt.Printf("%q because %s\n", d.Kind, d.Reason)
	}
	// Output:
	// "delete draft" because not published, last changed 2025-06-01
	// "" because published
	// "" because updatedAt is missing or not a timestamp
}
