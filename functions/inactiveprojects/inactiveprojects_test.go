package inactiveprojects

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

func TestWarnThenMark(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Set(t, "projects/p12", old("last_activity_at", cutoff))
	w.Set(t, "projects/empty", old("storage_size", 0))
	w.Set(t, "projects/marked", old("marked_for_deletion_on", cutoff))
	w.Set(t, "projects/pending", old("pending_delete", true))
	w.Set(t, "projects/undated", old("last_activity_at", nil))

	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, sweeptest.Done(warnKind, 1))
	sweeptest.Want(t, "kept", map[string]int{keptActive: 1, keptSmall: 1, keptMarked: 1, keptPending: 1, keptUndated: 1}, got.Kept)
	if got.Scanned != 6 || got.Usage.Tasks != 1 || len(w.ids(t, "mail")) != 0 || len(w.ids(t, warnings)) != 0 {
		t.Errorf("before the worker ran: scanned %d, usage %+v", got.Scanned, got.Usage)
	}
	if n := w.deliver(t); n != 1 {
		t.Fatalf("%d tasks delivered, want 1", n)
	}
	sweeptest.Want(t, "warnings", map[string]map[string]any{"p1": warnedOn(now, "2026-05-10")}, w.Documents(t, warnings))
	for _, mail := range w.Documents(t, "mail") {
		message := mail["message"].(map[string]any)
		sweeptest.Want(t, "recipients", []any{"u1", "u2"}, mail["toUids"].([]any))
		sweeptest.Want(t, "subject", "Action required: Project Sweeper is scheduled to be deleted on 2026-05-10 due to inactivity", message["subject"].(string))
		if !strings.Contains(message["text"].(string), "2026-05-10") {
			t.Errorf("text %q", message["text"])
		}
	}
	for _, event := range w.Documents(t, "audit_events") {
		sweeptest.Want(t, "audit event", map[string]any{
			"name": "inactive_project_scheduled_for_deletion", "message": "Project is scheduled to be deleted on 2026-05-10 due to inactivity.",
			"author_id": "bot", "project_id": "p1", "deletion_date": "2026-05-10", "created_at": now,
		}, event)
	}

	// A tick before the grace is over nothing happens; then the project is marked.
	monthLater := now.AddDate(0, 1, 0)
	w.Set(t, "projects/p12", old("last_activity_at", monthLater)) // otherwise it would be warned about now
	for _, step := range []struct {
		at      time.Time
		actions map[string]sweep.Counts
	}{
		{now.Add(10 * time.Minute), map[string]sweep.Counts{}},
		{monthLater.Add(-tick), map[string]sweep.Counts{}},
		{monthLater, sweeptest.Done(markKind, 1)},
		{monthLater.Add(time.Hour), map[string]sweep.Counts{}},
	} {
		w.Now = step.at
		sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, step.actions)
	}
	p := w.project(t, "p1")
	if p["marked_for_deletion_on"] != monthLater || p["deleting_user"] != "bot" || p["name"] != "Sweeper" {
		t.Errorf("project %v", p)
	}
	sweeptest.Want(t, "marked", []string{"marked", "p1"}, w.marked(t))
	if len(w.ids(t, warnings)) != 0 || len(w.ids(t, "mail")) != 1 || len(w.ids(t, "audit_events")) != 1 || len(w.Tasks().Pending("")) != 0 {
		t.Errorf("warnings %v, mail %v, events %v", w.ids(t, warnings), w.ids(t, "mail"), w.ids(t, "audit_events"))
	}
}

