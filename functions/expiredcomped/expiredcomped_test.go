package expiredcomped

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// longest is the longest id that a query can ask for.
var longest = strings.Repeat("x", 1499)

// everyCase is one of each: every boundary of the day, every sort of member, every combination of rows.
func everyCase() (before, after world) {
	before = world{
		// Expired, all of them.
		"members_products/two-days":  row("two-days", today.Add(-2*day)),
		"members/two-days":           member("comped"),
		"members_products/last-tick": row("last-tick", yesterday),
		"members/last-tick":          member("comped"),
		"members_products/ancient":   row("ancient", time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC)),
		"members/ancient":            member("comped"),

		// Not before today.
		"members_products/first-tick": row("first-tick", today),
		"members/first-tick":          member("comped"),
		"members_products/tonight":    row("tonight", today.Add(day-tick)),
		"members/tonight":             member("comped"),
		"members_products/an-hour":    row("an-hour", now.Add(-time.Hour)),
		"members/an-hour":             member("comped"),
		"members_products/next-year":  row("next-year", today.AddDate(1, 0, 0)),
		"members/next-year":           member("comped"),

		// No date to judge by.
		"members_products/endless": row("endless", nil),
		"members/endless":          member("comped"),
		"members_products/undated": {"member_id": "undated"},
		"members/undated":          member("comped"),
		"members_products/text":    row("text", "2020-01-01T00:00:00Z"),
		"members/text":             member("comped"),
		"members_products/number":  row("number", int64(1577836800000)),
		"members/number":           member("comped"),
		"members_products/empty":   {},

		// Expired, of members who are not comped.
		"members_products/paid":      row("paid", today.Add(-day)),
		"members/paid":               member("paid"),
		"members_products/free":      row("free", today.Add(-day)),
		"members/free":               member("free"),
		"members_products/capitals":  row("capitals", today.Add(-day)),
		"members/capitals":           member("Comped"),
		"members_products/odd":       row("odd", today.Add(-day)),
		"members/odd":                member(int64(1)),
		"members_products/no-status": row("no-status", today.Add(-day)),
		"members/no-status":          {"email": "x"},
		"members_products/gone":      row("gone", today.Add(-day)),

		// Expired, of nobody.
		"members_products/nobody1": {"expiry_at": today.Add(-day)},
		"members_products/nobody2": row("", today.Add(-day)),
		"members_products/nobody3": row("a/b", today.Add(-day)),
		"members_products/nobody4": row("..", today.Add(-day)),
		"members_products/nobody5": row("__m__", today.Add(-day)),
		"members_products/nobody6": row(nil, today.Add(-day)),
		"members_products/nobody7": row(int64(0), today.Add(-day)),
		"members/0":                member("comped"),
		"members_products/nobody8": row(8.0, today.Add(-day)),
		"members/8":                member("comped"),

		// Members who have numbers.
		"members_products/numbered":       row(int64(42), today.Add(-day)),
		"members/42":                      member("comped"),
		"members_products/numbered-a":     row(int64(43), today.Add(-day)),
		"members_products/numbered-b":     row("43", today.Add(-day)),
		"members/43":                      member("comped"),
		"members_products/numbered-mixed": row(int64(44), today.Add(-day)),
		"members_products/text-mixed":     row("44", today),
		"members/44":                      member("comped"),
		"members_products/numbered-real":  row(int64(45), today.Add(-day)),
		"members_products/real":           row(45.0, today.Add(-day)),
		"members/45":                      member("comped"),
		"members_products/not-a-number":   row("046", today.Add(-day)),
		"members/046":                     member("paid"),
		"members_products/a-number":       row(int64(46), today.Add(day)),
		"members/46":                      member("comped"),

		// Members whose ids are as long as a query takes, and longer.
		"members_products/longest":  row(longest, today.Add(-day)),
		"members/" + longest:        member("comped"),
		"members_products/too-long": row(longest+"x", today.Add(-day)),
		"members/" + longest + "x":  member("comped"),

		// Several rows.
		"members_products/two-a":       row("two", today.Add(-day)),
		"members_products/two-b":       row("two", today.AddDate(-5, 0, 0)),
		"members/two":                  member("comped"),
		"members_products/mixed-a":     row("mixed", today.Add(-day)),
		"members_products/mixed-b":     row("mixed", today),
		"members/mixed":                member("comped"),
		"members_products/mixed-null":  row("null", today.Add(-day)),
		"members_products/mixed-null2": row("null", nil),
		"members/null":                 member("comped"),
		"members_products/mixed-none":  row("none", today.Add(-day)),
		"members_products/mixed-none2": {"member_id": "none"},
		"members/none":                 member("comped"),
		"members_products/mixed-odd":   row("odd-row", today.Add(-day)),
		"members_products/mixed-odd2":  row("odd-row", "2020-01-01"),
		"members/odd-row":              member("comped"),

		// Not theirs.
		"members_products/neighbour":        row("two-days1", today.Add(day)),
		"members/two-days1":                 member("comped"),
		"members/rowless":                   member("comped"),
		"elsewhere/x/members_products/row":  row("two-days", today.Add(-day)),
		"members_status_events/earlier":     {"member_id": "two", "to_status": "comped"},
		"elsewhere/x/members_products/row2": row("x", today.Add(-day)),
	}
	after = before.
		freed("two-days", "two-days").freed("last-tick", "last-tick").freed("ancient", "ancient").freed("two", "two-a", "two-b").
		freed("42", "numbered").freed("43", "numbered-a", "numbered-b").freed(longest, "longest").
		without(
			"members_products/numbered-mixed", "members_products/numbered-real", "members_products/not-a-number",
			"members_products/paid", "members_products/free", "members_products/capitals", "members_products/odd",
			"members_products/no-status", "members_products/gone", "members_products/mixed-a", "members_products/mixed-null",
			"members_products/mixed-none", "members_products/mixed-odd")
	return before, after
}

