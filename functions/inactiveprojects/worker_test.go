package inactiveprojects

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

const task = `{"project_id":"p1","deletion_date":"2026-05-10"}`

func TestWorkerSendsOnce(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	w.Set(t, "projects/p1", old())
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(sendKind, 1))
	got := w.worker.Run(t, task) // delivered once more
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
	sweeptest.Want(t, "kept", map[string]int{keptWarned: 1}, got.Kept)
	sweeptest.Want(t, "warnings", map[string]map[string]any{"p1": warnedOn(now, "2026-05-10")}, w.Documents(t, warnings))
	if len(w.ids(t, "mail")) != 1 || len(w.ids(t, "audit_events")) != 0 {
		t.Errorf("mail %v", w.ids(t, "mail"))
	}
}

// TestWorkerTwiceAtOnce delivers the task again while its commit is under way, before and after it took effect.
func TestWorkerTwiceAtOnce(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	w.Set(t, "projects/p1", old())
	other := sweeptest.On(t, functions.New(Worker), w.Project) // another instance
	other.Now = now
	var second *sweep.Report
	w.worker.OnCommit(func(n int, _ *firestorepb.CommitRequest, send func() error) error {
		err := send()
		if n == 1 {
			second = other.Run(t, task)
		}
		return err
	})
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(sendKind, 1))
	sweeptest.WantReport(t, second, sweep.Completed, map[string]sweep.Counts{})
	if len(w.ids(t, "mail")) != 1 || len(w.ids(t, warnings)) != 1 {
		t.Errorf("mail %v", w.ids(t, "mail"))
	}
}

func TestWorkerOnProjectsThatAreNotToBeWarnedAbout(t *testing.T) {
	last := cutoff.AddDate(0, -1, 0)
	for name, tt := range map[string]struct {
		project, entry map[string]any
		kept           string
	}{
		"gone":                   {nil, nil, keptGone},
		"warned":                 {old(), warnedOn(last, "2026-02-01"), keptWarned},
		"warned, unreadable":     {old(), map[string]any{}, keptWarned},
		"worked on since":        {old("last_activity_at", now.Add(tick)), nil, keptActiveSince},
		"worked on, warned once": {old("last_activity_at", now.Add(tick)), warnedOn(last, "2026-02-01"), keptActiveSince},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.worker.Now = now
			if tt.project != nil {
				w.Set(t, "projects/p1", tt.project)
			}
			if tt.entry != nil {
				w.Set(t, warnings+"/p1", tt.entry)
			}
			before := w.Documents(t, warnings)
			got := w.worker.Run(t, task)
			sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
			sweeptest.Want(t, "kept", map[string]int{tt.kept: 1}, got.Kept)
			sweeptest.Want(t, "warnings", before, w.Documents(t, warnings))
			if len(w.ids(t, "mail")) != 0 {
				t.Error("somebody was written to")
			}
			logged := false
			for _, line := range w.worker.LogLines(t) {
				logged = logged || line["severity"] == "ERROR" && strings.Contains(line["message"].(string), "projects/p1") && line["target"] == "projects/p1"
			}
			if logged != (tt.kept == keptGone) {
				t.Errorf("an error in the log: %v", logged)
			}
		})
	}
}

func TestWorkerRenewsAVoidWarning(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	w.Set(t, "projects/p1", old())
	w.Set(t, warnings+"/p1", warnedOn(cutoff.AddDate(0, -1, 0).Add(-tick), "2025-12-24"))
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(sendKind, 1))
	sweeptest.Want(t, "warning", warnedOn(now, "2026-05-10"), w.Documents(t, warnings)["p1"])
}

func TestWorkerWithNobodyToTell(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	w.Set(t, "projects/p1", old("owner_ids", missing, "maintainer_ids", []any{}))
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(sendKind, 1))
	warned := false
	for _, line := range w.worker.LogLines(t) {
		warned = warned || line["severity"] == "WARNING" && strings.Contains(line["message"].(string), "nobody was told")
	}
	if len(w.ids(t, "mail")) != 0 || len(w.ids(t, warnings)) != 1 || !warned {
		t.Errorf("mail %v, warnings %v, logged %v", w.ids(t, "mail"), w.ids(t, warnings), warned)
	}
}

// TestWorkerWithPeopleWhomNobodyCanWarn: without an entry the project is never marked.
func TestWorkerWithPeopleWhomNobodyCanWarn(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	w.Set(t, "projects/p1", old("owner_ids", []any{"users/u1"}, "maintainer_ids", 7.5))
	got := w.worker.Run(t, task)
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{})
	sweeptest.Want(t, "kept", map[string]int{keptNoPeople: 1}, got.Kept)
	if len(w.ids(t, "mail")) != 0 || len(w.ids(t, warnings)) != 0 {
		t.Errorf("mail %v, warnings %v", w.ids(t, "mail"), w.ids(t, warnings))
	}
}

