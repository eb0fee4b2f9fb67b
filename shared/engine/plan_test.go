package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
)

// wantNothingWritten looks for what a run keeps for itself, and for things that are gone.
func wantNothingWritten(t *testing.T, f *enginetest.Function, things int) {
	t.Helper()
	if jobs, runs := f.Documents(t, "cleanupJobs"), f.Documents(t, "cleanupRuns"); len(jobs)+len(runs) > 0 {
		t.Errorf("a plan wrote: %v, %v", jobs, runs)
	}
	enginetest.Want(t, "things left", things, len(left(t, f)))
}

// TestPlanWritesNothing: nor is it cut, as an answer is, which holds so many entries of a plan.
func TestPlanWritesNothing(t *testing.T) {
	const n = 1001
	f := newFunction(t, thingsJob(500))
	f.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf("things/t%04d", i), map[string]any{} })
	var progress func() report.Progress
	for _, now := range []time.Time{start, start.AddDate(1, 0, 0), start.AddDate(-1, 0, 0)} {
		rep, err := f.Plan(t.Context(), engine.Options{Now: now, Watch: func(now func() report.Progress) { progress = now }})
		if err != nil {
			t.Fatal(err)
		}
		enginetest.WantReport(t, rep, report.Completed, map[string]report.Counts{"delete thing": {Planned: n}})
		enginetest.Want(t, "dry run, truncated", [2]bool{true, false}, [2]bool{rep.DryRun, rep.Truncated})
		enginetest.Want(t, "plan", n, len(rep.Plan))
		enginetest.Want(t, "now", now, rep.Now)
		enginetest.Want(t, "progress", report.Progress{Looked: rep.Scanned, Due: n}, progress())
		if got := rep.Usage; got.FirestoreReads == 0 || got.FirestoreWrites+got.FirestoreDeletes > 0 {
			t.Errorf("usage %+v", got)
		}
	}
	wantNothingWritten(t, f, n)
}

// TestPlanRefusesWrites has a plan try to write with what the engine writes with: nothing of it is sent.
func TestPlanRefusesWrites(t *testing.T) {
	var object, document error
	var documentWriter documents.Writer
	var objectWriter objects.Writer
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		o, found, err := p.Objects.Get(ctx, "posts/one")
		d, _, err2 := p.Documents.Get(ctx, "things/t000")
		if err := errors.Join(err, err2); err != nil || !found {
			return fmt.Errorf("found %t: %w", found, err)
		}
		_, _, document = documentWriter.Transact(ctx, false, func(_ context.Context, tx *documents.Transaction) error {
			return tx.Apply(documents.Write{Op: documents.Delete, Ref: d.Ref()})
		})
		object = objectWriter.Delete(ctx, objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration})
		return nil
	}})
	f.Uses = []config.Backend{config.Firestore, config.Storage}
	seed(t, f, 1)
	f.Put(t, "posts/one", nil, nil)
	f.Hooks.WatchWriters(func(d documents.Writer, o objects.Writer) { documentWriter, objectWriter = d, o })
	if rep, err := f.Plan(t.Context(), engine.Options{}); err != nil || rep.Status != report.Completed {
		t.Fatalf("%+v, %v", rep, err)
	}
	for what, err := range map[string]error{"document": document, "object": object} {
		if err == nil || !strings.Contains(err.Error(), "this connection only reads") {
			t.Errorf("delete a %s: %v, want it refused", what, err)
		}
	}
	want := []string{"posts/one"}
	if got := f.Objects(t); !slices.Equal(got, want) {
		t.Errorf("objects %v, want %v", got, want)
	}
	wantNothingWritten(t, f, 1)
}

// TestPlanNeedsNoMoreThanItReads: before anything is deployed there is no queue, and no account that may use one.
func TestPlanNeedsNoMoreThanItReads(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	f.Uses = []config.Backend{config.Firestore, config.Auth, config.Tasks}
	for _, name := range []string{"TASKS_LOCATION", "TASKS_QUEUE", "TASKS_SERVICE_ACCOUNT", "TASKS_TARGET_URL"} {
		f.Env[name] = ""
	}
	seed(t, f, 1)
	if report, err := f.Plan(t.Context(), engine.Options{}); err != nil || len(report.Plan) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	f.Env["MAX_ACTIONS"] = "none"
	var wrong *config.Error
	if report, err := f.Plan(t.Context(), engine.Options{}); !errors.As(err, &wrong) {
		t.Errorf("%+v, %v, want a configuration's error", report, err)
	}
}

func TestPlanThatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		cancel()
		_, err := p.Documents.Count(ctx, documents.Query{Collection: "things"}, 0)
		return err
	}})
	if report, err := f.Plan(ctx, engine.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v, want the context's error", report, err)
	}
}

func TestWrongReports(t *testing.T) {
	for _, wrong := range []map[string]any{{}, {"runId": 7}, {"runId": "r", "startedAt": "yesterday"}, {"runId": fmt.Sprint, "x": 1}} {
		if rep, err := report.Of(documents.Document{Path: "cleanupRuns/r", Data: wrong}); err == nil {
			t.Errorf("%v is read as %+v", wrong, rep)
		}
	}
}
