package restore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/storage"
	"firebase.google.com/go/v4/auth"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/objects"
)

// users deletes users with a file, their account and their place in a list; it counts them and tells a friend. plain deletes
// documents alone. Both keep what is named so.
var (
	users = cleanup.Rule[cleanup.Subject]{
		Name: "user", Load: cleanup.Itself, Judge: due,
		Reach: cleanup.Reach{
			Items: "users", Deletes: []string{"users"}, Writes: []string{"friends", "gone", "notifications"},
			Objects: []cleanup.Files{{Folder: "users/{id}/", Whole: true}}, Account: true,
		},
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			id := s.ID()
			return cleanup.Change{
				Writes: []documents.Write{
					{Op: documents.Delete, Ref: s.Ref()},
					{Op: documents.Update, Ref: documents.Ref{Collection: "friends", ID: id}, Data: map[string]any{"friend": documents.DeleteField, "count": int64(0)}},
					{Op: documents.Create, Ref: documents.Ref{Collection: "gone", ID: id}, Data: map[string]any{"n": int64(1)}},
					{Op: documents.Set, Ref: documents.Ref{Collection: "notifications", ID: id}, Data: map[string]any{"text": "gone"}, Sent: true},
				},
				Then: []cleanup.FollowUp{{Object: cleanup.ObjectDeletion{Name: "users/" + id + "/", Folder: true}, Absent: s.Ref()}, {Account: id, Absent: s.Ref()}},
			}
		},
	}
	plain = cleanup.Rule[cleanup.Subject]{Name: "draft", Load: cleanup.Itself, Judge: due, Reach: cleanup.Reach{Items: "drafts"}}
)

func due(s cleanup.Subject, _ cleanup.Run) cleanup.Decision {
	switch {
	case !s.Found:
		return cleanup.Keep("gone")
	case s.Data["name"] == "kept":
		return cleanup.Keep("its name")
	}
	return cleanup.Do("delete "+s.Ref().Collection, "due")
}

var job = cleanup.Job{
	Name: "testJob", Rules: []cleanup.AnyRule{users, plain}, Reach: cleanup.Reach{Objects: []cleanup.Files{{Folder: ""}}},
	Plan: func(ctx context.Context, p *cleanup.Planner) error {
		for collection, rule := range map[string]cleanup.AnyRule{"users": users, "drafts": plain} {
			if err := p.Sweep(ctx, documents.Query{Collection: collection, Select: []string{"name"}}, "", rule); err != nil {
				return err
			}
		}
		o, found, err := p.Objects.Get(ctx, "orphan")
		if err != nil || !found {
			return err
		}
		return p.ProposeObject(ctx, "delete object", "nobody's",
			cleanup.DeleteObject{Deletion: objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}})
	},
}

// world is a project with what the job deletes.
type world struct {
	*enginetest.Function
	restorer restore.Project
}

func newWorld(t *testing.T) world {
	t.Helper()
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore, config.Storage, config.Auth}))
	if !f.EmbeddedStorage() {
		t.Skip("the Firebase Emulator Suite's Storage has no soft delete, from which objects come back; the embedded one has")
	}
	for i := range 3 {
		id := fmt.Sprintf("u%d", i)
		f.Set(t, "users/"+id, map[string]any{"name": id, "ref": f.Firestore(t).Doc("friends/" + id)})
		f.Set(t, "friends/"+id, map[string]any{"friend": id, "count": 5, "other": "x"})
		f.Set(t, "drafts/"+id, map[string]any{"name": id, "at": f.Now, "odd field`": []any{nil, 1.5}})
		f.Put(t, "users/"+id+"/a.png", map[string]string{"k": "v"}, []byte(id))
		_, err := f.Auth(t).CreateUser(t.Context(), new(auth.UserToCreate).UID(id).Email(id+"@example.com").DisplayName("N"))
		ok(t, err)
	}
	f.Put(t, "orphan", nil, []byte("o"))
	f.Env["UNDO_DAYS"] = "7"
	p := f.Restorer(t, func() time.Time { return f.Clock() })
	return world{f, p}
}

var ok = check.OK

// undo takes a run back and returns the targets by what was done, and the reasons of the conflicts.
func (w world) undo(t *testing.T, runID string, o restore.Options) (byStep map[undo.Step][]string, why map[string]string) {
	t.Helper()
	byStep, why = map[undo.Step][]string{}, map[string]string{}
	err := w.restorer.Undo(t.Context(), runID, o, func(o restore.Outcome) error {
		target := strings.ReplaceAll(o.Target, w.Bucket, "bucket")
		byStep[o.Step] = append(byStep[o.Step], target)
		if o.Why != "" {
			why[target] = o.Why
		}
		return nil
	})
	ok(t, err)
	for _, targets := range byStep {
		slices.Sort(targets)
	}
	return byStep, why
}

// disturb puts something around what undoes runs.
func (w *world) disturb(t *testing.T, hooks backends.Hooks) {
	t.Helper()
	jobs := w.restorer.Jobs
	w.restorer = enginetest.OpenRestorer(t, hooks, w.Getenv, nil, config.Firestore, config.Storage, config.Auth)
	w.restorer.Jobs = jobs
}

// before has f called before each commit of an undo: its error is that of the commit.
func before(f func(*firestorepb.CommitRequest) error) backends.Hooks {
	return backends.Hooks{Dial: wire.Before(func(_ context.Context, _ string, request any) error {
		if commit, is := request.(*firestorepb.CommitRequest); is {
			return f(commit)
		}
		return nil
	})}
}

// tried takes a run back and returns only how that ended.
func (w world) tried(t *testing.T, runID string, o restore.Options) error {
	t.Helper()
	return w.restorer.Undo(t.Context(), runID, o, func(restore.Outcome) error { return nil })
}

func (w world) run(t *testing.T) *report.Report {
	t.Helper()
	rep := w.Run(t, "")
	if rep.Status != report.Completed {
		t.Fatalf("%s: %v", rep.Status, rep.Failures)
	}
	return rep
}

// newRun returns a project in which the job has run.
func newRun(t *testing.T) (world, *report.Report) {
	t.Helper()
	w := newWorld(t)
	return w, w.run(t)
}

