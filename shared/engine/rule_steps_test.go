package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
)

// A crate is claimed first; then its boxes go, and then the crate.
type crate struct {
	cleanup.Subject
	boxes []documents.Document
}

var crates = cleanup.Rule[crate]{
	Name: "crate",
	Reach: cleanup.Reach{
		Items: "crates", Deletes: []string{"crates"}, Writes: []string{"crates"},
		Objects: []cleanup.Files{{Folder: "crates/{id}/", Whole: true}},
	},
	Load: cleanup.Each(func(s cleanup.Subject) crate { return crate{Subject: s} }),
	Judge: func(c crate, _ cleanup.Run) cleanup.Decision {
		switch c.Data["state"] {
		case "old":
			return cleanup.Do("delete crate", "it is old")
		case "claimed":
			return cleanup.Do("finish crate", "it was claimed")
		default:
			return cleanup.Keep("in use")
		}
	},
	Gather: func(ctx context.Context, src cleanup.Source, due []*crate) (err error) {
		for _, c := range due {
			q := documents.Query{Collection: "boxes", Where: []documents.Filter{{Field: "crate", Op: "==", Value: c.ID()}}, Select: documents.NameOnly}
			if c.boxes, err = src.First(ctx, q, "", 10); err != nil {
				return err
			}
		}
		return nil
	},
	Change: func(c crate, d cleanup.Decision, _ cleanup.Run) (change cleanup.Change) {
		if d.Kind == "delete crate" {
			change.Writes = []documents.Write{{Op: documents.Update, Ref: c.Ref(), Data: map[string]any{"state": "claimed"}}}
			change.Again = true
			return change
		}
		for _, b := range c.boxes {
			change.Next = append(change.Next, cleanup.Item{Rule: boxes, Ref: b.Ref()})
			change.Again = true
		}
		if len(change.Next) == 0 {
			change.Writes = []documents.Write{{Op: documents.Delete, Ref: c.Ref()}}
			change.Then = []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "crates/" + c.ID() + "/", Folder: true}, Absent: c.Ref()}}
		}
		return change
	},
}

// ruleJob considers all documents of a collection by a rule. Others are of items that follow.
func ruleJob(collection string, rule cleanup.AnyRule, others ...cleanup.AnyRule) cleanup.Job {
	return cleanup.Job{Name: "testJob", Rules: append(others, rule), Plan: func(ctx context.Context, p *cleanup.Planner) error {
		return p.Sweep(ctx, documents.Query{Collection: collection}, "", rule)
	}}
}

func ruleFunction(t *testing.T, job cleanup.Job) *enginetest.Function {
	t.Helper()
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore, config.Storage, config.Auth, config.Tasks}))
	f.Clock = func() time.Time { return start }
	return f
}

func setCrate(t *testing.T, f *enginetest.Function, id string, boxes int) {
	t.Helper()
	f.Set(t, "crates/"+id, map[string]any{"state": "old"})
	for i := range boxes {
		f.Set(t, fmt.Sprintf("boxes/%s-%02d", id, i), map[string]any{"state": "old", "crate": id})
	}
	f.Put(t, "crates/"+id+"/label", nil, []byte("x"))
}

func TestWhatGoesFirst(t *testing.T) {
	f := ruleFunction(t, ruleJob("crates", crates, boxes))
	setCrate(t, f, "c1", 25)
	setCrate(t, f, "c12", 0)
	f.Set(t, "crates/used", map[string]any{"state": "used"})
	f.Put(t, "crates/used/label", nil, []byte("x"))
	f.Set(t, "boxes/other", map[string]any{"state": "old", "crate": "used"})

	preview := f.Run(t, `{"dryRun":true}`)
	for _, planned := range preview.Plan { // the first commit claims the crate, and nothing else
		enginetest.Want(t, "with "+planned.Target, 0, len(planned.With))
		enginetest.Want(t, "more of "+planned.Target, true, planned.More)
	}

	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete crate", 2))
	enginetest.Want(t, "crates left", []string{"used"}, ids(t, f, "crates"))
	enginetest.Want(t, "boxes left", []string{"other"}, ids(t, f, "boxes"))
	enginetest.Want(t, "objects left", []string{"crates/used/label"}, f.Objects(t))
}

