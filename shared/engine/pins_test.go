package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// pages belong to books. A page goes with its file and its place in an index, a book after its pages, and with its folder and account.
var (
	pageRule = cleanup.Rule[cleanup.Subject]{
		Name: "page", Load: cleanup.Itself, Judge: whileThere,
		Reach: cleanup.Reach{Items: "pages", Deletes: []string{"pages", "index"}, Objects: []cleanup.Files{{Folder: "files/"}}},
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			return cleanup.Change{
				Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}, {Op: documents.Delete, Ref: documents.Ref{Collection: "index", ID: s.ID()}}},
				Then:   []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "files/" + s.ID() + ".png"}, Absent: s.Ref()}},
			}
		},
	}
	bookRule = cleanup.Rule[cleanup.Subject]{
		Name: "book", Group: 1, Load: cleanup.Itself, Judge: whileThere,
		Reach: cleanup.Reach{
			Items: "books", Deletes: []string{"books"}, Account: true, Objects: []cleanup.Files{{Folder: "books/{id}/", Whole: true}},
		},
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			pages, _ := s.Data["pages"].([]any)
			if !s.Found {
				return cleanup.Change{}
			}
			c := cleanup.Change{
				Writes: []documents.Write{{Op: documents.Delete, Ref: s.Ref()}},
				Then: []cleanup.FollowUp{
					{Object: cleanup.ObjectDeletion{Name: "books/" + s.ID() + "/", Folder: true}, Absent: s.Ref()},
					{Account: s.ID(), Absent: s.Ref()},
				},
			}
			for _, id := range pages {
				c.Next = append(c.Next, cleanup.Item{Rule: pageRule, Ref: documents.Ref{Collection: "pages", ID: id.(string)}})
			}
			return c
		},
	}
)

func whileThere(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
	if !s.Found {
		return cleanup.Keep("gone")
	}
	return cleanup.Do("delete "+s.Ref().Collection, "due")
}

// TestWhatLeadsToSomethingPinnedIsKept, whatever it is that is pinned: nothing of the book goes, not even what is not pinned.
func TestWhatLeadsToSomethingPinnedIsKept(t *testing.T) {
	t.Parallel()
	for pinned, kept := range map[string]string{
		"books/b1": undo.KeptPinned, "books/b1/notes/n": undo.KeptWithPinned, "pages/p1": undo.KeptWithPinned,
		"gs://BUCKET/books/b1/cover.png": undo.KeptWithPinned, "gs://BUCKET/books/": undo.KeptWithPinned, "account b1": undo.KeptWithPinned,
	} {
		t.Run(pinned, func(t *testing.T) {
			t.Parallel()
			f := enginetest.New(t, engine.NewFunction(cleanup.Job{
				Name: "testJob", Rules: []cleanup.AnyRule{bookRule, pageRule},
				Plan: func(ctx context.Context, p *cleanup.Planner) error {
					return p.Sweep(ctx, documents.Query{Collection: "books"}, "", bookRule)
				},
			}, 5*time.Minute, []config.Backend{config.Firestore, config.Storage, config.Auth}))
			for _, id := range []string{"b1", "b2"} {
				page := "p" + id[1:]
				f.Set(t, "books/"+id, map[string]any{"pages": []string{page}})
				f.Set(t, "pages/"+page, map[string]any{"n": 1})
				f.Set(t, "index/"+page, map[string]any{"n": 1})
				f.Put(t, "books/"+id+"/cover.png", nil, []byte("x"))
				f.Put(t, "files/"+page+".png", nil, []byte("x"))
				f.SignUp(t, id)
			}
			f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: []string{strings.ReplaceAll(pinned, "BUCKET", f.Bucket)}})
			preview := f.Run(t, `{"dryRun":true}`)
			got := f.Run(t, "")
			if got.Status != report.Completed || got.Kept[kept] == 0 {
				t.Fatalf("%s, kept %v, %v", got.Status, got.Kept, got.Failures)
			}
			left := []string{"b1"}
			objects := []string{"books/b1/cover.png", "files/p1.png"}
			if pinned == "gs://BUCKET/books/" { // which both have something in
				left, objects = []string{"b1", "b2"}, []string{"books/b1/cover.png", "books/b2/cover.png", "files/p1.png", "files/p2.png"}
			}
			enginetest.Want(t, "books", left, f.IDs(t, "books"))
			enginetest.Want(t, "pages", len(left), len(f.IDs(t, "pages")))
			enginetest.Want(t, "objects", objects, f.Objects(t))
			if says := strings.Contains(fmt.Sprint(f.LogLines(t)), "kept, pages/p1 is pinned"); says != (pinned == "pages/p1") {
				t.Errorf("the log says that the page is pinned: %t", says)
			}
			for _, p := range preview.Plan {
				if p.Target == "books/b1" && !strings.Contains(p.Kept, "is pinned") {
					t.Errorf("the preview says %+v", p)
				}
			}
		})
	}
}

