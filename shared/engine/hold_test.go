package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

const heldByAnn = `held since 2026-01-10 00:00 UTC by "ann", because "the rule is wrong": the job does nothing until firesweep resume `

// TestHeldJob does nothing, whoever calls it, and is not silent: answer, report and log say so, and an alert is raised. A
// preview plans, and says so too.
func TestHeldJob(t *testing.T) {
	f := thingsFunction(t, 2, 3)
	f.Set(t, "cleanupJobs/testJob", enginetest.HeldBy("ann", "the rule is wrong"))
	for _, body := range []string{"", `{"force":true}`} {
		before := len(f.LogLines(t))
		got := f.Run(t, body)
		enginetest.Want(t, "status", report.Skipped, got.Status)
		enginetest.Want(t, "warnings", []string{heldByAnn + "testJob"}, got.Warnings)
		enginetest.Want(t, "scanned", 0, got.Scanned)
		enginetest.Want(t, "the saved report", any("skipped"), f.Documents(t, "cleanupRuns")[got.RunID]["status"])
		line := f.LogLines(t)[before]
		enginetest.Want(t, "line", any("testJob skipped: "+heldByAnn+"testJob"), line["message"])
		enginetest.Want(t, "alert", any("held"), line["alert"])
	}
	preview := f.Run(t, `{"dryRun":true}`)
	enginetest.WantReport(t, preview, report.Completed, map[string]report.Counts{"delete thing": {Planned: 3}})
	enginetest.Want(t, "warnings", []string{heldByAnn + "testJob"}, preview.Warnings)
	enginetest.Want(t, "left", 3, len(left(t, f)))
	if record := stateOf(t, f); record.Held == nil || record.Last != nil || record.Holder != "" {
		t.Errorf("the record says %+v", record)
	}
	p := f.Restorer(t, nil)
	ok(t, p.Store("testJob").Resume(t.Context()))
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 3))
}

// TestAllJobsAreHeld, also one of which nobody knew, and a worker: by a record that is there before the run begins, or that is
// written while it takes its lease. It gives that back.
func TestAllJobsAreHeld(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		for _, record := range []string{"all-jobs", "new-jobs"} {
			f := thingsFunction(t, 2, 3)
			held := func() { f.Set(t, "cleanupJobs/"+record, enginetest.HeldBy("ann", "the rule is wrong")) }
			if meanwhile {
				var once sync.Once
				f.AfterCommits(func(_ int, _ *firestorepb.CommitRequest) { once.Do(held) })
			} else {
				held()
			}
			got := f.Run(t, "")
			enginetest.Want(t, "status", report.Skipped, got.Status)
			enginetest.Want(t, "warnings", []string{heldByAnn + record}, got.Warnings)
			enginetest.Want(t, "left", 3, len(left(t, f)))
			if s := stateOf(t, f); s.Holder != "" || s.Last != nil || s.Held == nil {
				t.Errorf("the record says %+v", s)
			}
			enginetest.Want(t, "previewed", 3, len(f.Run(t, `{"dryRun":true}`).Plan))
			worker := newFunction(t, touchJob(touched))
			worker.Set(t, "cleanupJobs/"+record, enginetest.HeldBy("ann", "the rule is wrong"))
			enginetest.Want(t, "a worker", http.StatusServiceUnavailable, worker.Post(t, paintRed).Code)
			f.Set(t, "cleanupJobs/new-jobs", map[string]any{"known": []string{"testJob"}, "held": map[string]any{"at": f.Now}})
			f.Delete(t, "cleanupJobs/all-jobs")
			enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 3))
		}
	}
}

// TestHeldWorker answers 503, so that Cloud Tasks keeps the task and calls again. Nothing is saved, as ever.
func TestHeldWorker(t *testing.T) {
	f := newFunction(t, touchJob(touched))
	f.Set(t, "cleanupJobs/testWorker", enginetest.HeldBy("ann", "the rule is wrong"))
	enginetest.Want(t, "answer", http.StatusServiceUnavailable, f.Post(t, paintRed).Code)
	got := f.Run(t, paintRed)
	enginetest.Want(t, "status", report.Skipped, got.Status)
	enginetest.Want(t, "warnings", []string{heldByAnn + "testWorker"}, got.Warnings)
	enginetest.Want(t, "alerts", 2, len(linesWith(t, f, "testWorker skipped: held since")))
	enginetest.Want(t, "things", 0, len(f.Documents(t, "things"))+len(f.Documents(t, "cleanupRuns")))
	f.Delete(t, "cleanupJobs/testWorker")
	f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping("things/t1"))
	enginetest.WantKept(t, f.Run(t, paintRed), report.Completed, map[string]report.Counts{}, map[string]int{jobstate.KeptListed: 1})
	f.Delete(t, "cleanupJobs/all-jobs")
	enginetest.WantReport(t, f.Run(t, paintRed), report.Completed, enginetest.Done("paint thing", 1))
}