func TestWhatGoesFirstSharesCommits(t *testing.T) {
	f := ruleFunction(t, ruleJob("crates", crates, boxes))
	for i := range 5 {
		setCrate(t, f, fmt.Sprintf("c%d", i), 4)
	}
	got := enginetest.NewGolden(t, "crates").Run(t, "the boxes of five crates share commits", f, "", "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete crate", 5))
	enginetest.Want(t, "boxes left", 0, len(ids(t, f, "boxes")))
}

// TestAFailureOfWhatGoesFirst has a box that fails among the first ten that are looked at: those behind them go all the same.
func TestAFailureOfWhatGoesFirst(t *testing.T) {
	f := ruleFunction(t, ruleJob("crates", crates, boxes))
	setCrate(t, f, "c1", 25)
	setCrate(t, f, "c2", 3)
	f.Set(t, "boxes/c1-01", map[string]any{"state": "old", "crate": "c1", "panic": true})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete crate": {Planned: 2, Done: 1, Failed: 1}})
	has(t, got.Failures[0].Error, "boxes/c1-01: panic: this box")
	enginetest.Want(t, "boxes left", []string{"c1-01"}, ids(t, f, "boxes"))
	enginetest.Want(t, "objects left", []string{"crates/c1/label"}, f.Objects(t))
	if !slices.ContainsFunc(f.LogLines(t), func(line map[string]any) bool {
		return line["target"] == "boxes/c1-01" && strings.HasPrefix(line["message"].(string), "boxes/c1-01: failed, crates/c1 stays: ")
	}) {
		t.Error("the log does not name the box")
	}

	f.Set(t, "boxes/c1-01", map[string]any{"state": "old", "crate": "c1"})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish crate", 1))
	enginetest.Want(t, "crates left", 0, len(ids(t, f, "crates")))
	enginetest.Want(t, "objects left", 0, len(f.Objects(t)))
}

// TestAFileOfWhatGoesFirst is a failure of its crate, though the box that led to it is gone, and other boxes too.
func TestAFileOfWhatGoesFirst(t *testing.T) {
	f := ruleFunction(t, ruleJob("crates", crates, boxes))
	setCrate(t, f, "c1", 3)
	f.Set(t, "boxes/c1-01", map[string]any{"state": "old", "crate": "c1", "file": "files/a"})
	f.Put(t, "files/a", nil, []byte("x"))
	refuses := refuseStorage(f, "")
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"delete crate": {Planned: 1, Failed: 1}})
	enginetest.Want(t, "crates left", []string{"c1"}, ids(t, f, "crates"))
	enginetest.Want(t, "boxes left", 0, len(ids(t, f, "boxes")))
	*refuses = false
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{
		"finish crate": {Planned: 1, Done: 1}, "finish interrupted action": {Planned: 1, Done: 1},
	})
	enginetest.Want(t, "objects left", 0, len(f.Objects(t)))
}

// leavers are people who leave: the document goes first and notes the account, which goes after it.
var leavers = cleanup.Rule[cleanup.Subject]{
	Name: "leaver", Load: cleanup.Itself,
	Reach: cleanup.Reach{Items: "people", Deletes: []string{"people", "notes"}, Writes: []string{"notes"}, Account: true},
	Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
		if s.Data["leaves"] != true {
			return cleanup.Keep("stays")
		}
		return cleanup.Do("delete person", "leaves")
	},
	Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		note := documents.Ref{Collection: "notes", ID: s.ID()}
		return cleanup.Change{
			Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}, {Op: documents.Set, Ref: note, Data: map[string]any{"attempts": 0}}},
			Then: []cleanup.FollowUp{{
				Account: s.ID(), Absent: s.Ref(),
				Recorded: &cleanup.Recorded{
					Done:   []documents.Write{{Op: documents.Delete, Ref: note}},
					Failed: []documents.Write{{Op: documents.Set, Ref: note, Data: map[string]any{"attempts": 1}}},
					Kept:   "account stays",
					Warn:   func(err error) cleanup.Notice { return cleanup.Notice{Message: "stays: " + err.Error()} },
				},
			}},
		}
	},
}

