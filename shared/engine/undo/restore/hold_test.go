package restore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
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
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// TestHeld: the job does nothing until it is resumed, nor does a job that only its record tells of, nor one that never ran, whether or
// not anybody knows its name. One that never ran and is about other things does its work. Then all is deleted again.
func TestHeld(t *testing.T) {
	w, rep := newRun(t)
	w.Set(t, "cleanupJobs/elsewhere", enginetest.From("behind it"))
	known, unrelated := job, cleanup.Job{Name: "unrelatedJob", Plan: func(context.Context, *cleanup.Planner) error { return nil }}
	known.Name = "knownJob"
	w.restorer.Jobs = map[string]cleanup.Job{"testJob": job, known.Name: known, unrelated.Name: unrelated}
	for name, reach := range map[string]cleanup.Reach{
		"judges": {Items: "drafts"}, "writes": {Items: "x", Writes: []string{"drafts"}}, "signsOut": {Items: "x", Account: true}, "unlike": {Items: "x"},
	} {
		rule := plain
		rule.Reach, rule.Change = reach, users.Change
		w.restorer.Jobs[name] = cleanup.Job{Name: name, Rules: []cleanup.AnyRule{rule}}
		w.Set(t, "cleanupJobs/"+name, map[string]any{})
	}
	w.undo(t, rep.RunID, restore.Options{Apply: true, By: "ann"})
	held, kept := said(t, w.restorer)
	enginetest.Want(t, "held", []string{"elsewhere", "judges", "new-jobs", "signsOut", "testJob", "writes"}, held)
	enginetest.Want(t, "kept", 0, len(kept))
	enginetest.Want(t, "begins anew", any(true), w.Documents(t, "cleanupJobs")["elsewhere"]["rewound"])
	next := w.Run(t, "")
	enginetest.Want(t, "next", report.Skipped, next.Status)
	if len(next.Warnings) != 1 || !strings.Contains(next.Warnings[0], `by "ann", because "it came back by undoing a run"`) {
		t.Errorf("%v", next.Warnings)
	}
	renamed := job
	renamed.Name = "renamedJob"
	for _, other := range []cleanup.Job{renamed, known, unrelated} {
		f := enginetest.On(t, engine.NewFunction(other, 5*time.Minute, []config.Backend{config.Firestore, config.Storage, config.Auth}), w.Project)
		f.Now = w.Now
		got := f.Run(t, "")
		if other.Name == unrelated.Name {
			enginetest.Want(t, other.Name, report.Completed, got.Status)
			continue
		}
		enginetest.Want(t, other.Name, report.Skipped, got.Status)
		if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "until firesweep resume new-jobs") {
			t.Errorf("%v", got.Warnings)
		}
	}
	enginetest.Want(t, "users and drafts", 6, len(w.Documents(t, "users"))+len(w.Documents(t, "drafts")))
	w.resume(t)
	w.run(t)
	enginetest.Want(t, "things left", 0, len(w.Documents(t, "users"))+len(w.Documents(t, "drafts"))+len(w.Objects(t)))
}

// TestWhatIsWrittenForAnItem: what was written for an item that is still there is not written again, once it was taken back by
// its name.
func TestWhatIsWrittenForAnItem(t *testing.T) {
	w := newWorld(t)
	note := cleanup.Rule[cleanup.Subject]{
		Name: "note", Load: cleanup.Itself, Reach: cleanup.Reach{Items: "drafts", Writes: []string{"notes"}},
		Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision { return cleanup.Do("note draft", "due") },
		Change: func(s cleanup.Subject, _ cleanup.Decision, _ cleanup.Run) cleanup.Change {
			return cleanup.Change{Writes: []documents.Write{{Op: documents.Set, Ref: documents.Ref{Collection: "notes", ID: s.ID()}, Data: map[string]any{}}}}
		},
	}
	w.Job.Rules, w.Job.Plan = []cleanup.AnyRule{note}, func(ctx context.Context, p *cleanup.Planner) error {
		return p.Sweep(ctx, documents.Query{Collection: "drafts"}, "", note)
	}
	w.restorer.Jobs["testJob"] = w.Job
	rep := w.run(t)
	w.undo(t, rep.RunID, restore.Options{Apply: true, Only: []string{"notes/u1"}})
	w.keeps(t, "drafts/u1")
	w.run(t)
	enginetest.Want(t, "notes", []string{"u0", "u2"}, slices.Sorted(maps.Keys(w.Documents(t, "notes"))))
}