// TestListedWhileItRuns: what is planned, and put on the list before its turn, is kept. A job that is held meanwhile goes on, and the hold
// outlasts its end: the next run does nothing.
func TestListedWhileItRuns(t *testing.T) {
	for kind, job := range map[string]cleanup.Job{
		"delete file": filesJob(nil), "delete account": accountsJob(boxes), "delete thing": thingsJob(10),
	} {
		s := newStoppable(t, ruleFunction(t, job))
		s.SignUp(t, "u")
		s.Put(t, "files/a", nil, []byte("x"))
		s.Set(t, "things/t", map[string]any{"n": 1})
		s.Hooks.BeforeApply = func() {
			p := s.Restorer(t, nil)
			by := jobstate.Hold{At: s.Clock(), By: "ann", Why: "the rule is wrong"}
			err := jobstate.Keep(t.Context(), p.DB, by, "gs://"+s.Bucket+"/files/a", "account u", "things/t")
			if err = errors.Join(err, p.Store("testJob").Hold(t.Context(), by)); err != nil {
				t.Error(err)
			}
			s.ahead.Add(5)
		}
		got := s.Run(t, "")
		enginetest.WantKept(t, got, report.Completed, map[string]report.Counts{kind: {Planned: 1}}, map[string]int{jobstate.KeptListed: 1})
		enginetest.Want(t, "left", []int{1, 1, 1}, []int{len(s.Objects(t)), len(s.Accounts(t)), len(left(t, s.Function))})
		record := stateOf(t, s.Function)
		if record.Held == nil || len(record.Keep) != 3 || record.Last == nil || record.Last.RunID != got.RunID {
			t.Errorf("the record says %+v", record)
		}
		s.ahead.Add(int64(time.Hour / time.Second))
		enginetest.Want(t, "the next run", report.Skipped, s.Run(t, "").Status)
	}
}

// TestListedWhileItsFolderIsDeleted: a file that somebody puts on the list while the files before it are being deleted is kept.
// The others go, and the folder waits for it.
func TestListedWhileItsFolderIsDeleted(t *testing.T) {
	t.Parallel()
	s := newStoppable(t, ruleFunction(t, ruleJob("books", bookRule, pageRule)))
	s.Set(t, "books/b", map[string]any{"n": 1})
	s.PutMany(t, 1100, func(i int) (string, map[string]string) { return fmt.Sprintf("books/b/f%04d", i), nil }) // two pages
	listed := "gs://" + s.Bucket + "/books/b/f1099"
	var first sync.Once
	beforeDeletes(s.Function, func(string) {
		first.Do(func() {
			by := jobstate.Hold{At: s.Clock(), By: "ann", Why: "evidence"}
			ok(t, jobstate.Keep(t.Context(), s.Restorer(t, nil).DB, by, listed))
			s.ahead.Add(5)
		})
	})
	got := s.Run(t, "")
	enginetest.WantKept(t, got, report.Completed, enginetest.Done("delete books", 1), map[string]int{jobstate.KeptListed: 1})
	enginetest.Want(t, "files", []string{"books/b/f1099"}, s.Objects(t))
	enginetest.Want(t, "left to do", 1, len(s.IDs(t, runlog.TodosOf("testJob"))))
}

// pages belong to books. A page goes with its file and its place in an index, a book after its pages, and with its folder and
// account.
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

