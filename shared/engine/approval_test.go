package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/version"
)

// approvalOf plans, and returns what a person approves who approves all of it.
func approvalOf(t testing.TB, f *enginetest.Function) report.Approval {
	t.Helper()
	rep, err := f.Plan(context.Background(), engine.PlanOptions{Versions: true})
	if err != nil || rep.Status != report.Completed || rep.Read.IsZero() {
		t.Fatalf("%+v, %v", rep, err)
	}
	want := report.Binding{Project: f.ID, Database: rep.Database, Bucket: rep.Bucket, Job: rep.Job, Entry: f.Entry, Version: version.Release}
	enginetest.Want(t, "what the plan is for", want, rep.Binding)
	a := report.Approval{Binding: want, Made: rep.Read, Items: map[string]string{}}
	for _, p := range rep.Plan {
		if p.Version == "" {
			t.Fatalf("%+v has no version", p)
		}
		approve(a, p)
	}
	return a
}

// approve adds an item to a plan.
func approve(a report.Approval, p report.Planned) {
	item, version := p.Key()
	a.Items[item] = version
}

// without takes an item out of a plan.
func without(a report.Approval, action, target string) {
	item, _ := report.Planned{Action: action, Target: target}.Key()
	delete(a.Items, item)
}

// body is the request of a run that is restricted to a plan.
func body(t testing.TB, a report.Approval) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"plan": a})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reasons are why items fell away, in order.
func reasons(r *report.Report) []string {
	return slices.Sorted(maps.Values(r.Approved.Which))
}

// TestAnApprovedPlan: a run does what is in the plan and still as it was, and nothing else.
func TestAnApprovedPlan(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(2))
	seed(t, f, 5)
	a := approvalOf(t, f)
	f.Set(t, "things/t001", map[string]any{"n": "changed"})
	f.Delete(t, "things/t002")
	f.Set(t, "things/t002", map[string]any{"n": 2})
	f.Delete(t, "things/t003")
	f.Set(t, "things/new", map[string]any{"n": 6})

	rep := f.Run(t, body(t, a))
	enginetest.Want(t, "status", report.Completed, rep.Status)
	enginetest.Want(t, "left", []string{"new", "t001", "t002"}, left(t, f))
	enginetest.Want(t, "actions", report.Counts{Planned: 2, Done: 2}, rep.Actions["delete thing"])
	enginetest.Want(t, "kept", map[string]int{"not in the approved plan": 1, "it was changed since the plan was approved": 2,
		"gone, or no longer found to be due": 1}, rep.Kept)
	enginetest.Want(t, "approved", 5, rep.Approved.Items)
	enginetest.Want(t, "fell away", 3, rep.Approved.FellAway)
	enginetest.Want(t, "why", []string{"gone, or no longer found to be due", "it was changed since the plan was approved",
		"it was changed since the plan was approved"}, reasons(rep))
}

// TestAnApprovedPlanThatTrips: why nothing was done is named for each item, be it a pass of the job or all of it that trips a limit.
func TestAnApprovedPlanThatTrips(t *testing.T) {
	t.Parallel()
	const tripped, unreached = "its pass tripped a safety limit", "not reached in this run: run it again with the same plan"
	for name, tt := range map[string]struct {
		job  cleanup.Job
		env  string // MAX_ACTIONS
		want []string
	}{
		"a pass": {inSections(3), "5", []string{tripped, tripped, tripped}},
		"all":    {thingsJob(2), "2", []string{unreached, unreached, unreached, unreached, unreached}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t, tt.job)
			seedSections(t, f)
			f.Env["MAX_MISSING_PERCENT"] = "100"
			a := approvalOf(t, f)
			delete(f.Env, "MAX_MISSING_PERCENT")
			f.Env["MAX_ACTIONS"] = tt.env
			rep := f.Run(t, body(t, a))
			enginetest.Want(t, "status", report.Aborted, rep.Status)
			enginetest.Want(t, "why", tt.want, reasons(rep))
			enginetest.Want(t, "left", len(tt.want), len(left(t, f)))
		})
	}
}