func TestSettingsThatStopIt(t *testing.T) {
	for name, tt := range map[string]struct {
		settings map[string]any
		status   sweep.Status
	}{
		"missing":     {nil, sweep.Completed},
		"off":         {with(monthly, "delete_inactive_projects", false), sweep.Completed},
		"without":     {with(monthly, "delete_inactive_projects", missing), sweep.Completed},
		"invalid":     {with(monthly, "inactive_projects_delete_after_months", 3), sweep.Failed},
		"no switch":   {with(monthly, "delete_inactive_projects", 1), sweep.Failed},
		"no duration": {with(monthly, "inactive_projects_send_warning_email_after_months", nil), sweep.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tt.settings == nil {
				if _, err := w.Firestore(t).Doc(settingsPath).Delete(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else {
				w.Set(t, settingsPath, tt.settings)
			}
			w.Set(t, "projects/p1", old())
			w.Set(t, "projects/p2", old())
			w.Set(t, "inactive_project_deletion_warnings/p2", warnedOn(cutoff, "2026-02-10"))
			got := w.Run(t, "")
			sweeptest.WantReport(t, got, tt.status, map[string]sweep.Counts{})
			if tt.status == sweep.Failed && !strings.Contains(got.Failures[0].Error, "application_settings/current is invalid, so nothing is done") {
				t.Errorf("failures %v", got.Failures)
			}
			if got.Usage.FirestoreReads != 4 || len(w.marked(t)) != 0 || len(w.Tasks().Pending("")) != 0 || len(w.ids(t, "audit_events")) != 0 {
				t.Errorf("%d reads, want 4: the lease twice, no journal and the settings; marked %v", got.Usage.FirestoreReads, w.marked(t))
			}
		})
	}
}

func TestSettingsChangedAfterTheWarning(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Run(t, "")
	w.deliver(t)
	warned := now

	// A longer grace holds for those who were promised a shorter one.
	longer := with(monthly, "inactive_projects_delete_after_months", 6)
	w.Set(t, settingsPath, longer)
	for _, at := range []time.Time{warned.AddDate(0, 1, 1), warned.AddDate(0, 3, 0).Add(-tick)} {
		w.Now = at
		sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	}
	// A shorter one does not: the promised date stands. One month and ten days are over, two months were promised.
	w.Set(t, "projects/p2", old("name", "Two"))
	w.Now = warned
	w.Set(t, settingsPath, with(monthly, "inactive_projects_delete_after_months", 5))
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	w.deliver(t)
	sweeptest.Want(t, "promise", "2026-06-10", w.Documents(t, warnings)["p2"]["deletion_date"].(string))
	w.Set(t, settingsPath, monthly)
	w.Now = warned.AddDate(0, 1, 10)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(markKind, 1)) // p1
	sweeptest.Want(t, "marked", []string{"p1"}, w.marked(t))
	// The night of the promised day is within a day of a pass, which finds it.
	w.Now = time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC).Add(-tick)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	w.Now = w.Now.Add(24 * time.Hour)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(markKind, 1))
	sweeptest.Want(t, "marked", []string{"p1", "p2"}, w.marked(t))
}

func TestSwitchedOffInBetween(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Run(t, "")
	w.deliver(t)
	w.Set(t, settingsPath, with(monthly, "delete_inactive_projects", false))
	w.Now = now.AddDate(0, 2, 0)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	w.Set(t, settingsPath, monthly)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(markKind, 1))
}

func TestWarnedAndActiveAgain(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Run(t, "")
	w.deliver(t)
	// Somebody works on it; three months later it is dormant again. The old warning is void.
	active := now.AddDate(0, 0, 5)
	w.Set(t, "projects/p1", old("last_activity_at", active))
	w.Now = now.AddDate(0, 1, 1)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	w.Now = active.AddDate(0, 3, 0).Add(tick)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	w.deliver(t)
	if len(w.marked(t)) != 0 || len(w.ids(t, "mail")) != 2 || len(w.ids(t, "audit_events")) != 2 {
		t.Errorf("marked %v, mail %v, events %v", w.marked(t), w.ids(t, "mail"), w.ids(t, "audit_events"))
	}
	sweeptest.Want(t, "warning", warnedOn(w.Now, "2026-08-15"), w.Documents(t, warnings)["p1"])
}

func TestWorkerIsLate(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Run(t, "")
	// The worker has not run. Ten minutes later nothing is asked again; a day later the same is promised, by the same task.
	w.Now = now.Add(10 * time.Minute)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, map[string]sweep.Counts{})
	w.Now = now.Add(24 * time.Hour)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	if n := w.deliver(t); n != 1 || len(w.ids(t, "audit_events")) != 1 || len(w.ids(t, "mail")) != 1 {
		t.Errorf("%d tasks, events %v, mail %v: want one of each", n, w.ids(t, "audit_events"), w.ids(t, "mail"))
	}
	sweeptest.Want(t, "warning", warnedOn(w.Now, "2026-05-10"), w.Documents(t, warnings)["p1"]) // told today, with the promise made yesterday
}

// TestOldScheduleTimeShortensNoGrace has a run whose now lies three weeks back, as one that somebody repeats by hand: what
// it promises counts from the day on which it is promised.
func TestOldScheduleTimeShortensNoGrace(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Now = now.AddDate(0, 0, -21)
	wall := func() time.Time { return now }
	w.Clock, w.worker.Clock = wall, wall
	preview := w.Run(t, `{"dryRun":true}`)
	if len(preview.Plan) != 1 || !strings.Contains(preview.Plan[0].Reason, "to be deleted on 2026-05-10") {
		t.Errorf("plan %v", preview.Plan)
	}
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	w.deliver(t)
	sweeptest.Want(t, "warnings", map[string]map[string]any{"p1": warnedOn(now, "2026-05-10")}, w.Documents(t, warnings))
	for _, event := range w.Documents(t, "audit_events") {
		sweeptest.Want(t, "promise in the audit event", "2026-05-10", event["deletion_date"].(string))
	}
}

func TestPromiseThatCouldNotBeAnnouncedIsRenewed(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Run(t, "")
	w.Tasks().Clear() // the worker has failed for good
	w.Now = now.AddDate(0, 1, 0)
	sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
	w.deliver(t)
	sweeptest.Want(t, "warning", warnedOn(w.Now, "2026-06-10"), w.Documents(t, warnings)["p1"])
	if len(w.ids(t, "audit_events")) != 1 {
		t.Errorf("events %v", w.ids(t, "audit_events"))
	}
}

