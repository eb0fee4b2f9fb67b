package engine_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/objects"
)

// people are deleted with their accounts, of which only a Todo knows then.
var people = cleanup.Rule[cleanup.Subject]{
	Name: "person", Load: cleanup.Itself,
	Reach: cleanup.Reach{Items: "people", Deletes: []string{"people"}, Account: true},
	Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
		if s.Data["leaves"] != true {
			return cleanup.Keep("stays")
		}
		return cleanup.Do("delete person", "leaves")
	},
	Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		c := cleanup.Delete(s.Document)
		c.Then = []cleanup.FollowUp{{Account: s.ID(), Absent: s.Ref()}}
		return c
	},
}

// reachFunction has rules that delete files by their names, folders and accounts.
func reachFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	return ruleFunction(t, ruleJob("people", people, boxes, crates))
}

// TestAccountsShareCalls: one call a second deletes accounts, so commits of items with accounts grow while they are small.
func TestAccountsShareCalls(t *testing.T) {
	f := reachFunction(t)
	for i := range 400 {
		f.Set(t, fmt.Sprintf("people/p%03d", i), map[string]any{"leaves": true})
	}
	f.Env["MAX_DUE_PERCENT"] = "100"
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete person", 400))
	if calls := got.Usage.AuthCalls; calls == 0 || calls > 24 { // 16 commits of 25 would take 32, each to look and to delete
		t.Errorf("%d calls of Authentication", calls)
	}
}

