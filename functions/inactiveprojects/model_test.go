package inactiveprojects

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	model "github.com/firesweep/firesweep/shared/engine/enginetest/modeltest"
)

func amount(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, v-v == 0 // neither infinite nor not a number
	}
	return 0, false
}

// people are those of a project who can be warned, and whether there are some whom nobody can warn instead.
func people(w model.World, project map[string]any) (to []any, unreachable bool) {
	var named []any
	for _, field := range []string{"owner_ids", "maintainer_ids"} {
		switch v := project[field].(type) {
		case nil:
		case []any:
			named = append(named, v...)
		default:
			named = append(named, v)
		}
	}
	for _, name := range named {
		id := model.IDIn("users", name)
		if _, exists := w.Documents["users/"+id]; exists && id != "" && !slices.Contains(to, any(id)) {
			to = append(to, id)
		}
	}
	return to, len(named) > 0 && len(to) == 0
}

// terms are valid settings, nil values missing.
type terms struct {
	warn, remove int
	minSize      any // MiB
}

// afterRun is the rule of deleteInactiveProjects and sendInactiveProjectWarning: what is there when the run's tasks have been
// delivered. A project that cannot be judged, whose people cannot be warned, or whose organization has no bot to do it, is
// kept.
func afterRun(w model.World, now time.Time, s terms) model.World {
	w = w.Clone()
	grace := s.remove - s.warn
	minSize, _ := amount(s.minSize)
	for id, project := range w.In("projects") {
		last, dated := project["last_activity_at"].(time.Time)
		size, sized := amount(project["storage_size"])
		if !dated || !last.Before(model.MonthsAgo(now, s.warn)) || sized && size <= minSize*1024*1024 || project["marked_for_deletion_on"] != nil {
			continue
		}
		if !sized && (project["storage_size"] != nil || minSize > 0) {
			continue
		}
		if pending := project["pending_delete"]; pending != nil && pending != false {
			continue
		}
		if _, unreachable := people(w, project); unreachable {
			continue
		}
		org := model.IDIn("organizations", project["organization_id"])
		bot := w.Documents["organizations/"+org]["admin_bot_user_id"]
		if org == "" || model.IDIn("users", bot) == "" {
			continue
		}
		entry, has := w.Documents["inactive_project_deletion_warnings/"+id]
		warned, ok := entry["warned_on"].(time.Time)
		promised, promise := dateOf(entry["deletion_date"])
		switch {
		case has && (!ok || !promise):
		case !has || warned.Before(last):
			warnPeople(w, id, bot, now, model.MonthsAgo(now, -grace).Format(time.DateOnly))
		case !warned.After(model.MonthsAgo(now, grace)) && !now.Before(promised):
			project["marked_for_deletion_on"], project["deleting_user"] = now, bot
			delete(w.Documents, "inactive_project_deletion_warnings/"+id)
		}
	}
	return w
}

// dateOf reads a promised date: a day, from its beginning on, or an instant.
func dateOf(v any) (time.Time, bool) {
	if at, ok := v.(time.Time); ok {
		return at, true
	}
	text, _ := v.(string)
	day, err := time.Parse("2006-01-02", text)
	return day, err == nil
}

// warnPeople is what is written for one warning. One that a run made that was taken back has been promised, until the day has come,
// and is not told twice.
func warnPeople(w model.World, id string, bot any, now time.Time, date string) {
	project := w.Documents["projects/"+id]
	event := "audit event of " + id + " (1)"
	if promised, _ := w.Documents[event]["deletion_date"].(string); promised > now.Format(time.DateOnly) {
		date = promised
	} else {
		w.Documents[event] = map[string]any{
			"name": "inactive_project_scheduled_for_deletion", "message": "Project is scheduled to be deleted on " + date + " due to inactivity.",
			"author_id": bot, "project_id": id, "deletion_date": date, "created_at": now,
		}
	}
	w.Documents["inactive_project_deletion_warnings/"+id] = map[string]any{"warned_on": now, "deletion_date": date}
	to, _ := people(w, project)
	if len(to) == 0 {
		return
	}
	name, _ := project["name"].(string)
	if name == "" {
		name = id
	}
	name = strings.ReplaceAll(name, "\x00", " ")
	if characters := []rune(name); len(characters) > 200 {
		name = string(characters[:200]) + "…"
	}
	subject := "Action required: Project " + name + " is scheduled to be deleted on " + date + " due to inactivity"
	w.Documents["mail "+subject+" (1)"] = map[string]any{"toUids": to, "subject": subject}
}

// named names what has a derived id by what it is about. The text of an e-mail is checked elsewhere.
func named(path string, data map[string]any) string {
	switch {
	case strings.HasPrefix(path, "audit_events/"):
		return fmt.Sprint("audit event of ", data["project_id"])
	case strings.HasPrefix(path, "mail/"):
		message, _ := data["message"].(map[string]any)
		delete(data, "message")
		data["subject"] = message["subject"]
		return fmt.Sprint("mail ", message["subject"])
	}
	return ""
}

