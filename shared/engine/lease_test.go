package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestRequestsOfARunsEnds: the lease takes two requests, and the end of the run one, for the record is known from then.
func TestRequestsOfARunsEnds(t *testing.T) {
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(context.Context, *cleanup.Planner) error { return nil }})
	enginetest.NewGolden(t, "no-items").Run(t, "a run's beginning and end", f, "", "")
}

// TestClockThatIsWrong: a run takes no lease by a clock that Firestore's contradicts, and judges nothing by it.
func TestClockThatIsWrong(t *testing.T) {
	for off, refused := range map[time.Duration]bool{-time.Hour: true, -20 * time.Second: false, 0: false, 20 * time.Second: false, time.Hour: true} {
		f := thingsFunction(t, 10, 1)
		f.Hooks.AnyClock = false
		f.Clock = func() time.Time { return time.Now().Add(off) }
		got := f.Run(t, "")
		if !refused {
			enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete thing", 1))
			continue
		}
		if got.Status != report.Failed || len(got.Failures) != 1 || !strings.Contains(got.Failures[0].Error, "and Firestore's ") {
			t.Errorf("%s off: %s, %v", off, got.Status, got.Failures)
		}
		enginetest.Want(t, "left", 1, len(left(t, f)))
		enginetest.Want(t, "the job's record", 0, len(job(t, f)))
	}
}
