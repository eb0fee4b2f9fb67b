package restore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// tree is a user with some of what lies below.
type tree struct {
	cleanup.Subject
	notes []documents.Document
}

// treeJob has users deleted in several commits: first what lies below them, some at a time, and then the user.
func treeJob() cleanup.Job {
	rule := cleanup.Rule[*tree]{
		Name: "user", Group: 1, Reach: users.Reach,
		Load:  cleanup.Each(func(s cleanup.Subject) *tree { return &tree{Subject: s} }),
		Judge: func(s *tree, r cleanup.Run) cleanup.Decision { return due(s.Subject, r) },
		Gather: func(ctx context.Context, src cleanup.Source, all []**tree) (err error) {
			(*all[0]).notes, err = src.First(ctx, documents.Query{Collection: (*all[0]).Path + "/notes"}, "", 4)
			return err
		},
		Change: func(s *tree, d cleanup.Decision, r cleanup.Run) cleanup.Change {
			if len(s.notes) == 4 {
				c := cleanup.Delete(s.notes[:3]...)
				c.Again = true
				return c
			}
			c := users.Change(s.Subject, d, r)
			c.Writes = append(c.Writes, cleanup.Delete(s.notes...).Writes...)
			return c
		},
	}
	rule.Reach.Deletes = []string{"users", "users/*/notes"}
	j := job
	j.Rules = []cleanup.AnyRule{rule, plain}
	j.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		return p.Sweep(ctx, documents.Query{Collection: "users", Select: []string{"name"}}, "", rule)
	}
	return j
}

// TestWholeOrNotAtAll: where one document of an item cannot come back, nothing of it does, whichever of its commits deleted
// that. The other items come back.
func TestWholeOrNotAtAll(t *testing.T) {
	for _, edited := range []string{"users/u1", "users/u1/notes/n00", "users/u1/notes/n09"} {
		t.Run(strings.ReplaceAll(edited, "/", " "), func(t *testing.T) {
			w := newWorld(t)
			w.Job = treeJob()
			w.restorer.Jobs = map[string]cleanup.Job{job.Name: w.Job}
			for _, id := range []string{"u1", "u2"} {
				w.SetAlike(t, 10, "users/"+id+"/notes/n%02d", map[string]any{"n": 1})
			}
			rep := w.run(t)
			w.Set(t, edited, map[string]any{"name": "by somebody"})
			after := w.Everything(t)
			foretold, _ := w.undo(t, rep.RunID, restore.Options{})
			steps, why := w.undo(t, rep.RunID, apply)
			enginetest.Want(t, "done", foretold, steps)
			for path, now := range w.Everything(t) {
				if strings.Contains(path, "/u1") {
					enginetest.Want(t, path, after[path], now)
				}
			}
			if slices.Contains(w.Accounts(t), "u1") || len(w.Documents(t, "users/u2/notes")) != 10 || len(w.Documents(t, "users")) < 2 {
				t.Errorf("accounts %v, notes of u2: %v", w.Accounts(t), w.IDs(t, "users/u2/notes"))
			}
			enginetest.Want(t, "conflicts", 1+10+4, len(steps[undo.Conflict]))
			for target, why := range why {
				if strings.HasPrefix(why, "somebody") != (target == edited) || target != edited && !strings.Contains(why, "only together with "+edited) {
					t.Errorf("%s: %q", target, why)
				}
			}
		})
	}
}

// TestTriedAgain: what Firestore does not take at once, by itself or with others, comes back with the next attempt.
func TestTriedAgain(t *testing.T) {
	w, rep := newRun(t)
	foretold, _ := w.undo(t, rep.RunID, restore.Options{})
	var refused atomic.Int32
	w.disturb(t, before(func(commit *firestorepb.CommitRequest) error {
		for _, write := range commit.GetWrites() {
			if strings.HasSuffix(write.GetUpdate().GetName(), "/friends/u0") && refused.Add(1) <= 2 {
				return status.Error(codes.FailedPrecondition, "it was changed")
			}
		}
		return nil
	}))
	steps, _ := w.undo(t, rep.RunID, apply)
	enginetest.Want(t, "done", foretold, steps)
	enginetest.Want(t, "friends/u0", int64(5), w.Documents(t, "friends")["u0"]["count"])
	enginetest.Want(t, "attempts", 3, int(refused.Load()))
}