// TestWhatLaterCommitsMeet: a pinned box, or a thing or file of it, keeps the crate. What earlier commits did is said.
func TestWhatLaterCommitsMeet(t *testing.T) {
	t.Parallel()
	for _, pinned := range []string{"boxes/c1-11", "things/t449", "gs://BUCKET/files/f", "gs://BUCKET/crates/c1/label"} {
		t.Run(pinned, func(t *testing.T) {
			t.Parallel()
			f := ruleFunction(t, ruleJob("crates", crates, boxes))
			setCrate(t, f, "c1", 12)
			setCrate(t, f, "c2", 1)
			f.Set(t, "boxes/c1-11", map[string]any{"state": "old", "crate": "c1", "file": "files/f"})
			f.SetMany(t, 450, func(i int) (string, map[string]any) {
				return fmt.Sprintf("things/t%03d", i), map[string]any{"box": "c1-11"}
			})
			pinned = strings.ReplaceAll(pinned, "BUCKET", f.Bucket)
			f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: []string{pinned}})
			f.Put(t, "files/f", nil, nil)
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete crate": {Planned: 2, Done: 1}})
			enginetest.Want(t, "kept", map[string]int{undo.KeptWithPinned: 1}, got.Kept)
			enginetest.Want(t, "crates", []string{"c1"}, ids(t, f, "crates"))
			if _, there := f.Everything(t)[pinned]; !there {
				t.Errorf("%s is gone", pinned)
			}
			if said := fmt.Sprint(f.Warnings(t)["crates/c1"]); !strings.Contains(said, "left half done") {
				t.Errorf("the log says %s", said)
			}
		})
	}
}

