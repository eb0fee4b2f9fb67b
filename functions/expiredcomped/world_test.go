package expiredcomped

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

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
	f := sweeptest.New(t, functions.New(Job))
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

func (w world) load(t *testing.T, f *sweeptest.Function) {
	t.Helper()
	paths := slices.Sorted(maps.Keys(w))
	f.SetMany(t, len(paths), func(i int) (string, map[string]any) { return paths[i], w[paths[i]] })
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
	deleted := make([]documents.Document, len(rows))
	for i, r := range rows {
		paths[i] = "members_products/" + r
		deleted[i] = documents.Document{Path: paths[i], Data: w[paths[i]]}
	}
	return w.without(paths...).with(world{
		"members/" + id: changed,
		"members_status_events/" + eventID(now, id, deleted): {
			"member_id": w[paths[0]]["member_id"], "from_status": "comped", "to_status": "free", "created_at": now,
		},
	})
}

// is compares the world with the database.
func (w world) is(t *testing.T, f *sweeptest.Function) {
	t.Helper()
	found := world{}
	for _, collection := range []string{"members_products", "members", "members_status_events", "elsewhere/x/members_products"} {
		for id, data := range f.Documents(t, collection) {
			found[collection+"/"+id] = data
		}
	}
	sweeptest.Want(t, "documents", w, found)
}

// ownLines returns the job's own log lines of all runs so far, which must all be INFO.
func ownLines(t *testing.T, f *sweeptest.Function) []string {
	t.Helper()
	var lines []string
	for _, line := range f.LogLines(t) {
		if message := line["message"].(string); strings.HasPrefix(message, "Starting") || strings.HasPrefix(message, "Removed") {
			lines = append(lines, message)
			if line["severity"] != "INFO" || line["logging.googleapis.com/labels"].(map[string]any)["job"] != "cleanExpiredComped" {
				t.Errorf("line %v", line)
			}
		}
	}
	return lines
}

// removedLine is the last line of a run.
func removedLine(rows, freed int, got *sweep.Report) string {
	return fmt.Sprintf("Removed %d expired subscriptions, updated %d members in %dms", rows, freed, got.DurationMs)
}
