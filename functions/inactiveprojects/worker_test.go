package inactiveprojects

import (
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

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
			got := w.Worker.Run(t, task)
			enginetest.WantReport(t, got, report.Completed, actions)
			enginetest.Want(t, "kept", kept, got.Kept)
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
		if err := checkTask(map[string]string{"project_id": "p1", "deletion_date": date}); (err == nil) != ok {
			t.Errorf("%s: %v", date, err)
		}
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
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept", map[string]int{keptNobody: 2}, got.Kept)

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
