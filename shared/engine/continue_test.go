package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/internal/state"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

// slow is a function that deletes two things a run, and then has no more time to plan. It takes one run more to see that none is left.
type slow struct {
	*enginetest.Function
	url     string
	seconds atomic.Int64 // that have gone by
}

const slowRun = 150 // seconds a run takes, more than half of its time

func newSlow(t *testing.T, n int) *slow {
	t.Helper()
	s := &slow{}
	s.Function = newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		q := documents.Query{Collection: "things", PageSize: 2}
		for page, err := range p.Documents.Pages(ctx, q, documents.Cursor(p.Checkpoint)) {
			if err != nil {
				return err
			}
			if err := p.Consider(ctx, things, page.Documents); err != nil {
				return err
			}
			s.seconds.Add(slowRun)
			after, err := q.After(page.Documents[len(page.Documents)-1])
			if err != nil {
				return err
			}
			if err := p.SaveCheckpoint(string(after)); err != nil {
				return err
			}
		}
		return nil
	}})
	if s.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	s.Clock = func() time.Time { return start.Add(time.Duration(s.seconds.Load()) * time.Second) }
	s.Env["CONTINUE_FOR"], s.Env["CONTINUE_QUEUE"] = "1h", "continue"
	s.url = s.Serve(t)
	seed(t, s.Function, n)
	return s
}

// call calls the function over HTTP, as Cloud Scheduler does for a time a minute ago, with further headers.
func (s *slow) call(t *testing.T, body string, headers ...string) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/testJob", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-CloudScheduler-ScheduleTime", start.Add(-time.Minute).Format(time.RFC3339Nano))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close() // it is not read
	return response.StatusCode
}

// wantCall calls the function, and checks the answer and how many things are left then.
func (s *slow) wantCall(t *testing.T, status, things int, body string, headers ...string) {
	t.Helper()
	enginetest.Want(t, "answer", status, s.call(t, body, headers...))
	enginetest.Want(t, "left", things, len(left(t, s.Function)))
}

// nextNight calls the function for the next schedule time.
func (s *slow) nextNight(t *testing.T, body string) int {
	t.Helper()
	return s.call(t, body, "X-CloudScheduler-ScheduleTime", start.Format(time.RFC3339Nano))
}

// wantTasks delivers what is handed over, and checks how many tasks there were and how many things are left.
func (s *slow) wantTasks(t *testing.T, tasks, things int) {
	t.Helper()
	enginetest.Want(t, "tasks", tasks, s.deliver(t))
	enginetest.Want(t, "left", things, len(left(t, s.Function)))
}

// deliverAgain delivers what Cloud Tasks tries again, too.
func (s *slow) deliverAgain(t *testing.T) int {
	t.Helper()
	n, err := s.Tasks().Deliver(t.Context(), time.Now().Add(time.Hour))
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestUndoLogExpiresAtOnce: whichever call of a run wrote an entry, it is kept for UNDO_DAYS after the last call that there may be. Of a
// run in somebody's own process, that is a day more.
func TestUndoLogExpiresAtOnce(t *testing.T) {
	for more, run := range map[time.Duration]func(s *slow){
		time.Hour: func(s *slow) {
			s.wantCall(t, http.StatusOK, 2, "")
			s.deliver(t)
		},
		24 * time.Hour: func(s *slow) {
			if rep, err := s.Function.Function.Run(t.Context(), engine.RunOptions{}); err != nil || rep.Status != report.Completed {
				t.Fatalf("%+v, %v", rep, err)
			}
		},
	} {
		s := newSlow(t, 4)
		s.Env["UNDO_DAYS"] = "7"
		clock := s.Clock
		s.Clock = func() time.Time { return clock().Add(999 * time.Microsecond) }
		run(s)
		log := s.Documents(t, runlog.DoneOf(s.reports(t)[0]["runId"].(string)))
		enginetest.Want(t, "entries", 2, len(log))
		for name, entry := range log {
			enginetest.Want(t, name+" is kept until", any(start.Add(7*24*time.Hour+more)), entry["expireAt"])
		}
	}
}

// TestTaskThatComesDaysLate: one of a queue that was paused, say. A day late it deletes nothing that could not be taken back for
// UNDO_DAYS; later it does nothing, for other runs have come since, or will.
func TestTaskThatComesDaysLate(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]int{25 * time.Hour: 2, 25*time.Hour + time.Second: 1, 8 * 24 * time.Hour: 1} {
		s := newSlow(t, 4)
		s.Env["UNDO_DAYS"] = "1"
		s.wantCall(t, http.StatusOK, 2, "")
		s.seconds.Store(int64(late.Seconds()))
		s.wantTasks(t, 1, 4-2*want)
		log := s.Documents(t, runlog.DoneOf(onlyReport(t, s.Function).RunID))
		enginetest.Want(t, late.String()+": entries", want, len(log))
		latest := start.Add(25 * time.Hour)
		for _, entry := range log {
			if at := entry["expireAt"].(time.Time); at.After(latest) {
				latest = at
			}
		}
		if want == 2 && !latest.Equal(start.Add(late+24*time.Hour)) {
			t.Errorf("what it deleted is kept until %s", latest)
		}
	}
}