// resume lets the job and those that are new run again.
func (w world) resume(t *testing.T) {
	t.Helper()
	for _, record := range []string{"testJob", "new-jobs"} {
		ok(t, w.restorer.Store(record).Resume(t.Context()))
	}
}

// said returns the jobs that a database says are held, and what each keeps.
func said(t *testing.T, p restore.Project) (held []string, kept map[string][]string) {
	t.Helper()
	records, err := jobstate.Records(t.Context(), p.DB.Reader)
	ok(t, err)
	kept = map[string][]string{}
	for _, r := range records {
		ok(t, r.Err)
		if r.Held != nil {
			held = append(held, r.Job)
		}
		for _, k := range r.Keep {
			kept[r.Job] = append(kept[r.Job], k.Path)
		}
		slices.Sort(kept[r.Job])
	}
	return held, kept
}

// keeps checks what the job keeps because it came back, and that it is not held.
func (w world) keeps(t *testing.T, want ...string) {
	t.Helper()
	held, kept := said(t, w.restorer)
	enginetest.Want(t, "held", []string(nil), held)
	slices.Sort(want)
	enginetest.Want(t, "kept", want, kept["all-jobs"])
}

// TestConflicts: what somebody has done since stays as it is and is said, and with a document what was deleted with it; the
// rest comes back.
func TestConflicts(t *testing.T) {
	w, report := newRun(t)
	ctx := t.Context()
	w.Set(t, "users/u0", map[string]any{"name": "new"})
	w.update(t, "friends/u0", "count", 7)
	w.update(t, "friends/u1", "other", "y")
	w.Set(t, "gone/u0", map[string]any{"n": 2})
	w.Put(t, "users/u0/a.png", nil, []byte("new"))
	_, err := w.Auth(t).CreateUser(ctx, new(auth.UserToCreate).UID("u0").Email("new@example.com"))
	ok(t, err)
	w.Put(t, "orphan", nil, []byte("new"))

	foretold, _ := w.undo(t, report.RunID, restore.Options{})
	enginetest.Want(t, "what is back after it was foretold", 0, len(w.Documents(t, "users")["u1"]))
	steps, why := w.undo(t, report.RunID, apply)
	enginetest.Want(t, "done", foretold, steps)
	enginetest.Want(t, "steps", map[undo.Step][]string{
		undo.Recreate: {"account u1", "account u2", "drafts/u0", "drafts/u1", "drafts/u2", "gs://bucket/users/u1/a.png", "gs://bucket/users/u2/a.png", "users/u1", "users/u2"},
		undo.Revert:   {"friends/u1", "friends/u2"},
		undo.Remove:   {"gone/u1", "gone/u2"},
		undo.Stays:    {"notifications/u0", "notifications/u1", "notifications/u2"},
		undo.Conflict: {"account u0", "friends/u0", "gone/u0", "gs://bucket/orphan", "gs://bucket/users/u0/a.png", "users/u0"},
	}, steps)
	for target, part := range map[string]string{
		"users/u0": "created it", "friends/u0": "changed count", "gone/u0": "changed it", "gs://bucket/orphan": "uploaded it again",
		"gs://bucket/users/u0/a.png": "only together with users/u0", "account u0": "only together with users/u0",
	} {
		check.Holds(t, why[target], part)
	}
	u1 := w.Documents(t, "friends")["u1"]
	enginetest.Want(t, "friends/u1", map[string]any{"friend": "u1", "count": int64(5), "other": "y"}, u1)
	enginetest.Want(t, "users/u0", map[string]any{"name": "new"}, w.Documents(t, "users")["u0"])
	if user, err := w.Auth(t).GetUser(ctx, "u1"); err != nil || user.Email != "u1@example.com" || user.DisplayName != "N" {
		t.Errorf("account u1 is %+v, %v", user, err)
	}
	if user, err := w.Auth(t).GetUser(ctx, "u0"); err != nil || user.Email != "new@example.com" {
		t.Errorf("account u0 is %+v, %v", user, err)
	}
}

// TestUndoneByOneThatWasKilled: what an undo has brought back that ended before it noted that, or with an error, is noted when
// it is done again; once it is, nothing more is.
func TestUndoneByOneThatWasKilled(t *testing.T) {
	w, rep := newRun(t)
	noted := func() *report.Undone {
		got, err := report.Of(documents.Document{Path: "cleanupRuns/" + rep.RunID, Data: w.Documents(t, "cleanupRuns")[rep.RunID]})
		ok(t, err)
		return got.Undone
	}
	all, failed := restore.Options{Apply: true}, errors.New("no more paper")
	err := w.restorer.Undo(t.Context(), rep.RunID, all, func(o restore.Outcome) error {
		if o.Target == "account u2" {
			return failed
		}
		return nil
	})
	if got := noted(); !errors.Is(err, failed) || got == nil || !got.Partial {
		t.Errorf("%v, noted %+v", err, got)
	}
	w.undo(t, rep.RunID, all)
	if got := noted(); got == nil || got.Partial {
		t.Errorf("done again: %+v", got)
	}
	w.update(t, "cleanupRuns/"+rep.RunID, "undone", firestore.Delete)
	w.undo(t, rep.RunID, all)
	first := noted()
	if first == nil || first.Partial {
		t.Fatalf("after one that was killed: %+v", first)
	}
	w.undo(t, rep.RunID, all)
	enginetest.Want(t, "noted anew", first, noted())
}

