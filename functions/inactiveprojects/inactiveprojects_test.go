package inactiveprojects

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

func TestSettingsThatStopIt(t *testing.T) {
	for name, tt := range map[string]struct {
		settings map[string]any
		status   report.Status
		err      string
	}{
		"empty":   {map[string]any{}, report.Completed, ""},
		"off":     {enginetest.With(monthly, "delete_inactive_projects", false), report.Completed, ""},
		"invalid": {enginetest.With(monthly, "inactive_projects_delete_after_months", 3), report.Failed, "application_settings/current is invalid, so nothing is done"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Set(t, settingsPath, tt.settings)
			w.Set(t, "projects/towarn", old())
			w.Set(t, "projects/tomark", old())
			w.Set(t, warnings+"/tomark", warnedOn(cutoff, "2026-02-10"))
			got := enginetest.NewGolden(t, "settings-"+name).Run(t, "nothing is read besides the settings", w.Function, "", "")
			enginetest.WantReport(t, got, tt.status, map[string]report.Counts{})
			if tt.err != "" && !strings.Contains(got.Failures[0].Error, tt.err) {
				t.Errorf("failures %v", got.Failures)
			}
		})
	}
}

// TestPromises has warnings that the worker has not got to: the next pass makes the same promise by the same task. A promise is
// renewed when its date has come, or if somebody changed the audit event to a date that is none.
func TestPromises(t *testing.T) {
	const first, anew = "2026-05-10", "2026-05-11"
	type event = map[string]any
	for name, tt := range map[string]struct {
		changed event // the audit event; nil: it is not
		lost    bool  // the first task
		after   time.Duration
		want    string
	}{
		"the worker is late":   {nil, false, day, first},
		"the task is lost":     {nil, true, day, first},
		"the night before":     {nil, true, 29*day + 12*time.Hour - tick, first},
		"its date has come":    {nil, true, 29*day + 12*time.Hour, "2026-06-10"},
		"changed to a word":    {event{"deletion_date": "soon"}, true, day, anew},
		"changed to no day":    {event{"deletion_date": "2027-02-29"}, true, day, anew},
		"changed to a number":  {event{"deletion_date": 7}, true, day, anew},
		"changed to none":      {event{}, true, day, anew},
		"changed to one later": {event{"deletion_date": "2027-01-01"}, true, day, "2027-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Set(t, "projects/p1", old())
			w.Run(t, "")
			if tt.lost {
				w.Tasks().Clear()
			}
			if tt.changed != nil {
				w.Set(t, "audit_events/"+w.IDs(t, "audit_events")[0], tt.changed)
			}
			w.Now = now.Add(tt.after)
			enginetest.WantReport(t, w.Run(t, ""), report.Completed, enginetest.Done(warnKind, 1))
			told := []int{w.Deliver(t), len(w.IDs(t, "audit_events")), len(w.IDs(t, "mail"))}
			enginetest.Want(t, "tasks, events and mails", []int{1, 1, 1}, told)
			enginetest.Want(t, "warning", warnedOn(w.Now, tt.want), w.Documents(t, warnings)["p1"]) // told today, with the promise made then
		})
	}
}

// TestOldScheduleTimeShortensNoGrace has a run whose now lies three weeks back, as one that somebody repeats by hand: what
// it promises counts from the day on which it is promised.
func TestOldScheduleTimeShortensNoGrace(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	w.Now = now.AddDate(0, 0, -21)
	wall := func() time.Time { return now }
	w.Clock, w.Worker.Clock = wall, wall
	preview := w.Run(t, `{"dryRun":true}`)
	if len(preview.Plan) != 1 || !strings.Contains(preview.Plan[0].Reason, "to be deleted on 2026-05-10") {
		t.Errorf("plan %v", preview.Plan)
	}
	enginetest.WantReport(t, w.Run(t, ""), report.Completed, enginetest.Done(warnKind, 1))
	w.Deliver(t)
	enginetest.Want(t, "warnings", map[string]map[string]any{"p1": warnedOn(now, "2026-05-10")}, w.Documents(t, warnings))
	for _, event := range w.Documents(t, "audit_events") {
		enginetest.Want(t, "promise in the audit event", "2026-05-10", event["deletion_date"].(string))
	}
}

// world is the job and its worker on a project of their own.
type world struct{ enginetest.Pair }