func TestCleanExpiredComped(t *testing.T) {
	t.Parallel()
	f := sweeptest.New(t, functions.New(Job))
	f.Now = now
	before, after := everyCase()
	before.load(t, f)

	got := f.Run(t, "")
	want := &sweep.Report{
		Job: "cleanExpiredComped", RunID: got.RunID, Status: sweep.Completed, Now: now, StartedAt: got.StartedAt,
		DurationMs: got.DurationMs, Database: got.Database, Bucket: got.Bucket, Scanned: 48,
		Actions: map[string]sweep.Counts{kind: {Planned: 20, Done: 20}},
		Kept: map[string]int{
			"expires today or later (UTC)":                                           8,
			"never expires: expiry_at is null":                                       2,
			"expiry_at is missing or not a timestamp":                                6,
			"expired, but member_id is missing or cannot be an id":                   9,
			"expired, but member_id is too long to look for the member's other rows": 1,
		},
		Failures: []sweep.Failure{},
		Usage:    got.Usage,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	after.is(t, f)
	for id := range f.Documents(t, "members_status_events") {
		if id != "earlier" && !regexp.MustCompile(`^[0-9a-f]{24}$`).MatchString(id) {
			t.Errorf("event %q is no ObjectID", id)
		}
	}
	doubts := 0
	for _, line := range f.LogLines(t) {
		if target, _ := line["target"].(string); line["severity"] == "WARNING" && strings.HasPrefix(target, "members_products/nobody") {
			doubts++
		}
	}
	if doubts != 8 {
		t.Errorf("%d warnings name a row of nobody, want 8", doubts)
	}

	again := f.Run(t, "")
	ended(t, again, sweep.Completed, sweep.Counts{})
	after.is(t, f)
	logged(t, f, starting, removedLine(22, 7, got), starting, removedLine(0, 0, again))
}

func TestEmptyDatabase(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, sweep.Counts{})
	if got.Scanned != 0 || len(got.Kept) != 0 {
		t.Errorf("report %+v", got)
	}
	// Lease, four counts, one query, lease again.
	if u := got.Usage; u.FirestoreReads != 8 || u.FirestoreWrites != 3 || u.FirestoreDeletes != 0 {
		t.Errorf("usage %+v, want 8 reads and 3 writes", u)
	}
	logged(t, f, starting, removedLine(0, 0, got))
}

