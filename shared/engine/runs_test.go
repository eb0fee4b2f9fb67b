package engine_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

const slowRun = 150 // seconds that a page takes, half of a run's time

// newSlow is one that deletes two things a run, and then has no more time to plan. It takes one run more to see that none is left.
func newSlow(t *testing.T, n int) *stoppable {
	t.Helper()
	s := stoppableThings(t, n)
	onCalls(s.Function, "RunQuery", func(int) error {
		s.ahead.Add(slowRun)
		return nil
	})
	s.Now = start.Add(-time.Minute)
	return s
}

// here runs the function in this process, and returns the report of each run.
func (s *stoppable) here(ctx context.Context, t *testing.T, o engine.Options, ended func(*report.Report)) (all []*report.Report) {
	t.Helper()
	followed := true
	if err := s.Function.Function.Run(ctx, o, func(rep *report.Report, more bool) {
		if !followed {
			t.Errorf("run %s follows, and nobody said so", rep.RunID)
		}
		followed = more
		all = append(all, rep)
		ended(rep)
	}); err != nil {
		t.Fatal(err)
	}
	if followed {
		t.Error("no run follows, and one was to")
	}
	return all
}

func ignore(*report.Report) {}

// TestARunThatFailedAndIsOutOfTime answers 500, and the retry goes on from its checkpoint.
func TestARunThatFailedAndIsOutOfTime(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 3)
	plan, failed := s.Job.Plan, false
	s.Job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		if !failed {
			failed = true
			p.Fail(ctx, "things/odd", "read", documents.ErrChanged)
		}
		return plan(ctx, p)
	}
	enginetest.Want(t, "answer", http.StatusInternalServerError, s.Post(t, "").Code)
	enginetest.Want(t, "left", []string{"t002"}, left(t, s.Function))
	enginetest.Want(t, "answer to the retry", http.StatusOK, s.Post(t, "").Code)
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
}

// TestRunAfterRunHere: in somebody's own process a run follows the other until nothing is left, each with its own now, report and
// undo log.
func TestRunAfterRunHere(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 5)
	s.Env["UNDO_DAYS"] = "7"
	all := s.here(t.Context(), t, engine.Options{By: "me"}, ignore)
	var statuses []report.Status
	done := 0
	for i, rep := range all {
		statuses = append(statuses, rep.Status)
		done += rep.Done()
		began := start.Add(time.Duration(i) * slowRun * time.Second)
		enginetest.Want(t, "now", began, rep.Now)
		enginetest.Want(t, "revision", "me", rep.Revision)
		for name, entry := range s.Documents(t, runlog.DoneOf(rep.RunID)) {
			enginetest.Want(t, name+" is kept until", any(began.AddDate(0, 0, 7)), entry["expireAt"])
		}
	}
	enginetest.Want(t, "runs", []report.Status{report.Partial, report.Partial, report.Partial, report.Completed}, statuses)
	enginetest.Want(t, "done", 5, done)
	enginetest.Want(t, "left", 0, len(left(t, s.Function)))
	enginetest.Want(t, "saved", len(all), len(s.Documents(t, "cleanupRuns")))
	enginetest.Want(t, "undo logs", 3, len(enginetest.LoggedRuns(t, s.Firestore(t))))
}

// TestRunAfterRunOfAPlan: runs that are restricted to a plan follow each other until all of it is done, and nothing else is.
func TestRunAfterRunOfAPlan(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 5)
	approved := approvalOf(t, s.Function)
	for _, items := range approved.Items {
		delete(items, "things/t003")
	}
	all := s.here(t.Context(), t, engine.Options{Approved: approved}, ignore)
	enginetest.Want(t, "the last run", report.Completed, all[len(all)-1].Status)
	if len(all) < 2 {
		t.Errorf("%d runs did all, want several", len(all))
	}
	enginetest.Want(t, "left", []string{"t003"}, left(t, s.Function))
}

// TestNoRunFollowsHere: after one that was canceled, was stopped, got nowhere, was aborted, or lost its lease.
func TestNoRunFollowsHere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		disturb func(t *testing.T, s *stoppable, cancel func()) // while it applies
		limit   string
		want    report.Status
		left    int
	}{
		"canceled": {disturb: func(_ *testing.T, _ *stoppable, cancel func()) { cancel() }, want: report.Partial, left: 5},
		"stopped": {disturb: func(t *testing.T, s *stoppable, _ func()) {
			t.Helper()
			s.tell(t)
		}, want: report.Partial, left: 5},
		"got nowhere": {disturb: func(_ *testing.T, s *stoppable, _ func()) { s.ahead.Add(300) }, want: report.Partial, left: 5},
		"lost its lease": {disturb: func(t *testing.T, s *stoppable, _ func()) {
			t.Helper()
			s.Set(t, "cleanupJobs/testJob", enginetest.Leased("testJob-other", s.Clock().Add(time.Minute)))
		}, want: report.Partial, left: 5},
		"aborted": {limit: "1", want: report.Aborted, left: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlow(t, 5)
			if tt.limit != "" {
				s.Env["MAX_ACTIONS"] = tt.limit
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.Hooks.BeforeApply = func() {
				if tt.disturb != nil {
					tt.disturb(t, s, cancel)
				}
			}
			all := s.here(ctx, t, engine.Options{}, ignore)
			if len(all) != 1 || all[0].Status != tt.want {
				t.Errorf("%d runs, the first %s", len(all), all[0].Status)
			}
			enginetest.Want(t, "left", tt.left, len(left(t, s.Function)))
		})
	}
}

// TestAnotherRunComesBetween: the lease is free between two runs. Where a scheduled run takes it, that goes on, and this ends.
func TestAnotherRunComesBetween(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 5)
	all := s.here(t.Context(), t, engine.Options{}, func(*report.Report) {
		s.Set(t, "cleanupJobs/testJob", enginetest.Leased("testJob-other", s.Clock().Add(time.Minute)))
	})
	if len(all) != 2 || all[1].Status != report.Skipped {
		t.Errorf("%d runs, the last %s", len(all), all[len(all)-1].Status)
	}
}