func TestAccountsAfterTheirDocuments(t *testing.T) {
	f := ruleFunction(t, ruleJob("people", leavers))
	calls, refusal := 0, error(&googleapi.Error{Code: http.StatusForbidden, Message: "not allowed"})
	f.Hooks.Accounts = func(base accounts.API) accounts.API {
		return accounts.Wrap(base, func(method string, _ []string, send func() error) error {
			if method != "DeleteUsers" {
				return send()
			}
			if calls++; refusal != nil {
				return refusal
			}
			return send()
		})
	}
	for _, id := range []string{"p1", "p2", "p3"} {
		f.Set(t, "people/"+id, map[string]any{"leaves": id != "p3"})
		f.SignUp(t, id)
	}
	got := f.Run(t, "")
	// Neither done nor failed: it is no failure that Cloud Scheduler repeats.
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete person": {Planned: 2}})
	enginetest.Want(t, "kept", map[string]int{"stays": 1, "account stays": 2}, got.Kept)
	enginetest.Want(t, "notes", map[string]map[string]any{"p1": {"attempts": int64(1)}, "p2": {"attempts": int64(1)}}, f.Documents(t, "notes"))
	enginetest.Want(t, "todos", 0, len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
	enginetest.Want(t, "calls", 1, calls)

	refusal = nil
	f.Set(t, "people/p1", map[string]any{"leaves": true})
	got = f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete person", 1))
	enginetest.Want(t, "notes", []string{"p2"}, ids(t, f, "notes"))
	enginetest.Want(t, "accounts", []string{"p2", "p3"}, f.Accounts(t))
}

// told are things of which a worker is told after a commit that says so.
var told = cleanup.Rule[cleanup.Subject]{
	Name: "told", Load: cleanup.Itself,
	Reach: cleanup.Reach{Items: "things", Writes: []string{"notes"}},
	Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
		if s.Data["kept"] == true {
			return cleanup.Keep("kept")
		}
		return cleanup.Do("tell", "it is there")
	},
	Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		note := documents.Ref{Collection: "notes", ID: s.ID()}
		return cleanup.Change{
			Writes: []documents.Write{{Op: documents.Set, Ref: note, Data: map[string]any{"told": true}}},
			Then: []cleanup.FollowUp{{
				Task:     &tasks.Task{Key: []string{s.ID()}, Body: map[string]string{"thing": s.ID(), "color": "red"}},
				Recorded: &cleanup.Recorded{Failed: []documents.Write{{Op: documents.Set, Ref: note, Data: map[string]any{"told": false}}}},
			}},
		}
	},
}

// TestANotedFollowUpThatFails is its item's failure, and nothing stays to do that would repeat it.
func TestANotedFollowUpThatFails(t *testing.T) {
	f := ruleFunction(t, ruleJob("things", told))
	if f.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to refuse")
	}
	f.Set(t, "things/t1", map[string]any{})
	f.Set(t, "things/t2", map[string]any{})
	f.Tasks().FailCreates(func(task *cloudtaskspb.Task) error {
		if strings.Contains(string(task.GetHttpRequest().GetBody()), "t2") {
			return status.Error(codes.PermissionDenied, "no role")
		}
		return nil
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"tell": {Planned: 2, Done: 1, Failed: 1}})
	enginetest.Want(t, "notes", map[string]map[string]any{"t1": {"told": true}, "t2": {"told": false}}, f.Documents(t, "notes"))
	enginetest.Want(t, "todos", 0, len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
}

// TestANotedFollowUpBesidesOneThatFails: what the documents of the application record is written all the same.
func TestANotedFollowUpBesidesOneThatFails(t *testing.T) {
	rule := told
	rule.Reach.Deletes, rule.Reach.Objects = []string{"things"}, []cleanup.Files{{Folder: "files/"}}
	rule.Change = func(s cleanup.Subject, d cleanup.Decision, run cleanup.Run) cleanup.Change {
		c := told.Change(s, d, run)
		c.Writes = cleanup.Delete(s.Document).Writes
		c.Then[0].Recorded.Done = []documents.Write{
			{Op: documents.Set, Ref: documents.Ref{Collection: "notes", ID: s.ID()}, Data: map[string]any{"told": true}},
		}
		file := cleanup.FollowUp{Object: cleanup.ObjectDeletion{Name: "files/" + s.ID()}, Absent: s.Ref()}
		c.Then = append(c.Then, file)
		return c
	}
	f := ruleFunction(t, ruleJob("things", rule))
	for _, id := range []string{"t1", "t2"} {
		f.Set(t, "things/"+id, map[string]any{})
		f.Put(t, "files/"+id, nil, []byte("x"))
	}
	refuses := refuseStorage(f, "files/t1")
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"tell": {Planned: 2, Done: 1, Failed: 1}})
	enginetest.Want(t, "notes", map[string]map[string]any{"t1": {"told": true}, "t2": {"told": true}}, f.Documents(t, "notes"))
	*refuses = false
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "objects", 0, len(f.Objects(t)))
}

