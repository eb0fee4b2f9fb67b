package inactiveprojects

import (
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestChangedBetweenPlanAndCommit has users do something to projects that are about to be marked, and to one to warn about.
func TestChangedBetweenPlanAndCommit(t *testing.T) {
	w := newWorld(t)
	changes := map[string]map[string]any{
		"active": old("last_activity_at", now), "small": old("storage_size", 0), "pending": old("pending_delete", true),
		"bymark": old("marked_for_deletion_on", cutoff), "undated": old("last_activity_at", enginetest.Missing), "same": old("name", "renamed"),
		"unreachable": old("owner_ids", []any{""}, "maintainer_ids", nil), "moved": old("organization_id", "botless"),
	}
	all := []string{"gone", "unwarned", "promised"}
	for id := range changes {
		all = append(all, id)
	}
	for _, id := range all {
		w.Set(t, "projects/"+id, old())
		w.Set(t, warnings+"/"+id, warnedOn(cutoff, "2026-02-10"))
	}
	w.Set(t, "projects/towarn", old())
	w.Hooks.BeforeApply = func() {
		w.Set(t, "projects/towarn", old("last_activity_at", now))
		for id, data := range changes {
			w.Set(t, "projects/"+id, data)
		}
		for _, path := range []string{"projects/gone", warnings + "/unwarned"} {
			w.Delete(t, path)
		}
		w.Set(t, warnings+"/promised", warnedOn(cutoff, "2026-12-31"))
	}
	got := w.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{markKind: {Planned: 11, Done: 1, Changed: 10}, warnKind: {Planned: 1, Changed: 1}})
	if len(w.IDs(t, "audit_events")) != 0 || len(w.Tasks().Pending("")) != 0 {
		t.Error("somebody is warned")
	}
	enginetest.Want(t, "marked", []string{"bymark", "same"}, w.marked(t))
	if at := w.Documents(t, "projects")["bymark"]["marked_for_deletion_on"]; at != cutoff {
		t.Errorf("somebody else's mark became %v", at)
	}
	enginetest.Want(t, "warnings", []string{"active", "bymark", "gone", "moved", "pending", "promised", "small", "undated", "unreachable"}, w.IDs(t, warnings))
}

func TestSettingsChangedBetweenPlanAndMark(t *testing.T) {
	for name, settings := range map[string]map[string]any{
		"off":     enginetest.With(monthly, "delete_inactive_projects", false),
		"invalid": enginetest.With(monthly, "inactive_projects_delete_after_months", 1),
		"longer":  enginetest.With(monthly, "inactive_projects_delete_after_months", 24),
		"larger":  enginetest.With(monthly, "inactive_projects_min_size_mb", 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Set(t, "projects/p1", old())
			w.Set(t, warnings+"/p1", warnedOn(cutoff, "2026-02-10"))
			w.Hooks.BeforeApply = func() { w.Set(t, settingsPath, settings) }
			enginetest.WantReport(t, w.Run(t, ""), report.Completed, map[string]report.Counts{markKind: {Planned: 1, Changed: 1}})
			if len(w.marked(t)) != 0 || len(w.IDs(t, warnings)) != 1 {
				t.Errorf("marked %v", w.marked(t))
			}
		})
	}
}
