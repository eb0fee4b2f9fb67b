package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// writesOf returns what a commit writes, by collection: "set cleanupUndo", "delete cleanupTodo".
func writesOf(r *firestorepb.CommitRequest) map[string]int {
	all := map[string]int{}
	for _, w := range r.GetWrites() {
		op, name := "set ", w.GetUpdate().GetName()
		if w.GetDelete() != "" {
			op, name = "delete ", w.GetDelete()
		}
		parts := strings.Split(name, "/")
		all[op+parts[len(parts)-2]]++
	}
	return all
}

// TestACommitThatNothingFollows writes one document to the log, and deletes none of it. Nothing is left to do after it, however the run
// ends. With UNDO_DAYS=0 that document is needed until the commit's answer is there: the run deletes it, and one that a killed run
// leaves holds nothing, counts for nobody and expires.
func TestACommitThatNothingFollows(t *testing.T) {
	for _, days := range []string{"7", "0"} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s days, killed %t", days, killed), func(t *testing.T) {
				f := fatesFunction(t, "do", "do")
				f.Env["UNDO_DAYS"] = days
				var commits []map[string]int
				f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
					writes := writesOf(r)
					if writes["set cleanupUndo"]+writes["delete cleanupUndo"]+writes["set cleanupTodo"] > 0 {
						commits = append(commits, writes)
					}
					if err := send(); err != nil || !killed || writes["set cleanupUndo"] == 0 {
						return err
					}
					panic("the process ends here")
				})
				got := f.Run(t, "")
				if killed {
					enginetest.Want(t, "status", report.Failed, got.Status)
				} else {
					enginetest.WantReport(t, got, report.Completed, enginetest.Done("do", 2))
				}
				want := []map[string]int{{"set cleanupUndo": 1, "delete things": 2}}
				if days == "0" && !killed {
					want = append(want, map[string]int{"delete cleanupUndo": 1})
				}
				enginetest.Want(t, "commits", want, commits)
				left := f.Documents(t, runlog.DoneOf(got.RunID))
				wantLeft := 1
				if days == "0" && !killed {
					wantLeft = 0
				}
				enginetest.Want(t, "done", wantLeft, len(left))
				for _, done := range left {
					if days == "0" && (done["records"] != int64(0) || done["expireAt"] == nil) {
						t.Errorf("with UNDO_DAYS=0 there stays %v", done)
					}
				}
				enginetest.Want(t, "todos", 0, len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
				err := f.Restorer(t, f.Clock).Contents(t.Context(), got.RunID, func(int, int, []undo.Record) error { return nil })
				if wantErr := map[string]error{"0": restore.ErrNoLog}[days]; !errors.Is(err, wantErr) {
					t.Errorf("contents: %v, want %v", err, wantErr)
				}
				killed = false
				enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
			})
		}
	}
}

// TestWhatWasLeftCountsForTheLimit: each object that interrupted runs left counts for MAX_ACTIONS, and what is more than that waits
// for the next runs, which do it before anything else.
func TestWhatWasLeftCountsForTheLimit(t *testing.T) {
	f := boxFunction(t)
	f.Env["MAX_ACTIONS"] = "2"
	var files []any
	for i := range 5 {
		files = append(files, fmt.Sprint("files/", i))
		f.Put(t, fmt.Sprint("files/", i), nil, []byte("x"))
	}
	f.SetTodo(t, "e", enginetest.StepOf("box", "boxes/gone", false, "", files[:3]...))
	f.SetTodo(t, "f", enginetest.StepOf("box", "boxes/lost", false, "", files[3:]...))
	setBoxes(t, f, "old", 2, 0, old)
	before := f.Run(t, `{"dryRun":true}`)
	enginetest.WantReport(t, before, report.Partial, map[string]report.Counts{"finish interrupted action": {Planned: 1}})
	has(t, before.Warnings[0], "more to do than MAX_ACTIONS allows (2)")
	for _, left := range []int{3, 2, 0} {
		got := f.Run(t, "")
		enginetest.Want(t, fmt.Sprintf("objects after %s: %v", got.Status, got.Actions), left, len(f.Objects(t)))
		enginetest.Want(t, "failures", 0, len(got.Failures))
		if left > 0 {
			enginetest.Want(t, "status", report.Partial, got.Status)
			enginetest.Want(t, "boxes", 2, len(ids(t, f, "boxes")))
			continue
		}
		enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{
			"finish interrupted action": {Planned: 1, Done: 1}, "delete box": {Planned: 2, Done: 2}})
	}
	enginetest.Want(t, "todos", 0, len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
}

// TestDoneTodoOfACommitThatIsRefused: a commit takes along the end of a Todo that is done. If it is refused, the Todo goes nevertheless.
func TestDoneTodoOfACommitThatIsRefused(t *testing.T) {
	f := ruleFunction(t, ruleJob("things", filed))
	f.Set(t, "things/a", map[string]any{"left": 3})
	took := false
	f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
		writes := writesOf(r)
		if writes["delete cleanupTodo"] == 1 && writes["set cleanupTodo"] == 1 {
			took = true
			return status.Error(codes.PermissionDenied, "no role")
		}
		return send()
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Failed, map[string]report.Counts{"file": {Planned: 1, Failed: 1}})
	enginetest.Want(t, "took it along", true, took)
	enginetest.Want(t, "things", map[string]map[string]any{"a": {"left": int64(2)}}, f.Documents(t, "things"))
	enginetest.Want(t, "todos", 0, len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
}