// TestForgedEntriesNeverGoBeyondReach runs a job on entries that somebody else wrote into its Todos, of the parts of which the
// job's own are made and of others. It deletes no file of another folder or owner, none of a document that exists, no account of a
// person who exists, and writes no document.
func TestForgedEntriesNeverGoBeyondReach(t *testing.T) {
	f := reachFunction(t)
	files := map[string]string{ // the document while which exists it stays; "": always
		"avatars/victim.png": "", "secrets/a": "", "boxes/there": "", "crates": "", "cratesx/gone/a": "", "photos": "",
		"crates/there/a": "crates/there", "crates/gone/a": "crates/gone", "crates/gone/b/c": "crates/gone", "crates/gonex/a": "crates/gonex",
		"photos/there": "boxes/there", "photos/gone": "boxes/gone", "files/a": "boxes/gone",
	}
	there := []string{"boxes/there", "crates/there", "people/there", "people/victim", "roles/attacker", "users/victim", "things/a", "gone/a"}
	for _, path := range there {
		f.Set(t, path, map[string]any{"n": 1, "state": "used"})
	}
	uids := []string{"there", "victim", "gone", "undefined"}
	path := rapid.SampledFrom(slices.Concat(there, []string{"", "boxes", "boxes/", "/", "boxes/gone", "crates/gone", "crates/gonex", "crates/..",
		"crates/gone/b/x", "people/gone", "users/gone", "cleanupJobs/testJob/cleanupTodo/x", "cleanupJobs/gone"}))
	name := rapid.SampledFrom(slices.Concat(slices.Sorted(maps.Keys(files)), []string{"", "/", "secrets/", "crates/", "crates/gone/", "crates/gone",
		"crates/there/", "photos/", "files/", "files/../secrets/a", "files//a"}))
	value := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](int64(3)), rapid.Map(path, func(p string) any { return p }))
	rule := rapid.SampledFrom([]string{"box", "crate", "person", "nobody", ""})
	step := rapid.Custom(func(rt *rapid.T) map[string]any { // what the job could have written, or nearly
		m := rapid.SampledFrom([]func() map[string]any{
			func() map[string]any { return enginetest.StepOf("box", "boxes/gone", "files/a", "") },
			func() map[string]any { return enginetest.StepOf("box", "boxes/gone", "photos/gone", "box") },
			func() map[string]any { return enginetest.StepOf("box", "boxes/gone", "photos/there", "box") },
			func() map[string]any { return enginetest.StepOf("crate", "crates/gone", "crates/gone/", "") },
			func() map[string]any { return enginetest.StepOf("box", "boxes/gone", "photos/there", "") },
			func() map[string]any { return enginetest.AccountOf("person", "people/gone") },
		}).Draw(rt, "step")()
		object, ok := m["object"].(map[string]any)
		if !ok {
			object = map[string]any{}
		}
		for range rapid.IntRange(0, 2).Draw(rt, "changes") {
			of, keys := m, []string{"rule", "absent", "account", "done", "task", "object", "objects"}
			switch rapid.IntRange(0, 5).Draw(rt, "change") {
			case 0:
				m["rule"] = rule.Draw(rt, "rule")
			case 1:
				m["absent"] = path.Draw(rt, "absent")
			case 2:
				object["name"], m["object"] = name.Draw(rt, "name"), object
			case 3:
				object["folder"], m["object"] = rapid.Bool().Draw(rt, "folder"), object
			case 4:
				of, keys = object, []string{"name", "folder", "ownerKey", "owner", "home", "generation"}
				fallthrough
			default:
				key := rapid.SampledFrom(keys).Draw(rt, "key")
				if of[key] = value.Draw(rt, "value"); of[key] == nil {
					delete(of, key)
				}
			}
		}
		return m
	})
	item := rapid.Custom(func(rt *rapid.T) map[string]any {
		return enginetest.ItemOf(rule.Draw(rt, "rule"), path.Draw(rt, "path"))
	})
	gone := 0
	round := func(rt *rapid.T) {
		left := f.Objects(t)
		for file, owner := range files {
			if !slices.Contains(left, file) {
				metadata := map[string]string{}
				if box, ok := strings.CutPrefix(owner, "boxes/"); ok && strings.HasPrefix(file, "photos/") {
					metadata["box"] = box
				}
				f.Put(t, file, metadata, []byte("x"))
			}
		}
		for _, uid := range uids {
			if !slices.Contains(f.Accounts(t), uid) {
				f.SignUp(t, uid)
			}
		}
		for i := range 6 {
			f.SetTodo(t, fmt.Sprint("e", i), slices.Concat(rapid.SliceOfN(step, 0, 2).Draw(rt, "steps"),
				rapid.SliceOfN(item, 0, rapid.IntRange(0, 3).Draw(rt, "items")/3).Draw(rt, "next"))...)
		}
		f.Run(t, "")
		for file, owner := range files {
			if _, found := slices.BinarySearch(f.Objects(t), file); found {
				continue
			}
			if gone++; owner == "" || slices.Contains(there, owner) {
				rt.Fatalf("%s was deleted", file)
			}
		}
		for _, uid := range uids {
			if !slices.Contains(f.Accounts(t), uid) && slices.Contains(there, "people/"+uid) {
				rt.Fatalf("account %s was deleted", uid)
			}
		}
		for _, path := range there {
			if d, err := f.Firestore(t).Doc(path).Get(t.Context()); err != nil || len(d.Data()) != 2 {
				rt.Fatalf("%s: %v", path, err)
			}
		}
	}
	modeltest.Check(t, func(rt *rapid.T) {
		for range 40 {
			round(rt)
		}
	})
	if gone == 0 {
		t.Error("no entry was one that the job itself could have written: the test shows nothing")
	}
}

