package expiredcomped

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/functions"
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

// TestManyRowsOfOneMember is a member with 420 expired rows, which take two commits of at most 400. Rows that stay lie before them,
// among them and behind them, or are given before the last commit.
func TestManyRowsOfOneMember(t *testing.T) {
	for name, tt := range map[string]struct{ stays, given string }{ // a row that never expires
		"none stays":          {},
		"the first stays":     {stays: "a"},
		"one in the middle":   {stays: "r0210x"},
		"the last stays":      {stays: "z"},
		"one is given before": {given: "a"},
		"one is given behind": {given: "z"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			const n = 420
			f.Set(t, "members/m", member())
			if tt.stays != "" {
				f.Set(t, "members_products/"+tt.stays, row("m", nil))
			}
			f.SetMany(t, n, func(i int) (string, map[string]any) {
				return fmt.Sprintf("members_products/r%04d", i), row("m", yesterday.Add(-time.Duration(i)*time.Hour))
			})
			given := false
			f.AfterCommits(func(_ int, c *firestorepb.CommitRequest) {
				if len(c.GetWrites()) >= 399 && tt.given != "" && !given {
					given = true
					f.Set(t, "members_products/"+tt.given, row("m", nil))
				}
			})
			got := f.Run(t, "")
			enginetest.WantReport(t, got, report.Completed, enginetest.Done(kind, 1))
			enginetest.Want(t, "lines", removedLine(n, min(1, len(f.Documents(t, "members_status_events"))), got), ownLines(t, f)[1])
			want, stays := world{"members/m": member()}, tt.stays+tt.given
			if stays != "" {
				want["members_products/"+stays] = row("m", nil)
			} else {
				want = want.Changed("members/m", map[string]any{"status": "free", "updated_at": now})
			}
			for id, data := range f.Documents(t, "members_status_events") {
				want["members_status_events/"+id] = data
			}
			want.Is(t, f)
			enginetest.Want(t, "documents, with an event of a member made free", 2, len(want))
		})
	}
}

// TestRowsThatStayBeforeThoseThatGo is a member whose rows that stay alone are more than one commit looks at.
func TestRowsThatStayBeforeThoseThatGo(t *testing.T) {
	f := newFunction(t)
	w := world{"members/m": member()}
	for i := range 450 {
		w[fmt.Sprintf("members_products/r%03d", i)] = row("m", nil)
	}
	w.With(world{"members_products/x": row("m", yesterday)}).Write(t, f)
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done(kind, 1))
	w.Is(t, f)
}