func TestWorkerWritesToPeopleWhoHaveNumbers(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	long := strings.Repeat("長", 500)
	w.Set(t, "projects/p1", old("owner_ids", []any{42, long}, "maintainer_ids", 43))
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(sendKind, 1))
	for _, mail := range w.Documents(t, "mail") {
		sweeptest.Want(t, "recipients", []any{"42", long, "43"}, mail["toUids"].([]any))
	}
	sweeptest.Want(t, "warnings", map[string]map[string]any{"p1": warnedOn(now, "2026-05-10")}, w.Documents(t, warnings))
}

// TestLateWorkerShortensNoGrace delivers a task twenty days late: the project is marked a whole month after its people
// were told, not after it was decided to tell them.
func TestLateWorkerShortensNoGrace(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	told := now.AddDate(0, 0, 20)
	w.Now = told
	w.deliver(t)
	sweeptest.Want(t, "warning", warnedOn(told, "2026-05-10"), w.Documents(t, warnings)["p1"])
	for _, step := range []struct {
		at      time.Time
		actions map[string]sweep.Counts
	}{
		{now.AddDate(0, 1, 1), map[string]sweep.Counts{}},
		{told.AddDate(0, 1, 0).Add(-tick), map[string]sweep.Counts{}},
		{told.AddDate(0, 1, 0), sweeptest.Done(markKind, 1)},
	} {
		w.Now = step.at
		sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, step.actions)
	}
}

// TestMailIsNotWrittenAgain keeps the extension from sending it again if somebody deletes the entry.
func TestMailIsNotWrittenAgain(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	w.Set(t, "projects/p1", old())
	w.worker.Run(t, task)
	id := w.ids(t, "mail")[0]
	w.Set(t, "mail/"+id, map[string]any{"delivery": "sent"})
	if _, err := w.Firestore(t).Doc(warnings + "/p1").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	sweeptest.WantReport(t, w.worker.Run(t, task), sweep.Completed, sweeptest.Done(sendKind, 1))
	sweeptest.Want(t, "mail", map[string]map[string]any{id: {"delivery": "sent"}}, w.Documents(t, "mail"))
	sweeptest.Want(t, "warnings", []string{"p1"}, w.ids(t, warnings))
}

func TestWorkerInEnglishAndPreviewed(t *testing.T) {
	w := newWorld(t)
	w.worker.Now = now
	w.worker.Env["NOTIFICATION_LOCALE"] = "en"
	w.Set(t, "projects/p1", old("name", missing))
	got := w.worker.RunQuery(t, "?dryRun=true", task)
	sweeptest.Want(t, "why", "to be deleted on 2026-05-10", got.Plan[0].Reason)
	if len(w.ids(t, "mail")) != 0 || len(w.ids(t, warnings)) != 0 {
		t.Error("a preview wrote something")
	}
	w.worker.Run(t, task)
	for _, mail := range w.Documents(t, "mail") {
		message := mail["message"].(map[string]any)
		if message["subject"] != "Action required: Project p1 is scheduled to be deleted on 2026-05-10 due to inactivity" ||
			!strings.HasPrefix(message["text"].(string), "Nobody has worked on project “p1”") {
			t.Errorf("message %v", message)
		}
	}
}

func TestWorkerRefusesWrongTasks(t *testing.T) {
	w := newWorld(t)
	for body, say := range map[string]string{
		`{"project_id":"a/b","deletion_date":"2026-05-10"}`: "cannot be a document's id",
		`{"project_id":"..","deletion_date":"2026-05-10"}`:  "cannot be a document's id",
		`{"project_id":"p1","deletion_date":"2026-02-30"}`:  "is not a date",
		`{"project_id":"p1","deletion_date":"10.5.2026"}`:   "is not a date",
		`{"project_id":"p1"}`:                               "deletion_date",
	} {
		if got := w.worker.Post(t, body); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), say) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}

// TestProjectDeletedOrWorkedOnBeforeItsWorkerRuns goes the whole way.
func TestProjectDeletedOrWorkedOnBeforeItsWorkerRuns(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Set(t, "projects/p2", old())
	w.Run(t, "")
	if _, err := w.Firestore(t).Doc("projects/p1").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Set(t, "projects/p2", old("last_activity_at", now.Add(time.Second)))
	if n := w.deliver(t); n != 2 || len(w.ids(t, "mail")) != 0 || len(w.ids(t, warnings)) != 0 || len(w.Tasks().Pending("")) != 0 {
		t.Errorf("%d tasks, mail %v, warnings %v", n, w.ids(t, "mail"), w.ids(t, warnings))
	}
}
