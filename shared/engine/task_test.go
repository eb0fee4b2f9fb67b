package engine_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// touched is a thing on which a worker notes the color that it was called with, and the run's now.
var touched = cleanup.Rule[cleanup.Subject]{
	Name: "touched", Load: cleanup.Itself,
	Reach: cleanup.Reach{Items: "things", Writes: []string{"things"}},
	Judge: func(cleanup.Subject, cleanup.Run) cleanup.Decision {
		return cleanup.Do("paint thing", "it was asked for")
	},
	Change: func(s cleanup.Subject, _ cleanup.Decision, run cleanup.Run) cleanup.Change {
		data := map[string]any{"color": run.Task["color"], "at": run.Now}
		return cleanup.Change{Writes: []documents.Write{{Op: documents.Set, Ref: s.Ref(), Data: data}}}
	},
}

// touchJob is a worker that does to a thing what a rule says.
func touchJob(rule cleanup.AnyRule) cleanup.Job {
	return cleanup.Job{
		Name: "testWorker",
		Task: &cleanup.Task{
			Fields: []string{"thing", "color"},
			Check: func(task map[string]string) error {
				if task["color"] == "octarine" {
					return errors.New("no such color")
				}
				return nil
			},
		},
		Rules: []cleanup.AnyRule{rule},
		Plan: func(ctx context.Context, p *cleanup.Planner) error {
			return p.ConsiderRefs(ctx, rule, documents.Ref{Collection: "things", ID: p.Task["thing"]})
		},
	}
}

const paintRed = `{"thing":"t1","color":"red"}`

// TestWorker takes no lease and saves no report: many may run at once, beside a run of the same name and beside an undo.
func TestWorker(t *testing.T) {
	f := newFunction(t, touchJob(touched))
	f.Env["MAX_ACTIONS"] = "1"
	f.Set(t, "cleanupJobs/testWorker", enginetest.Leased("undo-testWorker-x", start.Add(time.Minute)))
	before := f.Documents(t, "cleanupJobs")
	got := enginetest.NewGolden(t, "worker").Run(t, "a worker takes no lease and saves no report", f, "", paintRed)
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("paint thing", 1))
	enginetest.Want(t, "job", "testWorker", got.Job)
	enginetest.Want(t, "things/t1", map[string]any{"color": "red", "at": start}, f.Documents(t, "things")["t1"])
	enginetest.Want(t, "the job's record", before, f.Documents(t, "cleanupJobs"))
	enginetest.Want(t, "reports", 0, len(f.Documents(t, "cleanupRuns")))
	enginetest.Want(t, "summaries", 1, len(f.Summaries(t)))
}

// TestWorkerTwiceAtOnce: of two calls for one task that both plan it, one does it, and the other finds that it is done.
func TestWorkerTwiceAtOnce(t *testing.T) {
	f := ruleFunction(t, touchJob(filed))
	f.Set(t, "things/t1", map[string]any{"left": 1})
	f.Put(t, "files/t1", nil, nil)
	var planned, ended sync.WaitGroup
	planned.Add(2)
	f.Hooks.BeforeApply = func() {
		planned.Done()
		planned.Wait()
	}
	var reports [2]*report.Report
	for i := range reports {
		ended.Go(func() { reports[i] = f.Run(t, paintRed) })
	}
	ended.Wait()
	if reports[0].Actions["delete things"].Done == 0 {
		slices.Reverse(reports[:])
	}
	enginetest.WantReport(t, reports[0], report.Completed, enginetest.Done("delete things", 1))
	enginetest.WantReport(t, reports[1], report.Completed, map[string]report.Counts{"delete things": {Planned: 1, Changed: 1}})
	enginetest.Want(t, "things", 0, len(left(t, f)))
	enginetest.Want(t, "files", 0, len(f.Objects(t)))
	enginetest.Want(t, "logs", []string{reports[0].RunID}, enginetest.LoggedRuns(t, f.Firestore(t)))
}

func TestWorkerRefusesWrongTasks(t *testing.T) {
	f := newFunction(t, touchJob(touched))
	for body, say := range map[string]string{ // FuzzTask proves which are refused
		`[]`:                          "not a JSON object",
		`{"thing":"t1","color":""}`:   `field \"color\" is missing or empty`,
		`{"thing":"t1","color":null}`: `field \"color\" must be a string`,
		`{"thing":"t1","color":"red","dryRun":1}`: `unknown field \"dryRun\"`,
		`{"thing":"a/b","color":"red"}`:           `thing \"a/b\" cannot be a document's id`,
		`{"thing":"t1","color":"octarine"}`:       "no such color",
	} {
		w := f.Post(t, body)
		wantAnswer(t, body, w, http.StatusBadRequest, say)
	}
	enginetest.Want(t, "requests to Firestore", 0, len(f.Request.Methods()))
}

func TestWorkerThatIsOutOfTimeFails(t *testing.T) {
	f := newFunction(t, touchJob(fates))
	f.Set(t, "things/t1", map[string]any{})
	late := lateClock(f)
	f.Hooks.BeforeApply = func() { late.Store(true) }
	got := f.Run(t, paintRed)
	enginetest.Want(t, "status", report.Failed, got.Status)
	enginetest.Want(t, "failures", 1, len(got.Failures))
	enginetest.Want(t, "things", 1, len(left(t, f)))
}

func TestTaskCarriesTheRunsNow(t *testing.T) {
	p := newFunction(t, touchJob(touched))
	if p.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	p.Set(t, "things/t1", map[string]any{})
	job := enginetest.On(t, engine.NewFunction(ruleJob("things", handed), 5*time.Minute, []config.Backend{config.Firestore, config.Tasks}), p.Project)
	job.Env["TASKS_TARGET_URL"] = p.Serve(t)
	job.Now = start.AddDate(0, 3, 0) // travelled in time
	got := job.Run(t, "")
	enginetest.Want(t, "status, tasks", []any{report.Completed, int64(1)}, []any{got.Status, got.Usage.Tasks})
	n, err := p.Tasks().Deliver(t.Context(), time.Now())
	enginetest.Want(t, "delivered", []any{1, nil}, []any{n, err})
	enginetest.Want(t, "things/t1", map[string]any{"color": "red", "at": job.Now}, p.Documents(t, "things")["t1"])
}

// TestWorkerWhoseTodoStays is denied the end of what it had to do, of which nobody but another call for the same task would know: so it
// fails, and that call finishes it.
func TestWorkerWhoseTodoStays(t *testing.T) {
	f := ruleFunction(t, touchJob(filed))
	f.Set(t, "things/t1", map[string]any{"left": 1})
	f.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		if n == 2 { // the first is the thing's
			return denied
		}
		return send()
	})
	got := f.Run(t, paintRed)
	enginetest.Want(t, "status", report.Failed, got.Status)
	enginetest.Want(t, "done", 1, got.Actions["delete things"].Done)
	enginetest.Want(t, "todos", 1, len(f.Documents(t, "cleanupJobs/testWorker/cleanupTodo")))
	enginetest.WantReport(t, f.Run(t, `{"color":"blue","thing":"t1"}`), report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "todos after another task", 1, len(f.Documents(t, "cleanupJobs/testWorker/cleanupTodo")))
	enginetest.WantReport(t, f.Run(t, paintRed), report.Completed, enginetest.Done("finish interrupted action", 1))
	enginetest.Want(t, "todos in the end", 0, len(f.Documents(t, "cleanupJobs/testWorker/cleanupTodo")))
}
