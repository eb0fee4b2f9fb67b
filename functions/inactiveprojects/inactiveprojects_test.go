package inactiveprojects

import (
	"strings"
	"testing"
	"time"

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