// stop tells a run to stop, and lets so much time pass that it looks.
func (s *slow) stop(t *testing.T, run string) {
	t.Helper()
	if err := jobstate.Stop(t.Context(), writerOf(t, s.Function), config.Config{}, "testJob", run); err != nil {
		t.Error(err)
	}
	s.seconds.Add(6)
}

// deliver delivers what is handed over, and what that hands over, and returns how many tasks there were.
func (s *slow) deliver(t *testing.T) int {
	t.Helper()
	n, err := s.Tasks().Deliver(t.Context(), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// reports returns the reports that were saved, in the order of the runs.
func (s *slow) reports(t *testing.T) (all []map[string]any) {
	t.Helper()
	for _, d := range s.Documents(t, "cleanupRuns") {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b map[string]any) int { return a["startedAt"].(time.Time).Compare(b["startedAt"].(time.Time)) })
	return all
}

// onlyReport returns the report of the one run that was saved.
func onlyReport(t *testing.T, f *enginetest.Function) *report.Report {
	t.Helper()
	runs := f.Documents(t, "cleanupRuns")
	if len(runs) != 1 {
		t.Fatalf("%d runs are saved, want one", len(runs))
	}
	return reportOf(t, f, slices.Collect(maps.Keys(runs))[0])
}

// reportOf returns the report of a run that was saved.
func reportOf(t *testing.T, f *enginetest.Function, id string) *report.Report {
	t.Helper()
	rep, err := report.Of(documents.Document{Path: "cleanupRuns/" + id, Data: f.Documents(t, "cleanupRuns")[id]})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// task returns the header of the task that continues a run after a call.
func task(run, after string) []string { return taskOf(start.Add(-time.Minute), run, 0, after) }

// taskOf returns the header of the task that continues a range of a run, which was told nothing but its now.
func taskOf(now time.Time, run string, n int, after string) []string {
	return []string{"Firesweep-Continues", fmt.Sprintf("%s %d %s %s", run, n, after, state.Told(report.Report{Now: now}))}
}

func (s *slow) alerts(t *testing.T) []map[string]any {
	t.Helper()
	return slices.DeleteFunc(s.LogLines(t), func(line map[string]any) bool { return line["alert"] != "behind" })
}

func TestContinuesUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 9)
	s.wantCall(t, http.StatusOK, 7, "")
	enginetest.Want(t, "tasks", 5, s.deliver(t))
	if rest := left(t, s.Function); len(rest) != 0 {
		t.Errorf("%v left", rest)
	}
	rep := onlyReport(t, s.Function)
	enginetest.WantReport(t, rep, report.Completed, enginetest.Done("delete thing", 9))
	enginetest.Want(t, "scanned", 0, rep.Scanned)
	enginetest.Want(t, "continued", false, rep.Continued)
	enginetest.Want(t, "now", start.Add(-time.Minute), rep.Now)
	enginetest.Want(t, "tasks", int64(5), rep.Usage.Tasks)
	enginetest.Want(t, "undo logs", 1, len(enginetest.LoggedRuns(t, s.Firestore(t))))
	summaries := s.Summaries(t)
	enginetest.Want(t, "lines of the whole", 2, len(summaries)) // when it begins to continue, and at its end
	begins(t, summaries[1]["message"].(string), "testJob completed: delete thing 9 of 9")
	if alerts := s.alerts(t); len(alerts) != 0 {
		t.Errorf("somebody is told: %v", alerts)
	}
	begins(t, s.Summaries(t)[0]["message"].(string), "testJob partial: out of time after 2m30s, 0 planned actions left, which continues at once; ")
	if s.call(t, "") != http.StatusOK || s.deliver(t) != 0 {
		t.Error("with nothing left, a run handed something over")
	}
}

