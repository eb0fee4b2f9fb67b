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
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/version"
)

// wantNothingWritten looks for what a run keeps for itself, and for things that are gone.
func wantNothingWritten(t *testing.T, f *enginetest.Function, things int) {
	t.Helper()
	enginetest.Want(t, "that a plan wrote", 0, len(f.Documents(t, "cleanupJobs"))+len(f.Documents(t, "cleanupRuns")))
	enginetest.Want(t, "things left", things, len(left(t, f)))
}

// TestPlanWritesNothing: nor is it cut, as an answer is, which holds so many entries of a plan.
func TestPlanWritesNothing(t *testing.T) {
	const n = 1001
	f := newFunction(t, thingsJob(500))
	f.SetAlike(t, n, "things/t%04d", map[string]any{})
	var progress func() report.Progress
	for _, now := range []time.Time{start, start.AddDate(1, 0, 0), start.AddDate(-1, 0, 0)} {
		rep, err := f.Plan(t.Context(), engine.Options{Now: now, Watch: func(now func() report.Progress) { progress = now }})
		ok(t, err)
		enginetest.WantReport(t, rep.Report, report.Completed, map[string]report.Counts{"delete thing": {Planned: n}})
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
	rep, err := f.Plan(t.Context(), engine.Options{})
	ok(t, err)
	enginetest.Want(t, "status", report.Completed, rep.Status)
	check.Fails(t, document, "this connection only reads")
	check.Fails(t, object, "this connection only reads")
	want := []string{"posts/one"}
	enginetest.Want(t, "objects", want, f.Objects(t))
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
	_, err := f.Plan(ctx, engine.Options{})
	check.Is(t, "plan", err, context.Canceled)
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

	enginetest.Want(t, "status", report.Completed, f.Run(t, "").Status)
	if rep, err := f.Plan(t.Context(), engine.Options{}); err != nil || rep.Status != report.Completed {
		t.Fatal(err, rep)
	}
	_, err := f.Restorer(t, nil).Accounts.Get(t.Context(), []string{"somebody"})
	ok(t, err)
	enginetest.Want(t, "projects of the function, of a plan and of an undo", []string{"another", f.ID, f.ID}, asked)
}

// approvalOf plans, and returns what a person approves who approves all of it.
func approvalOf(t testing.TB, f *enginetest.Function) *report.Approval {
	t.Helper()
	rep, err := f.Plan(context.Background(), engine.Options{Versions: true})
	ok(t, err)
	enginetest.Want(t, "status", report.Completed, rep.Status)
	want := report.Binding{Project: f.ID, Database: rep.Database, Bucket: rep.Bucket, Job: rep.Job, Entry: f.Job.Entry, Version: version.Release}
	enginetest.Want(t, "what the plan is for", want, rep.Binding)
	for _, p := range rep.Plan {
		if p.Version == "" {
			t.Fatalf("%+v has no version", p)
		}
	}
	return rep.Approve(rep.Binding)
}

// runBy runs the function, restricted to a plan.
func runBy(t testing.TB, f *enginetest.Function, a *report.Approval) *report.Report {
	t.Helper()
	var rep *report.Report
	err := f.Function.Run(context.Background(), engine.Options{Approved: a}, func(r *report.Report, more bool) {
		enginetest.Want(t, "another run follows", false, more)
		rep = r
	})
	ok(t, err)
	return rep
}

// TestPreviewOfAnApprovedPlan lists what a run by it would do, and what it would leave because it was changed, and does nothing.
func TestPreviewOfAnApprovedPlan(t *testing.T) {
	t.Parallel()
	f := thingsFunction(t, 2, 4)
	a := approvalOf(t, f)
	delete(a.Items["delete thing"], "things/t000")
	f.Delete(t, "things/t002")
	f.Set(t, "things/t003", map[string]any{"n": "changed"})
	rep, err := f.Plan(t.Context(), engine.Options{Approved: a})
	enginetest.Want(t, "error", nil, err)
	enginetest.WantReport(t, rep.Report, report.Completed, map[string]report.Counts{"delete thing": {Planned: 2, Changed: 1}})
	for i := range rep.Plan {
		rep.Plan[i].Version = ""
	}
	enginetest.Want(t, "plan", []report.Planned{
		{Target: "things/t001", Action: "delete thing", Reason: rep.Plan[0].Reason},
		{Target: "things/t003", Action: "delete thing", Reason: rep.Plan[0].Reason, Kept: "it was changed since the plan was approved"},
	}, rep.Plan)
	wantNothingWritten(t, f, 3)
}

// TestAnApprovedPlanLeavesOthersWork: what an interrupted run has left to do is not in the plan.
func TestAnApprovedPlanLeavesOthersWork(t *testing.T) {
	t.Parallel()
	f := boxFunction(t)
	setBoxes(t, f, "b", 2, 1, map[string]any{"state": "old", "file": "files/f"})
	f.Put(t, "files/f", nil, nil)
	a := approvalOf(t, f)
	delete(a.Items["delete box"], "boxes/b001")
	refuses := refuseStorage(f, "")
	enginetest.Want(t, "status of the run before", report.Failed, f.Run(t, "").Status)
	*refuses = false
	todos := len(f.Documents(t, "cleanupJobs/testJob/cleanupTodo"))
	if todos == 0 {
		t.Fatal("nothing is left to do: this proves nothing")
	}
	runBy(t, f, a)
	enginetest.Want(t, "left to do", todos, len(f.Documents(t, "cleanupJobs/testJob/cleanupTodo")))
	enginetest.Want(t, "objects", []string{"files/f"}, f.Objects(t))
}

// TestAForgedPlan does nothing: it is refused, or the run does no more than without it.
func TestAForgedPlan(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(2))
	f.Job.Entry = "this entry"
	seed(t, f, 2)
	f.Set(t, "others/o1", map[string]any{})
	good := *approvalOf(t, f)
	for name, tt := range map[string]struct {
		change func(*report.Approval)
		why    string // empty: it is not refused
	}{
		"another project":   {func(a *report.Approval) { a.Project = "other" }, `its project is "other", and here it is "`},
		"another database":  {func(a *report.Approval) { a.Database = "other" }, `its database is "other", and here it is "(default)"; make a plan`},
		"another bucket":    {func(a *report.Approval) { a.Bucket = "other" }, `its bucket is "other", and here it is ""`},
		"another job":       {func(a *report.Approval) { a.Job = "other" }, `its job is "other", and here it is "testJob"`},
		"another rule":      {func(a *report.Approval) { a.Entry = "" }, `its rule was edited since, if only in its description: the digest is "", and here it is "this entry"`},
		"another version":   {func(a *report.Approval) { a.Version = "0.0.9" }, `its version of Firesweep is "0.0.9"`},
		"just too old":      {func(a *report.Approval) { a.Made = start.Add(-7*24*time.Hour - 1) }, "is too old"},
		"just in time":      {func(a *report.Approval) { a.Made = start.Add(-7 * 24 * time.Hour) }, ""},
		"no time":           {func(a *report.Approval) { a.Made = time.Time{} }, "make a new one"},
		"just not too late": {func(a *report.Approval) { a.Made = start.Add(time.Minute) }, ""},
		"made in future":    {func(a *report.Approval) { a.Made = start.Add(time.Minute + 1) }, "which is in the future: make a new one"},
	} {
		a := good
		tt.change(&a)
		a.Items = nil // or else one that is not refused does something
		_, err := f.Plan(t.Context(), engine.Options{Approved: &a})
		errOfRun := f.Function.Run(t.Context(), engine.Options{Approved: &a}, func(*report.Report, bool) {})
		enginetest.Want(t, name+": the run's error", fmt.Sprint(err), fmt.Sprint(errOfRun))
		if refused := tt.why != ""; refused != (err != nil) || refused && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v, want %s", name, err, tt.why)
		}
	}
	a := good
	a.Items = map[string]map[string]string{
		"": {"": ""}, "empty thing": {"things/t000": ""}, "delete thing": {"others/o1": "0001-01-01T00:00:00Z"},
	}
	enginetest.Want(t, "actions", 0, len(runBy(t, f, &a).Actions))
	enginetest.Want(t, "left", 3, len(left(t, f))+len(f.Documents(t, "others")))
	wantAnswer(t, "over HTTP", f.Post(t, `{"plan":{}}`), http.StatusBadRequest, "unknown field")
}

