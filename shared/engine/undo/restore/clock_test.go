package restore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

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