// TestWhatLeadsToSomethingListedIsKept, whatever it is that is listed: nothing of the book is deleted, not even what
// is not listed.
func TestWhatLeadsToSomethingListedIsKept(t *testing.T) {
	t.Parallel()
	for listed, kept := range map[string]string{
		"books/b1": jobstate.KeptListed, "books/b1/notes/n": jobstate.KeptWithListed, "pages/p1": jobstate.KeptWithListed,
		"gs://BUCKET/books/b1/cover.png": jobstate.KeptWithListed, "gs://BUCKET/books/": jobstate.KeptWithListed, "account b1": jobstate.KeptWithListed,
	} {
		t.Run(listed, func(t *testing.T) {
			t.Parallel()
			f := ruleFunction(t, ruleJob("books", bookRule, pageRule))
			for _, id := range []string{"b1", "b2"} {
				page := "p" + id[1:]
				f.Set(t, "books/"+id, map[string]any{"pages": []string{page}})
				f.Set(t, "pages/"+page, map[string]any{"n": 1})
				f.Set(t, "index/"+page, map[string]any{"n": 1})
				f.Put(t, "books/"+id+"/cover.png", nil, []byte("x"))
				f.Put(t, "files/"+page+".png", nil, []byte("x"))
				f.SignUp(t, id)
			}
			f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping(strings.ReplaceAll(listed, "BUCKET", f.Bucket)))
			preview := f.Run(t, `{"dryRun":true}`)
			got := f.Run(t, "")
			if got.Status != report.Completed || got.Kept[kept] == 0 {
				t.Fatalf("%s, kept %v, %v", got.Status, got.Kept, got.Failures)
			}
			left := []string{"b1"}
			objects := []string{"books/b1/cover.png", "files/p1.png"}
			if listed == "gs://BUCKET/books/" { // which both have something in
				left, objects = []string{"b1", "b2"}, []string{"books/b1/cover.png", "books/b2/cover.png", "files/p1.png", "files/p2.png"}
			}
			enginetest.Want(t, "books", left, f.IDs(t, "books"))
			enginetest.Want(t, "pages", len(left), len(f.IDs(t, "pages")))
			enginetest.Want(t, "objects", objects, f.Objects(t))
			says := strings.Contains(fmt.Sprint(f.LogLines(t)), "kept, pages/p1 is on the list")
			enginetest.Want(t, "that the log says that the page is listed", listed == "pages/p1", says)
			for _, p := range preview.Plan {
				if p.Target == "books/b1" && !strings.Contains(p.Kept, "is on the list") {
					t.Errorf("the preview says %+v", p)
				}
			}
		})
	}
}

// TestWhatChangesSomethingListedIsKept: an item stays if its change writes to a listed document, but not if it writes to one above.
func TestWhatChangesSomethingListedIsKept(t *testing.T) {
	t.Parallel()
	for listed, left := range map[string]int{"trees/t": 2, "trees/t/nests/n": 0, "fallen/": 0, "notes/": 0} {
		f := leavesFunction(t)
		f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping(listed))
		got := f.Run(t, "")
		enginetest.Want(t, listed+": kept", left, got.Kept[jobstate.KeptWithListed])
		enginetest.Want(t, listed+": left", left, len(f.IDs(t, "leaves")))
	}
}

// TestTwoThatWriteTheSameDocument are not in the same commit: the second is judged by what the first has written.
func TestTwoThatWriteTheSameDocument(t *testing.T) {
	t.Parallel()
	f := leavesFunction(t)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete leaves", 2))
	enginetest.Want(t, "fell", any(int64(2)), f.Documents(t, "trees")["t"]["fell"])
}

// leavesFunction has two leaves. When one is deleted, its tree counts that, and there are a record and a note of it.
func leavesFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	type leaf struct {
		cleanup.Subject
		tree cleanup.Subject
	}
	tree := documents.Ref{Collection: "trees", ID: "t"}
	f := ruleFunction(t, ruleJob("leaves", cleanup.Rule[leaf]{
		Name: "leaf", Judge: func(l leaf, run cleanup.Run) cleanup.Decision { return whileThere(l.Subject, run) },
		Reach: cleanup.Reach{Items: "leaves", Deletes: []string{"leaves"}, Writes: []string{"trees", "fallen", "notes"}},
		Load: cleanup.EachWith(func(documents.Document) (documents.Ref, bool) { return tree, true },
			func(of, tree cleanup.Subject) leaf { return leaf{of, tree} }),
		Change: func(l leaf, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			c, data := cleanup.Delete(l.Document), map[string]any{"fell": l.tree.Data["fell"].(int64) + 1}
			c.Writes = append(c.Writes, documents.Write{Op: documents.Update, Ref: tree, Data: data},
				documents.Write{Op: documents.Create, Ref: documents.Ref{Collection: "fallen", ID: l.ID()}, Data: data},
				documents.Write{Op: documents.Set, Ref: documents.Ref{Collection: "notes", ID: l.ID()}, Data: data, Sent: true})
			return c
		},
	}))
	for path, fell := range map[string]int{"leaves/l": 0, "leaves/m": 0, "trees/t": 0} {
		f.Set(t, path, map[string]any{"fell": fell})
	}
	return f
}