// TestNothingCameBack: an undo that brings nothing back lets go what it held, and nobody else's hold. So does one of a part
// with what did not come back.
func TestNothingCameBack(t *testing.T) {
	w, rep := newRun(t)
	w.undo(t, rep.RunID, apply)
	w.resume(t)
	once, lost := w.restorer, new(atomic.Bool)
	w.restorer = w.losing(t, lost)
	w.undo(t, rep.RunID, apply)
	enginetest.Want(t, "an answer was lost", true, lost.Load())
	held, _ := said(t, w.restorer)
	enginetest.Want(t, "held", []string(nil), held)
	ok(t, once.Undo(t.Context(), rep.RunID, apply, func(restore.Outcome) error {
		return once.Store("testJob").Hold(t.Context(), jobstate.Hold{By: "ann", Why: "not yet"})
	}))
	held, _ = said(t, w.restorer)
	enginetest.Want(t, "held meanwhile", []string{"testJob"}, held)
	byHand, byUndo := enginetest.HeldBy("ann", "the rule is wrong"), enginetest.HeldBy("ann", "it came back")
	byUndo["held"].(map[string]any)["runId"] = "testJob-other"
	for name, record := range map[string]map[string]any{"by hand": byHand, "by another undo": byUndo} {
		w.Set(t, "cleanupJobs/testJob", record)
		w.undo(t, rep.RunID, apply)
		got, _ := w.Documents(t, "cleanupJobs")["testJob"]["held"].(map[string]any)
		enginetest.Want(t, name, record["held"].(map[string]any)["why"], got["why"])
	}
	for _, path := range []string{"cleanupJobs/testJob", "users/u1", "drafts/u1"} {
		w.Delete(t, path)
	}
	w.Set(t, "users/u1", map[string]any{"name": "another"})
	lost.Store(false)
	w.undo(t, rep.RunID, restore.Options{Apply: true, Only: []string{"users/u1", "drafts/u1"}})
	enginetest.Want(t, "an answer was lost", true, lost.Load())
	w.keeps(t, "drafts/u1")
}

// losing loses the first answer to what holds a job, once more whenever lost is reset.
func (w world) losing(t *testing.T, lost *atomic.Bool) restore.Project {
	t.Helper()
	return w.dying(t, new(atomic.Bool), func(request any, send func() error) error {
		commit, _ := request.(*firestorepb.CommitRequest)
		if strings.Contains(fmt.Sprint(commit.GetWrites()), "undoing a run") && lost.CompareAndSwap(false, true) {
			return errors.Join(send(), status.Error(codes.Unavailable, "lost"))
		}
		return send()
	})
}

// TestTooManyToKeep: nothing comes back, and nothing is kept.
func TestTooManyToKeep(t *testing.T) {
	w := newWorld(t)
	w.SetAlike(t, 1001, "drafts/d%04d", map[string]any{"name": "x"})
	rep := w.run(t)
	for _, apply := range []bool{false, true} {
		o := restore.Options{Apply: apply, Where: &restore.Where{Field: "name", Value: "x"}}
		err := w.tried(t, rep.RunID, o)
		check.Is(t, "many", err, restore.ErrMany)
		enginetest.Want(t, "drafts", 0, len(w.Documents(t, "drafts")))
	}
	w.keeps(t)
}

// TestAnotherEntryIsDeployed: a job that ran with another entry than the operator's list has is held, whatever that one reaches.
func TestAnotherEntryIsDeployed(t *testing.T) {
	for entry, held := range map[string][]string{"deployed": {"new-jobs", "testJob"}, "edited": {"new-jobs", "otherJob", "testJob"}} {
		w, rep := newRun(t)
		other := cleanup.Job{Name: "otherJob", Entry: "deployed", Plan: func(context.Context, *cleanup.Planner) error { return nil }}
		enginetest.On(t, engine.NewFunction(other, time.Minute, []config.Backend{config.Firestore}), w.Project).Run(t, "")
		other.Entry = entry
		w.restorer.Jobs = map[string]cleanup.Job{"testJob": job, "otherJob": other}
		w.undo(t, rep.RunID, apply)
		got, _ := said(t, w.restorer)
		enginetest.Want(t, "held, where the list has it as "+entry, held, got)
	}
}

// TestResumedMeanwhile: whoever resumes a job while what it deleted comes back has it run after that.
func TestResumedMeanwhile(t *testing.T) {
	w, rep := newRun(t)
	resumed := false
	err := w.restorer.Undo(t.Context(), rep.RunID, apply, func(restore.Outcome) error {
		if resumed {
			return nil
		}
		resumed = true
		w.resume(t)
		enginetest.Want(t, "a run meanwhile", report.Skipped, w.Run(t, "").Status) // for the undo has the lease
		return nil
	})
	held, _ := said(t, w.restorer)
	if err != nil || held != nil {
		t.Errorf("%v, held: %v", err, held)
	}
	w.run(t)
	enginetest.Want(t, "users", 0, len(w.Documents(t, "users")))
}

