package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/storage"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// albums are deleted with the objects that they name, or with a folder of them. Each object must be the album's own.
var albums = cleanup.Rule[cleanup.Subject]{
	Name: "album", Load: cleanup.Itself, Judge: whileThere,
	Reach: cleanup.Reach{Items: "albums", Deletes: []string{"albums"}, Objects: []cleanup.Files{{Folder: "{id}/", Owner: "postId", Whole: true}}},
	Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
		c := cleanup.Change{Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}}}
		names, _ := s.Data["objects"].([]any)
		for _, name := range names {
			o := cleanup.ObjectDeletion{Name: name.(string), OwnerKey: "postId"}
			o.Folder = strings.HasSuffix(o.Name, "/")
			c.Then = append(c.Then, cleanup.FollowUp{Object: o, Absent: s.Ref()})
		}
		return c
	},
}

// beforeDeletes calls f with the name of each object right before the request to delete it is sent.
func beforeDeletes(f *enginetest.Function, call func(object string)) {
	var mu sync.Mutex
	f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method == http.MethodDelete {
			_, escaped, _ := strings.Cut(r.URL.EscapedPath(), "/o/")
			name, err := url.PathUnescape(escaped)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			call(name)
		}
		return send()
	})
}

func relabel(t *testing.T, f *enginetest.Function, name string, metadata map[string]string) {
	t.Helper()
	if _, err := f.Storage(t).Bucket(f.Bucket).Object(name).Update(t.Context(), storage.ObjectAttrsToUpdate{Metadata: metadata}); err != nil {
		t.Error(err)
	}
}

// TestObjectsThatChangeBetweenLookAndDeletion are looked at again: they go only by what they are then, and one that changes all
// the time is a failure that the next run mends.
func TestObjectsThatChangeBetweenLookAndDeletion(t *testing.T) {
	for kind, objects := range map[string][]any{"by name": {"p1/relabelled", "p1/touched", "p1/replaced", "p1/restless"}, "in a folder": {"p1/"}} {
		t.Run(kind, func(t *testing.T) {
			f := ruleFunction(t, ruleJob("albums", albums))
			if !f.EmbeddedStorage() {
				t.Skip("only the embedded Storage enforces preconditions; the Firebase Emulator Suite's deletes regardless")
			}
			for _, name := range []string{"p1/relabelled", "p1/touched", "p1/replaced", "p1/restless", "p12/other"} {
				f.Put(t, name, nil, []byte("x"))
			}
			f.Set(t, "albums/p1", map[string]any{"objects": objects})
			seen, calm := map[string]int{}, false
			beforeDeletes(f, func(name string) {
				seen[name]++
				switch {
				case calm:
				case name == "p1/relabelled" && seen[name] == 1:
					relabel(t, f, name, map[string]string{"postId": "p2"})
				case name == "p1/touched" && seen[name] == 1:
					relabel(t, f, name, map[string]string{"postId": "p1", "seen": "true"})
				case name == "p1/replaced" && seen[name] == 1:
					f.Put(t, name, nil, []byte("y"))
				case name == "p1/restless":
					relabel(t, f, name, map[string]string{"seen": strings.Repeat("x", seen[name])})
				}
			})
			got := f.Run(t, "")
			first := got.RunID
			enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete albums": {Planned: 1, Failed: 1}})
			enginetest.Want(t, "kept", map[string]int{"a file that belongs to another post": 1, "a file that was uploaded again since": 1}, got.Kept)
			enginetest.Want(t, "objects", []string{"p1/relabelled", "p1/replaced", "p1/restless", "p12/other"}, f.Objects(t))
			enginetest.Want(t, "attempts on what changes all the time", 3, seen["p1/restless"])
			calm = true
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
			enginetest.Want(t, "objects", []string{"p1/relabelled", "p1/replaced", "p12/other"}, f.Objects(t))

			// What stayed, and its owner deletes later, no undo brings back.
			for _, name := range []string{"p1/relabelled", "p1/replaced"} {
				ok(t, f.Storage(t).Bucket(f.Bucket).Object(name).Delete(t.Context()))
			}
			takeBack(t, f, first)
			enginetest.Want(t, "objects after an undo", []string{"p1/touched", "p12/other"}, f.Objects(t))
		})
	}
}

