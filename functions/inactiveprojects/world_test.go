package inactiveprojects

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// world is the job and its worker on a project of their own.
type world struct {
	*sweeptest.Function
	worker *sweeptest.Function
}

// newWorld sets the settings and an organization, o1, whose admin bot is "bot".
func newWorld(t *testing.T) world {
	t.Helper()
	t.Parallel()
	f := sweeptest.New(t, functions.New(Job))
	if f.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	w := world{Function: f, worker: sweeptest.On(t, functions.New(Worker), f.Project)}
	f.Now = now
	w.worker.Now = time.Time{} // its tasks say when they were made
	f.Clock = func() time.Time { return f.Now }
	w.worker.Clock = func() time.Time { return f.Now }
	f.Env["TASKS_TARGET_URL"] = w.worker.Serve(t)
	f.Set(t, settingsPath, monthly)
	f.Set(t, "organizations/o1", map[string]any{"admin_bot_user_id": "bot"})
	return w
}

// old is a dormant project of 5 bytes with two people.
func old(pairs ...any) map[string]any {
	return with(map[string]any{
		"name": "Sweeper", "last_activity_at": cutoff.AddDate(0, -1, 0), "storage_size": 5, "organization_id": "o1",
		"owner_ids": []any{"u1"}, "maintainer_ids": []any{"u2"},
	}, pairs...)
}

func warnedOn(at time.Time, date string) map[string]any {
	return map[string]any{"warned_on": at, "deletion_date": date}
}

// deliver delivers all tasks.
func (w world) deliver(t *testing.T) int {
	t.Helper()
	n, err := w.Tasks().Deliver(t.Context(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (w world) project(t *testing.T, id string) map[string]any {
	t.Helper()
	return w.Documents(t, "projects")[id]
}

// ids returns the ids of a collection's documents.
func (w world) ids(t *testing.T, collection string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(w.Documents(t, collection)))
}

// marked returns the ids of the projects that are marked for deletion.
func (w world) marked(t *testing.T) []string {
	t.Helper()
	var ids []string
	for id, data := range w.Documents(t, "projects") {
		if data["marked_for_deletion_on"] != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

const (
	settingsPath = "application_settings/current"

	warnKind = "warn about project"
	markKind = "mark project for deletion"
	sendKind = "send warning about project"
)