// TestWhatWasLeftCountsAndShows: each file of a folder, each account and each item that interrupted runs left counts for
// MAX_ACTIONS, and a preview shows it. What is more than that waits for the next runs, which do it before anything else.
func TestWhatWasLeftCountsAndShows(t *testing.T) {
	f := reachFunction(t)
	for _, name := range []string{"crates/gone/0", "crates/gone/1", "files/a"} {
		f.Put(t, name, nil, []byte("x"))
	}
	f.Set(t, "boxes/old", old)
	f.Set(t, "people/p2", map[string]any{"leaves": true})
	f.SignUp(t, "p1")
	f.SetTodo(t, "e", enginetest.StepOf("crate", "crates/gone", "crates/gone/", ""), enginetest.StepOf("box", "boxes/gone", "files/a", ""))
	f.SetTodo(t, "f", enginetest.AccountOf("person", "people/p1"), enginetest.ItemOf("box", "boxes/old"))
	shown := f.Run(t, `{"dryRun":true}`).Plan
	enginetest.Want(t, "with", []map[string]int{{"delete file": 1, "delete folder of files": 1}, {"delete account": 1}},
		[]map[string]int{shown[0].With, shown[1].With})
	enginetest.Want(t, "more", []bool{false, true}, []bool{shown[0].More, shown[1].More})

	f.Env["MAX_ACTIONS"] = "2"
	before := f.Run(t, `{"dryRun":true}`)
	enginetest.WantReport(t, before, report.Partial, map[string]report.Counts{"finish interrupted action": {Planned: 1}})
	has(t, before.Warnings[0], "more to do than MAX_ACTIONS allows (2)")
	for run, left := range []int{1, 0} {
		got := f.Run(t, "")
		enginetest.Want(t, "status", report.Partial, got.Status)
		enginetest.Want(t, fmt.Sprintf("objects after run %d: %v", run, got.Failures), left, len(f.Objects(t)))
		enginetest.Want(t, "accounts and documents", []int{1, 1, 1}, []int{len(f.Accounts(t)), len(f.IDs(t, "boxes")), len(f.IDs(t, "people"))})
	}
	for _, name := range []string{"crates/more/0", "crates/more/1", "crates/more/2", "crates/more/3", "crates/more/4"} {
		f.Put(t, name, nil, []byte("x"))
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{
		"finish interrupted action": {Planned: 1, Done: 1}, "delete person": {Planned: 1, Done: 1}})
	enginetest.Want(t, "accounts and documents", []int{0, 0, 0}, []int{len(f.Accounts(t)), len(f.IDs(t, "boxes")), len(f.IDs(t, "people"))})
	enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))

	f.Set(t, "people/p3", map[string]any{"leaves": true})
	f.SetTodo(t, "g", enginetest.StepOf("crate", "crates/more", "crates/more/", ""))
	enginetest.Want(t, "status of a run that only does what was left", report.Partial, f.Run(t, "").Status)
	enginetest.Want(t, "objects and people", []int{3, 1}, []int{len(f.Objects(t)), len(f.IDs(t, "people"))})
	enginetest.Want(t, "status of one with force", report.Completed, f.Run(t, `{"force":true}`).Status)
	enginetest.Want(t, "objects and people", []int{0, 0}, []int{len(f.Objects(t)), len(f.IDs(t, "people"))})
}

// TestWhatWasLeftIsBounded: of documents, accounts and files that a Todo holds a run does as many as MAX_ACTIONS allows, and the next
// run goes on behind them; with force, all.
func TestWhatWasLeftIsBounded(t *testing.T) {
	for what, tt := range map[string]struct {
		step func(n int) map[string]any
		left func(f *enginetest.Function) int
	}{
		"documents": {func(n int) map[string]any { return enginetest.ItemOf("box", fmt.Sprint("boxes/", n)) },
			func(f *enginetest.Function) int { return len(f.IDs(t, "boxes")) }},
		"accounts": {func(n int) map[string]any { return enginetest.AccountOf("person", fmt.Sprint("people/p", n)) },
			func(f *enginetest.Function) int { return len(f.Accounts(t)) }},
		"files": {func(n int) map[string]any { return enginetest.StepOf("box", "boxes/gone", fmt.Sprint("files/", n), "") },
			func(f *enginetest.Function) int { return len(f.Objects(t)) }},
	} {
		for body, want := range map[string][]int{"": {3, 1, 0}, `{"force":true}`: {0}} {
			t.Run(what+body, func(t *testing.T) {
				f := reachFunction(t)
				var steps []map[string]any
				for n := range 5 {
					f.Put(t, fmt.Sprint("files/", n), nil, []byte("x"))
				}
				for n := range 5 {
					f.Set(t, fmt.Sprint("boxes/", n), old)
					f.SignUp(t, fmt.Sprint("p", n))
					steps = append(steps, tt.step(n))
				}
				f.SetTodo(t, "e", steps...)
				f.Env["MAX_ACTIONS"] = "2"
				for run, left := range want {
					got := f.Run(t, body)
					status := map[bool]report.Status{true: report.Partial, false: report.Completed}[body == ""]
					enginetest.Want(t, fmt.Sprintf("status of run %d: %v", run, got.Failures), status, got.Status)
					enginetest.Want(t, fmt.Sprint("left after run ", run), left, tt.left(f))
				}
				enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
				enginetest.Want(t, "status afterwards", report.Completed, f.Run(t, "").Status)
			})
		}
	}
}