// TestCheckpointAfterEach: each document that was considered may have a checkpoint of its own, from which the next run goes on.
func TestCheckpointAfterEach(t *testing.T) {
	job := ruleJob("things", told)
	job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		for page, err := range p.Documents.Pages(ctx, documents.Query{Collection: "things", PageSize: 4}, "") {
			if err != nil {
				return err
			}
			save := func(d documents.Document) error { return p.SaveCheckpoint("behind " + d.Path) }
			if err := p.ConsiderEach(ctx, told, page.Documents, save); err != nil {
				return err
			}
		}
		return nil
	}
	f := ruleFunction(t, job)
	for i := range 6 {
		f.Set(t, fmt.Sprintf("things/t%d", i), map[string]any{"kept": i%2 == 0})
	}
	applying, looks := false, 0
	f.Hooks.BeforeApply = func() { applying = true }
	f.Clock = func() time.Time {
		if applying {
			if looks++; looks > 1 {
				return start.Add(f.Timeout)
			}
		}
		return start
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Partial, map[string]report.Counts{"tell": {Planned: 3}})
	enginetest.Want(t, "kept", map[string]int{"kept": 3}, got.Kept)
	checkpoint := enginetest.Checkpoint(f.Documents(t, "cleanupJobs")["testJob"])
	enginetest.Want(t, "checkpoint", "behind things/t0", checkpoint)
}

// handed are things that are handed to a worker before that is counted.
var handed = cleanup.Rule[cleanup.Subject]{
	Name: "handed", Load: cleanup.Itself,
	Reach: cleanup.Reach{Items: "things", Writes: []string{"things"}},
	Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
		if n, _ := s.Data["n"].(int64); n > 0 || !s.Found {
			return cleanup.Keep("handed over")
		}
		return cleanup.Do("hand over", "it is there")
	},
	Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		if s.From == "" {
			task := tasks.Task{Key: []string{s.ID()}, Body: map[string]string{"thing": s.ID(), "color": "red"}}
			then := []cleanup.FollowUp{{Task: &task, Recorded: &cleanup.Recorded{}}}
			return cleanup.Change{Then: then, Again: true, From: "handed over"}
		}
		return cleanup.Update(s.Ref(), map[string]any{"n": 1})
	},
}

func TestTasksBeforeTheCommit(t *testing.T) {
	f := ruleFunction(t, ruleJob("things", handed))
	for i := range 3 {
		f.Set(t, fmt.Sprintf("things/t%d", i), map[string]any{"n": 0})
	}
	// The first answer of the commit that counts is lost, and nobody is handed over twice.
	loseAnswers(f, func(n int, _ *firestorepb.CommitRequest) bool { return n == 2 })
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("hand over", 3))
	enginetest.Want(t, "tasks", int64(3), got.Usage.Tasks)
	for id, d := range f.Documents(t, "things") {
		if d["n"] != int64(1) {
			t.Errorf("things/%s: %v", id, d)
		}
	}
}

// TestWhoeverDoesATaskMayBeQuicker than the commit that counts it, and take the item away: that is done, not changed.
func TestWhoeverDoesATaskMayBeQuicker(t *testing.T) {
	f := ruleFunction(t, ruleJob("things", handed))
	for i := range 3 {
		f.Set(t, fmt.Sprintf("things/t%d", i), map[string]any{"n": 0})
	}
	f.Tasks().FailCreates(func(task *cloudtaskspb.Task) error {
		if strings.Contains(string(task.GetHttpRequest().GetBody()), "t1") {
			_, err := f.Firestore(t).Doc("things/t1").Delete(t.Context())
			return err
		}
		return nil
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("hand over", 3))
	enginetest.Want(t, "things", []string{"t0", "t2"}, ids(t, f, "things"))
}

// spaced are things whose tasks are due one after the other.
var spaced = cleanup.Rule[cleanup.Subject]{
	Name: "spaced", Load: cleanup.Itself,
	Reach: cleanup.Reach{Items: "things"},
	Judge: func(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
		if s.Data["due"] == true {
			return cleanup.Do("hand over thing", "it is due")
		}
		d := cleanup.Keep("not due")
		if s.ID() == "t002" {
			d.Notice = &cleanup.Notice{Message: "this one is odd", Fields: map[string]any{"why": "it is the first"}}
		}
		return d
	},
	Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		task := tasks.Task{Key: []string{s.ID()}, Body: map[string]string{"thing": s.ID()}}
		return cleanup.Change{Then: []cleanup.FollowUp{{Task: &task, Apart: time.Minute, Recorded: &cleanup.Recorded{}}}}
	},
}