func TestTomorrow(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	w := world{"members_products/r": row("m", today), "members/m": member("comped")}.load(t, f)
	f.Now = today.Add(day - tick)
	ended(t, f.Run(t, ""), sweep.Completed, sweep.Counts{})
	w.is(t, f)
	f.Now = today.Add(day)
	ended(t, f.Run(t, ""), sweep.Completed, sweep.Counts{Planned: 1, Done: 1})
	if m := f.Documents(t, "members")["m"]; m["status"] != "free" || m["updated_at"] != f.Now {
		t.Errorf("member %v", m)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	for name, ask := range map[string]func(*testing.T, *sweeptest.Function) *sweep.Report{
		"body": func(t *testing.T, f *sweeptest.Function) *sweep.Report { return f.Run(t, `{"dryRun":true}`) },
		"environment": func(t *testing.T, f *sweeptest.Function) *sweep.Report {
			f.Env["DRY_RUN"] = "true"
			return f.Run(t, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFunction(t)
			w := world{
				"members_products/late": row("late", yesterday), "members/late": member("comped"),
				"members_products/early": row("early", today.AddDate(-1, 0, 0)), "members/early": member("paid"),
				"members_products/kept": row("late", nil),
			}
			for i := range 4 {
				w[fmt.Sprintf("members_products/many%d", i)] = row("many", today.AddDate(0, -2, i))
			}
			w.load(t, f)
			got := ask(t, f)
			ended(t, got, sweep.Completed, sweep.Counts{Planned: 3})
			wantPlan := []sweep.Planned{
				{Target: "members/early", Action: kind, Reason: "members_products/early expired 2025-01-10T00:00:00Z",
					Writes: []string{"delete members_products/early"}},
				{Target: "members/many", Action: kind, Reason: "members_products/many0 expired 2025-11-10T00:00:00Z, " +
					"members_products/many1 expired 2025-11-11T00:00:00Z, members_products/many2 expired 2025-11-12T00:00:00Z and 1 more", Writes: []string{
					"delete members_products/many0", "delete members_products/many1", "delete members_products/many2", "delete members_products/many3"}},
				{Target: "members/late", Action: kind, Reason: "members_products/late expired 2026-01-09T23:59:59Z",
					Writes: []string{"delete members_products/late"}},
			}
			if diff := cmp.Diff(wantPlan, got.Plan); diff != "" || !got.DryRun {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			for _, method := range f.Request.Methods() {
				if !slices.Contains([]string{"BatchGetDocuments", "RunQuery", "RunAggregationQuery"}, method) {
					t.Errorf("a dry run sent %s", method)
				}
			}
			w.is(t, f)
			if len(f.Documents(t, "cleanupJobs")) != 0 || len(f.Documents(t, "cleanupRuns")) != 0 {
				t.Error("a dry run wrote its records")
			}
			logged(t, f) // it removes nothing, so it says nothing of removing
		})
	}
}

func TestBeltOnActions(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	f.Env["MAX_ACTIONS"] = "1"
	w := world{
		"members_products/a": row("a", yesterday), "members/a": member("comped"),
		"members_products/b": row("b", yesterday), "members/b": member("comped"),
	}.load(t, f)
	aborted := f.Run(t, "")
	if aborted.Status != sweep.Aborted {
		t.Errorf("status %s, want aborted", aborted.Status)
	}
	w.is(t, f)
	forced := f.Run(t, `{"force":true}`)
	ended(t, forced, sweep.Completed, sweep.Counts{Planned: 2, Done: 2})
	w.freed("a", "a").freed("b", "b").is(t, f)
	logged(t, f, starting, removedLine(0, 0, aborted), starting, removedLine(2, 2, forced))
}

func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	w := world{"members_products/r": row("m", yesterday), "members/m": member("comped")}.load(t, f)
	other := sweeptest.On(t, functions.New(Job), f.Project)
	other.Now = now
	f.Hooks.BeforeApply = func() {
		ended(t, other.Run(t, ""), sweep.Skipped, sweep.Counts{})
	}
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, sweep.Counts{Planned: 1, Done: 1})
	w.freed("m", "r").is(t, f)
	logged(t, f, starting, removedLine(1, 1, got))
	logged(t, other)
}

// TestCost is what docs/jobs.md says of it: per member three reads, a delete and two writes, and a read and a delete for
// each further row.
func TestCost(t *testing.T) {
	t.Parallel()
	const n = 100
	f := newFunction(t)
	w := world{}
	for i := range n {
		id := fmt.Sprintf("m%03d", i)
		w["members/"+id], w["members_products/"+id] = member("comped"), row(id, today.Add(-time.Duration(i+1)*time.Hour))
	}
	w.load(t, f)
	got := f.Run(t, "")
	ended(t, got, sweep.Completed, sweep.Counts{Planned: n, Done: n})
	// Besides: lease, journal, four counts, the page's index entries, lease again; lease, job and run; an entry of the journal
	// for each commit.
	const commits = 4
	if u := got.Usage; u.FirestoreReads != 8+3*n || u.FirestoreDeletes != n+commits || u.FirestoreWrites != 3+2*n+commits {
		t.Errorf("usage %+v, want %d reads, %d deletes, %d writes", u, 8+3*n, n+commits, 3+2*n+commits)
	}
	if events := f.Documents(t, "members_status_events"); len(events) != n {
		t.Errorf("%d events, want %d", len(events), n)
	}
}
