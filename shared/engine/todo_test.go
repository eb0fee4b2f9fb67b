package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
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
			enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
			err := f.Restorer(t, f.Clock).Contents(t.Context(), got.RunID, func(int, int, []undo.Record) error { return nil })
			if !errors.Is(err, restore.ErrNoLog) {
				t.Errorf("contents: %v", err)
			}
			killed = false
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
		})
	}
}

// TestTheAttemptThatTookEffectCounts: the first of two attempts arrives late, after the second was lost. What became of the items is what
// the first decided.
func TestTheAttemptThatTookEffectCounts(t *testing.T) {
	f := fatesFunction(t, "do", "do")
	var first *firestorepb.CommitRequest
	f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
		if len(thingsIn(r)) == 0 {
			return send()
		}
		first = cmp.Or(first, r)
		return status.Error(codes.Unavailable, "the connection broke")
	})
	onCalls(f, "BeginTransaction", func(n int) error {
		switch n {
		case 2:
			f.Set(t, "things/b", map[string]any{"fate": "change"})
		case 3:
			late := &firestorepb.CommitRequest{Database: first.GetDatabase(), Writes: first.GetWrites()}
			if _, err := f.RawFirestore(t).Commit(backendstest.AsOwner(t.Context()), late); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("do", 2))
	enginetest.Want(t, "left", 0, len(left(t, f)))
}
