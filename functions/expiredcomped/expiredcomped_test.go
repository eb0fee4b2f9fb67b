package expiredcomped

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const starting = "Starting cleanup of expired comp subscriptions"

// TestCost: a member costs three reads, a delete and two writes.
func TestCost(t *testing.T) {
	const n = 100
	f := newFunction(t)
	w := world{}
	for i := range n {
		id := fmt.Sprintf("m%03d", i)
		w["members/"+id], w["members_products/"+id] = member(), row(id, today.Add(-time.Duration(i+1)*time.Hour))
	}
	w.Write(t, f)
	enginetest.NewGolden(t, "members").Run(t, "100 members", f, "", "")
}

// TestRowsOnSeveralPages has members with rows on each of three pages: each is proposed once.
func TestRowsOnSeveralPages(t *testing.T) {
	f := newFunction(t)
	const n, people = 1100, 3
	f.SetAlike(t, people, "members/m%d", member())
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		return fmt.Sprintf("members_products/r%04d", i), row(fmt.Sprintf("m%d", i%people), yesterday.Add(-time.Duration(i)*time.Minute))
	})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done(kind, people))
	enginetest.Want(t, "own lines", []string{starting, removedLine(n, people, got)}, ownLines(t, f))
	enginetest.Want(t, "rows left", 0, len(f.Documents(t, "members_products")))
	enginetest.Want(t, "events", people, len(f.Documents(t, "members_status_events")))
}

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

func member() map[string]any {
	return map[string]any{"email": "hana@example.com", "status": "comped", "updated_at": today.AddDate(-1, 0, 0)}
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

// TestMoreRowsThanACommitHolds: of 400 rows all that expired are deleted in one commit, which makes the member free if none is
// kept; a member who has one more row keeps all of them, and stays comped.
func TestMoreRowsThanACommitHolds(t *testing.T) {
	for name, tt := range map[string]struct{ expired, endless, deleted, events int }{
		"400 expired rows":           {expired: cleanup.MaxRoom, deleted: cleanup.MaxRoom, events: 1},
		"one of 400 rows is endless": {expired: cleanup.MaxRoom - 1, endless: 1, deleted: cleanup.MaxRoom - 1},
		"one of 400 rows expired":    {expired: 1, endless: cleanup.MaxRoom - 1, deleted: 1},
		"401 expired rows":           {expired: cleanup.MaxRoom + 1},
		"one of 401 rows is endless": {expired: cleanup.MaxRoom, endless: 1},
		"one of 401 rows expired":    {expired: 1, endless: cleanup.MaxRoom},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			want := world{"members/m": member()}
			for i := range tt.endless {
				want[fmt.Sprintf("members_products/%03d", i)] = row("m", nil)
			}
			before := want
			for i := range tt.expired {
				before = before.With(world{fmt.Sprintf("members_products/r%03d", i): row("m", yesterday.Add(-time.Duration(i)*time.Hour))})
			}
			before.Write(t, f)
			commits := 0
			f.AfterCommits(func(_ int, c *firestorepb.CommitRequest) {
				if slices.ContainsFunc(c.GetWrites(), func(w *firestorepb.Write) bool { return strings.Contains(w.GetDelete(), "members_products") }) {
					commits++
				}
			})
			got := f.Run(t, "")
			if tt.deleted == 0 {
				kept := map[string]int{keptMany: 1}
				if tt.endless > 0 {
					kept[keptEndless] = tt.endless
				}
				enginetest.WantKept(t, got, report.Completed, map[string]report.Counts{kind: {Planned: 1}}, kept)
				before.Is(t, f)
				enginetest.Want(t, "commits", 0, commits)
				return
			}
			enginetest.WantReport(t, got, report.Completed, enginetest.Done(kind, 1))
			enginetest.Want(t, "commits", 1, commits)
			enginetest.Want(t, "lines", removedLine(tt.deleted, tt.events, got), ownLines(t, f)[1])
			if tt.events > 0 {
				want = want.Changed("members/m", map[string]any{"status": "free", "updated_at": now})
			}
			events := f.Documents(t, "members_status_events")
			enginetest.Want(t, "events", tt.events, len(events))
			for id, data := range events {
				want["members_status_events/"+id] = data
			}
			want.Is(t, f)
		})
	}
}