func TestTasksOneAfterTheOther(t *testing.T) {
	f := ruleFunction(t, ruleJob("things", spaced))
	f.SetMany(t, 90, func(i int) (string, map[string]any) {
		return fmt.Sprintf("things/t%03d", i), map[string]any{"due": i%3 != 2}
	})
	var mu sync.Mutex
	due := map[time.Time]bool{}
	f.Tasks().FailCreates(func(task *cloudtaskspb.Task) error {
		mu.Lock()
		defer mu.Unlock()
		due[task.GetScheduleTime().AsTime()] = true
		return nil
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("hand over thing", 60))
	for i := range 60 {
		if at := start.Add(time.Duration(i) * time.Minute); !due[at.UTC()] {
			t.Errorf("no task is due at %s", at)
		}
	}
	line := oneLine(t, f, "this one is odd")
	enginetest.Want(t, "severity", "WARNING", line["severity"])
	enginetest.Want(t, "target", "things/t002", line["target"])
	enginetest.Want(t, "why", "it is the first", line["why"])
}

// TestAnUnusableTodoIsAFailureOfItsOwn: what the job cannot have asked for is refused and named, and a preview says so; the rest
// of the run goes on.
func TestAnUnusableTodoIsAFailureOfItsOwn(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 1, 0, old)
	f.Set(t, "things/t", map[string]any{"state": "old"})
	with := func(key string, value any) map[string]any {
		m := enginetest.StepOf("box", "boxes/gone", false, "", "files/a")
		m[key] = value
		return m
	}
	all := map[string]map[string]any{
		"whole-bucket": with("objects", []any{"/"}), "no-folder": enginetest.StepOf("box", "boxes/gone", true, "", "files/"), "nothing": {},
		"no-name": with("objects", []any{}), "elsewhere": with("objects", []any{"files/a", "secrets/a"}), "text": with("objects", "files/a"),
		"dots": with("objects", []any{"files/../secrets/a"}), "no-owner": with("objects", []any{"photos/a"}), "no-absent": with("absent", ""),
		"odd-absent": with("absent", "boxes/.."), "not-deleted": with("absent", "gone/a"), "no-rule": with("rule", "crate"),
		"account": enginetest.AccountOf("box", "boxes/gone"), "done": with("done", []any{map[string]any{"op": "set", "path": "roles/a"}}),
		"task": with("task", map[string]any{"key": []any{"a"}}), "number": with("folder", 1), "both": with("account", true),
		"item": enginetest.ItemOf("box", "things/t"), "item-rule": enginetest.ItemOf("crate", "boxes/old000"),
		"item-more": {"rule": "box", "path": "boxes/old000", "from": "x"},
	}
	for name, stored := range all {
		f.SetTodo(t, name, stored)
	}
	all["no-data"] = nil
	f.Set(t, "cleanupJobs/testJob/cleanupTodo/no-data", map[string]any{"task": "", "data": "delete all"})
	f.Put(t, "files/a", nil, []byte("x"))
	f.Put(t, "files/b/c", nil, []byte("x"))
	f.Put(t, "secrets/a", nil, []byte("x"))
	for _, p := range f.Run(t, `{"dryRun":true}`).Plan {
		if p.Action != "delete box" && !strings.Contains(p.Kept, "look at it and delete it") {
			t.Errorf("the preview of %s: %q", p.Target, p.Kept)
		}
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{
		"delete box": {Planned: 1, Done: 1}, "finish interrupted action": {Planned: len(all), Failed: len(all)},
	})
	for _, failure := range got.Failures {
		if !strings.HasPrefix(failure.Error, failure.Target+": ") || !strings.Contains(failure.Error, "look at it and delete it") {
			t.Errorf("failure %+v", failure)
		}
	}
	enginetest.Want(t, "objects", []string{"files/a", "files/b/c", "secrets/a"}, f.Objects(t))
	enginetest.Want(t, "things", []string{"t"}, ids(t, f, "things"))
	enginetest.Want(t, "todos", len(all), len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
}

func TestAnObjectUnderAHoldIsRememberedUntilItIsReleased(t *testing.T) {
	f := boxFunction(t)
	f.Put(t, "files/a", nil, []byte("x"))
	hold(t, f, "files/a", true)
	f.Set(t, "boxes/a", map[string]any{"state": "old", "file": "files/a"})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete box", 1))
	enginetest.Want(t, "kept", map[string]int{objects.HeldByHold: 1}, got.Kept)
	got = f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1}})
	enginetest.Want(t, "kept", map[string]int{objects.HeldByHold: 1}, got.Kept)
	enginetest.Want(t, "objects", []string{"files/a"}, f.Objects(t))
	hold(t, f, "files/a", false)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "objects", 0, len(f.Objects(t)))
}