// newWorld sets the settings and an organization, o1, whose admin bot is "bot".
func newWorld(t *testing.T) world {
	t.Helper()
	t.Parallel()
	w := world{enginetest.NewPair(t, functions.New(Job), functions.New(Worker))}
	w.Now = now
	w.Worker.Now = time.Time{} // its tasks say when they were made
	w.Clock = func() time.Time { return w.Now }
	w.Worker.Clock = w.Clock
	w.Set(t, settingsPath, monthly)
	w.Set(t, "organizations/o1", map[string]any{"admin_bot_user_id": "bot"})
	w.Set(t, "users/u1", map[string]any{})
	w.Set(t, "users/u2", map[string]any{})
	return w
}

// old is a dormant project of 5 bytes with two people.
func old(pairs ...any) map[string]any {
	return enginetest.With(map[string]any{
		"name": "Sweeper", "last_activity_at": cutoff.AddDate(0, -1, 0), "storage_size": int64(5), "organization_id": "o1",
		"owner_ids": []any{"u1"}, "maintainer_ids": []any{"u2"},
	}, pairs...)
}

func warnedOn(at time.Time, date string) map[string]any {
	return map[string]any{"warned_on": at, "deletion_date": date}
}

// marked returns the ids of the projects that are marked for deletion.
func (w world) marked(t *testing.T) []string {
	t.Helper()
	all := w.Documents(t, "projects")
	return slices.DeleteFunc(w.IDs(t, "projects"), func(id string) bool { return all[id]["marked_for_deletion_on"] == nil })
}

const (
	settingsPath = "application_settings/current"

	warnKind = "warn about project"
	markKind = "mark project for deletion"
	sendKind = "send warning about project"
)

// TestNothingDueCostsUnderTenReads has some pages of dormant projects, all warned. One pass reads them; for the rest of the day a
// run reads next to nothing, unless the settings change.
func TestNothingDueCostsUnderTenReads(t *testing.T) {
	w := newWorld(t)
	const n = 350
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("projects/p%05d", i), map[string]any{
			"last_activity_at": cutoff.Add(-time.Duration(i+1) * time.Minute), "storage_size": 1, "organization_id": "o1"}
	})
	w.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("%s/p%05d", warnings, i), warnedOn(now.Add(-time.Duration(i)*time.Second), "2026-05-10")
	})
	got := w.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept by a pass", map[string]int{keptInGrace: n}, got.Kept)
	for _, after := range []time.Duration{10 * time.Minute, 20 * time.Minute, 24*time.Hour - tick} {
		w.Now = now.Add(after)
		got := w.Run(t, "")
		enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
		if reads := got.Usage.FirestoreReads; reads >= 10 {
			t.Errorf("after %s: %d reads, want under 10", after, reads)
		}
	}
	w.Set(t, settingsPath, enginetest.With(monthly, "inactive_projects_min_size_mb", 1))
	enginetest.Want(t, "kept by other settings", map[string]int{keptSmall: n}, w.Run(t, "").Kept)
}

// TestBetweenPassesOnlyWhatCameUpIsRead has one project become dormant and one grace end within a day.
func TestBetweenPassesOnlyWhatCameUpIsRead(t *testing.T) {
	w := newWorld(t)
	hour := now.Add(time.Hour)
	w.Set(t, "projects/dormant", old())
	w.Set(t, warnings+"/dormant", warnedOn(now, "2026-05-10"))
	w.Set(t, "projects/soon", old("last_activity_at", cutoff.Add(time.Hour-tick)))
	w.Set(t, "projects/later", old("last_activity_at", cutoff.Add(time.Hour)))
	w.Set(t, "projects/due", old())
	w.Set(t, warnings+"/due", warnedOn(hour.AddDate(0, -1, 0), "2026-04-10"))
	w.Set(t, "projects/notdue", old())
	w.Set(t, warnings+"/notdue", warnedOn(hour.AddDate(0, -1, 0).Add(tick), "2026-04-10"))
	w.Set(t, warnings+"/gone", warnedOn(hour.AddDate(0, -1, 0), "2026-04-10"))
	w.Set(t, "projects/undated", old("last_activity_at", "2020"))
	enginetest.WantKept(t, w.Run(t, ""), report.Completed, map[string]report.Counts{}, map[string]int{keptInGrace: 3, "not due": 2, "no usable age": 1})
	w.Now = hour
	golden := enginetest.NewGolden(t, "between-passes")
	golden.Run(t, "one to warn about and one to mark", w.Function, "", "")
	enginetest.Want(t, "marked", []string{"due"}, w.marked(t))
	enginetest.Want(t, "tasks", 1, w.Deliver(t))
	enginetest.Want(t, "the warning's date", any(w.Now), w.Documents(t, warnings)["soon"]["warned_on"])
	// A day after the pass began comes the next, over the four dormant ones.
	w.Now = now.Add(24*time.Hour - tick)
	// As before, but for the grace of one project less, which has a project: notdue is marked, later is warned about.
	golden.Run(t, "within a day", w.Function, "", "")
	w.Now = now.Add(24 * time.Hour)
	enginetest.Want(t, "scanned after a day", 6, w.Run(t, "").Scanned)
}

