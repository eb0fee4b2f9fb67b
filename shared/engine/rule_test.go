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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/tasks"
)

// box is a document of boxes with the things in it, and perhaps a file.
type box struct {
	cleanup.Subject
	things cleanup.Belonging
}

var loadBoxes = cleanup.Each(func(s cleanup.Subject) box { return box{Subject: s} })

func judgeBox(b box, _ cleanup.Run) cleanup.Decision {
	switch b.Data["state"] {
	case "old":
		return cleanup.Do("delete box", "it is old")
	case nil:
		return cleanup.Invalid("no state")
	default:
		return cleanup.Keep("in use")
	}
}

func gatherThings(ctx context.Context, src cleanup.Source, due []*box) error {
	ids := make([]string, len(due))
	for i, b := range due {
		ids[i] = b.ID()
	}
	things, err := src.Children(ctx, cleanup.Children{Collection: "things", Field: "box"}, ids)
	for _, b := range due {
		b.things = things[b.ID()]
	}
	return err
}

func changeBox(b box, _ cleanup.Decision, run cleanup.Run) (c cleanup.Change) {
	if b.Data["panic"] == true {
		panic("this box")
	}
	if !b.things.Whole && !b.Alone {
		return cleanup.Change{Again: true}
	}
	for _, thing := range b.things.Documents {
		c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: thing.Ref()})
	}
	if !b.things.Whole {
		c.Again = true
		return c
	}
	c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: b.Ref()},
		documents.Write{Op: documents.Set, Ref: documents.Ref{Collection: "gone", ID: b.ID()}, Data: map[string]any{"at": run.Now}})
	if file, _ := b.Text("file"); file != "" {
		c.Then = []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: file}, Absent: b.Ref()}}
	}
	photos, _ := b.Data["photos"].(int64)
	for i := range photos {
		photo := cleanup.ObjectDeletion{Name: fmt.Sprintf("photos/%04d", i), OwnerKey: "box"}
		c.Then = append(c.Then, cleanup.FollowUp{Object: photo, Absent: b.Ref()})
	}
	return c
}

var boxes = cleanup.Rule[box]{
	Name: "box", Load: loadBoxes, Judge: judgeBox, Gather: gatherThings, Change: changeBox,
	Reach: cleanup.Reach{
		Items: "boxes", Deletes: []string{"boxes", "things"}, Writes: []string{"gone"},
		Objects: []cleanup.Files{{Folder: "files/"}, {Folder: "photos/", Owner: "box"}},
	},
}

func boxFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	return ruleFunction(t, cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{boxes}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		q := documents.Query{Collection: "boxes", Select: []string{"state"}}
		return p.Sweep(ctx, q, documents.Cursor(p.Checkpoint), boxes)
	}})
}

// setBoxes writes boxes with so many things each.
func setBoxes(t *testing.T, f *enginetest.Function, prefix string, n, things int, data map[string]any) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s%03d", prefix, i)
		f.Set(t, "boxes/"+id, data)
		f.SetAlike(t, things, "things/"+id+"-%04d", map[string]any{"box": id})
	}
}

var old = map[string]any{"state": "old"}

func TestItemsShareCommits(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 60, 3, old)
	setBoxes(t, f, "used", 2, 2, map[string]any{"state": "used"})
	f.Set(t, "boxes/odd", map[string]any{"name": "?"})
	got := enginetest.NewGolden(t, "boxes").Run(t, "60 boxes share commits", f, "", "")
	enginetest.WantKept(t, got, report.Completed, enginetest.Done("delete box", 60), map[string]int{"in use": 2, "no state": 1})
	enginetest.Want(t, "boxes left", []string{"odd", "used000", "used001"}, f.IDs(t, "boxes"))
	enginetest.Want(t, "things left", 4, len(f.IDs(t, "things")))
	enginetest.Want(t, "boxes recorded", 60, len(f.IDs(t, "gone")))
	enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
}