// TestWrittenMeanwhile: what somebody writes after a document was looked at stays, whatever was to be done to it.
func TestWrittenMeanwhile(t *testing.T) {
	w, rep := newRun(t)
	n := func(n int64) undo.Fields {
		return undo.Fields{"n": {ValueType: &firestorepb.Value_IntegerValue{IntegerValue: n}}}
	}
	w.Set(t, "friends/whole", map[string]any{"n": int64(2)})
	w.log(t, rep.RunID, "999999", w.Now, undo.Record{Write: &undo.Write{Op: documents.Set, Path: "friends/whole", Found: true, Before: n(1), After: n(2)}})
	foretold, _ := w.undo(t, rep.RunID, restore.Options{})
	all := map[string]undo.Step{"drafts/u0": undo.Recreate, "friends/u1": undo.Revert, "gone/u2": undo.Remove, "friends/whole": undo.Replace}
	theirs := map[string]any{"n": int64(7), "count": int64(7)}
	var written sync.Map
	w.disturb(t, before(func(commit *firestorepb.CommitRequest) error {
		for path := range all {
			if _, was := written.Load(path); !was && strings.Contains(fmt.Sprint(commit.GetWrites()), "/documents/"+path+`"`) {
				written.Store(path, true)
				w.Set(t, path, theirs)
			}
		}
		return nil
	}))
	_, why := w.undo(t, rep.RunID, apply)
	for path, step := range all {
		if collection, id, _ := strings.Cut(path, "/"); !slices.Contains(foretold[step], path) || why[path] == "" {
			t.Errorf("%s: foretold %v, in the end %q", path, foretold, why[path])
		} else {
			enginetest.Want(t, path, theirs, w.Documents(t, collection)[id])
		}
	}
}

// TestLargeDocuments come back in commits of a size that Firestore and its emulator take, also those that are one item.
func TestLargeDocuments(t *testing.T) {
	const n, size = 12, 1_000_000
	for _, of := range []int{0, 1} { // each an item, or all of one
		w, rep := newRun(t)
		records := []undo.Record{{Item: "drafts/l00"}}
		for i := range n {
			text := strings.Repeat(string(rune('a'+i)), size)
			records = append(records, undo.Record{Of: of, Write: &undo.Write{
				Op: documents.Delete, Path: fmt.Sprintf("drafts/l%02d", i), Found: true,
				Before: undo.Fields{"text": {ValueType: &firestorepb.Value_StringValue{StringValue: text}}},
			}})
		}
		w.log(t, rep.RunID, "999999", w.Now, records...)
		var largest atomic.Int64
		w.disturb(t, before(func(commit *firestorepb.CommitRequest) error {
			largest.Store(max(largest.Load(), int64(proto.Size(commit))))
			return nil
		}))
		steps, _ := w.undo(t, rep.RunID, apply)
		large := slices.DeleteFunc(steps[undo.Recreate], func(target string) bool { return !strings.HasPrefix(target, "drafts/l") })
		enginetest.Want(t, "back", n, len(large))
		if got := largest.Load(); got < int64(1+of)*size || got > 4<<20 { // an item has its own commits
			t.Errorf("the largest commit has %d bytes", got)
		}
		enginetest.Want(t, "l11", any(strings.Repeat("l", size)), w.Documents(t, "drafts")["l11"]["text"])
	}
}

// TestBelowWhatIsNamed: what lies below a document comes back with it, also where it was an item of its own.
func TestBelowWhatIsNamed(t *testing.T) {
	for name, o := range map[string]restore.Options{
		"only": {Apply: true, Only: []string{"users/b1"}}, "where": {Apply: true, Where: &restore.Where{Field: "name", Value: "b1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.restorer.Jobs = map[string]cleanup.Job{job.Name: treeJob()}
			rep := w.run(t)
			for i, path := range []string{"users/b1/notes/n", "users/b10/notes/n", "users/b1"} {
				before := undo.Fields{}
				if path == "users/b1" {
					before["name"] = &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: "b1"}}
				}
				w.log(t, rep.RunID, fmt.Sprintf("99999%d", i), w.Now.Add(time.Duration(i)*time.Second), undo.Record{Item: path},
					undo.Record{Of: 1, Write: &undo.Write{Op: documents.Delete, Path: path, Found: true, Before: before}})
			}
			steps, _ := w.undo(t, rep.RunID, o)
			enginetest.Want(t, "back", []string{"users/b1", "users/b1/notes/n"}, steps[undo.Recreate])
			w.keeps(t, "users/b1", "users/b1/notes/n")
		})
	}
}