// TestOnly takes back an item that is named whole, and something of an item by itself. The job goes on, and keeps these and
// nothing else.
func TestOnly(t *testing.T) {
	w, report := newRun(t)
	u2 := "gs://" + w.Bucket + "/users/u2/a.png"
	steps, _ := w.undo(t, report.RunID, restore.Options{Apply: true, Only: []string{"users/u1", u2}})
	enginetest.Want(t, "steps", map[undo.Step][]string{
		undo.Recreate: {"account u1", "gs://bucket/users/u1/a.png", "gs://bucket/users/u2/a.png", "users/u1"}, undo.Remove: {"gone/u1"},
		undo.Revert: {"friends/u1"}, undo.Stays: {"notifications/u1"},
	}, steps)
	w.keeps(t, "account u1", "gs://"+w.Bucket+"/users/u1/a.png", u2, "users/u1")
	w.Set(t, "drafts/new", map[string]any{"name": "new"})
	next := w.run(t)
	enginetest.Want(t, "next", enginetest.Done("delete drafts", 1), next.Actions)
	enginetest.Want(t, "kept", map[string]int{jobstate.KeptListed: 1}, next.Kept)
	enginetest.Want(t, "users", []string{"u1"}, w.IDs(t, "users"))
	enginetest.Want(t, "objects", []string{"users/u1/a.png", "users/u2/a.png"}, w.Objects(t))
}

// TestOnlyIsTheCallers: an undo that means more than what was named leaves the caller's list as it is.
func TestOnlyIsTheCallers(t *testing.T) {
	w, report := newRun(t)
	only := append(make([]string, 0, 8), "users/")
	w.undo(t, report.RunID, restore.Options{Only: only})
	enginetest.Want(t, "behind the list", make([]string, 7), only[1:8])
}

// TestProjectWithoutBucketAndAccounts: files and accounts are left, and documents come back.
func TestProjectWithoutBucketAndAccounts(t *testing.T) {
	w, report := newRun(t)
	w.restorer.Bucket, w.restorer.Accounts = nil, nil
	w.undo(t, report.RunID, apply)
	enginetest.Want(t, "users", 3, len(w.Documents(t, "users")))
	enginetest.Want(t, "files and accounts", 0, len(w.Objects(t))+len(w.Accounts(t)))
}

// TestOnlyAFolder: a folder of objects that is named comes back whole, and so does one in it; they stay.
func TestOnlyAFolder(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"users/u1/b/c.png", "users/u1/b/d.png", "users/u1/bc.png"} {
		w.Put(t, name, nil, []byte("x"))
	}
	report, folder := w.run(t), "gs://"+w.Bucket+"/users/"
	w.undo(t, report.RunID, restore.Options{Apply: true, Only: []string{folder + "u1/b/"}})
	enginetest.Want(t, "objects", []string{"users/u1/b/c.png", "users/u1/b/d.png"}, w.Objects(t))
	w.keeps(t, folder+"u1/b/c.png", folder+"u1/b/d.png")
	err := w.tried(t, report.RunID, restore.Options{Apply: true, Only: []string{folder + "u1/none/"}})
	check.Is(t, "a folder that held nothing", err, restore.ErrNotInLog)
	w.undo(t, report.RunID, restore.Options{Apply: true, Only: []string{folder + "u2/"}})
	all := []string{"users/u1/b/c.png", "users/u1/b/d.png", "users/u2/a.png"}
	enginetest.Want(t, "objects", all, w.Objects(t))
	enginetest.Want(t, "actions of the next run", 0, len(w.run(t).Actions))
	enginetest.Want(t, "objects", all, w.Objects(t))
	w.undo(t, report.RunID, restore.Options{Apply: true, Only: []string{"gs://" + w.Bucket + "/"}}) // with what was deleted by itself
	enginetest.Want(t, "objects of the bucket", []string{"orphan", "users/u0/a.png", "users/u1/a.png", "users/u1/b/c.png", "users/u1/b/d.png",
		"users/u1/bc.png", "users/u2/a.png"}, w.Objects(t))
	w.keeps(t, folder+"u1/b/c.png", folder+"u1/b/d.png", folder+"u2/a.png", "gs://"+w.Bucket+"/orphan", folder+"u0/a.png", folder+"u1/a.png", folder+"u1/bc.png")
}

// TestWhere: objects and accounts that begin like an id are not of it.
func TestWhere(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "users/u10", map[string]any{"name": "u10"})
	w.Set(t, "friends/u10", map[string]any{"friend": "u10"})
	for _, name := range []string{"users/u10/a.png", "users/u2/u1.png", "users/u1/b/c.png"} {
		w.Put(t, name, nil, []byte("x"))
	}
	w.SignUp(t, "u10")
	report := w.run(t)
	w.undo(t, report.RunID, restore.Options{Apply: true, Where: &restore.Where{Field: "name", Value: "u1"}})
	enginetest.Want(t, "users", []string{"u1"}, slices.Sorted(maps.Keys(w.Documents(t, "users"))))
	enginetest.Want(t, "objects", []string{"users/u1/a.png", "users/u1/b/c.png"}, w.Objects(t))
	enginetest.Want(t, "accounts", []string{"u1"}, w.Accounts(t))
	w.keeps(t, "users/u1", "drafts/u1", "account u1", "gs://"+w.Bucket+"/users/u1/a.png", "gs://"+w.Bucket+"/users/u1/b/c.png")
}

// TestNothingComesBackWithoutTheLease: an undo that could not renew it in time stops, for a run may have begun. It is asked for
// right before whatever is written, and not only before each entry of the log. Done again, the undo goes on.
func TestNothingComesBackWithoutTheLease(t *testing.T) {
	for _, only := range [][]string{nil, {"account u0"}} {
		nothingComesBackWithoutTheLease(t, only)
	}
}

func nothingComesBackWithoutTheLease(t *testing.T, only []string) {
	t.Helper()
	meanwhile := []func(t *testing.T, w world){
		func(*testing.T, world) {},
		func(t *testing.T, w world) { w.Run(t, "") },
		func(t *testing.T, w world) { w.lease(t, "testJob-other", time.Hour) },
	}
	for entry, lost := 0, true; lost; entry++ {
		w, report := newRun(t)
		now, late := time.Now(), atomic.Int64{}
		w.Clock = func() time.Time { return now.Add(time.Duration(late.Load())) }
		err := w.restorer.Undo(t.Context(), report.RunID, restore.Options{Apply: true, Only: only, Progress: func(done, _ int) {
			if done == entry {
				late.Store(int64(3 * time.Minute))
				meanwhile[entry%3](t, w)
			}
		}}, func(o restore.Outcome) error {
			if late.Load() > 0 && o.Step.Back() {
				t.Errorf("%s came back", o.Target)
			}
			return nil
		})
		if lost = late.Load() > 0; err != nil && (!lost || !errors.Is(err, restore.ErrLeaseLost)) {
			t.Errorf("entry %d: %v", entry, err)
		}
		w.lease(t, "", 0)
		w.undo(t, report.RunID, apply)
		back := len(w.Documents(t, "users")) + len(w.Documents(t, "drafts")) + len(w.Objects(t))
		enginetest.Want(t, "things that are back", 10, back)
	}
}

