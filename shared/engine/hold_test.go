package engine_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const heldByAnn = `held since 2026-01-10T00:00:00Z by "ann", because "the rule is wrong": the job does nothing until firesweep resume `

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
	ok(t, p.Resume(t.Context(), "testJob"))
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
				f.OnCommit(func(_ int, _ *firestorepb.CommitRequest, send func() error) error {
					err := send()
					once.Do(held)
					return err
				})
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
	got = f.Run(t, paintRed)
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept", map[string]int{jobstate.KeptListed: 1}, got.Kept)
	f.Delete(t, "cleanupJobs/all-jobs")
	enginetest.WantReport(t, f.Run(t, paintRed), report.Completed, enginetest.Done("paint thing", 1))
}

// TestListedWhileItRuns: what is planned, and put on the list before its turn, is kept. A job that is held meanwhile goes on, and the hold
// outlasts its end: the next run does nothing.
func TestListedWhileItRuns(t *testing.T) {
	for kind, job := range map[string]cleanup.Job{
		"delete file": filesJob(), "delete account": accountsJob(boxes), "delete thing": thingsJob(10),
	} {
		s := newStoppable(t, ruleFunction(t, job))
		s.SignUp(t, "u")
		s.Put(t, "files/a", nil, []byte("x"))
		s.Set(t, "things/t", map[string]any{"n": 1})
		s.Hooks.BeforeApply = func() {
			p := s.Restorer(t, nil)
			err := p.Keep(t.Context(), "ann", "it is mine", "gs://"+s.Bucket+"/files/a", "account u", "things/t")
			if err = errors.Join(err, p.Hold(t.Context(), "testJob", "ann", "the rule is wrong")); err != nil {
				t.Error(err)
			}
			s.ahead.Add(5)
		}
		got := s.Run(t, "")
		enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{kind: {Planned: 1}})
		enginetest.Want(t, "kept", map[string]int{jobstate.KeptListed: 1}, got.Kept)
		enginetest.Want(t, "left", []int{1, 1, 1}, []int{len(s.Objects(t)), len(s.Accounts(t)), len(left(t, s.Function))})
		record := stateOf(t, s.Function)
		if record.Held == nil || len(record.Keep) != 3 || record.Last == nil || record.Last.RunID != got.RunID {
			t.Errorf("the record says %+v", record)
		}
		s.ahead.Add(int64(time.Hour / time.Second))
		enginetest.Want(t, "the next run", report.Skipped, s.Run(t, "").Status)
	}
}