// TestPreviewOfAnApprovedPlan lists what a run by it would do, and does nothing.
func TestPreviewOfAnApprovedPlan(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(2))
	seed(t, f, 3)
	a := approvalOf(t, f)
	without(a, "delete thing", "things/t000")
	f.Delete(t, "things/t002")
	rep := f.RunQuery(t, "?dryRun=true", body(t, a))
	enginetest.Want(t, "status", report.Completed, rep.Status)
	if len(rep.Plan) != 1 || rep.Plan[0].Target != "things/t001" {
		t.Errorf("plan %+v", rep.Plan)
	}
	enginetest.Want(t, "why", []string{"gone, or no longer found to be due"}, reasons(rep))
	wantNothingWritten(t, f, 2)
}

// TestAnApprovedPlanAtTheCommit: what somebody writes after the run has planned stays, of items of every kind of rule.
func TestAnApprovedPlanAtTheCommit(t *testing.T) {
	t.Parallel()
	t.Run("deleted alone", func(t *testing.T) {
		t.Parallel()
		f := newFunction(t, thingsJob(2))
		seed(t, f, 2)
		a := approvalOf(t, f)
		f.Hooks.BeforeApply = func() { f.Set(t, "things/t001", map[string]any{"n": "changed"}) }
		rep := f.Run(t, body(t, a))
		enginetest.Want(t, "left", []string{"t001"}, left(t, f))
		enginetest.Want(t, "why", []string{"it changed since it was judged"}, reasons(rep))
	})
	t.Run("by a rule", func(t *testing.T) {
		t.Parallel()
		f := boxFunction(t)
		setBoxes(t, f, "b", 2, 2, map[string]any{"state": "old"})
		a := approvalOf(t, f)
		// It is due as before, so that a run without a plan would do it.
		f.Hooks.BeforeApply = func() { f.Set(t, "boxes/b001", map[string]any{"state": "old", "label": "new"}) }
		rep := f.Run(t, body(t, a))
		enginetest.Want(t, "left", []string{"b001"}, ids(t, f, "boxes"))
		enginetest.Want(t, "things", []string{"b001-0000", "b001-0001"}, ids(t, f, "things"))
		enginetest.Want(t, "why", []string{"it changed since it was judged"}, reasons(rep))

		f.Hooks.BeforeApply = nil
		enginetest.Want(t, "status without a plan", report.Completed, f.Run(t, "").Status)
		enginetest.Want(t, "left", 0, len(ids(t, f, "boxes")))
	})
}

// TestAnApprovedPlanAndWhatGoesAlong: nobody approved that something goes which was written after the plan.
func TestAnApprovedPlanAndWhatGoesAlong(t *testing.T) {
	t.Parallel()
	for _, saved := range []string{"0", "7"} {
		t.Run("undo days "+saved, func(t *testing.T) {
			t.Parallel()
			f := boxFunction(t)
			f.Env["UNDO_DAYS"] = saved
			setBoxes(t, f, "b", 2, 2, map[string]any{"state": "old", "file": "files/f"})
			a := approvalOf(t, f)
			f.Set(t, "things/new", map[string]any{"box": "b001"})
			f.Put(t, "files/f", nil, nil)
			rep := f.Run(t, body(t, a))
			enginetest.Want(t, "boxes left", []string{"b001"}, ids(t, f, "boxes"))
			enginetest.Want(t, "things left", []string{"b001-0000", "b001-0001", "new"}, ids(t, f, "things"))
			enginetest.Want(t, "a file that was uploaded since", []string{"files/f"}, f.Objects(t))
			enginetest.Want(t, "why", []string{"something that goes with it was written since the plan was approved"}, reasons(rep))
			enginetest.Want(t, "status", report.Completed, rep.Status)
			if saved == "0" || !f.EmbeddedStorage() {
				return
			}
			if err := f.Storage(t).Bucket(f.Bucket).Object("files/f").Delete(t.Context()); err != nil { // by its owner
				t.Fatal(err)
			}
			err := f.Restorer(t, f.Clock).Undo(t.Context(), rep.RunID, restore.Options{Apply: true}, func(restore.Outcome) error { return nil })
			enginetest.Want(t, "error", nil, err)
			enginetest.Want(t, "boxes that are back", []string{"b000", "b001"}, ids(t, f, "boxes"))
			enginetest.Want(t, "files that are back", 0, len(f.Objects(t)))
		})
	}
}

