package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestARuleThatIsCalledOtherwise: what a rule left half done before it got another name is told, with what finishes it; its runs
// are found and shown, and taken back with the file of then. So it is if the run was killed, of which the log says that it deleted
// what may be there.
func TestARuleThatIsCalledOtherwise(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed: ", killed), func(t *testing.T) { calledOtherwise(t, killed) })
	}
}

func calledOtherwise(t *testing.T, killed bool) {
	t.Parallel()
	o, status, back := newOperator(t, "UNDO_DAYS=7"), "failed", "1 thing came back."
	withFile := strings.Replace(drafts, `"collection":`, `"maxDuePercent": 100, "with": [{"objects": "scans/{id}/**"}], "collection":`, 1)
	o.inApp(t, map[string]string{"firebase.json": "{}", "old.json": withFile, "edited.json": drafts,
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

	if killed { // when it had saved the file and not deleted it, which the next run does
		status, back = "killed", "2 things came back."
		_, err := o.Firestore(t).Doc("cleanupRuns/"+run+"/cleanupUndo/000002-00").Update(t.Context(), []firestore.Update{{Path: "stayed", Value: firestore.Delete}})
		ok(t, err)
		o.Delete(t, "cleanupRuns/"+run)
		o.Set(t, "cleanupJobs/cleanupDrafts", enginetest.Leased(run, now.Add(time.Minute)))
		wantParts(t, oneLine(o.well(t, "plan", "--rules", "old.json")), "a run does nothing yet: Run "+run+" is under way.")
		o.Set(t, "cleanupJobs/cleanupDrafts", enginetest.Leased(run, now))
		found := o.well(t, "runs", "--rules", "firesweep.json", "--of", "scans/a/1.png")
		wantParts(t, oneLine(found), "deleted, or about to be", "firesweep undo --only gs://"+o.Bucket+"/scans/a/1.png "+shortID(run)+" --rules OLD.json")
		out, _ := o.ends(t, exitFailed, "show", run)
		wantParts(t, oneLine(out), "deleted, or about to be gs://")
	}
	half := "cleanupDrafts left items half done, and no rule has that name any more"
	finish := "firesweep run cleanupDrafts --rules OLD.json"
	for _, command := range []string{"plan", "run"} {
		wantParts(t, oneLine(o.well(t, command)), half, finish)
	}
	wantNone(t, o.well(t, "plan", "--rules", "old.json"), "half done")
	wantParts(t, oneLine(o.well(t, "doctor")), "warning: cleanupDrafts: It left items half done, and no rule has that name any more", finish)
	out, _ := o.ends(t, exitFailed, "doctor", "--rules", "edited.json")
	wantParts(t, oneLine(out), "It left items half done (commits: 1), and deletes nothing along any more", finish)
	wantParts(t, oneLine(o.well(t, "runs")), "cleanupDrafts ran at 2026-01-10 15:00 UTC, and no rule has that name any more: firesweep show "+shortID(run))
	for _, id := range []string{run, shortID(run), "cleanupDrafts"} {
		out, _ := o.ends(t, exitFailed, "show", id)
		wantParts(t, oneLine(out), "cleanupDrafts: "+status, "firesweep undo "+run)
		wantParts(t, o.well(t, "show", id, "drafts/a"), "editedAt")
		o.refuses(t, exitWrongUse, "cleanupDrafts ran it, and no rule has that name any more: give the file of then: firesweep undo "+run+
			" --rules OLD.json", "undo", id)
	}
	wantParts(t, o.well(t, "run", "--yes", "--rules", "old.json"), "finish interrupted action: 1 of 1 done")
	want(t, "files", 0, len(o.Objects(t)))
	wantNone(t, o.well(t, "plan"), "half done")
	wantParts(t, o.well(t, "undo", "--yes", "--rules", "old.json", shortID(run)), back)
}
