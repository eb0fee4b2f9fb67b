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
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "DRY_RUN is true") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
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
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"code":"invalid_request"`) {
			t.Errorf("body %.20q: %d %s, want 400", body, w.Code, w.Body)
		}
		if !strings.Contains(w.Body.String(), say) {
			t.Errorf("body %.20q: %s, want that it says %s", body, w.Body, say)
		}
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
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "X-CloudScheduler-ScheduleTime") {
		t.Errorf("malformed schedule time: %d %s", w.Code, w.Body)
	}
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
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), part) {
			t.Errorf("%d %s, want 500 that says %s", w.Code, w.Body, part)
		}
	}
	if len(f.Request.Methods()) != 0 || len(left(t, f)) != 1 {
		t.Error("a misconfigured function reached Firestore")
	}
	f.Env["GOOGLE_CLOUD_PROJECT"] = project
	delete(f.Env, "MAX_ACTIONS")
	if got := f.Run(t, ""); got.Status != report.Completed || got.Actions["delete thing"].Done != 1 {
		t.Errorf("once mended: %+v", got)
	}
}
