package inactiveprojects

import (
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

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