// TestRecordThatNobodyCanRead: an undo that cannot hold a job brings nothing back, says what to do, and lets the others go on.
func TestRecordThatNobodyCanRead(t *testing.T) {
	w, rep := newRun(t)
	w.Set(t, "cleanupJobs/zebra", map[string]any{"held": "yes"})
	err := w.tried(t, rep.RunID, apply)
	check.Fails(t, err, "the field held of cleanupJobs/zebra is not one that this program wrote: delete that field")
	w.Delete(t, "cleanupJobs/zebra")
	held, _ := said(t, w.restorer)
	enginetest.Want(t, "held", []string(nil), held)
	enginetest.Want(t, "users", 0, len(w.Documents(t, "users")))
}

// TestKilledUndo ends an undo before and after each commit. Before anything is back, all jobs are held; what the run has left to do
// is forgotten when all is back. What is back stays. Done again, the undo goes on.
func TestKilledUndo(t *testing.T) {
	ended := false
	for n := int32(1); !ended; n++ {
		for _, after := range []bool{false, true} {
			w, rep := newRun(t)
			const todos = "cleanupJobs/testJob/cleanupTodo"
			w.Set(t, todos+"/"+rep.RunID+"-000099", map[string]any{"run": rep.RunID})
			w.Set(t, "cleanupJobs/elsewhere", map[string]any{})
			gone := w.Everything(t)
			var commits atomic.Int32
			var dead atomic.Bool
			p := w.dying(t, &dead, func(request any, send func() error) error {
				if _, is := request.(*firestorepb.CommitRequest); !is || commits.Add(1) != n {
					return send()
				}
				if after {
					_ = send() // nobody is told
				}
				dead.Store(true)
				return errDead
			})
			err := p.Undo(t.Context(), rep.RunID, apply, func(restore.Outcome) error { return nil })
			ended = commits.Load() < n
			if (err == nil) != ended {
				t.Fatalf("commit %d: %v", n, err)
			}
			back := 0
			for name := range w.Everything(t) {
				if _, was := gone[name]; !was && !strings.HasPrefix(name, "cleanup") {
					back++
				}
			}
			held, _ := said(t, w.restorer)
			left, all := len(w.Documents(t, todos)), slices.Equal(held, []string{"elsewhere", "new-jobs", "testJob"})
			if (left == 0 || back > 0) && !all || left == 0 && back != 13 {
				t.Errorf("commit %d, after %t: %d things are back, %d are left to do, held: %v", n, after, back, left, held)
			}
			now := time.Now().Add(3 * time.Minute)
			w.Clock = func() time.Time { return now }
			if slices.Contains(held, "testJob") {
				before := w.Everything(t)
				enginetest.Want(t, "a run", report.Skipped, w.Run(t, "").Status)
				after := w.Everything(t)
				for name, data := range before {
					if !strings.HasPrefix(name, "cleanup") {
						enginetest.Want(t, name, data, after[name])
					}
				}
			}
			w.undo(t, rep.RunID, apply)
			held, _ = said(t, w.restorer)
			enginetest.Want(t, "held", []string{"elsewhere", "new-jobs", "testJob"}, held)
			if things := len(w.Documents(t, "users")) + len(w.Documents(t, "drafts")) + len(w.Objects(t)) + len(w.Accounts(t)); things != 13 {
				t.Errorf("commit %d, after %t: %d things are back, want 13", n, after, things)
			}
		}
	}
}

var errDead = status.Error(codes.PermissionDenied, "the process is dead")

// dying returns a restorer of which nothing arrives any more once it is dead.
func (w world) dying(t *testing.T, dead *atomic.Bool, disturb func(request any, send func() error) error) restore.Project {
	t.Helper()
	p := enginetest.OpenRestorer(t, backends.Hooks{
		Dial: append([]grpc.DialOption{wire.Around(func(_ context.Context, _ string, request, _ any, send func() error) error {
			return disturb(request, send)
		})}, wire.Before(func(context.Context, string, any) error {
			if dead.Load() {
				return errDead
			}
			return nil
		})...),
		Transport: enginetest.OnStorage(func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if dead.Load() {
				return nil, errDead
			}
			return send()
		}),
	}, w.Getenv, nil, config.Firestore, config.Storage, config.Auth)
	p.Jobs = w.restorer.Jobs
	return p
}