// TestATrippedJobKeepsItsPlace: what interrupted runs left is a pass by itself, and is done; the next run begins where this one did.
func TestATrippedJobKeepsItsPlace(t *testing.T) {
	f := reachFunction(t)
	f.Put(t, "files/a", nil, []byte("x"))
	for _, id := range []string{"p1", "p2", "p3"} {
		f.Set(t, "people/"+id, map[string]any{"leaves": true})
	}
	behind, err := documents.Query{Collection: "people"}.After(documents.Document{Path: "people/p1"})
	ok(t, err)
	f.Set(t, "cleanupJobs/testJob", map[string]any{"checkpoint": string(behind)})
	f.SetTodo(t, "e", enginetest.StepOf("box", "boxes/gone", "files/a", ""))
	f.Env["MAX_ACTIONS"] = "1"
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Aborted, map[string]report.Counts{
		"finish interrupted action": {Planned: 1, Done: 1}, "delete person": {Planned: 2}})
	enginetest.Want(t, "objects and people", []int{0, 3}, []int{len(f.Objects(t)), len(f.IDs(t, "people"))})
	enginetest.Want(t, "checkpoint", string(behind), enginetest.Checkpoint(job(t, f)))
}

// TestRestoredBetweenLookAndDeletion: a document that comes back while an entry is being done keeps the files and the account that it
// led to.
func TestRestoredBetweenLookAndDeletion(t *testing.T) {
	f := reachFunction(t)
	f.Put(t, "files/a", nil, []byte("x"))
	f.SignUp(t, "p1")
	f.SetTodo(t, "e", enginetest.StepOf("box", "boxes/gone", "files/a", ""), enginetest.AccountOf("person", "people/p1"))
	onSaved(f, func() { // for the first look they are gone
		f.Set(t, "boxes/gone", map[string]any{"state": "used"})
		f.Set(t, "people/p1", map[string]any{"state": "used"})
	})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "kept", map[string]int{"a file whose document was restored since": 1, "its document was restored since": 1}, got.Kept)
	enginetest.Want(t, "objects", []string{"files/a"}, f.Objects(t))
	enginetest.Want(t, "accounts", []string{"p1"}, f.Accounts(t))
	wantLeft(t, f, got.RunID)
}

// TestWhatIsRestoredEnds: files whose document is back are kept, and no run comes back to them, however many they are.
func TestWhatIsRestoredEnds(t *testing.T) {
	f := reachFunction(t)
	f.Env["MAX_ACTIONS"] = "2"
	for _, name := range []string{"crates/back/0", "crates/back/1", "crates/back/2"} {
		f.Put(t, name, nil, []byte("x"))
	}
	f.Set(t, "crates/back", map[string]any{"state": "used"})
	f.SetTodo(t, "e", enginetest.StepOf("crate", "crates/back", "crates/back/", ""))
	enginetest.Want(t, "foretold", 0, len(f.Run(t, `{"dryRun":true}`).Plan[0].With))
	got := f.Run(t, "")
	enginetest.Want(t, "kept", map[string]int{"a file whose document was restored since": 1}, got.Kept)
	enginetest.Want(t, "objects", 3, len(f.Objects(t)))
	enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
}