// TestObjectsThatChangeBetweenRuns are judged by the next run as they are by then.
func TestObjectsThatChangeBetweenRuns(t *testing.T) {
	f := ruleFunction(t, ruleJob("albums", albums))
	if !f.EmbeddedStorage() {
		t.Skip("the Firebase Emulator Suite cannot change an object's metadata by this API")
	}
	var objects []any
	for _, name := range []string{"p1/same", "p1/replaced", "p1/relabelled", "p1/released", "p1/pending"} {
		f.Put(t, name, map[string]string{"postId": "p1"}, []byte("x"))
		objects = append(objects, name)
	}
	f.Set(t, "albums/p1", map[string]any{"objects": objects})
	f.AfterCommits(func(_ int, r *firestorepb.CommitRequest) {
		for _, w := range r.GetWrites() {
			if strings.Contains(w.GetDelete(), "/albums/") {
				panic("the process ends here")
			}
		}
	})
	enginetest.Want(t, "the first run", report.Failed, f.Run(t, "").Status)
	f.Put(t, "p1/replaced", map[string]string{"postId": "p1"}, []byte("y"))
	for name, owner := range map[string]string{"p1/relabelled": "p2", "p1/pending": "PENDING", "p1/released": ""} {
		relabel(t, f, name, map[string]string{"postId": owner})
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("finish interrupted action", 1))
	// A postId that is there and empty is not this post's id, and not absent either.
	enginetest.Want(t, "kept", map[string]int{"a file that belongs to another post": 3, "a file that was uploaded again since": 1}, got.Kept)
	enginetest.Want(t, "objects", []string{"p1/pending", "p1/relabelled", "p1/released", "p1/replaced"}, f.Objects(t))
	enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
}

// TestADeletionWithoutAnAnswer may have taken effect: an undo brings the object back. Where it did not, the run looks, and an
// undo leaves what its owner deletes later.
func TestADeletionWithoutAnAnswer(t *testing.T) {
	for _, tookEffect := range []bool{true, false} {
		f := ruleFunction(t, filesJob(nil))
		if !f.EmbeddedStorage() {
			t.Skip("only the embedded Storage has a soft delete, from which objects come back")
		}
		f.Put(t, "files/a", nil, []byte("x"))
		late := lateClock(f) // for another attempt
		f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if r.Method != http.MethodDelete {
				return send()
			}
			late.Store(true)
			if tookEffect {
				if answer, err := send(); err == nil {
					ok(t, answer.Body.Close())
				}
			}
			return nil, syscall.ECONNRESET
		})
		got := f.Run(t, "")
		enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{"delete file": {Planned: 1, Failed: 1}})
		enginetest.Want(t, "gone", tookEffect, len(f.Objects(t)) == 0)
		if !tookEffect {
			ok(t, f.Storage(t).Bucket(f.Bucket).Object("files/a").Delete(t.Context()))
		}
		takeBack(t, f, got.RunID)
		enginetest.Want(t, "back after an undo", tookEffect, len(f.Objects(t)) == 1)
	}
}

// TestAnEntryWithoutAnAnswer: nothing is deleted whose entry in the log may not be there, so the log says of nothing that it was.
func TestAnEntryWithoutAnAnswer(t *testing.T) {
	for kind, job := range map[string]cleanup.Job{"delete file": filesJob(nil), "delete account": accountsJob(pageRule)} {
		f := ruleFunction(t, job)
		f.Put(t, "files/a", nil, []byte("x"))
		f.SignUp(t, "u")
		var lost atomic.Bool
		f.Hooks.Dial = append(f.Hooks.Dial, wire.Around(func(_ context.Context, _ string, sent, _ any, send func() error) error {
			commit, is := sent.(*firestorepb.CommitRequest)
			if is && writesOf(commit)["set cleanupUndo"] > 0 && lost.CompareAndSwap(false, true) {
				ok(t, send())
				return status.Error(codes.PermissionDenied, "nobody is told")
			}
			return send()
		}))
		got := f.Run(t, "")
		enginetest.WantReport(t, got, report.Failed, map[string]report.Counts{kind: {Planned: 1, Failed: 1}})
		enginetest.Want(t, kind+": there", []int{1, 1}, []int{len(f.Objects(t)), len(f.Accounts(t))})
		enginetest.Want(t, kind+": in the log", 0, len(f.IDs(t, runlog.DoneOf(got.RunID)))+len(f.IDs(t, runlog.TodosOf("testJob"))))
	}
}

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
				enginetest.Want(t, "there stays", []any{int64(0), false}, []any{done["records"], done["expireAt"] == nil})
			}
			enginetest.Want(t, "todos", 0, len(f.IDs(t, "cleanupJobs/testJob/cleanupTodo")))
			err := f.Restorer(t, f.Clock).Contents(t.Context(), got.RunID, func(int, int, []undo.Record) error { return nil })
			check.Is(t, "contents", err, restore.ErrNoLog)
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