// TestAnApprovedPlanModel: whatever somebody does between plan and run, a run deletes exactly what is in the plan, untouched and
// still due; run again, it deletes nothing more, and a run without a plan deletes the rest.
func TestAnApprovedPlanModel(t *testing.T) {
	t.Parallel()
	f := boxFunction(t)
	round := func(r *rapid.T) {
		for _, collection := range []string{"boxes", "things"} {
			for _, id := range f.IDs(t, collection) {
				f.Delete(t, collection+"/"+id)
			}
		}
		writes := 0
		write := func(id, state string) { // each is another version
			writes++
			f.Set(t, "boxes/"+id, map[string]any{"state": state, "n": writes})
		}
		state := rapid.SampledFrom([]string{"old", "new"})
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		states := rapid.MapOf(id, state).Draw(r, "before")
		goes := map[string]bool{}
		for id, s := range states {
			write(id, s)
			f.Set(t, "things/of-"+id, map[string]any{"box": id})
		}
		a := approvalOf(t, f)
		for id, s := range states {
			goes[id] = s == "old"
		}
		type change struct {
			id, state string
			how       int
		}
		changes := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) change {
			return change{id.Draw(r, "id"), state.Draw(r, "state"), rapid.IntRange(0, 2).Draw(r, "how")}
		}), 0, 3)
		do := func(all []change) {
			for _, c := range all {
				switch c.how {
				case 0:
					write(c.id, c.state)
					states[c.id] = c.state
				case 1:
					f.Delete(t, "boxes/"+c.id)
					delete(states, c.id)
				default: // what goes along with it has no version
					f.Set(t, "things/new-"+c.id, map[string]any{"box": c.id})
					continue
				}
				goes[c.id] = false
			}
		}
		do(changes.Draw(r, "before the run"))
		later := changes.Draw(r, "before it commits")
		f.Hooks.BeforeApply = func() { do(later) }
		runBy(t, f, a)
		f.Hooks.BeforeApply = nil
		runBy(t, f, a)
		var want []string
		for id := range states {
			if !goes[id] {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		if got := f.IDs(t, "boxes"); !slices.Equal(got, want) {
			r.Fatalf("boxes %v, want %v", got, want)
		}
		f.Run(t, "")
		for id, box := range f.Documents(t, "boxes") {
			if box["state"] == "old" {
				r.Fatalf("box %s is left without a plan", id)
			}
		}
	}
	modeltest.Check(t, func(r *rapid.T) {
		for range 40 {
			round(r)
		}
	})
}