// TestPoisonedProject: the next run looks again at a project that failed, and at one that changed, but at none that is gone.
func TestPoisonedProject(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"p1", "p2", "p3", "active", "gone"} {
		w.Set(t, "projects/"+id, old())
	}
	refuse := true
	w.Tasks().FailCreates(func(task *cloudtaskspb.Task) error {
		if refuse && string(task.GetHttpRequest().GetBody()) == `{"deletion_date":"2026-05-10","project_id":"p2"}` {
			return status.Error(codes.PermissionDenied, "no role")
		}
		return nil
	})
	w.Hooks.BeforeApply = func() {
		w.Set(t, "projects/active", old("last_activity_at", now))
		w.Delete(t, "projects/gone")
	}
	enginetest.WantReport(t, w.Run(t, ""), report.Failed, map[string]report.Counts{warnKind: {Planned: 5, Done: 2, Changed: 2, Failed: 1}})
	w.Hooks.BeforeApply = nil
	if saved := enginetest.Checkpoint(w.Documents(t, "cleanupJobs")[Job.Name]); !strings.Contains(saved, "p2") || strings.Contains(saved, "gone") {
		t.Errorf("left undone: %s", saved)
	}
	w.Now = now.Add(10 * time.Minute)
	enginetest.WantKept(t, w.Run(t, ""), report.Failed, map[string]report.Counts{warnKind: {Planned: 1, Failed: 1}}, map[string]int{keptActive: 1})
	refuse = false
	enginetest.WantReport(t, w.Run(t, ""), report.Completed, enginetest.Done(warnKind, 1))
	enginetest.WantReport(t, w.Run(t, ""), report.Completed, map[string]report.Counts{})
	told := []int{w.Deliver(t), len(w.IDs(t, "audit_events")), len(w.IDs(t, "mail"))}
	enginetest.Want(t, "tasks, events and mails", []int{3, 3, 3}, told)
}

const task = `{"project_id":"p1","deletion_date":"2026-05-10"}`

func TestWhomTheWorkerWarns(t *testing.T) {
	last := cutoff.AddDate(0, -1, 0)
	for name, tt := range map[string]struct {
		project, entry map[string]any
		kept           string // why nobody is; "": the entry is written
		mails          int
		logged         string // the severity of the line about it
	}{
		"warned for an earlier activity": {old(), warnedOn(last.Add(-tick), "2025-12-24"), "", 1, ""},
		"worked on when it was decided":  {old("last_activity_at", now), nil, "", 1, ""},
		"nobody's":                       {old("owner_ids", enginetest.Missing, "maintainer_ids", []any{}), nil, "", 0, "WARNING"},
		"gone":                           {nil, nil, keptGone, 0, "ERROR"},
		"warned":                         {old(), warnedOn(last, "2026-02-01"), keptWarned, 0, ""},
		"warned, unreadable":             {old(), map[string]any{}, keptWarned, 0, ""},
		"worked on since":                {old("last_activity_at", now.Add(tick)), nil, keptActiveSince, 0, ""},
		"worked on, warned once":         {old("last_activity_at", now.Add(tick)), warnedOn(last, "2026-02-01"), keptActiveSince, 0, ""},
		"of people without ids":          {old("owner_ids", []any{"users/u1"}, "maintainer_ids", 7.5), nil, keptNoPeople, 0, "WARNING"},
		"of people who do not exist":     {old("owner_ids", []any{"u9", "a@b.example"}, "maintainer_ids", 7), nil, keptNobody, 0, "WARNING"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Worker.Now = now
			if tt.project != nil {
				w.Set(t, "projects/p1", tt.project)
			}
			if tt.entry != nil {
				w.Set(t, warnings+"/p1", tt.entry)
			}
			want, kept, actions := tt.entry, map[string]int{tt.kept: 1}, map[string]report.Counts{}
			if tt.kept == "" {
				want, kept, actions = warnedOn(now, "2026-05-10"), map[string]int{}, enginetest.Done(sendKind, 1)
			}
			enginetest.WantKept(t, w.Worker.Run(t, task), report.Completed, actions, kept)
			enginetest.Want(t, "warning", want, w.Documents(t, warnings)["p1"])
			enginetest.Want(t, "mails", tt.mails, len(w.IDs(t, "mail")))
			logged := ""
			for _, line := range w.Worker.LogLines(t) {
				if line["severity"] != "INFO" && strings.Contains(line["message"].(string), "projects/p1") {
					logged = line["severity"].(string)
				}
			}
			enginetest.Want(t, "severity in the log", tt.logged, logged)
		})
	}
}