// TestContinuesOnce: the chain stays one, whoever runs between and however often a task comes.
func TestContinuesOnce(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 9)
	s.call(t, "")
	first := s.reports(t)[0]["runId"].(string)
	again := task(first, first)
	s.call(t, "") // the next scheduled run is quicker than the task
	if n := len(left(t, s.Function)); n != 5 {
		t.Fatalf("%d left, want 5", n)
	}
	s.wantCall(t, http.StatusOK, 5, "", again...)
	s.wantTasks(t, 5, 0)
	seed(t, s.Function, 3)
	for _, id := range []string{first, s.reports(t)[1]["runId"].(string), "testJob-none"} {
		again := task(id, id)
		s.wantCall(t, http.StatusOK, 3, "", again...)
	}
	enginetest.Want(t, "tasks that came too late", 5, len(linesWith(t, s.Function, "testJob skipped: it was to continue run testJob-")))
}

// TestAFailureThatContinuesIsNotTriedAgain: where something failed and the run is continued at once, a retry would only meet the run that
// continues it, so the answer is 200. The log tells of the failure all the same.
func TestAFailureThatContinuesIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 3)
	plan, failed := s.Job.Plan, false
	s.Job.Plan = func(ctx context.Context, p *cleanup.Planner) error {
		if !failed {
			failed = true
			p.Fail(ctx, "things/odd", "read", errors.New("it is odd"))
		}
		return plan(ctx, p)
	}
	s.wantCall(t, http.StatusOK, 1, "")
	if line := s.Summaries(t)[0]; line["severity"] != "ERROR" {
		t.Errorf("summary %v", line)
	}
	if first := s.reports(t)[0]; first["status"] != "failed" || first["continued"] != true {
		t.Errorf("%v", first)
	}
	if n := s.deliver(t); n == 0 || len(left(t, s.Function)) != 0 {
		t.Errorf("%d tasks, %v left", n, left(t, s.Function))
	}
}

// TestTaskThatFailsIsTriedAgain: the run of a task cannot hand over what it leaves. Its task comes again, and continues.
func TestTaskThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 7)
	s.Hooks.DialTasks = append(s.Hooks.DialTasks, refuseFirst(2))
	s.wantCall(t, http.StatusInternalServerError, 5, "") // cannot
	lines := s.Summaries(t)
	if line := lines[len(lines)-1]; line["severity"] != "ERROR" || !strings.Contains(line["problem"].(string), "hand over what is left testJob: ") {
		t.Errorf("summary %v", line)
	}
	s.call(t, "") // cannot
	enginetest.Want(t, "tasks", 0, len(s.Tasks().Pending("")))
	if n := len(left(t, s.Function)); n != 3 {
		t.Fatalf("%d left", n)
	}
	reports := s.reports(t)
	first, second := reports[0]["runId"].(string), reports[1]["runId"].(string)
	s.wantCall(t, http.StatusOK, 3, "", task(first, first)...)
	s.wantCall(t, http.StatusOK, 1, "", task(second, second)...)
	if code := s.call(t, "", task(second, second)...); code != http.StatusOK || len(left(t, s.Function)) != 0 { // delivered once more
		t.Fatalf("%d, %v left", code, left(t, s.Function))
	}
	enginetest.Want(t, "runs", 2, len(s.reports(t)))
	enginetest.Want(t, "the first continues", nil, s.reports(t)[0]["continued"])
}

// refuseFirst refuses the first n tasks.
func refuseFirst(n int) grpc.DialOption {
	var calls atomic.Int64
	return wire.Around(func(_ context.Context, _ string, _, _ any, send func() error) error {
		if calls.Add(1) <= int64(n) {
			return status.Error(codes.PermissionDenied, "no")
		}
		return send()
	})
}

func TestContinuesAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 20)
	s.Env["CONTINUE_FOR"] = "450s" // the third run ends then
	s.call(t, "")
	s.wantTasks(t, 2, 14)
	alerts := s.alerts(t)
	if len(alerts) != 1 || !strings.Contains(alerts[0]["message"].(string), "it has continued since 2026-01-10T15:00:00Z, and CONTINUE_FOR allows no longer") {
		t.Errorf("alerts %v", alerts)
	}
	s.Env["CONTINUE_FOR"] = "451s"
	s.seconds.Store(0)
	s.call(t, "")
	enginetest.Want(t, "tasks", 3, s.deliver(t))
}