// TestOneThatIsToBlameIsFound: Firestore refuses one of a commit, and the others of it are done.
func TestOneThatIsToBlameIsFound(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "a", 12, 1, old)
	setBoxes(t, f, "b", 1, 1, old)
	setBoxes(t, f, "c", 12, 1, old)
	f.OnCommit(func(_ int, commit *firestorepb.CommitRequest, send func() error) error {
		for _, w := range commit.GetWrites() {
			if strings.HasSuffix(w.GetDelete(), "boxes/b000") {
				return status.Error(codes.InvalidArgument, "too large")
			}
		}
		return send()
	})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete box": {Planned: 25, Done: 24, Failed: 1}})
	failure := onlyFailure(t, got)
	enginetest.Want(t, "target", "boxes/b000", failure.Target)
	has(t, failure.Error, "too large")
	enginetest.Want(t, "boxes left", []string{"b000"}, f.IDs(t, "boxes"))
	enginetest.Want(t, "things left", []string{"b000-0000"}, f.IDs(t, "things"))
	enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
}

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

// ruleFunction returns a function of a job that uses all backends but Cloud Tasks.
func ruleFunction(t *testing.T, job cleanup.Job) *enginetest.Function {
	t.Helper()
	f := newFunction(t, job)
	f.Uses = []config.Backend{config.Firestore, config.Storage, config.Auth}
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

func TestWhatGoesFirstSharesCommits(t *testing.T) {
	f := ruleFunction(t, ruleJob("crates", crates, boxes))
	for i := range 5 {
		setCrate(t, f, fmt.Sprintf("c%d", i), 4)
	}
	got := enginetest.NewGolden(t, "crates").Run(t, "the boxes of five crates share commits", f, "", "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete crate", 5))
	enginetest.Want(t, "boxes left", 0, len(f.IDs(t, "boxes")))
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
	enginetest.Want(t, "boxes left", []string{"c1-01"}, f.IDs(t, "boxes"))
	enginetest.Want(t, "objects left", []string{"crates/c1/label"}, f.Objects(t))
	if !slices.ContainsFunc(f.LogLines(t), func(line map[string]any) bool {
		return line["target"] == "boxes/c1-01" && strings.HasPrefix(line["message"].(string), "boxes/c1-01: failed, crates/c1 stays: ")
	}) {
		t.Error("the log does not name the box")
	}

	f.Set(t, "boxes/c1-01", map[string]any{"state": "old", "crate": "c1"})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish crate", 1))
	enginetest.Want(t, "crates left", 0, len(f.IDs(t, "crates")))
	enginetest.Want(t, "objects left", 0, len(f.Objects(t)))
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
			then := []cleanup.FollowUp{{Task: &task, Apart: time.Minute, Recorded: &cleanup.Recorded{}}}
			return cleanup.Change{Then: then, Again: true, From: "handed over"}
		}
		return cleanup.Update(s.Ref(), map[string]any{"n": 1})
	},
}

