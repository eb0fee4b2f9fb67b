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
