package engine_test

import (
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

func TestRefusedRequestsRunNothing(t *testing.T) {
	f := newFunction(t, thingsJob(10))
	seed(t, f, 1)
	for body, say := range map[string]string{
		`{"dryrun":true}`:           `unknown field \"dryrun\"`,
		`{"dryRun":"yes"}`:          `\"dryRun\" must be true or false`,
		`{} {}`:                     "unexpected data",
		strings.Repeat(" ", 65<<10): "larger than 65536 bytes",
	} {
		w := f.Post(t, body)
		what := body[:min(len(body), 20)]
		wantAnswer(t, what, w, http.StatusBadRequest, `"code":"invalid_request"`)
		wantAnswer(t, what, w, http.StatusBadRequest, say)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: %d, Allow %q; want 405, POST", method, w.Code, w.Header().Get("Allow"))
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	r.Header.Set("X-CloudScheduler-ScheduleTime", "tomorrow")
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	wantAnswer(t, "answer", w, http.StatusBadRequest, "X-CloudScheduler-ScheduleTime")
	if len(f.Request.Methods()) != 0 || len(left(t, f)) != 1 {
		t.Errorf("refused requests reached Firestore: %v", f.Request.Methods())
	}
}

func TestWrongConfigurationRunsNothing(t *testing.T) {
	f := newFunction(t, thingsJob(10))
	seed(t, f, 1)
	project := f.Env["GOOGLE_CLOUD_PROJECT"]
	delete(f.Env, "GOOGLE_CLOUD_PROJECT")
	f.Env["MAX_ACTIONS"] = "lots"
	w := f.Post(t, "")
	for _, part := range []string{`"code":"misconfigured"`, "GOOGLE_CLOUD_PROJECT is not set", "MAX_ACTIONS is"} {
		wantAnswer(t, "answer", w, http.StatusInternalServerError, part)
	}
	if len(f.Request.Methods()) != 0 || len(left(t, f)) != 1 {
		t.Error("a misconfigured function reached Firestore")
	}
	f.Env["GOOGLE_CLOUD_PROJECT"] = project
	delete(f.Env, "MAX_ACTIONS")
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete thing", 1))
}
