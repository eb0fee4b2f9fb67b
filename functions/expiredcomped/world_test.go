package expiredcomped

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

const (
	tick = time.Microsecond // Firestore's resolution
	day  = 24 * time.Hour
)

var (
	now       = time.Date(2026, 1, 10, 4, 17, 33, 0, time.UTC)
	today     = time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	yesterday = today.Add(-tick)
)

func newFunction(t *testing.T) *sweeptest.Function {
	t.Helper()
	return functionOf(t, Job)
}

func functionOf(t testing.TB, job sweep.Job) *sweeptest.Function {
	t.Helper()
	f := sweeptest.New(t, functions.New(job))
	f.Now = now
	return f
}

// world is what a database holds, by path.
type world map[string]map[string]any

func row(member, expiry any) map[string]any {
	return map[string]any{"member_id": member, "product_id": "gold", "sort_order": int64(0), "expiry_at": expiry}
}

func member(status any) map[string]any {
	return map[string]any{"email": "hana@example.com", "status": status, "updated_at": today.AddDate(-1, 0, 0)}
}

func (w world) load(t *testing.T, f *sweeptest.Function) world {
	t.Helper()
	paths := slices.Sorted(maps.Keys(w))
	f.SetMany(t, len(paths), func(i int) (string, map[string]any) { return paths[i], w[paths[i]] })
	return w
}

// without returns the world without some documents.
func (w world) without(paths ...string) world {
	rest := maps.Clone(w)
	for _, path := range paths {
		if rest[path] == nil {
			panic(path + " is not in this world")
		}
		delete(rest, path)
	}
	return rest
}

// with returns the world with further documents, or others in their places.
func (w world) with(others world) world {
	all := maps.Clone(w)
	maps.Copy(all, others)
	return all
}

// freed returns the world once a run at now made a member free by deleting rows, which are all in the last commit.
func (w world) freed(id string, rows ...string) world {
	changed := maps.Clone(w["members/"+id])
	changed["status"], changed["updated_at"] = "free", now
	paths := make([]string, len(rows))
	for i, r := range rows {
		paths[i] = "members_products/" + r
	}
	return w.without(paths...).with(world{
		"members/" + id: changed,
		"members_status_events/" + eventIDOf(w, id, rows...): {
			"member_id": w[paths[0]]["member_id"], "from_status": "comped", "to_status": "free", "created_at": now,
		},
	})
}

// eventIDOf returns the id of the event that a run at now writes when it deletes these rows.
func eventIDOf(w world, id string, rows ...string) string {
	deleted := make([]documents.Document, len(rows))
	for i, r := range rows {
		path := "members_products/" + r
		deleted[i] = documents.Document{Path: path, Data: w[path]}
	}
	return eventID(now, id, deleted)
}

func read(t testing.TB, f *sweeptest.Function) world {
	t.Helper()
	found := world{}
	for _, collection := range []string{"members_products", "members", "members_status_events", "elsewhere/x/members_products"} {
		for id, data := range f.Documents(t, collection) {
			found[collection+"/"+id] = data
		}
	}
	return found
}

// is compares the world with the database.
func (w world) is(t *testing.T, f *sweeptest.Function) {
	t.Helper()
	if diff := cmp.Diff(w, read(t, f)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func ended(t testing.TB, got *sweep.Report, status sweep.Status, counts sweep.Counts) {
	t.Helper()
	want := map[string]sweep.Counts{}
	if counts != (sweep.Counts{}) {
		want[kind] = counts
	}
	if diff := cmp.Diff(want, got.Actions); got.Status != status || diff != "" {
		t.Errorf("%s %v, want %s; actions (-want +got):\n%s", got.Status, got.Failures, status, diff)
	}
}

// The log lines of Ghost's job.
const (
	starting = "Starting cleanup of expired comp subscriptions"
	canceled = "Expired complimentary subscriptions cleanup cancelled before completion"
)

func removedLine(removed, updated int, got *sweep.Report) string {
	return fmt.Sprintf("Removed %d expired subscriptions, updated %d members in %dms", removed, updated, got.DurationMs)
}

// logged compares the job's own log lines of all runs so far, which must all be INFO.
func logged(t testing.TB, f *sweeptest.Function, want ...string) {
	t.Helper()
	lines := []string{}
	for _, line := range f.LogLines(t) {
		message := line["message"].(string)
		for _, begin := range []string{"Starting", "Removed", "Expired", "Cleanup"} {
			if strings.HasPrefix(message, begin) {
				lines = append(lines, message)
				if line["severity"] != "INFO" || line["logging.googleapis.com/labels"].(map[string]any)["job"] != "cleanExpiredComped" {
					t.Errorf("line %v", line)
				}
			}
		}
	}
	if diff := cmp.Diff(append([]string{}, want...), lines); diff != "" {
		t.Errorf("the job's lines (-want +got):\n%s", diff)
	}
}
