package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestLostAnswerToTheLastCommit has report, checkpoint and lease saved and nobody told: the run is over, and held its lease
// to the end.
func TestLostAnswerToTheLastCommit(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	loseAnswers(f, func(n int, _ *firestorepb.CommitRequest) bool { return n == 2 }) // the first took the lease
	got := f.Run(t, "")
	enginetest.Want(t, "status", report.Completed, got.Status)
	enginetest.Want(t, "holder", "", enginetest.Holder(job(t, f)))
	enginetest.Want(t, "cleanup runs", 1, len(f.Documents(t, "cleanupRuns")))
	enginetest.Want(t, "lines about a lost lease", 0, len(linesWith(t, f, "lost its lease")))
}

// TestRequestsOfARunsEnds: the lease takes two requests, and the end of the run one, for the record is known from then.
func TestRequestsOfARunsEnds(t *testing.T) {
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(context.Context, *cleanup.Planner) error { return nil }})
	enginetest.NewGolden(t, "no-items").Run(t, "a run's beginning and end", f, "", "")
}

// TestClockThatIsWrong: a run takes no lease by a clock that Firestore's contradicts, and judges nothing by it.
func TestClockThatIsWrong(t *testing.T) {
	for off, refused := range map[time.Duration]bool{-time.Hour: true, -20 * time.Second: false, 0: false, 20 * time.Second: false, time.Hour: true} {
		f := newFunction(t, thingsJob(10))
		seed(t, f, 1)
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