func TestStopsWhereItGetsNowhere(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 5)
	s.Hooks.BeforeApply = func() { s.seconds.Add(300) }
	s.call(t, "")
	s.wantTasks(t, 0, 5)
	alerts := s.alerts(t)
	if len(alerts) != 1 || !strings.Contains(alerts[0]["message"].(string), "it made no progress") {
		t.Errorf("alerts %v", alerts)
	}
}

// TestLimitHoldsForAllThatContinues: MAX_ACTIONS is what may be done without anybody looking, in however many runs.
func TestLimitHoldsForAllThatContinues(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 9)
	s.Env["MAX_ACTIONS"] = "5"
	s.call(t, "")
	n, err := s.Tasks().Deliver(t.Context(), time.Now().Add(time.Minute))
	if n != 1 || err == nil || !strings.Contains(err.Error(), "409") || len(left(t, s.Function)) != 5 { // the second is aborted
		t.Errorf("%d tasks, %v, %d left", n, err, len(left(t, s.Function)))
	}
	last := s.reports(t)[0]
	problem := last["failures"].([]any)[0].(map[string]any)["error"].(string)
	if last["status"] != "aborted" || !strings.Contains(problem, "more than 5 actions, counting 4 that runs of the same time have done or may have: ") {
		t.Errorf("%v: %s", last["status"], problem)
	}
	s.Env["MAX_ACTIONS"] = "6"
	s.nextNight(t, "")
	if n, err := s.Tasks().Deliver(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 4 || len(left(t, s.Function)) != 0 { // one is the aborted one, tried again, which answers 200
		t.Errorf("%d tasks, %d left: the next scheduled run has the limit for itself", n, len(left(t, s.Function)))
	}
}

// TestContinuesAsItWasToldTo: a forced run stays forced, but not as another revision, for nobody looked at what that finds. What is
// deployed as a dry run meanwhile does nothing more; nor does what was begun in another bucket.
func TestContinuesAsItWasToldTo(t *testing.T) {
	const forced = `{"dryRun":false,"force":true}`
	for name, tt := range map[string]struct {
		body, setting, value string // deployed meanwhile
		left, tasks          int
	}{
		"as deployed":           {body: "", left: 0, tasks: 2},
		"forced":                {body: forced, left: 0, tasks: 2},
		"dry run deployed":      {body: `{"force":true}`, setting: "DRY_RUN", value: "true", left: 1, tasks: 1},
		"deployed anew":         {setting: "K_REVISION", value: "2", left: 0, tasks: 2},
		"forced, deployed anew": {body: forced, setting: "K_REVISION", value: "2", left: 1, tasks: 1},
		"lifted, deployed anew": {body: `{"lift":["empty:things"]}`, setting: "K_REVISION", value: "2", left: 1, tasks: 1},
		"another bucket":        {setting: "STORAGE_BUCKET", value: "another", left: 1, tasks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSlow(t, 3)
			s.Uses = append(s.Uses, config.Storage)
			s.Env["K_REVISION"] = "1"
			s.call(t, tt.body)
			if tt.setting != "" {
				s.Env[tt.setting] = tt.value
			}
			enginetest.Want(t, "tasks", tt.tasks, s.deliver(t))
			enginetest.Want(t, "things left", tt.left, len(left(t, s.Function)))
			for _, report := range s.reports(t) {
				enginetest.Want(t, "forced", strings.Contains(tt.body, "force"), report["force"] == true)
			}
		})
	}
}

// TestATaskDecidesNothing: whoever may make tasks can make a run go on, and nothing else.
func TestATaskDecidesNothing(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 3)
	s.Env["MAX_ACTIONS"] = "3"
	s.call(t, "")
	first := s.reports(t)[0]
	id := first["runId"].(string)
	forged := append(task(id, id), "Firesweep-Now", "2000-01-01T00:00:00Z", "X-CloudScheduler-ScheduleTime", "2000-01-01T00:00:00Z")
	for _, body := range []string{`{"force":true}`, `{"dryRun":false}`, `{"lift":["empty:things"]}`, `{}`} {
		enginetest.Want(t, "answer to "+body, http.StatusBadRequest, s.call(t, body, forged...))
	}
	enginetest.Want(t, "runs", 1, len(s.reports(t)))
	enginetest.Want(t, "answer", http.StatusOK, s.call(t, "", forged...))
	second := s.reports(t)[0]
	enginetest.Want(t, "now", first["now"], second["now"])
	enginetest.Want(t, "forced", any(false), second["force"])
}