// TestAPlanNamesItemsThatAreNotThere: a rule may judge a path that has no document; if one is there by then, it is not approved.
func TestAPlanNamesItemsThatAreNotThere(t *testing.T) {
	t.Parallel()
	absent := cleanup.Rule[cleanup.Subject]{
		Name: "absent", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "owners", Writes: []string{"gone"}},
		Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("note owner", "always") },
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			return cleanup.Change{Writes: []documents.Write{{Op: documents.Set, Ref: documents.Ref{Collection: "gone", ID: s.ID()},
				Data: map[string]any{"n": 1}}}}
		},
	}
	f := newFunction(t, cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{absent},
		Plan: func(ctx context.Context, p *cleanup.Planner) error {
			var due []cleanup.Proposal
			for _, id := range []string{"back", "gone", "here"} {
				due = append(due, cleanup.Proposal{Document: documents.Document{Path: "owners/" + id}, Decision: cleanup.Do("note owner", "always")})
			}
			return p.ProposeItems(ctx, absent, due)
		}})
	f.Set(t, "owners/here", map[string]any{"n": 1})
	a := approvalOf(t, f)
	f.Set(t, "owners/back", map[string]any{"n": 1})
	runBy(t, f, a)
	enginetest.Want(t, "done", []string{"gone", "here"}, f.IDs(t, "gone"))
}

// TestAnApprovedPlanOfAccounts: one that somebody used since stays, though it is due as before.
func TestAnApprovedPlanOfAccounts(t *testing.T) {
	t.Parallel()
	f := ruleFunction(t, accountsJob(boxes))
	for _, uid := range []string{"gone", "used", "used-meanwhile"} {
		f.Import(t, (&auth.UserToImport{}).UID(uid))
	}
	a := approvalOf(t, f)
	f.Import(t, (&auth.UserToImport{}).UID("new"))
	use := func(uid string) func() {
		return func() { f.SetAccount(t, uid, map[string]any{"lastLoginAt": "1767225600000"}) }
	}
	use("used")()
	f.Hooks.BeforeApply = use("used-meanwhile")
	rep := runBy(t, f, a)
	enginetest.Want(t, "approved", 3, rep.Approved)
	enginetest.Want(t, "left", []string{"new", "used", "used-meanwhile"}, f.Accounts(t))
	enginetest.Want(t, "actions", map[string]report.Counts{"delete account": {Planned: 3, Done: 1, Changed: 2}}, rep.Actions)
}