// TestAnApprovedPlanOfSeveralRuns: what a run had no time for, the next one does that is restricted to the same plan.
func TestAnApprovedPlanOfSeveralRuns(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 6)
	a := approvalOf(t, s.Function)
	without(a, "delete thing", "things/t005")
	s.seconds.Store(0)
	rep := s.Run(t, body(t, a))
	enginetest.Want(t, "status", report.Partial, rep.Status)
	enginetest.Want(t, "why", slices.Repeat([]string{"not reached in this run: run it again with the same plan"}, 3), reasons(rep))
	for range 3 {
		rep = s.Run(t, body(t, a))
	}
	enginetest.Want(t, "status", report.Completed, rep.Status)
	enginetest.Want(t, "left", []string{"t005"}, left(t, s.Function))
}

// TestAnApprovedPlanLeavesOthersWork: what an interrupted run has left to do is not in the plan.
func TestAnApprovedPlanLeavesOthersWork(t *testing.T) {
	t.Parallel()
	f := boxFunction(t)
	setBoxes(t, f, "b", 2, 1, map[string]any{"state": "old", "file": "files/f"})
	f.Put(t, "files/f", nil, nil)
	a := approvalOf(t, f)
	without(a, "delete box", "boxes/b001")
	refuses := refuseStorage(f, "")
	enginetest.Want(t, "status of the run before", report.Failed, f.Run(t, "").Status)
	*refuses = false
	todos := len(f.Documents(t, "cleanupJobs/testJob/cleanupTodo"))
	if todos == 0 {
		t.Fatal("nothing is left to do: this proves nothing")
	}
	f.Run(t, body(t, a))
	enginetest.Want(t, "left to do", todos, len(f.Documents(t, "cleanupJobs/testJob/cleanupTodo")))
	enginetest.Want(t, "objects", []string{"files/f"}, f.Objects(t))
}

// TestAForgedPlan does nothing: it is refused, or the run does no more than without it.
func TestAForgedPlan(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(2))
	f.Entry = "this entry"
	seed(t, f, 2)
	f.Set(t, "others/o1", map[string]any{})
	good := approvalOf(t, f)
	for name, tt := range map[string]struct {
		change func(*report.Approval)
		why    string
	}{
		"another project":  {func(a *report.Approval) { a.Project = "other" }, `its project is \"other\", and here it is \"`},
		"another database": {func(a *report.Approval) { a.Database = "other" }, `its database is \"other\", and here it is \"(default)\"; make a plan`},
		"another job":      {func(a *report.Approval) { a.Job = "other" }, `its job is \"other\", and here it is \"testJob\"`},
		"another rule":     {func(a *report.Approval) { a.Entry = "" }, `its entry in the lists is \"\", and here it is \"this entry\"`},
		"another version":  {func(a *report.Approval) { a.Version = "0.0.9" }, `its version of Firesweep is \"0.0.9\"`},
		"just too old":     {func(a *report.Approval) { a.Made = start.Add(-7*24*time.Hour - 1) }, "make a new one"},
		"no time":          {func(a *report.Approval) { a.Made = time.Time{} }, "make a new one"},
		"too many items": {func(a *report.Approval) {
			for i := range report.MaxApproved {
				a.Items[fmt.Sprintf("%024d", i)] = fmt.Sprintf("%016d", 0)
			}
		}, "at most 10000 are allowed"},
	} {
		a := good
		a.Items = maps.Clone(good.Items)
		tt.change(&a)
		wantAnswer(t, name, f.Post(t, body(t, a)), http.StatusBadRequest, tt.why)
	}
	for _, text := range []string{`{"plan":null}`, `{"plan":{}}`, `{"plan":[]}`, `{"plan":true}`, `{"plan":{"item":[]}}`} {
		if w := f.Post(t, text); w.Code != http.StatusBadRequest {
			t.Errorf("%s: answer %d %s", text, w.Code, w.Body)
		}
	}
	if n := len(left(t, f)); n != 2 {
		t.Fatalf("%d things left of 2", n)
	}
	a := good
	a.Items = map[string]string{"": "", "x": "y"}
	for _, p := range []report.Planned{
		{Target: "others/o1", Action: "delete thing", Version: "0001-01-01T00:00:00Z"}, {Target: "things/t000", Action: "empty thing"},
	} {
		approve(a, p)
	}
	none := good
	none.Items = nil
	for _, a := range []report.Approval{a, none} {
		rep := f.Run(t, body(t, a))
		enginetest.Want(t, "actions", 0, len(rep.Actions))
	}
	enginetest.Want(t, "left", 3, len(left(t, f))+len(f.Documents(t, "others")))
}

