package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

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

// TestACommitThatNothingFollows writes one document to the log. With UNDO_DAYS=0 that document is needed until the commit's answer is
// there: the run deletes it, and one that a killed run leaves holds nothing, counts for nobody and expires.
func TestACommitThatNothingFollows(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			f := fatesFunction(t, "do", "do")
			f.Env["UNDO_DAYS"] = "0"
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
			want := []map[string]int{{"set cleanupUndo": 1, "delete things": 2}}
			left := f.Documents(t, runlog.DoneOf(got.RunID))
			if killed {
				enginetest.Want(t, "status", report.Failed, got.Status)
				enginetest.Want(t, "done", 1, len(left))
			} else {
				want = append(want, map[string]int{"delete cleanupUndo": 1})
				enginetest.WantReport(t, got, report.Completed, enginetest.Done("do", 2))
				enginetest.Want(t, "done", 0, len(left))
			}
			enginetest.Want(t, "commits", want, commits)
			for _, done := range left {
				if done["records"] != int64(0) || done["expireAt"] == nil {
					t.Errorf("there stays %v", done)
				}
			}
			enginetest.Want(t, "todos", 0, len(ids(t, f, "cleanupJobs/testJob/cleanupTodo")))
			err := f.Restorer(t, f.Clock).Contents(t.Context(), got.RunID, func(int, int, []undo.Record) error { return nil })
			if !errors.Is(err, restore.ErrNoLog) {
				t.Errorf("contents: %v", err)
			}
			killed = false
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
		})
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