// TestTwoUndosOfARun: of two processes, one is refused: what it did not bring back itself it would take for what is not back, and
// release it. One that was killed is waited for, and it is said until when.
func TestTwoUndosOfARun(t *testing.T) {
	w, rep := newRun(t)
	w.lease(t, undo.HolderPrefix+rep.RunID, time.Minute)
	until := w.Clock().Add(time.Minute).UTC().Format("T15:04")
	err := w.tried(t, rep.RunID, apply)
	check.Is(t, "after one that was killed", err, restore.ErrUnderWay)
	check.Fails(t, err, until)
	now := w.Clock().Add(2 * time.Minute)
	w.Clock = func() time.Time { return now }
	var once sync.Once
	err = w.restorer.Undo(t.Context(), rep.RunID, apply, func(restore.Outcome) error {
		once.Do(func() { check.Is(t, "beside another", w.tried(t, rep.RunID, apply), restore.ErrUnderWay) })
		return nil
	})
	ok(t, err)
	enginetest.Want(t, "the next run", report.Skipped, w.Run(t, "").Status)
}

// TestOtherDatabases: files and accounts are those of all of a project's databases, whose jobs are held for them too, or keep
// them. None of these may be under way.
func TestOtherDatabases(t *testing.T) {
	w, report := newRun(t)
	other := enginetest.OpenRestorer(t, backends.Hooks{}, func(name string) string {
		if name == "FIRESTORE_DATABASE" {
			return "other"
		}
		return w.Getenv(name)
	}, nil, config.Firestore)
	o := restore.Options{Apply: true, Elsewhere: func(f func(restore.Project) error) error { return f(other) }}
	running := documents.Write{
		Op: documents.Set, Ref: documents.Ref{Collection: "cleanupJobs", ID: "otherJob"},
		Data: enginetest.Leased("otherJob-1", time.Now().Add(time.Minute)),
	}
	ok(t, other.DB.Put(t.Context(), []documents.Write{running}))
	check.Is(t, "beside a run", w.tried(t, report.RunID, o), restore.ErrUnderWay)
	held, _ := said(t, other)
	enginetest.Want(t, "held after that", []string(nil), held)
	running.Data = map[string]any{}
	ok(t, other.DB.Put(t.Context(), []documents.Write{running}))
	file := "gs://" + w.Bucket + "/users/u1/a.png"
	part := o
	part.Only, part.Elsewhere = []string{"drafts/u0"}, func(func(restore.Project) error) error {
		t.Error("the jobs of another database are asked about a document")
		return nil
	}
	w.undo(t, report.RunID, part)
	part = o
	part.Only = []string{"drafts/u1", "account u1", file}
	w.undo(t, report.RunID, part)
	held, kept := said(t, other)
	enginetest.Want(t, "held after a part", []string(nil), held)
	enginetest.Want(t, "kept there", map[string][]string{"all-jobs": {"account u1", file}}, kept)
	w.undo(t, report.RunID, o)
	held, _ = said(t, other)
	enginetest.Want(t, "held", []string{"new-jobs", "otherJob", "testJob"}, held)
}

// TestCallThatEndsMeanwhile: what a run's last call still wrote before the undo had the lease comes back too.
func TestCallThatEndsMeanwhile(t *testing.T) {
	w, report := newRun(t)
	var once sync.Once
	w.restorer.Clock = func() time.Time { // which is first asked right before the lease is taken
		once.Do(func() {
			w.log(t, report.RunID, "999999", time.Now(),
				undo.Record{Write: &undo.Write{Op: documents.Delete, Path: "drafts/last", Found: true, Before: undo.Fields{}}})
		})
		return time.Now()
	}
	w.undo(t, report.RunID, apply)
	enginetest.Want(t, "drafts", 4, len(w.Documents(t, "drafts")))
}

// TestOperatorsClockIsOff: whatever the clock says where a run is taken back, the lease of the undo keeps runs out, that of a
// run keeps the undo out, and one that has ended keeps nobody out.
func TestOperatorsClockIsOff(t *testing.T) {
	for name, off := range map[string]time.Duration{"slow": -3 * time.Minute, "fast": 3 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			w, rep := newRun(t)
			w.restorer.Clock = func() time.Time { return time.Now().Add(off) }
			for _, apply := range []bool{false, true} {
				w.lease(t, "testJob-other", time.Minute)
				err := w.tried(t, rep.RunID, restore.Options{Apply: apply})
				check.Is(t, "beside a run", err, restore.ErrUnderWay)
				check.Fails(t, err, "testJob-other")
			}
			w.Set(t, "cleanupJobs/another", enginetest.Leased("another-1", time.Now().Add(-time.Minute)))
			w.lease(t, "testJob-other", -time.Minute)
			var once sync.Once
			err := w.restorer.Undo(t.Context(), rep.RunID, apply, func(restore.Outcome) error {
				once.Do(func() { enginetest.Want(t, "a run meanwhile", report.Skipped, w.Run(t, "").Status) })
				return nil
			})
			enginetest.Want(t, "after a run has ended", nil, err)
			enginetest.Want(t, "drafts that are back", 3, len(w.Documents(t, "drafts")))
		})
	}
}