// TestLateWorkerShortensNoGrace delivers a task twenty days late: the project is marked a whole month after its people
// were told, not after it was decided to tell them.
func TestLateWorkerShortensNoGrace(t *testing.T) {
	w := newWorld(t)
	w.Set(t, "projects/p1", old())
	enginetest.WantReport(t, w.Run(t, ""), report.Completed, enginetest.Done(warnKind, 1))
	told := now.AddDate(0, 0, 20)
	w.Now = told
	w.Deliver(t)
	enginetest.Want(t, "warning", warnedOn(told, "2026-05-10"), w.Documents(t, warnings)["p1"])
	for _, step := range []struct {
		at      time.Time
		actions map[string]report.Counts
	}{
		{now.AddDate(0, 1, 1), map[string]report.Counts{}},
		{told.AddDate(0, 1, 0).Add(-tick), map[string]report.Counts{}},
		{told.AddDate(0, 1, 0), enginetest.Done(markKind, 1)},
	} {
		w.Now = step.at
		enginetest.WantReport(t, w.Run(t, ""), report.Completed, step.actions)
	}
}

// TestMailIsNotWrittenAgain keeps the extension from sending it again if somebody deletes the entry.
func TestMailIsNotWrittenAgain(t *testing.T) {
	w := newWorld(t)
	w.Worker.Now = now
	w.Worker.Env["NOTIFICATION_LOCALE"] = "en"
	w.Set(t, "projects/p1", old("name", enginetest.Missing))
	w.Worker.Run(t, task)
	id := w.IDs(t, "mail")[0]
	message := w.Documents(t, "mail")[id]["message"].(map[string]any)
	if message["subject"] != "Action required: Project p1 is scheduled to be deleted on 2026-05-10 due to inactivity" ||
		!strings.HasPrefix(message["text"].(string), "Nobody has worked on project “p1”") {
		t.Errorf("message %v", message)
	}
	w.Set(t, "mail/"+id, map[string]any{"delivery": "sent"})
	w.Delete(t, warnings+"/p1")
	enginetest.WantReport(t, w.Worker.Run(t, task), report.Completed, enginetest.Done(sendKind, 1))
	enginetest.Want(t, "mail", map[string]map[string]any{id: {"delivery": "sent"}}, w.Documents(t, "mail"))
	enginetest.Want(t, "warnings", []string{"p1"}, w.IDs(t, warnings))
}

func TestTask(t *testing.T) {
	for date, ok := range map[string]bool{"2026-05-10": true, "2026-02-30": false, "10.5.2026": false} {
		err := checkTask(map[string]string{"project_id": "p1", "deletion_date": date})
		enginetest.Want(t, date+" is right", ok, err == nil)
	}
}

// TestPeopleWhoDoNotExist: a project that names only such people is neither warned about nor marked, by the job as by the worker,
// until somebody of them exists.
func TestPeopleWhoDoNotExist(t *testing.T) {
	w := newWorld(t)
	nobodys := old("owner_ids", []any{"u8", "u9"}, "maintainer_ids", []any{"a@b.example"})
	w.Set(t, "projects/towarn", nobodys)
	w.Set(t, "projects/tomark", nobodys)
	w.Set(t, warnings+"/tomark", warnedOn(cutoff, "2026-02-10"))
	got := w.Run(t, "")
	enginetest.WantKept(t, got, report.Completed, map[string]report.Counts{}, map[string]int{keptNobody: 2})

	w.Set(t, "users/u9", map[string]any{}) // not the first of them
	w.Now = now.Add(day)
	w.Hooks.BeforeApply = func() { w.Delete(t, "users/u9") }
	got = w.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{warnKind: {Planned: 1, Changed: 1}, markKind: {Planned: 1, Changed: 1}})
	w.Hooks.BeforeApply = nil
	w.Set(t, "users/u9", map[string]any{})
	w.Now = now.Add(2 * day)
	enginetest.WantReport(t, w.Run(t, ""), report.Completed, map[string]report.Counts{warnKind: {Planned: 1, Done: 1}, markKind: {Planned: 1, Done: 1}})
}