func TestModel(t *testing.T) {
	p := newWorld(t)
	var s terms
	job := model.Job{
		Pair: p.Pair, Steps: []time.Duration{0, 10 * time.Minute, 25 * time.Hour, 31 * 24 * time.Hour, 200 * 24 * time.Hour},
		Name:  named,
		After: func(_ *rapid.T, w model.World, _ map[string]bool) model.World { return afterRun(w, p.Now, s) },
	}
	job.Check(t, func(rt *rapid.T) model.World {
		p.Now = model.Now(rt).Truncate(24 * time.Hour).Add(15 * time.Hour)
		s = rapid.SampledFrom([]terms{{1, 2, nil}, {2, 6, int64(1)}, {3, 4, 0.5}, {1, 12, int64(0)}}).Draw(rt, "settings")
		w := model.NewWorld()
		switches := map[string]any{
			"delete_inactive_projects": true, "inactive_projects_delete_after_months": int64(s.remove), "inactive_projects_send_warning_email_after_months": int64(s.warn),
		}
		if s.minSize != nil {
			switches["inactive_projects_min_size_mb"] = s.minSize
		}
		w.Documents["application_settings/current"] = switches
		ref := func(path string) any { return p.Firestore(t).Doc(path) }
		for _, id := range []string{"u1", "u2", "1", model.TooLong} {
			w.Documents["users/"+id] = map[string]any{}
		}
		for org, bot := range map[string]any{"o1": "bot", "o2": ref("users/bot"), "o10": ref("bots/bot"), "7": int64(7), model.TooLong: model.TooLong, "o3": "", "o4": nil, "o5": true, "o7": "a/b", "o8": 7.0, "o9": int64(0)} {
			w.Documents["organizations/"+org] = map[string]any{"admin_bot_user_id": bot}
		}
		limit, _ := amount(s.minSize)
		bytes := int64(limit * 1024 * 1024)
		dormant, over := model.MonthsAgo(p.Now, s.warn), model.MonthsAgo(p.Now, s.remove-s.warn)
		soon := 5 * time.Minute
		orgs := model.OneOf("o1", "o1", int64(7), "7", model.TooLong, "o2", ref("organizations/o1"))
		owners := model.OneOf([]any{"u1"}, []any{"u1", "u2", "u1"}, []any{int64(1), "1", model.TooLong}, []any{}, []any{"", "a/b", int64(1), nil}, []any{"", "a/b", 1.0, nil}, "u1", map[string]any{"u1": true}, nil, model.Missing,
			[]any{"u9", "u1"}, []any{"u9", ref("users/u2")}, []any{"u9", "a@b.example"}, ref("users/u1"), []any{ref("members/u1")})
		project := model.Fields{
			"name":                   model.OneOf("Sweeper", "日本", "", model.Missing, int64(1)),
			"last_activity_at":       model.Around(dormant, dormant.Add(soon), over, over.AddDate(0, -1, 0), over.AddDate(-1, 0, 0)),
			"storage_size":           model.OneOf(bytes+1, bytes+1, bytes+1, float64(bytes)+0.5, bytes, bytes-1, int64(1<<40), int64(1<<40), "5", math.Inf(1), nil, model.Missing),
			"marked_for_deletion_on": model.OneOf(model.Missing, nil, model.Missing, nil, model.Missing, p.Now, "", "2026-01-01"),
			"pending_delete":         model.OneOf(model.Missing, nil, false, model.Missing, false, true, "false", int64(0)),
			"organization_id":        rapid.OneOf(orgs, orgs, orgs, model.OneOf("o10", ref("users/o1"), "o3", "o4", "o5", "o6", "o7", "o8", "o9"), model.OneOf(model.BadIDs...), model.OneOf(model.OddNames...)),
			"owner_ids":              rapid.OneOf(owners, owners, model.OneOf(model.BadIDs...), model.OneOf(model.OddNames...)),
			"maintainer_ids":         model.OneOf([]any{"u2", "u3"}, []any{int64(2), "u1"}, []any{}, []any{}, model.Missing, model.Missing, nil, []any{0.5, ""}, "u2", int64(2)),
		}
		date := func(months int) any { return model.MonthsAgo(p.Now, months).Format(time.DateOnly) }
		entry := model.Fields{
			"warned_on":     rapid.OneOf(model.OneOf(over, over.Add(-time.Microsecond), over.Add(soon), over.AddDate(-1, 0, 0)), model.Around(over, over.Add(soon), dormant, p.Now)),
			"deletion_date": model.OneOf(date(0), date(0), date(1), date(-1), p.Now, p.Now.AddDate(0, -1, 0), p.Now.AddDate(1, 0, 0), "soon", "2026-02-30", nil, model.Missing, int64(1)),
		}
		ids := []string{model.TooLong, "a\x00b", "<" + model.LongestAsked}
		for n := range model.Items {
			ids = append(ids, model.ID(rt, fmt.Sprint(n)))
		}
		for _, id := range ids {
			data := project.Draw(rt, "project")
			if name, ok := data["name"].(string); ok && name != "" {
				data["name"] = id + " " + name // by which their e-mails are told apart
			}
			w.Documents["projects/"+id] = data
			if rapid.IntRange(0, 2).Draw(rt, "warned") > 0 {
				w.Documents["inactive_project_deletion_warnings/"+id] = entry.Draw(rt, "entry")
			}
		}
		return w
	})
}