// TestTasksCallTheFunctionWhereItIsDeployed, not at the host that a caller names.
func TestTasksCallTheFunctionWhereItIsDeployed(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 3)
	s.Env["CONTINUE_URL"] = "https://job.example"
	s.Host = "evil.example"
	s.Run(t, "")
	for _, task := range s.Tasks().Pending("") {
		enginetest.Want(t, "address", "https://job.example", task.GetHttpRequest().GetUrl())
	}
	enginetest.Want(t, "tasks", 1, len(s.Tasks().Pending("")))
}

// TestLimitHoldsForRunsThatAreKilled: what a run that was killed may have done counts for all of the same now.
func TestLimitHoldsForRunsThatAreKilled(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 11)
	s.Env["MAX_ACTIONS"] = "5"
	killed := true
	s.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
		for _, w := range r.GetWrites() {
			name, fields := w.GetUpdate().GetName(), w.GetUpdate().GetFields()
			report := strings.Contains(name, "/cleanupRuns/testJob-") && !strings.Contains(name, "/cleanupUndo/")
			if killed && report && fields["status"].GetStringValue() != "killed" { // that is of the run before
				return status.Error(codes.PermissionDenied, "killed before its last commit")
			}
		}
		return send()
	})
	for range 5 {
		s.call(t, "")
		s.seconds.Add(3600) // its lease is over
	}
	enginetest.Want(t, "things left", 7, len(left(t, s.Function)))
	killed = false
	enginetest.Want(t, "answer to the retry", http.StatusConflict, s.call(t, ""))
	s.Env["CONTINUE_FOR"] = "0s"
	enginetest.Want(t, "answer of the next night", http.StatusOK, s.nextNight(t, ""))
	enginetest.Want(t, "things left", 5, len(left(t, s.Function)))
}

// TestTaskThatContinuesNothing: Cloud Tasks begins no run, so who may hand tasks over can have none forced.
func TestTaskThatContinuesNothing(t *testing.T) {
	s := newSlow(t, 3)
	s.Env["MAX_ACTIONS"] = "1"
	for _, body := range []string{"", `{"force":true,"dryRun":false}`} {
		s.wantCall(t, http.StatusBadRequest, 3, body, "X-CloudTasks-QueueName", "testJob-continue")
	}
}

func TestDoesNotGoOn(t *testing.T) {
	for name, set := range map[string]func(s *slow) (body string){
		"not told":         func(s *slow) string { delete(s.Env, "CONTINUE_FOR"); return "" },
		"told not to":      func(s *slow) string { s.Env["CONTINUE_FOR"] = "0s"; return "" },
		"a preview":        func(*slow) string { return `{"dryRun":true}` },
		"time of its own":  func(s *slow) string { s.StopAfter = 4 * time.Minute; return "" },
		"nothing is left":  func(s *slow) string { s.Clock = func() time.Time { return start }; return "" },
		"aborted by limit": func(s *slow) string { s.Env["MAX_ACTIONS"] = "1"; return "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSlow(t, 5)
			s.call(t, set(s))
			enginetest.Want(t, "tasks", 0, s.deliver(t))
			for _, r := range s.reports(t) {
				if r["continued"] != nil || r["continues"] != nil {
					t.Errorf("report %v", r)
				}
			}
		})
	}
}

// TestRefusesWrongContinuations: a header that names no range of a run of the job, and a call of it.
func TestRefusesWrongContinuations(t *testing.T) {
	f := newFunction(t, thingsJob(2))
	const id = "testJob-20260110T150000Z-00000000"
	for _, continues := range []string{
		"1", id, id + " 0", id + " 1 " + id, id + " -1 " + id + " x", id + " 01 " + id + " x", id + "  1 " + id + " x", id + " x " + id + " x",
		id + " 1 " + id + " x x", "otherJob-20260110T150000Z-00000000 0 " + id + " x", id + " 0 otherJob-20260110T150000Z-00000000 x",
		"testJob-" + strings.Repeat("x", 100) + " 0 " + id + " x", "testJob-x/y 0 " + id + " x", id + " 1 testJob-a/b x",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(""))
		r.Header.Set("Firesweep-Continues", continues)
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		wantAnswer(t, continues, w, http.StatusBadRequest, "is not a run of testJob")
	}
	if len(f.Request.Methods()) != 0 {
		t.Errorf("refused requests reached Firestore: %v", f.Request.Methods())
	}
}