// wantLeft checks that an undo leaves deleted what the owner of account p1 and files/a deletes after a run that kept them.
func wantLeft(t *testing.T, f *enginetest.Function, runID string) {
	t.Helper()
	err := f.Auth(t).DeleteUser(t.Context(), "p1")
	if err == nil && slices.Contains(f.Objects(t), "files/a") {
		err = f.Storage(t).Bucket(f.Bucket).Object("files/a").Delete(t.Context())
	}
	ok(t, err)
	takeBack(t, f, runID)
	enginetest.Want(t, "accounts and files that undo brings back", 0, len(f.Accounts(t))+len(f.Objects(t)))
}

// TestWhatARunCouldNotGoOnWith: it saved an account or a file, and then Firestore answered an error instead of what its deletion
// needs, Authentication refused, or time was up.
func TestWhatARunCouldNotGoOnWith(t *testing.T) {
	leaving, each := ruleJob("people", people, boxes, crates), accountsJob(boxes)
	file := enginetest.StepOf("box", "boxes/gone", "files/a", "")
	for what, tt := range map[string]struct {
		job     cleanup.Job
		todo    map[string]any // what an interrupted run has left to do, if any
		disturb func(t *testing.T, f *enginetest.Function, saved, late *atomic.Bool)
		want    report.Status
	}{
		"an account whose document is asked for": {leaving, enginetest.AccountOf("person", "people/p1"),
			func(_ *testing.T, f *enginetest.Function, saved, _ *atomic.Bool) {
				denySaved(f, saved, "RunAggregationQuery")
			}, report.Failed},
		"a file whose document is asked for": {leaving, file,
			func(_ *testing.T, f *enginetest.Function, saved, _ *atomic.Bool) {
				denySaved(f, saved, "RunAggregationQuery")
			}, report.Failed},
		"a file when time is up": {leaving, file, func(_ *testing.T, f *enginetest.Function, saved, late *atomic.Bool) {
			onCalls(f, "RunAggregationQuery", func(int) error {
				late.Store(saved.Load())
				return nil
			})
		}, report.Partial},
		"an account with documents to go along": {each, nil, func(_ *testing.T, f *enginetest.Function, _, _ *atomic.Bool) {
			f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
				if strings.Contains(fmt.Sprint(r.GetWrites()), "/cleanupTodo/") {
					return denied
				}
				return send()
			})
		}, report.Failed},
		"a file that is denied": {leaving, file, func(_ *testing.T, f *enginetest.Function, _, _ *atomic.Bool) {
			f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if r.Method == http.MethodDelete {
					return enginetest.StorageRefuses(r, http.StatusForbidden), nil
				}
				return send()
			})
		}, report.Failed},
		"an account that is refused": {each, nil, func(t *testing.T, f *enginetest.Function, _, _ *atomic.Bool) {
			f.FailDelete(t, "p1", "NOT_DISABLED : Disable the account before batch deletion.")
		}, report.Failed},
	} {
		t.Run(what, func(t *testing.T) {
			f := ruleFunction(t, tt.job)
			f.SignUp(t, "p1")
			f.Put(t, "files/a", nil, []byte("x"))
			if tt.todo != nil {
				f.SetTodo(t, "e", tt.todo)
			}
			late := lateClock(f)
			saved := onSaved(f, func() {})
			tt.disturb(t, f, saved, late)
			got := f.Run(t, "")
			enginetest.Want(t, "status", tt.want, got.Status)
			enginetest.Want(t, "accounts", []string{"p1"}, f.Accounts(t))
			enginetest.Want(t, "objects", []string{"files/a"}, f.Objects(t))
			saved.Store(false)
			late.Store(false)
			if f.EmbeddedAuth() {
				f.FailDelete(t, "p1", "") // refuses nothing any more
			}
			wantLeft(t, f, got.RunID)
		})
	}
}

