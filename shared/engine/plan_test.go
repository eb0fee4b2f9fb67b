package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
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
		ok(t, err)
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

// onLooks calls do for each query of things that is in no transaction, and counts them.
func onLooks(f *enginetest.Function, do func()) *atomic.Int32 {
	var looks atomic.Int32
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, _ string, message any) error {
		q, ok := message.(*firestorepb.RunQueryRequest)
		if ok && q.GetTransaction() == nil && q.GetStructuredQuery().GetFrom()[0].GetCollectionId() == "things" {
			looks.Add(1)
			do()
		}
		return nil
	})...)
	return &looks
}

// TestAPreviewLooksOnce at what goes with an item by one commit, whatever the job keeps.
func TestAPreviewLooksOnce(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 3, 2, old)
	f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping("things/old001-0001"))
	looks := onLooks(f, func() {})
	plan := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "looks at things", int32(3), looks.Load())
	enginetest.Want(t, "of the second", "things/old001-0001 is "+jobstate.KeptListed, plan[1].Kept)
	enginetest.Want(t, "of the third", map[string]int{"delete document of things": 2, "write document of gone": 1}, plan[2].With)
}

// TestAPreviewIsBounded: of the first items it works out what goes with them, and of the others it says that there may be more.
func TestAPreviewIsBounded(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 120, 1, old)
	looks := onLooks(f, func() {})
	plan := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "planned", 120, len(plan))
	enginetest.Want(t, "looks at things", int32(100), looks.Load())
	for i, planned := range plan {
		enginetest.Want(t, "more of "+planned.Target, i >= 100, planned.More)
		enginetest.Want(t, "worked out "+planned.Target, i < 100, len(planned.With) > 0)
	}
}

// TestAPreviewThatRunsOutOfTime while it works out what would be written plans what it has found due by then.
func TestAPreviewThatRunsOutOfTime(t *testing.T) {
	for name, tt := range map[string]struct {
		job    cleanup.Job
		status report.Status
		action string
	}{
		"items":    {ruleJob("boxes", boxes), report.Partial, "delete box"},
		"accounts": {accountsJob(boxes), report.Completed, "delete account"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ruleFunction(t, tt.job)
			for i := range 20 {
				id := fmt.Sprintf("c%02d", i)
				f.Import(t, (&auth.UserToImport{}).UID(id))
				f.Set(t, "boxes/"+id, map[string]any{"state": "old"})
			}
			late := lateClock(f)
			onLooks(f, func() { late.Store(true) })
			got := f.Run(t, `{"dryRun":true}`)
			enginetest.Want(t, "status", tt.status, got.Status)
			enginetest.Want(t, "actions", map[string]report.Counts{tt.action: {Planned: 20}}, got.Actions)
			enginetest.Want(t, "there is more of the last", true, got.Plan[19].More)
		})
	}
}

// TestWhoseQuotaCounts: a person at the command has the project's quota counted, without which Authentication refuses; a function
// does not ask for it, because its account has no right to.
func TestWhoseQuotaCounts(t *testing.T) {
	var asked []string
	google := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			fmt.Fprint(w, `{"access_token":"token","token_type":"Bearer","expires_in":3600}`)
			return
		}
		asked = append(asked, r.Header.Get("X-Goog-User-Project"))
		fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(google.Close)

	f := newFunction(t, cleanup.Job{Name: "testJob", Accounts: true, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		_, err := p.Accounts.Get(ctx, []string{"somebody"})
		return err
	}})
	f.Uses = append(f.Uses, config.Auth)
	person := filepath.Join(t.TempDir(), "credentials.json")
	text := `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","quota_project_id":"another"}`
	ok(t, os.WriteFile(person, []byte(text), 0o600))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", person)
	t.Setenv("FIREBASE_AUTH_EMULATOR_HOST", "")
	transport := http.DefaultTransport.(*http.Transport)
	transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, google.Listener.Addr().String())
	}
	t.Cleanup(func() { transport.DialTLSContext = nil })

	if rep := f.Run(t, ""); rep.Status != report.Completed {
		t.Fatal(rep.Failures)
	}
	if rep, err := f.Plan(t.Context(), engine.Options{}); err != nil || rep.Status != report.Completed {
		t.Fatal(err, rep)
	}
	if _, err := f.Restorer(t, nil).Accounts.Get(t.Context(), []string{"somebody"}); err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "projects of the function, of a plan and of an undo", []string{"another", f.ID, f.ID}, asked)
}