// TestWhoeverDoesATaskMayBeQuicker than the commit that counts it, and take the item away: that is done, not changed. The tasks are
// due one after the other.
func TestWhoeverDoesATaskMayBeQuicker(t *testing.T) {
	f := ruleFunction(t, ruleJob("things", handed))
	f.Uses = append(f.Uses, config.Tasks)
	for i := range 3 {
		f.Set(t, fmt.Sprintf("things/t%d", i), map[string]any{"n": 0})
	}
	var mu sync.Mutex
	var due []time.Time
	f.Tasks().FailCreates(func(task *cloudtaskspb.Task) error {
		mu.Lock()
		defer mu.Unlock()
		due = append(due, task.GetScheduleTime().AsTime())
		if strings.Contains(string(task.GetHttpRequest().GetBody()), "t1") {
			_, err := f.Firestore(t).Doc("things/t1").Delete(t.Context())
			return err
		}
		return nil
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("hand over", 3))
	enginetest.Want(t, "things", []string{"t0", "t2"}, f.IDs(t, "things"))
	slices.SortFunc(due, time.Time.Compare)
	enginetest.Want(t, "due", []time.Time{start, start.Add(time.Minute), start.Add(2 * time.Minute)}, due)
}

// TestAnUnusableTodoIsAFailureOfItsOwn: what the job cannot have asked for is refused and named, and a preview says so; the rest
// of the run goes on.
func TestAnUnusableTodoIsAFailureOfItsOwn(t *testing.T) {
	f := boxFunction(t)
	setBoxes(t, f, "old", 1, 0, old)
	f.Set(t, "things/t", map[string]any{"state": "old"})
	with := func(key string, value any) map[string]any {
		m := enginetest.StepOf("box", "boxes/gone", "files/a", "")
		m[key] = value
		return m
	}
	object := func(key string, value any) map[string]any {
		m := enginetest.StepOf("box", "boxes/gone", "files/a", "")
		m["object"].(map[string]any)[key] = value
		return m
	}
	all := map[string]map[string]any{
		"whole-bucket": object("name", "/"), "no-folder": enginetest.StepOf("box", "boxes/gone", "files/", ""), "nothing": {},
		"no-name": object("name", ""), "elsewhere": object("name", "secrets/a"), "text": with("object", "files/a"),
		"dots": object("name", "files/../secrets/a"), "no-owner": object("name", "photos/a"), "no-absent": with("absent", ""),
		"odd-absent": with("absent", "boxes/.."), "not-deleted": with("absent", "gone/a"), "no-rule": with("rule", "crate"),
		"account": enginetest.AccountOf("box", "boxes/gone"), "done": with("done", []any{map[string]any{"op": "set", "path": "roles/a"}}),
		"task": with("task", map[string]any{"key": []any{"a"}}), "number": object("folder", 1), "both": with("account", true),
		"owner": object("owner", "boxes/there"), "generation": object("generation", 7), "neither": with("object", map[string]any{}),
		"account-folder": {"rule": "box", "absent": "boxes/gone", "account": true, "object": map[string]any{"folder": true}},
		"item":           enginetest.ItemOf("box", "things/t"), "item-rule": enginetest.ItemOf("crate", "boxes/old000"),
		"item-more": {"rule": "box", "path": "boxes/old000", "from": "x"},
	}
	for name, stored := range all {
		f.SetTodo(t, name, stored)
	}
	f.SetTodo(t, "one-elsewhere", object("name", "files/a"), object("name", "secrets/a"))
	all["one-elsewhere"], all["no-data"] = nil, nil
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
	enginetest.Want(t, "things", []string{"t"}, f.IDs(t, "things"))
	enginetest.Want(t, "todos", len(all), len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
}

func TestAnObjectUnderAHoldIsRememberedUntilItIsReleased(t *testing.T) {
	f := boxFunction(t)
	f.Put(t, "files/a", nil, []byte("x"))
	hold(t, f, "files/a", true)
	f.Set(t, "boxes/a", map[string]any{"state": "old", "file": "files/a"})
	enginetest.WantKept(t, f.Run(t, ""), report.Completed, enginetest.Done("delete box", 1), map[string]int{objects.HeldByHold: 1})
	enginetest.WantKept(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1}}, map[string]int{objects.HeldByHold: 1})
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
	f.SetTodo(t, "e", enginetest.StepOf("box", "boxes/gone", "files/a", ""), enginetest.ItemOf("box", "boxes/next"))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1}})
	enginetest.Want(t, "boxes", []string{"next"}, f.IDs(t, "boxes"))
	hold(t, f, "files/a", false)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "boxes", 0, len(f.IDs(t, "boxes")))
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
	f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
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
	enginetest.WantKept(t, got, report.Failed, map[string]report.Counts{"delete crate": {Planned: 1, Failed: 1}}, map[string]int{objects.HeldByHold: 2})
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"finish interrupted action": {Planned: 1, Failed: 1}})
	*refuses = false
	enginetest.WantKept(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1}}, map[string]int{objects.HeldByHold: 2})
	enginetest.Want(t, "objects", []string{"crates/c1/a", "crates/c1/z"}, f.Objects(t))
}