func TestWithoutAdminBotNothingIsDone(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "organizations/o2", map[string]any{"admin_bot_user_id": ""})
	w.Set(t, "organizations/o3", map[string]any{"admin_bot_user_id": 7})
	w.Set(t, "organizations/4", map[string]any{"admin_bot_user_id": "bot"})
	w.Set(t, "organizations/o5", map[string]any{"admin_bot_user_id": 0})
	for i, org := range []any{"o1", "o2", "none", nil, "o3", 4, "o5"} {
		w.Set(t, fmt.Sprintf("projects/p%d", i), old("organization_id", org))
		w.Set(t, fmt.Sprintf("projects/warned%d", i), old("organization_id", org))
		w.Set(t, fmt.Sprintf("%s/warned%d", warnings, i), warnedOn(cutoff, "2026-02-10"))
	}
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{warnKind: {Planned: 3, Done: 3}, markKind: {Planned: 3, Done: 3}})
	sweeptest.Want(t, "kept", map[string]int{keptNoBot: 6, keptNoOrg: 2}, got.Kept)
	sweeptest.Want(t, "marked", []string{"warned0", "warned4", "warned5"}, w.marked(t))
	var named []string
	for _, line := range w.LogLines(t) {
		if line["severity"] == "WARNING" && line["reason"] == keptNoBot {
			named = append(named, line["target"].(string))
		}
	}
	slices.Sort(named)
	sweeptest.Want(t, "named", []string{"projects/p1", "projects/p2", "projects/p6", "projects/warned1", "projects/warned2", "projects/warned6"}, named)
	sweeptest.Want(t, "deleting user", any(int64(7)), w.project(t, "warned4")["deleting_user"])
}

// TestPeopleWhomNobodyCanWarn: they are not warned, and their projects are not marked, not even if there is an entry that says
// they were.
func TestPeopleWhomNobodyCanWarn(t *testing.T) {
	w := newWorld(t)
	people := map[string]any{"numbers": []any{7}, "one": "u1", "paths": []any{"users/u1", ""}, "reals": 7.5, "nobody": []any{}}
	for id, owners := range people {
		w.Set(t, "projects/"+id, old("owner_ids", owners, "maintainer_ids", missing))
		w.Set(t, "projects/warned-"+id, old("owner_ids", owners, "maintainer_ids", missing))
		w.Set(t, warnings+"/warned-"+id, warnedOn(cutoff, "2026-02-10"))
	}
	got := w.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{warnKind: {Planned: 3, Done: 3}, markKind: {Planned: 3, Done: 3}})
	sweeptest.Want(t, "kept", map[string]int{keptNoPeople: 4}, got.Kept)
	sweeptest.Want(t, "marked", []string{"warned-nobody", "warned-numbers", "warned-one"}, w.marked(t))
	w.deliver(t)
	var told []any
	for _, mail := range w.Documents(t, "mail") {
		told = append(told, mail["toUids"].([]any)...)
	}
	if len(told) != 2 || !slices.Contains(told, any("7")) || !slices.Contains(told, any("u1")) {
		t.Errorf("told %v, want 7 and u1", told)
	}
}

// TestActionsNameTheUser: each action's line says what is done to which project, and in whose name.
func TestActionsNameTheUser(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "organizations/7", map[string]any{"admin_bot_user_id": 9})
	w.Set(t, "projects/p1", old())
	w.Set(t, "projects/p2", old("organization_id", 7))
	w.Set(t, warnings+"/p2", warnedOn(cutoff, "2026-02-10"))
	w.Run(t, "")
	named := map[string]string{}
	for _, line := range w.LogLines(t) {
		if reason, _ := line["reason"].(string); line["action"] != nil && line["severity"] == "INFO" {
			_, user, _ := strings.Cut(reason, "in the name of user ")
			named[fmt.Sprint(line["action"], " ", line["target"])] = user
		}
	}
	sweeptest.Want(t, "in whose name", map[string]string{warnKind + " projects/p1": "bot", markKind + " projects/p2": "9"}, named)
}

// TestPromiseThatSomebodyChanged: an audit event whose date is none, or no text, promises nothing, and its project is
// promised a date anew; a later one holds.
func TestPromiseThatSomebodyChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		changed any
		want    string
	}{
		"a word": {"soon", "2026-05-11"}, "no day": {"2027-02-29", "2026-05-11"}, "null": {nil, "2026-05-11"},
		"a number": {7, "2026-05-11"}, "later": {"2027-01-01", "2027-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Set(t, "projects/p1", old())
			w.Run(t, "")
			w.Tasks().Clear()
			w.Set(t, "audit_events/"+w.ids(t, "audit_events")[0], map[string]any{"deletion_date": tt.changed})
			w.Now = now.Add(24 * time.Hour)
			sweeptest.WantReport(t, w.Run(t, ""), sweep.Completed, sweeptest.Done(warnKind, 1))
			w.deliver(t)
			sweeptest.Want(t, "warning", warnedOn(w.Now, tt.want), w.Documents(t, warnings)["p1"])
		})
	}
}