// accountsJob deletes every account, and then the document of its id that a rule is about.
func accountsJob(then cleanup.AnyRule) cleanup.Job {
	rule := &cleanup.AccountRule{
		Judge: func(accounts.Account, cleanup.Run) cleanup.Decision { return cleanup.Do("delete account", "always") },
		Next: func(uid string) []cleanup.Item {
			return []cleanup.Item{{Rule: then, Ref: documents.Ref{Collection: then.Reaches().Items, ID: uid}}}
		},
	}
	return cleanup.Job{
		Name: "testJob", Rules: []cleanup.AnyRule{then}, Accounts: true, AccountRule: rule, Reach: cleanup.Reach{Account: true},
		Plan: func(ctx context.Context, p *cleanup.Planner) error {
			for page, err := range p.Accounts.Pages(ctx, "") {
				if err != nil {
					return err
				}
				if _, err := p.ConsiderAccounts(ctx, page.Accounts); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// TestAnAccountWhoseDocumentIsPinnedIsKept, and not one with whose document something goes that is pinned: that is seen when the
// account is gone, which the report says, and the document waits for the release.
func TestAnAccountWhoseDocumentIsPinnedIsKept(t *testing.T) {
	t.Parallel()
	f := enginetest.New(t, engine.NewFunction(accountsJob(pageRule), 5*time.Minute, []config.Backend{config.Firestore, config.Storage, config.Auth}))
	for _, id := range []string{"p1", "p2", "p3", "p4"} {
		f.Set(t, "pages/"+id, map[string]any{"n": 1})
		f.SignUp(t, id)
	}
	pinned := []string{"pages/p1", "pages/p2/notes/n", "gs://" + f.Bucket + "/files/p3.png"}
	f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: pinned})
	enginetest.Want(t, "planned", 2, len(f.Run(t, `{"dryRun":true}`).Plan))
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete account", 2))
	enginetest.Want(t, "kept", map[string]int{undo.KeptWithPinned: 3}, got.Kept)
	enginetest.Want(t, "accounts", []string{"p1", "p2"}, f.Accounts(t))
	enginetest.Want(t, "pages", []string{"p1", "p2", "p3"}, f.IDs(t, "pages"))
	f.Delete(t, undo.PinnedIn+"/1")
	enginetest.Want(t, "status", report.Completed, f.Run(t, "").Status)
	enginetest.Want(t, "accounts", 0, len(f.Accounts(t)))
	enginetest.Want(t, "pages", 0, len(f.IDs(t, "pages")))
}

// TestPinsThatCannotBeRead: a run that does not know what is pinned does nothing.
func TestPinsThatCannotBeRead(t *testing.T) {
	foreign := func(data map[string]any) func(*enginetest.Function) {
		return func(f *enginetest.Function) { f.Set(t, undo.PinnedIn+"/x", data) }
	}
	for name, spoil := range map[string]func(f *enginetest.Function){
		"refused": func(f *enginetest.Function) {
			f.Hooks.Dial = append(f.Hooks.Dial, streamed("RunQuery", func(int) error { return status.Error(codes.PermissionDenied, "no") }))
		},
		"a text":        foreign(map[string]any{"targets": "things/t001"}),
		"no targets":    foreign(map[string]any{"with": []any{undo.With("things/t001", "things/t000")}}),
		"null":          foreign(map[string]any{"targets": []any{"things/t001", nil}}),
		"with nothing":  foreign(map[string]any{"targets": []any{}, "with": []any{"things/t001"}}),
		"with a number": foreign(map[string]any{"targets": []any{}, "with": []any{7}}),
	} {
		f := newFunction(t, thingsJob(10))
		seed(t, f, 2)
		spoil(f)
		enginetest.Want(t, name+": status", report.Failed, f.Run(t, "").Status)
		enginetest.Want(t, name+": left", 2, len(left(t, f)))
	}
}

// TestWhatAnInterruptedRunLeftIsKeptIfPinned: an operator pins what a run that was killed has left to delete. It stays until it is
// released, which is no failure, and nothing else does.
func TestWhatAnInterruptedRunLeftIsKeptIfPinned(t *testing.T) {
	t.Parallel()
	f := reachFunction(t)
	for _, name := range []string{"files/a", "files/b", "crates/gone/a"} {
		f.Put(t, name, nil, []byte("x"))
	}
	f.SignUp(t, "p1", "p2")
	f.SetTodo(t, "e", enginetest.StepOf("crate", "crates/gone", true, "", "crates/gone/"),
		enginetest.StepOf("box", "boxes/gone", false, "", "files/a", "files/b"),
		enginetest.AccountOf("person", "people/p1"), enginetest.AccountOf("person", "people/p2"))
	pinned := []string{"gs://" + f.Bucket + "/files/a", "gs://" + f.Bucket + "/crates/gone/a", "account p1"}
	f.Set(t, undo.PinnedIn+"/1", map[string]any{undo.TargetsField: pinned})
	f.Env["MAX_ACTIONS"] = "2" // of what is not pinned
	foretold := f.Run(t, `{"dryRun":true}`).Plan[0]
	has(t, foretold.Kept, "is pinned, until it is released with firesweep release")
	enginetest.Want(t, "foretold", map[string]int{"delete file": 1, "delete account": 1}, foretold.With)
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1}})
	enginetest.Want(t, "kept", map[string]int{undo.KeptWithPinned: 3}, got.Kept)
	enginetest.Want(t, "objects", []string{"crates/gone/a", "files/a"}, f.Objects(t))
	enginetest.Want(t, "accounts", []string{"p1"}, f.Accounts(t))
	f.Delete(t, undo.PinnedIn+"/1")
	f.Env["MAX_ACTIONS"] = "10"
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "objects", 0, len(f.Objects(t)))
	enginetest.Want(t, "accounts", 0, len(f.Accounts(t)))
}