// TestAPlanAsLargeAsAllowed fits into a request, and what Cloud Scheduler takes.
func TestAPlanAsLargeAsAllowed(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(2))
	seed(t, f, 1)
	a := approvalOf(t, f)
	for i := range report.MaxApproved - 1 {
		a.Items[fmt.Sprintf("%024d", i)] = fmt.Sprintf("%016d", 0)
	}
	text := body(t, a)
	if most := 750_000; len(text) > most { // and a third more in base64 is 1 MB
		t.Errorf("%d bytes, want at most %d", len(text), most)
	}
	rep := f.Run(t, text)
	enginetest.Want(t, "left", 0, len(left(t, f)))
	enginetest.Want(t, "fell away", report.MaxApproved-1, rep.Approved.FellAway)
	enginetest.Want(t, "named", 100, len(rep.Approved.Which))
}

// TestAnApprovedPlanModel: whatever somebody does between plan and run, a run deletes exactly what is in the plan, untouched and
// still due; run again, it deletes nothing more.
func TestAnApprovedPlanModel(t *testing.T) {
	t.Parallel()
	f := boxFunction(t)
	rapid.Check(t, func(r *rapid.T) {
		for _, collection := range []string{"boxes", "things"} {
			for _, id := range ids(t, f, collection) {
				f.Delete(t, collection+"/"+id)
			}
		}
		write := func(id, state string) { f.Set(t, "boxes/"+id, map[string]any{"state": state}) }
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
				if before, there := states[c.id]; c.how == 0 && there && before == c.state {
					continue // Firestore takes a write that changes nothing for none
				}
				goes[c.id] = false
				switch c.how {
				case 0:
					write(c.id, c.state)
					states[c.id] = c.state
				case 1:
					f.Delete(t, "boxes/"+c.id)
					delete(states, c.id)
				default:
					f.Set(t, "things/new-"+c.id, map[string]any{"box": c.id})
				}
			}
		}
		do(changes.Draw(r, "before the run"))
		later := changes.Draw(r, "before it commits")
		f.Hooks.BeforeApply = func() { do(later) }
		f.Run(t, body(t, a))
		f.Hooks.BeforeApply = nil
		f.Run(t, body(t, a))
		var want []string
		for id := range states {
			if !goes[id] {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		if got := ids(t, f, "boxes"); !slices.Equal(got, want) {
			r.Fatalf("boxes %v, want %v", got, want)
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
	f.Run(t, body(t, a))
	enginetest.Want(t, "done", []string{"gone", "here"}, ids(t, f, "gone"))
}

// TestAnApprovedPlanOfAccounts: one that somebody used since stays, though it is due as before, and one with which something would
// go that was written since.
func TestAnApprovedPlanOfAccounts(t *testing.T) {
	t.Parallel()
	f := newFunction(t, accountsJob(boxes))
	f.Uses = append(f.Uses, config.Auth)
	for _, uid := range []string{"along", "gone", "used", "used-meanwhile"} {
		f.Import(t, (&auth.UserToImport{}).UID(uid))
	}
	a := approvalOf(t, f)
	f.Import(t, (&auth.UserToImport{}).UID("new"))
	use := func(uid string) func() {
		return func() { f.SetAccount(t, uid, map[string]any{"lastLoginAt": "1767225600000"}) }
	}
	use("used")()
	f.Set(t, "boxes/along", map[string]any{"state": "old"})
	f.Hooks.BeforeApply = use("used-meanwhile")
	rep := f.Run(t, body(t, a))
	enginetest.Want(t, "left", []string{"along", "new", "used", "used-meanwhile"}, f.Accounts(t))
	enginetest.Want(t, "why", []string{"it changed since it was judged", "it was changed since the plan was approved",
		"something that goes with it was written since the plan was approved"}, reasons(rep))
}

// TestAnApprovedPlanOfSeveralCommits: what was written since is met by a later commit, so nothing is done before.
func TestAnApprovedPlanOfSeveralCommits(t *testing.T) {
	t.Parallel()
	for newer, data := range map[string]map[string]any{
		"boxes/new": {"state": "old", "crate": "c1"}, "things/new": {"box": "c1-11"}, "nothing": nil,
	} {
		t.Run(newer, func(t *testing.T) {
			t.Parallel()
			f := ruleFunction(t, ruleJob("crates", crates, boxes))
			setCrate(t, f, "c1", 12)
			f.SetMany(t, 450, func(i int) (string, map[string]any) {
				return fmt.Sprintf("things/t%03d", i), map[string]any{"box": "c1-11"}
			})
			a := approvalOf(t, f)
			if data == nil {
				f.Run(t, body(t, a))
				enginetest.Want(t, "left", 0, len(ids(t, f, "crates"))+len(ids(t, f, "boxes"))+len(ids(t, f, "things")))
				return
			}
			f.Set(t, newer, data)
			preview := f.RunQuery(t, "?dryRun=true", body(t, a)).Plan[0].Writes
			enginetest.Want(t, "previewed", []string{"nothing: " + newer + ": something that goes with it was written since the plan was approved"}, preview)
			rep := f.Run(t, body(t, a))
			enginetest.Want(t, "crate", "old", f.Documents(t, "crates")["c1"]["state"])
			enginetest.Want(t, "boxes and things left", 12+450+1, len(ids(t, f, "boxes"))+len(ids(t, f, "things")))
			enginetest.Want(t, "why", []string{"something that goes with it was written since the plan was approved"}, reasons(rep))
		})
	}
}

// TestAnApprovedPlanThatIsLeftHalfDone: what was written when the first commits were done keeps the rest, and a warning says so.
func TestAnApprovedPlanThatIsLeftHalfDone(t *testing.T) {
	t.Parallel()
	f := ruleFunction(t, ruleJob("crates", crates, boxes))
	setCrate(t, f, "c1", 12)
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		err := send()
		if slices.ContainsFunc(commit.GetWrites(), func(w *firestorepb.Write) bool { return strings.HasSuffix(w.GetDelete(), "/boxes/c1-00") }) {
			f.Set(t, "things/new", map[string]any{"box": "c1-11"})
		}
		return err
	})
	rep := f.Run(t, body(t, approvalOf(t, f)))
	enginetest.Want(t, "crate", "claimed", f.Documents(t, "crates")["c1"]["state"])
	enginetest.Want(t, "boxes left", []string{"c1-11"}, ids(t, f, "boxes"))
	enginetest.Want(t, "kept", map[string]int{"something that goes with it was written since the plan was approved": 1}, rep.Kept)
	enginetest.Want(t, "why", []string{"left half done, something that goes with it was written since the plan was approved"}, reasons(rep))
	if said := f.Warnings(t)["crates/c1"]; len(said) != 1 {
		t.Errorf("%v", said)
	}
}

// TestWhatAnApprovedRunLeavesToDo: the run that does the rest deletes no file either that was uploaded since the plan.
func TestWhatAnApprovedRunLeavesToDo(t *testing.T) {
	t.Parallel()
	f := boxFunction(t)
	setBoxes(t, f, "b", 1, 0, map[string]any{"state": "old", "file": "files/f", "photos": 1})
	f.Put(t, "photos/0000", map[string]string{"box": "b000"}, nil)
	a := approvalOf(t, f)
	f.Put(t, "files/f", nil, nil)
	refuses := refuseStorage(f, "")
	enginetest.Want(t, "status", report.Failed, f.Run(t, body(t, a)).Status)
	*refuses = false
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "objects", []string{"files/f"}, f.Objects(t))
}