// lease gives somebody the job's lease, or nobody.
func (w world) lease(t *testing.T, holder string, length time.Duration) {
	t.Helper()
	record := enginetest.From("")
	if holder != "" {
		record = enginetest.Leased(holder, w.Clock().Add(length))
	}
	w.Set(t, "cleanupJobs/testJob", record)
}

// TestTooLargeToComeBack: what Firestore refuses is told, and what belongs to it, and the rest comes back, whether it refuses a
// write or the request.
func TestTooLargeToComeBack(t *testing.T) {
	for _, whole := range []bool{false, true} {
		w := newWorld(t)
		w.Set(t, "friends/u1", map[string]any{"friend": strings.Repeat("x", 600<<10), "other": "x"})
		report := w.run(t)
		w.update(t, "friends/u1", "more", strings.Repeat("x", 600<<10))
		w.disturb(t, before(func(r *firestorepb.CommitRequest) error {
			large := func(w *firestorepb.Write) bool { return strings.HasSuffix(w.GetUpdate().GetName(), "/friends/u1") }
			if whole && slices.ContainsFunc(r.GetWrites(), large) {
				return status.Error(codes.InvalidArgument, "the request is invalid")
			}
			return nil
		}))
		steps, why := w.undo(t, report.RunID, apply)
		enginetest.Want(t, "conflicts", []string{"account u1", "friends/u1", "gone/u1", "gs://bucket/users/u1/a.png", "users/u1"},
			steps[undo.Conflict])
		check.Holds(t, why["friends/u1"], "Firestore refuses it: ")
		enginetest.Want(t, "back", []string{"friends/u0", "friends/u2"}, steps[undo.Revert])
	}
}

// TestManyAtOnce: things come back side by side and are told one at a time, each once.
func TestManyAtOnce(t *testing.T) {
	const n = 60
	w := newWorld(t)
	w.PutMany(t, n, func(i int) (string, map[string]string) { return fmt.Sprintf("users/u1/%02d.png", i), nil })
	w.SetAlike(t, 5*n, "drafts/d%03d", map[string]any{"name": "x"})
	objects := w.Objects(t)
	report := w.run(t)
	var telling atomic.Bool
	told := map[string]int{}
	err := w.restorer.Undo(t.Context(), report.RunID, apply, func(o restore.Outcome) error {
		if !telling.CompareAndSwap(false, true) {
			return errors.New("two are told at once")
		}
		defer telling.Store(false)
		runtime.Gosched()
		told[o.Target]++
		return nil
	})
	ok(t, err)
	for target, times := range told {
		enginetest.Want(t, target+" is told", 1, times)
	}
	enginetest.Want(t, "objects", objects, w.Objects(t))
	enginetest.Want(t, "drafts", 5*n+3, len(w.Documents(t, "drafts")))
	enginetest.Want(t, "told", 4+n+5*n+3+3*4+3, len(told)) // objects, drafts, of each user four documents, accounts
}

// TestObjectsThatAreNotThere: what the bucket has let go is said of each object, of folders too, and what was uploaded in its
// place.
func TestObjectsThatAreNotThere(t *testing.T) {
	w := newWorld(t)
	w.SetSoftDelete(t, 0)
	report := w.run(t)
	steps, why := w.undo(t, report.RunID, apply)
	lost := []string{"gs://bucket/orphan", "gs://bucket/users/u0/a.png", "gs://bucket/users/u1/a.png", "gs://bucket/users/u2/a.png"}
	enginetest.Want(t, "lost", lost, steps[undo.Lost])
	for _, target := range lost {
		check.Holds(t, why[target], "not among the bucket's soft-deleted objects and versions")
	}
	w.Put(t, "users/u0/a.png", nil, nil)
	file := "gs://" + w.Bucket + "/users/"
	steps, why = w.undo(t, report.RunID, restore.Options{Apply: true, Only: []string{file + "u0/a.png", file + "u1/"}})
	enginetest.Want(t, fmt.Sprint("files of folders, ", why), map[undo.Step][]string{
		undo.Lost: {"gs://bucket/users/u1/a.png"}, undo.Conflict: {"gs://bucket/users/u0/a.png"}}, steps)
	w.Put(t, "orphan", nil, []byte("o"))
	_, why = w.undo(t, report.RunID, apply)
	check.Holds(t, why["gs://bucket/orphan"], "uploaded it again")
}

// TestWhatCannotBeTakenBack: each says why, and nothing changes.
func TestWhatCannotBeTakenBack(t *testing.T) {
	w := newWorld(t)
	preview := w.Run(t, `{"dryRun":true}`)
	report := w.run(t)
	later := w.Restorer(t, func() time.Time { return time.Now().Add(8 * 24 * time.Hour) })
	for name, tt := range map[string]struct {
		p     restore.Project
		runID string
		want  error
	}{
		"unknown": {w.restorer, "testJob-20260101T000000Z-00000000", restore.ErrNoLog}, "no run's id": {w.restorer, "testJob", restore.ErrUnknown},
		"a path": {w.restorer, "a/b-1-2", restore.ErrUnknown}, "preview": {w.restorer, preview.RunID, restore.ErrNoLog}, "expired": {later, report.RunID, restore.ErrNoLog},
	} {
		for _, apply := range []bool{false, true} {
			err := tt.p.Undo(t.Context(), tt.runID, restore.Options{Apply: apply}, func(o restore.Outcome) error { return fmt.Errorf("%+v", o) })
			check.Is(t, name, err, tt.want)
		}
	}
	enginetest.Want(t, "users that are back", 0, len(w.Documents(t, "users")))
}