// TestWhatFollowsWaitsForWhatStays, in a run that finishes an interrupted one as in that one: the details of a user lead to the
// account as long as there is one.
func TestWhatFollowsWaitsForWhatStays(t *testing.T) {
	f := boxFunction(t)
	f.Put(t, "files/a", nil, []byte("x"))
	hold(t, f, "files/a", true)
	f.Set(t, "boxes/next", map[string]any{"state": "old"})
	f.SetTodo(t, "e", enginetest.StepOf("box", "boxes/gone", false, "", "files/a"), enginetest.ItemOf("box", "boxes/next"))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1}})
	enginetest.Want(t, "boxes", []string{"next"}, ids(t, f, "boxes"))
	hold(t, f, "files/a", false)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "boxes", 0, len(ids(t, f, "boxes")))
}

// TestAnObjectOfAnotherBucketIsLeftAlone: a run left to delete it, and the settings name another bucket since, where that name is another
// document's.
func TestAnObjectOfAnotherBucketIsLeftAlone(t *testing.T) {
	f := boxFunction(t)
	f.Put(t, "files/a", nil, []byte("x"))
	hold(t, f, "files/a", true)
	f.Set(t, "boxes/a", map[string]any{"state": "old", "file": "files/a"})
	f.Run(t, "")
	hold(t, f, "files/a", false)
	bucket := f.Env["STORAGE_BUCKET"]
	f.Env["STORAGE_BUCKET"] = "another"
	var sent atomic.Int32
	onStorage(f, func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/b/another/") {
			sent.Add(1)
		}
		return send()
	})
	names := "it is to delete objects of the bucket " + bucket + ", and STORAGE_BUCKET is another: set that to " + bucket
	preview := f.Run(t, `{"dryRun":true}`)
	has(t, preview.Plan[0].Kept, names)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"finish interrupted action": {Planned: 1, Failed: 1}})
	has(t, got.Failures[0].Error, names+", or delete there what it names, and then it")
	enginetest.Want(t, "requests to the other bucket", int32(0), sent.Load())
	f.Env["STORAGE_BUCKET"] = bucket
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "objects", 0, len(f.Objects(t)))
}

// TestWhatIsHeldHidesNoFailure has a folder with two objects under a hold, and between them one that cannot be deleted.
func TestWhatIsHeldHidesNoFailure(t *testing.T) {
	f := ruleFunction(t, ruleJob("crates", crates, boxes))
	setCrate(t, f, "c1", 0)
	for _, name := range []string{"crates/c1/a", "crates/c1/z"} {
		f.Put(t, name, nil, []byte("x"))
		hold(t, f, name, true)
	}
	refuses := refuseStorage(f, "label")
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete crate": {Planned: 1, Failed: 1}})
	enginetest.Want(t, "kept", map[string]int{objects.HeldByHold: 2}, got.Kept)
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"finish interrupted action": {Planned: 1, Failed: 1}})
	*refuses = false
	got = f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1}})
	enginetest.Want(t, "kept", map[string]int{objects.HeldByHold: 2}, got.Kept)
	enginetest.Want(t, "objects", []string{"crates/c1/a", "crates/c1/z"}, f.Objects(t))
}
