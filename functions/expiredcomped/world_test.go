package expiredcomped

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
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

func newFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Now = now
	return f
}

type world = enginetest.World

func row(member, expiry any) map[string]any {
	return map[string]any{"member_id": member, "product_id": "gold", "sort_order": int64(0), "expiry_at": expiry}
}

func member(status any) map[string]any {
	return map[string]any{"email": "hana@example.com", "status": status, "updated_at": today.AddDate(-1, 0, 0)}
}

// whenFree returns the world once a run at now made a member free by deleting rows, which are all in the last commit.
func whenFree(w world, id string, rows ...string) world {
	paths := make([]string, len(rows))
	deleted := make([]documents.Document, len(rows))
	for i, r := range rows {
		paths[i] = "members_products/" + r
		deleted[i] = documents.Document{Path: paths[i], Data: w[paths[i]]}
	}
	return w.Without(paths...).Changed("members/"+id, map[string]any{"status": "free", "updated_at": now}).With(world{
		"members_status_events/" + eventID(now, id, deleted): {
			"member_id": w[paths[0]]["member_id"], "from_status": "comped", "to_status": "free", "created_at": now,
		},
	})
}

// ownLines returns the job's own log lines of all runs so far.
func ownLines(t *testing.T, f *enginetest.Function) []string {
	t.Helper()
	var lines []string
	for _, line := range f.LogLines(t) {
		if message := line["message"].(string); strings.HasPrefix(message, "Starting") || strings.HasPrefix(message, "Removed") {
			lines = append(lines, message)
		}
	}
	return lines
}

// removedLine is the last line of a run.
func removedLine(rows, freed int, got *report.Report) string {
	return fmt.Sprintf("Removed %d expired subscriptions, updated %d members in %dms", rows, freed, got.DurationMs)
}