// TestWhatLaterCommitsMeet: a listed box, or a thing or file of it, keeps the crate. What earlier commits did is said.
func TestWhatLaterCommitsMeet(t *testing.T) {
	t.Parallel()
	for _, listed := range []string{"boxes/c1-11", "things/t449", "gs://BUCKET/files/f", "gs://BUCKET/crates/c1/label"} {
		t.Run(listed, func(t *testing.T) {
			t.Parallel()
			f := ruleFunction(t, ruleJob("crates", crates, boxes))
			setCrate(t, f, "c1", 12)
			setCrate(t, f, "c2", 1)
			f.Set(t, "boxes/c1-11", map[string]any{"state": "old", "crate": "c1", "file": "files/f"})
			f.SetAlike(t, 450, "things/t%03d", map[string]any{"box": "c1-11"})
			listed = strings.ReplaceAll(listed, "BUCKET", f.Bucket)
			f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping(listed))
			f.Put(t, "files/f", nil, nil)
			got := f.Run(t, "")
			enginetest.WantKept(t, got, report.Completed, map[string]report.Counts{"delete crate": {Planned: 2, Done: 1}}, map[string]int{jobstate.KeptWithListed: 1})
			enginetest.Want(t, "crates", []string{"c1"}, f.IDs(t, "crates"))
			_, there := f.Everything(t)[listed]
			enginetest.Want(t, listed+" is there", true, there)
			has(t, fmt.Sprint(f.Warnings(t)["crates/c1"]), "left half done")
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
		Name: "testJob", Rules: []cleanup.AnyRule{then}, Accounts: true, AccountRule: rule,
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

// TestAccountsAreLookedAtAgain right before the deletion, when they have been saved for undo: one that somebody has used by then stays, and
// one that has a document by then.
func TestAccountsAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	job := accountsJob(pageRule)
	job.AccountRule.Judge = func(a accounts.Account, _ cleanup.Run) cleanup.Decision {
		if a.LastLogin > 0 {
			return cleanup.Keep("used")
		}
		return cleanup.Do("delete account", "never used")
	}
	job.AccountRule.Keepers = []cleanup.Keeper{{Collection: "owners", ID: func(uid string) string { return uid }, Reason: "has a document"}}
	f := ruleFunction(t, job)
	for _, uid := range []string{"gone", "used", "owner"} {
		f.Import(t, new(auth.UserToImport).UID(uid))
	}
	f.SetAccount(t, "used", nil) // skips the test where nobody can
	onSaved(f, func() {
		f.SetAccount(t, "used", map[string]any{"lastLoginAt": "1767225600000"})
		f.Set(t, "owners/owner", map[string]any{"n": 1})
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{"delete account": {Planned: 3, Done: 1, Changed: 2}})
	enginetest.Want(t, "accounts", []string{"owner", "used"}, f.Accounts(t))
}

// TestAnAccountWhoseDocumentIsListedIsKept, and not one with whose document something is deleted that is listed: that is seen
// when the account is gone, which the report says, and the document waits until it is taken off.
func TestAnAccountWhoseDocumentIsListedIsKept(t *testing.T) {
	t.Parallel()
	f := ruleFunction(t, accountsJob(pageRule))
	for _, id := range []string{"p1", "p2", "p3", "p4"} {
		f.Set(t, "pages/"+id, map[string]any{"n": 1})
		f.SignUp(t, id)
	}
	listed := []string{"pages/p1", "pages/p2/notes/n", "gs://" + f.Bucket + "/files/p3.png"}
	f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping(listed...))
	enginetest.Want(t, "planned", 2, len(f.Run(t, `{"dryRun":true}`).Plan))
	enginetest.WantKept(t, f.Run(t, ""), report.Completed, enginetest.Done("delete account", 2), map[string]int{jobstate.KeptWithListed: 3})
	enginetest.Want(t, "accounts", []string{"p1", "p2"}, f.Accounts(t))
	enginetest.Want(t, "pages", []string{"p1", "p2", "p3"}, f.IDs(t, "pages"))
	f.Delete(t, "cleanupJobs/all-jobs")
	enginetest.Want(t, "status", report.Completed, f.Run(t, "").Status)
	enginetest.Want(t, "accounts", 0, len(f.Accounts(t)))
	enginetest.Want(t, "pages", 0, len(f.IDs(t, "pages")))
}

// TestRecordThatCannotBeRead: a run that does not know whether the job is held, or what it keeps, does nothing, and says what
// to do. Nor does a worker, or a preview.
func TestRecordThatCannotBeRead(t *testing.T) {
	for name, record := range map[string]map[string]any{
		"held": {"held": "yes"}, "a list": {"keep": "things/t001"},
	} {
		f := thingsFunction(t, 10, 2)
		at := "testJob"
		if record["keep"] != nil {
			at = "all-jobs"
		}
		f.Set(t, "cleanupJobs/"+at, record)
		for _, body := range []string{"", `{"dryRun":true}`} {
			got := f.Run(t, body)
			enginetest.Want(t, name+": status", report.Failed, got.Status)
			has(t, fmt.Sprint(got.Failures), "is not one that this program wrote: delete that field")
		}
		enginetest.Want(t, name+": left", 2, len(left(t, f)))
		worker := newFunction(t, touchJob(touched))
		worker.Set(t, "cleanupJobs/"+strings.Replace(at, "testJob", "testWorker", 1), record)
		enginetest.Want(t, name+": a worker's status", report.Failed, worker.Run(t, paintRed).Status)
		enginetest.Want(t, name+": painted", 0, len(left(t, worker)))
	}
	f := thingsFunction(t, 10, 2)
	onCalls(f, "BatchGetDocuments", func(int) error { return denied })
	enginetest.Want(t, "refused: status", report.Failed, f.Run(t, "").Status)
	enginetest.Want(t, "refused: left", 2, len(left(t, f)))
}

// TestWhatAnInterruptedRunLeftIsKeptIfListed: an operator keeps what a run that was killed has left to delete. It stays until
// it is taken off the list, which is no failure, and nothing else does.
func TestWhatAnInterruptedRunLeftIsKeptIfListed(t *testing.T) {
	t.Parallel()
	f := reachFunction(t)
	for _, name := range []string{"files/a", "files/b", "crates/gone/a"} {
		f.Put(t, name, nil, []byte("x"))
	}
	f.SignUp(t, "p1", "p2")
	f.SetTodo(t, "e", enginetest.StepOf("crate", "crates/gone", "crates/gone/", ""),
		enginetest.StepOf("box", "boxes/gone", "files/a", ""), enginetest.StepOf("box", "boxes/gone", "files/b", ""),
		enginetest.AccountOf("person", "people/p1"), enginetest.AccountOf("person", "people/p2"))
	listed := []string{"gs://" + f.Bucket + "/files/a", "gs://" + f.Bucket + "/crates/gone/a", "account p1"}
	f.Set(t, "cleanupJobs/all-jobs", enginetest.Keeping(listed...))
	f.Env["MAX_ACTIONS"] = "2" // of what is not listed
	foretold := f.Run(t, `{"dryRun":true}`).Plan[0]
	has(t, foretold.Kept, jobstate.KeptListed)
	enginetest.Want(t, "foretold", map[string]int{"delete file": 1, "delete account": 1}, foretold.With)
	got := f.Run(t, "")
	enginetest.WantKept(t, got, report.Completed, map[string]report.Counts{"finish interrupted action": {Planned: 1}}, map[string]int{jobstate.KeptWithListed: 3})
	enginetest.Want(t, "objects", []string{"crates/gone/a", "files/a"}, f.Objects(t))
	enginetest.Want(t, "accounts", []string{"p1"}, f.Accounts(t))
	f.Delete(t, "cleanupJobs/all-jobs")
	f.Env["MAX_ACTIONS"] = "10"
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "objects", 0, len(f.Objects(t)))
	enginetest.Want(t, "accounts", 0, len(f.Accounts(t)))
}
