package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
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

// TestKilledRunIsFound: the run that takes the lease of a dead one over saves a report for it, in the same commit.
func TestKilledRunIsFound(t *testing.T) {
	f := thingsFunction(t, 10, 2)
	wall := start
	f.Clock = func() time.Time { return wall }
	var record map[string]any
	f.Hooks.BeforeApply = func() { record = job(t, f) }
	killed := f.Run(t, `{"force":true}`)
	f.Reset(t)
	f.Set(t, "cleanupJobs/testJob", record) // what a run leaves that is killed while it applies
	f.Hooks.BeforeApply = nil
	wall = start.Add(f.Timeout + time.Minute)
	if got := stateOf(t, f).Killed(wall.Add(-time.Microsecond)); got != nil {
		t.Errorf("it may still be under way, but its report is %+v", got)
	}
	commits := 0
	f.OnCommit(func(_ int, r *firestorepb.CommitRequest, send func() error) error {
		commits++
		if commits == 1 && len(r.GetWrites()) != 2 {
			t.Errorf("the commit that takes the lease has %d writes", len(r.GetWrites()))
		}
		return send()
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, map[string]report.Counts{})
	saved, err := report.Of(documents.Document{Data: f.Documents(t, "cleanupRuns")[killed.RunID]})
	ok(t, err)
	if saved.Status != report.Killed || saved.Job != "testJob" || !saved.Now.Equal(killed.Now) || !saved.StartedAt.Equal(killed.StartedAt) ||
		!saved.Force || saved.Database != killed.Database || saved.Version != killed.Version || len(saved.Actions) > 0 ||
		len(saved.Failures) != 1 || !strings.Contains(saved.Failures[0].Error, "it was killed") {
		t.Errorf("%+v", saved)
	}
	enginetest.Want(t, "it is kept until", any(killed.StartedAt.Add(report.RunRetention)),
		f.Documents(t, "cleanupRuns")[killed.RunID]["expireAt"])
	enginetest.Want(t, "severity", any("WARNING"), oneLine(t, f, "found that run "+killed.RunID+" was killed")["severity"])
}

// TestReadsAnewWhenTheRecordHasChanged: the commit that takes the lease fails where somebody wrote to the job's record meanwhile, and
// what that says now decides.
func TestReadsAnewWhenTheRecordHasChanged(t *testing.T) {
	t.Parallel()
	cursor, err := documents.Query{Collection: "things"}.After(documents.Document{Path: "things/t001"})
	ok(t, err)
	f := thingsFunction(t, 10, 3)
	f.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		if n == 1 { // another run has ended, partial
			f.Set(t, "cleanupJobs/testJob", enginetest.From(string(cursor)))
		}
		return send()
	})
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 1))
	enginetest.Want(t, "left", []string{"t000", "t001"}, left(t, f))
}

// stateOf returns what the job's record says.
func stateOf(t *testing.T, f *enginetest.Function) jobstate.State {
	t.Helper()
	s, _, err := jobstate.Read(t.Context(), f.Restorer(t, nil).DB.Reader, "testJob")
	ok(t, err)
	return s
}

func TestNoRequestLiftsTheDryRunOfADeployment(t *testing.T) {
	f := newFunction(t, thingsJob(10))
	f.Env["DRY_RUN"] = "true"
	seed(t, f, 1)
	got := f.Run(t, "")
	enginetest.Want(t, "a preview, and what is left", []any{true, 1}, []any{got.DryRun, len(left(t, f))})
	w := f.Post(t, `{"dryRun":false}`)
	wantAnswer(t, "answer", w, http.StatusBadRequest, "DRY_RUN is true")
	enginetest.Want(t, "left", 1, len(left(t, f)))
	f.Env["DRY_RUN"] = "false"
	got = f.Run(t, `{"dryRun":true}`)
	enginetest.Want(t, "a preview, and what is left", []any{true, 1}, []any{got.DryRun, len(left(t, f))})
}

// TestRefusedRequestsRunNothing: the log says so, and nothing of a body but the names of its fields.
func TestRefusedRequestsRunNothing(t *testing.T) {
	f := thingsFunction(t, 10, 1)
	refused := func(r *http.Request, status int, say string) {
		t.Helper()
		before := len(f.LogLines(t))
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		wantAnswer(t, r.Method, w, status, `"code":"`)
		wantAnswer(t, r.Method, w, status, strings.ReplaceAll(say, `"`, `\"`))
		lines := f.LogLines(t)[before:]
		if len(lines) != 1 || lines[0]["severity"] != "WARNING" || lines[0]["httpStatus"] != float64(status) || label(lines[0], "job") != "testJob" {
			t.Fatalf("lines %v", lines)
		}
		has(t, lines[0]["message"].(string), say)
		if text := fmt.Sprint(lines[0]); strings.Contains(text, "s3cr3t") || len(text) > 1000 {
			t.Errorf("the body is in the log: %.200s", text)
		}
	}
	post := func(query, body string) *http.Request {
		return httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+query, strings.NewReader(body))
	}
	for body, say := range map[string]string{
		`{"dryrun":true,"secret":"s3cr3t"}`:            `unknown field "dryrun"`,
		`{"dryRun":"s3cr3t"}`:                          `"dryRun" must be true or false`,
		`{} {}`:                                        "unexpected data",
		strings.Repeat(" ", 65<<10):                    "larger than 65536 bytes",
		`{"` + strings.Repeat("x", 10_000) + `":true}`: "unknown field",
	} {
		refused(post("", body), http.StatusBadRequest, say)
	}
	refused(post("?force=true", ""), http.StatusBadRequest, `unknown query parameter "force": only dryRun may be in the address, and all else in the body`)
	r := post("", "")
	r.Header.Set("X-CloudScheduler-ScheduleTime", "tomorrow")
	refused(r, http.StatusBadRequest, "X-CloudScheduler-ScheduleTime")
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		refused(httptest.NewRequestWithContext(t.Context(), method, "/", nil), http.StatusMethodNotAllowed, "is called with POST, not "+method)
	}
	enginetest.Want(t, "requests to Firestore", 0, len(f.Request.Methods()))
	enginetest.Want(t, "left", 1, len(left(t, f)))
}

func TestWrongConfigurationRunsNothing(t *testing.T) {
	f := thingsFunction(t, 10, 1)
	project := f.Env["GOOGLE_CLOUD_PROJECT"]
	delete(f.Env, "GOOGLE_CLOUD_PROJECT")
	f.Env["MAX_ACTIONS"] = "lots"
	f.Env["FIRESTORE_DATABASE"] = "My " + strings.Repeat("D", 400)
	w := f.Post(t, "")
	for _, part := range []string{`"code":"misconfigured"`, "GOOGLE_CLOUD_PROJECT is not set", "MAX_ACTIONS is"} {
		wantAnswer(t, "answer", w, http.StatusInternalServerError, part)
	}
	enginetest.Want(t, "requests to Firestore", 0, len(f.Request.Methods()))
	enginetest.Want(t, "left", 1, len(left(t, f)))
	line := oneLine(t, f, "testJob did not run: wrong configuration: ")
	enginetest.Want(t, "severity and job", []any{"ERROR", "testJob"}, []any{line["severity"], label(line, "job")})
	problem := line["problem"].(string)
	begins(t, problem, "wrong configuration: ")
	if len(problem) > 300 {
		t.Errorf("a problem of %d bytes", len(problem))
	}
	f.Env["GOOGLE_CLOUD_PROJECT"] = project
	delete(f.Env, "MAX_ACTIONS")
	delete(f.Env, "FIRESTORE_DATABASE")
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 1))
}
