package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestLostAnswerToTheLastCommit has report, checkpoint and lease saved and nobody told: the run is over, and held its lease
// to the end.
func TestLostAnswerToTheLastCommit(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	f.Hooks.Dial = append(f.Hooks.Dial, unary("Commit", func(n int, send func() error) error {
		err := send()
		if n == 2 && err == nil { // the first took the lease
			return status.Error(codes.Unavailable, "the answer was lost")
		}
		return err
	}))
	got := f.Run(t, "")
	enginetest.Want(t, "status", report.Completed, got.Status)
	enginetest.Want(t, "holder", "", enginetest.Holder(job(t, f)))
	enginetest.Want(t, "cleanup runs", 1, len(f.Documents(t, "cleanupRuns")))
	for _, line := range f.LogLines(t) {
		if strings.Contains(line["message"].(string), "lost its lease") {
			t.Errorf("logged: %s", line["message"])
		}
	}
}

// TestRequestsOfARunsEnds: the lease takes two requests, what is pinned one beside them, and the end of the run one, for the record
// is known from then.
func TestRequestsOfARunsEnds(t *testing.T) {
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(context.Context, *cleanup.Planner) error { return nil }})
	enginetest.NewGolden(t, "no-items").Run(t, "a run's beginning and end", f, "", "")
}

// TestLeaseLostBeforeTheLastCommit: somebody else's lease, taken right before the run gives its own back, stays, as does the
// checkpoint; the report is saved.
func TestLeaseLostBeforeTheLastCommit(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	theirs := enginetest.Leased("testJob-another", start.Add(time.Hour))
	f.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		if n == 2 { // the first took the lease
			f.Set(t, "cleanupJobs/testJob", theirs)
		}
		return send()
	})
	got := f.Run(t, "")
	enginetest.Want(t, "record", theirs, job(t, f))
	if saved := f.Documents(t, "cleanupRuns")[got.RunID]; got.Status != report.Completed || saved["status"] != "completed" {
		t.Errorf("%s, saved %v", got.Status, saved)
	}
	lost := 0
	for _, line := range f.LogLines(t) {
		if strings.Contains(line["message"].(string), "lost its lease") {
			lost++
		}
	}
	enginetest.Want(t, "lines about it", 1, lost)
}

// TestMarkedRightBeforeTheLastCommit: an order to stop that comes too late is gone with the run.
func TestMarkedRightBeforeTheLastCommit(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	f.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		if n == 2 { // the first took the lease
			f.Set(t, "cleanupJobs/testJob", enginetest.With(job(t, f), "stop", "testJob-this"))
		}
		return send()
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
	if _, marked := job(t, f)["stop"]; marked || enginetest.Holder(job(t, f)) != "" {
		t.Errorf("record %v", job(t, f))
	}
}