// TestLeftToDo: a part of a run that was killed cannot be taken back before the rest is done. What the run has left to do is forgotten
// once all is back, and not where the undo ends earlier, is refused, or cannot bring all back. What others left stays. Another job
// that is under way, or begins before all are held, might delete what comes back; another undo does not.
func TestLeftToDo(t *testing.T) {
	w, report := newRun(t)
	const left = "cleanupJobs/testJob/cleanupTodo"
	w.Set(t, left+"/"+report.RunID+"-000099", map[string]any{"run": report.RunID})
	w.Set(t, left+"/another-000001", map[string]any{"run": "another"})
	todos := func() int { return len(w.Documents(t, left)) - 1 }
	err := w.tried(t, report.RunID, restore.Options{Apply: true, Only: []string{"users/u1"}})
	if !errors.Is(err, restore.ErrUnfinished) || !strings.Contains(err.Error(), "let the job run once more") || len(w.Documents(t, "users")) != 0 {
		t.Errorf("%v, %d users", err, len(w.Documents(t, "users")))
	}
	w.Set(t, "cleanupJobs/otherJob", enginetest.Leased("otherJob-1", time.Now().Add(time.Minute)))
	err = w.tried(t, report.RunID, apply)
	if !errors.Is(err, restore.ErrUnderWay) || !strings.Contains(err.Error(), "firesweep hold otherJob --stop") || todos() != 1 {
		t.Errorf("another job is under way: %v, %d todos", err, todos())
	}
	w.Delete(t, "cleanupJobs/otherJob")
	begins := w
	begins.disturb(t, before(func(r *firestorepb.CommitRequest) error {
		if strings.Contains(fmt.Sprint(r.GetWrites()), "undoing a run") {
			w.Set(t, "cleanupJobs/otherJob", enginetest.Leased("otherJob-1", time.Now().Add(time.Minute)))
		}
		return nil
	}))
	failed := errors.New("no more paper")
	err = begins.tried(t, report.RunID, apply)
	if !errors.Is(err, restore.ErrUnderWay) || todos() != 1 {
		t.Errorf("another job began: %v, %d todos", err, todos())
	}
	held, _ := said(t, w.restorer)
	enginetest.Want(t, "held", []string(nil), held)
	w.Set(t, "cleanupJobs/otherJob", enginetest.Leased("undo-otherJob-1", time.Now().Add(time.Minute)))
	err = w.restorer.Undo(t.Context(), report.RunID, apply, func(restore.Outcome) error { return failed })
	if !errors.Is(err, failed) || todos() != 1 {
		t.Errorf("it could not be told: %v, %d todos", err, todos())
	}
	refusing := w
	refusing.restorer.Jobs = map[string]cleanup.Job{"testJob": {Name: "testJob", Rules: []cleanup.AnyRule{plain}}}
	if err := refusing.tried(t, report.RunID, apply); !errors.Is(err, restore.ErrRefused) || todos() != 1 {
		t.Errorf("it was refused: %v, %d todos", err, todos())
	}
	w.Set(t, "users/u2", map[string]any{"name": "another"})
	w.undo(t, report.RunID, apply)
	enginetest.Want(t, "todos, while u2 cannot come back", 1, todos())
	w.Delete(t, "users/u2")
	w.undo(t, report.RunID, apply)
	enginetest.Want(t, "todos", []string{"another-000001"}, w.IDs(t, left))
}

// TestAnotherBucket: in a bucket that the run did not work on, its files would be lost, or what somebody else deleted would
// come back.
func TestAnotherBucket(t *testing.T) {
	w, report := newRun(t)
	other := w.restorer
	other.Config.Bucket = "other"
	refused := func(what string) {
		t.Helper()
		err := other.Undo(t.Context(), report.RunID, apply, func(restore.Outcome) error { return nil })
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("set STORAGE_BUCKET=%q", w.Bucket)) || len(w.Documents(t, "users")) != 0 {
			t.Errorf("%s: %v, %d users", what, err, len(w.Documents(t, "users")))
		}
	}
	refused("a run")
	w.Delete(t, "cleanupRuns/"+report.RunID)
	killed := enginetest.Leased(report.RunID, time.Now().Add(-time.Minute))
	killed["begun"].(map[string]any)["bucket"] = w.Bucket
	w.Set(t, "cleanupJobs/testJob", killed)
	refused("a run that was killed")
	w.undo(t, report.RunID, apply)
	enginetest.Want(t, "users", 3, len(w.Documents(t, "users")))
	enginetest.Want(t, "its report", any("killed"), w.Documents(t, "cleanupRuns")[report.RunID]["status"])
}

// TestRacedThingsStayAsTheyAre: an object that changed right before its deletion, or a document that is not due any more, was
// not deleted, so an undo neither brings back what was overwritten nor lists it.
func TestRacedThingsStayAsTheyAre(t *testing.T) {
	w := newWorld(t)
	w.Hooks.BeforeApply = func() {
		w.Put(t, "orphan", nil, []byte("new"))
		w.Set(t, "drafts/u0", map[string]any{"name": "kept"})
	}
	report := w.run(t)
	file, draft := report.Actions["delete object"], report.Actions["delete drafts"]
	enginetest.Want(t, "changed", []int{1, 1}, []int{file.Changed, draft.Changed})
	w.deleteObject(t, "orphan")
	steps, _ := w.undo(t, report.RunID, apply)
	enginetest.Want(t, "contains", false, slices.Contains(w.Objects(t), "orphan"))
	enginetest.Want(t, "conflicts", 0, len(steps[undo.Conflict]))
	enginetest.Want(t, "name", any("kept"), w.Documents(t, "drafts")["u0"]["name"])
}

