package restore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// TestTwoUndosOfARun: of two processes, one is refused: what it did not bring back itself it would take for what is not back, and
// release it. One that was killed is waited for, and it is said until when.
func TestTwoUndosOfARun(t *testing.T) {
	w, rep := newRun(t)
	w.lease(t, undo.HolderPrefix+rep.RunID, time.Minute)
	until := w.Clock().Add(time.Minute).UTC().Format("T15:04")
	if err := w.tried(t, rep.RunID, apply); !errors.Is(err, restore.ErrUnderWay) || !strings.Contains(err.Error(), until) {
		t.Errorf("after one that was killed: %v, want that it ends at %s", err, until)
	}
	now := w.Clock().Add(2 * time.Minute)
	w.Clock = func() time.Time { return now }
	var once sync.Once
	err := w.restorer.Undo(t.Context(), rep.RunID, apply, func(restore.Outcome) error {
		once.Do(func() {
			if err := w.tried(t, rep.RunID, apply); !errors.Is(err, restore.ErrUnderWay) {
				t.Errorf("beside another: %v", err)
			}
		})
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
	if err := w.tried(t, report.RunID, o); !errors.Is(err, restore.ErrUnderWay) {
		t.Errorf("beside a run: %v", err)
	}
	held, _ := said(t, other)
	enginetest.Want(t, "held after that", []string(nil), held)
	running.Data = map[string]any{}
	ok(t, other.DB.Put(t.Context(), []documents.Write{running}))
	file := "gs://" + w.Bucket + "/users/u1/a.png"
	part := o
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
				if !errors.Is(err, restore.ErrUnderWay) || !strings.Contains(err.Error(), "testJob-other") {
					t.Errorf("apply %t: beside a run: %v", apply, err)
				}
			}
			w.Set(t, "cleanupJobs/another", enginetest.Leased("another-1", time.Now().Add(-time.Minute)))
			w.lease(t, "testJob-other", -time.Minute)
			var once sync.Once
			err := w.restorer.Undo(t.Context(), rep.RunID, apply, func(restore.Outcome) error {
				once.Do(func() {
					enginetest.Want(t, "a run meanwhile", report.Skipped, w.Run(t, "").Status)
				})
				return nil
			})
			if err != nil {
				t.Errorf("after a run has ended: %v", err)
			}
			enginetest.Want(t, "drafts that are back", 3, len(w.Documents(t, "drafts")))
		})
	}
}
