package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestARuleThatIsCalledOtherwise: what a rule left half done before it got another name is told, with what finishes it; its runs
// are found and shown, and taken back with the file of then.
func TestARuleThatIsCalledOtherwise(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "UNDO_DAYS=7")
	withFile := strings.Replace(drafts, `"collection":`, `"maxDuePercent": 100, "with": [{"objects": "scans/{id}/**"}], "collection":`, 1)
	o.inApp(t, map[string]string{"firebase.json": "{}", "old.json": withFile,
		"firesweep.json": strings.Replace(withFile, "cleanupDrafts", "cleanupDraftz", 1)})
	o.Put(t, "scans/a/1.png", nil, nil)
	o.Set(t, "drafts/a", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	o.running.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method == http.MethodDelete {
			forbidden := httptest.NewRecorder()
			forbidden.WriteHeader(http.StatusForbidden)
			return forbidden.Result(), nil
		}
		return send()
	})
	o.ends(t, exitFailed, "run", "--yes", "--confirm", o.ID, "--rules", "old.json")
	o.running.Transport = nil
	all, _ := o.ends(t, exitFailed, "runs", "--json", "--rules", "old.json")
	run := parsed[standings](t, all).Jobs[0].Runs[0].RunID

	half := "cleanupDrafts left items half done, and no rule has that name any more"
	finish := "firesweep run cleanupDrafts --rules OLD.json"
	for _, command := range []string{"plan", "run"} {
		wantParts(t, oneLine(o.well(t, command)), half, finish)
	}
	wantNone(t, o.well(t, "plan", "--rules", "old.json"), "half done")
	wantParts(t, oneLine(o.well(t, "doctor")), "warning: cleanupDrafts: It left items half done, and no rule has that name any more", finish)
	wantParts(t, oneLine(o.well(t, "runs")), "cleanupDrafts ran at 2026-01-10 15:00 UTC, and no rule has that name any more: firesweep show "+shortID(run))
	for _, id := range []string{run, shortID(run)} {
		out, _ := o.ends(t, exitFailed, "show", id)
		wantParts(t, oneLine(out), "cleanupDrafts: failed", "firesweep undo "+run)
		wantParts(t, o.well(t, "show", id, "drafts/a"), "editedAt")
		o.refuses(t, exitWrongUse, "cleanupDrafts ran it, and no rule has that name any more: give the file of then: firesweep undo "+run+
			" --rules OLD.json", "undo", id)
	}
	wantParts(t, o.well(t, "run", "--yes", "--rules", "old.json"), "finish interrupted action: 1 of 1 done")
	want(t, "files", 0, len(o.Objects(t)))
	wantNone(t, o.well(t, "plan"), "half done")
	wantParts(t, o.well(t, "undo", "--yes", "--rules", "old.json", shortID(run)), "1 thing came back.")
}