// TestObjectsThatTheRunLeft: nothing is wrong with a run that Cloud Storage does not let delete an object, and what it held, an undo
// leaves when its owner has deleted it since.
func TestObjectsThatTheRunLeft(t *testing.T) {
	w := newWorld(t)
	hold := func(on bool) {
		orphan := w.Storage(t).Bucket(w.Bucket).Object("orphan")
		_, err := orphan.Update(t.Context(), storage.ObjectAttrsToUpdate{TemporaryHold: on})
		ok(t, err)
	}
	hold(true)
	rep := w.run(t)
	enginetest.Want(t, "kept", map[string]int{objects.HeldByHold: 1}, rep.Kept)
	hold(false)
	w.deleteObject(t, "orphan")
	steps, why := w.undo(t, rep.RunID, apply)
	if _, told := why["gs://bucket/orphan"]; told || slices.Contains(steps[undo.Recreate], "gs://bucket/orphan") {
		t.Errorf("%v, %v", steps, why)
	}
}

// log adds an entry to the log of a run.
func (w world) log(t *testing.T, runID, name string, at time.Time, records ...undo.Record) {
	t.Helper()
	packed, err := runlog.Pack(records)
	ok(t, err)
	w.Set(t, runlog.DoneOf(runID)+"/"+name+"-00", map[string]any{"data": packed[0], "parts": 1, "records": len(records), "at": at})
}

// TestStayed: what an entry says to have stayed does not come back if its owner deleted it later; it does if another entry says
// that it was deleted. So do what was left to do and what a pass proposes anew, in either order.
func TestStayed(t *testing.T) {
	for _, which := range []string{"neither", "first", "second", "both"} {
		w, report := newRun(t)
		passes := job
		passes.AccountRule = new(cleanup.AccountRule)
		w.restorer.Jobs = map[string]cleanup.Job{job.Name: passes}
		generation := w.Put(t, "users/z/a.png", nil, []byte("z")).Generation
		w.deleteObject(t, "users/z/a.png")
		file := undo.Record{Of: 1, Object: &undo.Object{Name: "users/z/a.png", Generation: generation}}
		account := undo.Record{Of: 1, Account: &undo.Account{UID: "z", Data: `{"uid":"z"}`}}
		at := time.Now().Add(-2 * time.Minute)
		for i, record := range []undo.Record{file, account} {
			first, second := fmt.Sprintf("aa.00000%d", i), fmt.Sprintf("aa.00001%d", i)
			w.log(t, report.RunID, first, at, undo.Record{Item: "users/z"}, record)
			w.log(t, report.RunID, second, at.Add(time.Minute), undo.Record{Item: "account z"}, record)
			for entry, stayed := range map[string]bool{
				first: which == "first" || which == "both", second: which == "second" || which == "both",
			} {
				if stayed {
					w.update(t, runlog.DoneOf(report.RunID)+"/"+entry+"-00", "stayed", []int{2})
				}
			}
		}
		steps, why := w.undo(t, report.RunID, apply)
		for _, target := range []string{"gs://bucket/users/z/a.png", "account z"} {
			enginetest.Want(t, fmt.Sprint(which, " stayed, ", target, " is back: ", why), which != "both",
				slices.Contains(steps[undo.Recreate], target))
		}
	}
}

// TestDeletedByTwoRules: a document that one rule deletes along with another, and a second rule by itself, is deleted once, by
// whichever commit comes first, and comes back.
func TestDeletedByTwoRules(t *testing.T) {
	for range 3 {
		w := newWorld(t)
		rule := users
		rule.Reach = cleanup.Reach{Items: "users", Deletes: []string{"users", "drafts"}}
		rule.Change = func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			return cleanup.Change{Writes: []documents.Write{
				{Op: documents.Delete, Ref: s.Ref()}, {Op: documents.Delete, Ref: documents.Ref{Collection: "drafts", ID: s.ID()}},
			}}
		}
		w.Job.Rules = []cleanup.AnyRule{rule, plain}
		w.Job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
			return errors.Join(p.ConsiderRefs(ctx, rule, documents.Ref{Collection: "users", ID: "u0"}),
				p.ConsiderRefs(ctx, plain, documents.Ref{Collection: "drafts", ID: "u0"}))
		}
		w.restorer.Jobs = map[string]cleanup.Job{job.Name: w.Job}
		rep := w.run(t)
		got := rep.Actions["delete drafts"]
		enginetest.Want(t, "done", []int{1, 1, 1}, []int{got.Planned, got.Done + got.Changed, rep.Actions["delete users"].Done})
		enginetest.Want(t, "left of it", 0, len(w.Documents(t, "drafts")["u0"]))
		w.undo(t, rep.RunID, apply)
		enginetest.Want(t, "name", any("u0"), w.Documents(t, "drafts")["u0"]["name"])
	}
}

// update writes a field of a document.
func (w world) update(t *testing.T, path, field string, value any) {
	t.Helper()
	_, err := w.Firestore(t).Doc(path).Update(t.Context(), []firestore.Update{{Path: field, Value: value}})
	ok(t, err)
}

// deleteObject deletes an object as its owner does.
func (w world) deleteObject(t *testing.T, name string) {
	t.Helper()
	ok(t, w.Storage(t).Bucket(w.Bucket).Object(name).Delete(t.Context()))
}

// TestOrderOfTheLog: records are taken back from the last to the first, by when each was written. That an entry is changed
// later, as by a move to another database, changes nothing.
func TestOrderOfTheLog(t *testing.T) {
	w, report := newRun(t)
	count := func(n int64) undo.Fields {
		return undo.Fields{"count": {ValueType: &firestorepb.Value_IntegerValue{IntegerValue: n}}}
	}
	at := time.Now().Add(-2 * time.Minute)
	for n := int64(2); n >= 0; n-- { // the last that happened is written first
		w.log(t, report.RunID, fmt.Sprintf("%06d", 900+2*n%3), at.Add(time.Duration(n)*time.Second), undo.Record{Write: &undo.Write{
			Op: documents.Update, Path: "friends/z", Found: true, Before: count(10 + n), After: count(11 + n),
		}})
	}
	w.Set(t, "friends/z", map[string]any{"count": int64(13)})
	w.undo(t, report.RunID, restore.Options{Apply: true, Only: []string{"friends/z"}})
	enginetest.Want(t, "count", any(int64(10)), w.Documents(t, "friends")["z"]["count"])
}