// denySaved denies a method from when something was saved for undo.
func denySaved(f *enginetest.Function, saved *atomic.Bool, method string) {
	onCalls(f, method, func(int) error {
		if saved.Load() {
			return denied
		}
		return nil
	})
}

// TestAccountMadeAgain: a Todo deletes no account that was made after it, and an undo knows nothing of it. Clocks may differ by some
// seconds.
func TestAccountMadeAgain(t *testing.T) {
	f := reachFunction(t)
	for uid, after := range map[string]time.Duration{"p1": -time.Hour, "p2": 5 * time.Second, "p3": time.Minute} {
		f.Import(t, new(auth.UserToImport).UID(uid).Metadata(&auth.UserMetadata{CreationTimestamp: time.Now().Add(after).UnixMilli()}))
	}
	f.SetTodo(t, "e", enginetest.AccountOf("person", "people/p1"), enginetest.AccountOf("person", "people/p2"), enginetest.AccountOf("person", "people/p3"))
	got := f.Run(t, "")
	enginetest.WantKept(t, got, report.Completed, enginetest.Done("finish interrupted action", 1), map[string]int{"an account that was made again since": 1})
	enginetest.Want(t, "accounts", []string{"p3"}, f.Accounts(t))
	for _, saved := range f.Documents(t, runlog.DoneOf(got.RunID)) {
		enginetest.Want(t, "records, of two people and their accounts", any(int64(4)), saved["records"])
	}
	ok(t, f.Auth(t).DeleteUser(t.Context(), "p3"))
	takeBack(t, f, got.RunID)
	enginetest.Want(t, "accounts that are back", []string{"p1", "p2"}, f.Accounts(t))
}

// TestAnEntryThatChangesAfterItWasCounted is left alone: nobody has counted or shown what it holds now.
func TestAnEntryThatChangesAfterItWasCounted(t *testing.T) {
	f := reachFunction(t)
	f.Put(t, "files/a", nil, []byte("x"))
	f.Put(t, "files/b", nil, []byte("x"))
	f.SetTodo(t, "e", enginetest.StepOf("box", "boxes/gone", "files/a", ""))
	f.Hooks.BeforeApply = func() {
		f.SetTodo(t, "e", enginetest.StepOf("box", "boxes/gone", "files/a", ""), enginetest.StepOf("box", "boxes/gone", "files/b", ""))
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1, Changed: 1}})
	enginetest.Want(t, "objects", []string{"files/a", "files/b"}, f.Objects(t))
}

