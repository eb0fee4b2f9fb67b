package engine_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

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
	if err := p.Resume(t.Context(), "testJob"); err != nil {
		t.Fatal(err)
	}
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

// TestHeldWhileItRuns: the run goes on, without what is put on the list meanwhile, and the hold outlasts its end. The next one
// does nothing.
func TestHeldWhileItRuns(t *testing.T) {
	s := newStoppable(t, ruleFunction(t, ruleJob("things", filed)))
	const items, underWay = 20, 16
	for i := range items {
		s.Set(t, fmt.Sprintf("things/t%02d", i), map[string]any{"left": 1})
	}
	p := s.Restorer(t, nil)
	var begun sync.WaitGroup
	begun.Add(underWay)
	var once sync.Once
	s.Hooks.Transport = enginetest.OnStorage(func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if s.ahead.Load() == 0 {
			begun.Done()
			begun.Wait()
			once.Do(func() {
				if err := p.Hold(t.Context(), "testJob", "ann", "the rule is wrong"); err != nil {
					t.Error(err)
				}
				if err := p.Keep(t.Context(), "ann", "it is mine", "things/"+left(t, s.Function)[0]); err != nil {
					t.Error(err)
				}
				s.ahead.Add(5)
			})
		}
		return send()
	})
	got := s.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{"delete things": {Planned: items, Done: items - 1}})
	enginetest.Want(t, "kept", map[string]int{jobstate.KeptListed: 1}, got.Kept)
	enginetest.Want(t, "left", 1, len(left(t, s.Function)))
	record := stateOf(t, s.Function)
	if record.Held == nil || len(record.Keep) != 1 || record.Last == nil || record.Last.RunID != got.RunID {
		t.Errorf("the record says %+v", record)
	}
	s.ahead.Add(int64(time.Hour / time.Second))
	enginetest.Want(t, "the next run", report.Skipped, s.Run(t, "").Status)
}