// TestForgedRecords: whatever somebody writes to the undo log, an undo with an operator's rights writes nothing that no run of
// the job can have done. It says what it left out, and the rest comes back.
func TestForgedRecords(t *testing.T) {
	admin := undo.Fields{"role": {ValueType: &firestorepb.Value_StringValue{StringValue: "admin"}}}
	deleted := func(path string) undo.Record {
		return undo.Record{Write: &undo.Write{Op: documents.Delete, Path: path, Found: true, Before: admin}}
	}
	changed := func(op documents.Op, path string) undo.Record {
		return undo.Record{Write: &undo.Write{Op: op, Path: path, Found: true, Before: admin, After: undo.Fields{}}}
	}
	forged := map[string]undo.Record{
		"admins/attacker":        deleted("admins/attacker"),
		"friends/attacker":       deleted("friends/attacker"), // the job changes friends, and deletes none
		"users/attacker/roles/r": deleted("users/attacker/roles/r"),
		"drafts/changed":         changed(documents.Update, "drafts/changed"), // the job only deletes drafts
		"drafts/set":             changed(documents.Set, "drafts/set"),
		"cleanupJobs/testJob/cleanupTodo/attackers": deleted("cleanupJobs/testJob/cleanupTodo/attackers"),
		"cleanupJobs/testJob":                       changed(documents.Set, "cleanupJobs/testJob"),
		"cleanupRuns/r/cleanupUndo/attackers":       deleted("cleanupRuns/r/cleanupUndo/attackers"),
		"authDeletionRetries/u":                     deleted("authDeletionRetries/u"),
		"gs://bucket/secrets/a.png":                 {Object: &undo.Object{Name: "secrets/a.png", Generation: 1}},
		"gs://bucket/users/a.png":                   {Object: &undo.Object{Name: "users/a.png", Generation: 1}},
		"gs://bucket/usersx/a/b.png":                {Object: &undo.Object{Name: "usersx/a/b.png", Generation: 1}},
	}
	w, report := newRun(t)
	strict := job
	strict.Reach.Objects = []cleanup.Files{{Folder: "orp"}}
	w.restorer.Jobs = map[string]cleanup.Job{job.Name: strict}
	var records []undo.Record
	for _, r := range forged {
		records = append(records, r)
	}
	w.log(t, report.RunID, "999999", time.Time{}, records...)
	for _, path := range []string{"drafts/changed", "drafts/set"} {
		w.Set(t, path, map[string]any{})
	}
	for _, apply := range []bool{false, true} {
		refused, back := map[string]bool{}, 0
		err := w.restorer.Undo(t.Context(), report.RunID, restore.Options{Apply: apply}, func(o restore.Outcome) error {
			switch {
			case o.Step == undo.Conflict && strings.Contains(o.Why, "not by this rule: as it is now, no run of testJob can have done it"):
				refused[strings.ReplaceAll(o.Target, w.Bucket, "bucket")] = true
			case o.Step == undo.Recreate:
				back++
			}
			return nil
		})
		if !errors.Is(err, restore.ErrRefused) || back != 13 { // documents, files and accounts
			t.Errorf("apply %t: %v, and %d things back", apply, err, back)
		}
		enginetest.Want(t, "refused", slices.Sorted(maps.Keys(forged)), slices.Sorted(maps.Keys(refused)))
	}
	w.resume(t)
	err := w.tried(t, report.RunID, apply)
	if held, _ := said(t, w.restorer); !errors.Is(err, restore.ErrRefused) || held != nil { // for nothing came back
		t.Errorf("%v, held: %v", err, held)
	}
	for path := range forged {
		if strings.Contains(path, "://") {
			continue
		}
		if d, err := w.Firestore(t).Doc(path).Get(t.Context()); err == nil && d.Data()["role"] != nil {
			t.Errorf("%s holds what somebody forged: %v", path, d.Data())
		}
	}
}

// TestForgedAccounts: an account comes back only as the one that the run deleted, for an item that leads to it. What somebody
// else wrote of accounts is told, and all that can be signed in by is shown.
func TestForgedAccounts(t *testing.T) {
	const boss = `"email":"boss@corp.example","emailVerified":true,"claims":{"admin":true},"providers":[{"id":"google.com","uid":"attackers"}]}`
	forged := map[string]undo.Record{ // by the item that they are said to belong to
		"users/x1":   {Account: &undo.Account{UID: "x1", Data: `{"uid":"attackers-own",` + boss}},
		"users/x2":   {Account: &undo.Account{UID: "x3", Data: `{"uid":"x3",` + boss}},
		"drafts/x4":  {Account: &undo.Account{UID: "x4", Data: `{"uid":"x4",` + boss}}, // its rule deletes no account
		"account x5": {Account: &undo.Account{UID: "x5", Data: `{"uid":"x5",` + boss}}, // nor does the job itself
		"users/x6/a": {Account: &undo.Account{UID: "x6", Data: `{"uid":"x6",` + boss}},
		"users/x7":   {Account: &undo.Account{UID: "x7", Data: `nothing that can be read`}},
		"":           {Account: &undo.Account{UID: "x8", Data: `{"uid":"x8",` + boss}},
	}
	w, report := newRun(t)
	var records []undo.Record
	var want []string
	for item, r := range forged {
		if item != "" {
			records = append(records, undo.Record{Item: item})
			r.Of = len(records)
		}
		records = append(records, r)
		want = append(want, "account "+r.Account.UID)
	}
	slices.Sort(want)
	// One that its item leads to, behind records that are left out.
	records = append(records, undo.Record{Item: "users/y"})
	records = append(records, undo.Record{Of: len(records), Account: &undo.Account{UID: "y", Data: `{"uid":"y","phoneNumber":"+4915112345678",` + boss}})
	w.log(t, report.RunID, "999999", w.Now, records...)
	for _, o := range []restore.Options{{}, {Apply: true}, {Apply: true, Only: []string{"account x1"}, Claims: true}} {
		var refused, back []string
		var note string
		err := w.restorer.Undo(t.Context(), report.RunID, o, func(o restore.Outcome) error {
			if !strings.HasPrefix(o.Target, "account ") {
				return nil
			}
			switch {
			case o.Step == undo.Conflict && strings.Contains(o.Why, "not by this rule: as it is now, no run of testJob can have done it"):
				refused = append(refused, o.Target)
			case o.Step == undo.Recreate:
				back = append(back, o.Target)
			}
			if o.Target == "account y" {
				note = o.Note
			}
			return nil
		})
		slices.Sort(refused)
		slices.Sort(back)
		check.Is(t, fmt.Sprintf("%+v", o), err, restore.ErrRefused)
		if len(o.Only) > 0 {
			enginetest.Want(t, "refused of one", []string{"account x1"}, refused)
			enginetest.Want(t, "back of one", 0, len(back))
			continue
		}
		enginetest.Want(t, "refused", want, refused)
		enginetest.Want(t, "back", []string{"account u0", "account u1", "account u2", "account y"}, back)
		enginetest.Want(t, "shown", `verified address boss@corp.example; phone number +4915112345678; identity google.com attackers; `+
			`claims {"admin":true} left out, for there is no --claims`, note)
	}
	enginetest.Want(t, "accounts", []string{"u0", "u1", "u2", "y"}, w.Accounts(t))
}