// TestBeyondReach: a rule that asks for more than its job declares fails its item, and nothing is written for that; so with what a job
// proposes itself.
func TestBeyondReach(t *testing.T) {
	ref := documents.Ref{Collection: "boxes", ID: "b"}
	for name, change := range map[string]cleanup.Change{
		"another collection":       {Writes: []documents.Write{{Op: documents.Delete, Ref: documents.Ref{Collection: "roles", ID: "b"}}}},
		"a subcollection":          {Writes: []documents.Write{{Op: documents.Delete, Ref: documents.Ref{Collection: "boxes/b/things", ID: "b"}}}},
		"a write where it deletes": {Writes: []documents.Write{{Op: documents.Set, Ref: ref, Data: map[string]any{}}}},
		"the engine's records":     {Writes: []documents.Write{{Op: documents.Delete, Ref: documents.Ref{Collection: "cleanupJobs", ID: "b"}}}},
		"another folder":           {Then: []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "secrets/a"}, Absent: ref}}},
		"a whole folder":           {Then: []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "files/", Folder: true}, Absent: ref}}},
		"the folder of all":        {Then: []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "whole/", Folder: true}, Absent: ref}}},
		"a folder of single files": {Then: []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "parts/b/", Folder: true}, Absent: ref}}},
		"no owner":                 {Then: []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "photos/a"}, Absent: ref}}},
		"another's":                {Then: []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "photos/a", OwnerKey: "box"}, Absent: documents.Ref{Collection: "boxes", ID: "c"}}}},
		"nothing absent":           {Then: []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "files/a"}}}},
		"an account":               {Then: []cleanup.FollowUp{{Account: "b", Absent: ref}}},
		"a recorded account":       {Then: []cleanup.FollowUp{{Account: "b", Recorded: &cleanup.Recorded{}}}},
		"account: another's":       {Then: []cleanup.FollowUp{{Account: "c", Absent: ref}}},
		"account: without another": {Then: []cleanup.FollowUp{{Account: "c", Absent: documents.Ref{Collection: "boxes", ID: "c"}}}},
		"account: recorded":        {Then: []cleanup.FollowUp{{Account: "b", Absent: ref, Recorded: &cleanup.Recorded{}}}},
		"recorded: another's":      {Then: []cleanup.FollowUp{{Account: "c", Absent: ref, Recorded: &cleanup.Recorded{}}}},
		"recorded: in a Todo":      {Then: []cleanup.FollowUp{{Account: "b", Absent: ref}}},
		"recorded: with a role": {Then: []cleanup.FollowUp{{Account: "b", Absent: ref, Recorded: &cleanup.Recorded{
			Done: []documents.Write{{Op: documents.Set, Ref: documents.Ref{Collection: "roles", ID: "b"}}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			reach := boxes.Reach
			declared, _, _ := strings.Cut(name, ":")
			reach.Recorded = declared == "recorded"
			reach.Account = declared == "account" || reach.Recorded
			reach.Objects = append(slices.Clone(reach.Objects), cleanup.Files{Folder: "whole/", Whole: true}, cleanup.Files{Folder: "parts/{id}/"})
			rule := cleanup.Rule[box]{Name: "box", Reach: reach, Load: loadBoxes, Judge: judgeBox,
				Change: func(b box, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
					if b.ID() != "b" {
						return cleanup.Delete(b.Document)
					}
					c := change
					c.Writes = append(slices.Clone(c.Writes), documents.Write{Op: documents.Delete, Ref: b.Ref()})
					return c
				}}
			f := ruleFunction(t, ruleJob("boxes", rule))
			f.Set(t, "boxes/a", old)
			f.Set(t, "boxes/b", old)
			f.SignUp(t, "b", "c")
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete box": {Planned: 2, Done: 1, Failed: 1}})
			has(t, got.Failures[0].Error, "boxes/b")
			has(t, got.Failures[0].Error, "Reach")
			enginetest.Want(t, "boxes", []string{"b"}, f.IDs(t, "boxes"))
			enginetest.Want(t, "accounts", []string{"b", "c"}, f.Accounts(t))
		})
	}
	f := ruleFunction(t, cleanup.Job{Name: "testJob", Reach: cleanup.Reach{Objects: []cleanup.Files{{Folder: "files/"}}},
		Plan: func(ctx context.Context, p *cleanup.Planner) error {
			for _, name := range []string{"files", "filesx/a", "secrets/a"} {
				file := cleanup.DeleteObject{Deletion: objects.Deletion{Name: name}}
				if err := p.ProposeObject(ctx, "delete file", "", file); err != nil {
					return err
				}
			}
			return nil
		}})
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{})
	notes := boxes
	notes.Change = func(box, cleanup.Decision, cleanup.Run) cleanup.Change {
		return cleanup.Change{Writes: []documents.Write{{Op: documents.Set, Ref: documents.Ref{Collection: "gone", ID: "a"}}}}
	}
	f = ruleFunction(t, ruleJob("roles", notes))
	f.Set(t, "roles/a", old)
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"delete box": {Planned: 1, Failed: 1}})
	has(t, onlyFailure(t, f.Run(t, "")).Error, "would judge it")
}

// TestARuleThatTheJobDoesNotName fails: a later run could not read what is left to do of its items.
func TestARuleThatTheJobDoesNotName(t *testing.T) {
	job := ruleJob("boxes", boxes)
	job.Rules = nil
	f := ruleFunction(t, job)
	f.Set(t, "boxes/a", old)
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"delete box": {Planned: 1, Failed: 1}})
}
