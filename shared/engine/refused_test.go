package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

func TestNoRequestLiftsTheDryRunOfADeployment(t *testing.T) {
	f := newFunction(t, thingsJob(10))
	f.Env["DRY_RUN"] = "true"
	seed(t, f, 1)
	if got := f.Run(t, ""); !got.DryRun || len(left(t, f)) != 1 {
		t.Errorf("report %+v, want a preview", got)
	}
	w := f.Post(t, `{"dryRun":false}`)
	wantAnswer(t, "answer", w, http.StatusBadRequest, "DRY_RUN is true")
	enginetest.Want(t, "left", 1, len(left(t, f)))
	f.Env["DRY_RUN"] = "false"
	if got := f.Run(t, `{"dryRun":true}`); !got.DryRun || len(left(t, f)) != 1 {
		t.Errorf("report %+v, want a preview", got)
	}
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
	refused(post("?force=true", ""), http.StatusBadRequest, `put {"force":true} into the body`)
	r := post("", "")
	r.Header.Set("X-CloudScheduler-ScheduleTime", "tomorrow")
	refused(r, http.StatusBadRequest, "X-CloudScheduler-ScheduleTime")
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		refused(httptest.NewRequestWithContext(t.Context(), method, "/", nil), http.StatusMethodNotAllowed, "is called with POST, not "+method)
	}
	if len(f.Request.Methods()) != 0 || len(left(t, f)) != 1 {
		t.Errorf("refused requests reached Firestore: %v", f.Request.Methods())
	}
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
	if len(f.Request.Methods()) != 0 || len(left(t, f)) != 1 {
		t.Error("a misconfigured function reached Firestore")
	}
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