// TestDamagedLog: an entry that somebody damaged or added ends an undo before it changes anything, for nobody knows what it
// told. The error names it; without it, the rest comes back.
func TestDamagedLog(t *testing.T) {
	w, report := newRun(t)
	log := runlog.DoneOf(report.RunID)
	packed, err := runlog.Pack([]undo.Record{{Item: "users/u0"}})
	ok(t, err)
	for name, data := range map[string]map[string]any{
		"999999-00": {"data": []byte("garbage"), "parts": 1},
		"999998-01": {"data": packed[0], "parts": 2},
		"999997-00": {"parts": 1},
		"9":         {},
		"000001-01": {"data": packed[0], "parts": 1},
	} {
		w.Set(t, log+"/"+name, data)
		for _, apply := range []bool{false, true} {
			err := w.restorer.Undo(t.Context(), report.RunID, restore.Options{Apply: apply}, func(o restore.Outcome) error {
				t.Errorf("%s: %s %s", name, o.Step, o.Target)
				return nil
			})
			check.Fails(t, err, log+"/"+name, "delete what of it")
		}
		held, _ := said(t, w.restorer)
		enginetest.Want(t, "held", []string(nil), held)
		w.Delete(t, log+"/"+name)
	}
	steps, _ := w.undo(t, report.RunID, apply)
	enginetest.Want(t, "things that came back", 13, len(steps[undo.Recreate])) // documents, files and accounts
}

// TestForgedRuns: an undo log alone makes no run. A run needs its report, which must be of its job, and nothing is written for
// a job that deletes no accounts.
func TestForgedRuns(t *testing.T) {
	w := newWorld(t)
	const id = "testJob-20260101T000000Z-0123abcd"
	w.log(t, id, "000001", time.Time{}, undo.Record{Account: &undo.Account{UID: "attacker", Data: `{"uid":"attacker","claims":{"admin":true}}`}})
	tries := func(want error, o restore.Options) {
		t.Helper()
		o.Apply = true
		check.Is(t, "undo", w.tried(t, id, o), want)
	}
	tries(restore.ErrNoReport, restore.Options{})
	w.Set(t, "cleanupRuns/"+id, map[string]any{"job": "anotherJob"})
	tries(restore.ErrUnknown, restore.Options{})
	tries(restore.ErrUnknown, restore.Options{WithoutReport: true})
	w.restorer.Jobs = map[string]cleanup.Job{"testJob": {Name: "testJob", Rules: []cleanup.AnyRule{plain}}}
	w.Delete(t, "cleanupRuns/"+id)
	tries(restore.ErrRefused, restore.Options{WithoutReport: true})
	w.restorer.Jobs = nil
	tries(restore.ErrUnknown, restore.Options{WithoutReport: true})
	_, err := w.Auth(t).GetUser(t.Context(), "attacker")
	enginetest.Want(t, "that the forged account is not found", true, auth.IsUserNotFound(err))
}

// TestWhatTheRunMayNotDelete: what Google refused to delete, and its owner has deleted since, an undo leaves. What an earlier
// attempt deleted whose answer was lost comes back.
func TestWhatTheRunMayNotDelete(t *testing.T) {
	for name, lost := range map[string]bool{"refused": false, "refused after a lost answer": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var written, deleted atomic.Int32
			w.Hooks.Dial = append(w.Hooks.Dial, wire.Around(func(_ context.Context, _ string, sent, _ any, send func() error) error {
				commit, _ := sent.(*firestorepb.CommitRequest)
				if !slices.ContainsFunc(commit.GetWrites(), func(w *firestorepb.Write) bool { return strings.Contains(w.GetDelete(), "/drafts/") }) {
					return send()
				}
				if lost && written.Add(1) == 1 {
					return errors.Join(send(), status.Error(codes.Unavailable, "lost"))
				}
				return status.Error(codes.PermissionDenied, "no")
			}))
			w.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				switch {
				case r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, "/orphan"):
					return send()
				case lost && deleted.Add(1) == 1:
					answer, err := send()
					return nil, errors.Join(syscall.ECONNRESET, err, answer.Body.Close())
				}
				return enginetest.StorageRefuses(r, http.StatusForbidden), nil
			})
			rep := w.Run(t, "")
			enginetest.Want(t, "status", map[bool]report.Status{false: report.Failed, true: report.Completed}[lost], rep.Status)
			drafts := slices.Sorted(maps.Keys(w.Documents(t, "drafts")))
			for _, id := range drafts { // by their owners
				w.Delete(t, "drafts/"+id)
			}
			if slices.Contains(w.Objects(t), "orphan") {
				w.deleteObject(t, "orphan")
			}
			w.undo(t, rep.RunID, apply)
			enginetest.Want(t, "drafts", 3-len(drafts), len(w.Documents(t, "drafts")))
			enginetest.Want(t, "the object is back", lost, slices.Contains(w.Objects(t), "orphan"))
			enginetest.Want(t, "drafts that the run left", map[bool]int{false: 3}[lost], len(drafts))
		})
	}
}
