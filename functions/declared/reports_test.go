package declared_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/version"
)

var monthAgo = time.Date(2025, 12, 10, 15, 0, 0, 0, time.UTC)

const (
	keptUnsettled = "status is neither reviewed nor dismissed"
	keptUnset     = "createdAt is not set yet"
	keptUndated   = "createdAt is not a timestamp"
	keptYoung     = "not older than 1 month"
)

func newReports(t *testing.T) *enginetest.Function {
	t.Helper()
	f := enginetest.New(t, functions.New(functions.Registered()["cleanupReports"]))
	f.Now = monthAgo.AddDate(0, 1, 0)
	return f
}

func report(status string, created any) map[string]any {
	return map[string]any{"status": status, "createdAt": created, "reason": "spam"}
}

func ids(documents map[string]map[string]any) []string { return slices.Sorted(maps.Keys(documents)) }

func TestCleanupReports(t *testing.T) {
	t.Parallel()
	f := newReports(t)
	for id, data := range map[string]map[string]any{
		"due1":  report("reviewed", monthAgo.Add(-time.Microsecond)),
		"due12": report("dismissed", monthAgo.AddDate(-3, 0, 0)),
		"due2":  report("reviewed", monthAgo.AddDate(0, 0, -1)),

		"exactly": report("reviewed", monthAgo),
		"young":   report("dismissed", f.Now.Add(-time.Hour)),
		"future":  report("reviewed", f.Now.Add(time.Hour)),
		"pending": report("pending", monthAgo.AddDate(-3, 0, 0)),
		"odd":     report("REVIEWED", monthAgo.AddDate(-3, 0, 0)),
		"text":    report("reviewed", "2020-01-01T00:00:00Z"),
		"number":  report("reviewed", 1577836800000),
		"null":    report("dismissed", nil),
		"undated": {"status": "reviewed"},
		"empty":   {},
	} {
		f.Set(t, "reports/"+id, data)
	}
	f.Set(t, "reports_archive/due1", report("reviewed", monthAgo.AddDate(-1, 0, 0)))
	f.Set(t, "posts/p/reports/due1", report("reviewed", monthAgo.AddDate(-1, 0, 0)))

	got := f.Run(t, "")
	enginetest.Want(t, "report", &engine.Report{
		Job: "cleanupReports", RunID: got.RunID, Status: engine.Completed, Now: f.Now, StartedAt: got.StartedAt,
		DurationMs: got.DurationMs, Version: version.String(), Database: got.Database, Bucket: got.Bucket, Scanned: 13,
		Actions: enginetest.Done("delete report", 3),
		Kept: map[string]int{
			"not older than 1 month": 3, "status is neither reviewed nor dismissed": 3, keptUnset: 2, keptUndated: 2,
		},
		Failures: []engine.Failure{},
		Usage:    got.Usage,
	}, got)
	survivors := []string{"empty", "exactly", "future", "null", "number", "odd", "pending", "text", "undated", "young"}
	enginetest.Want(t, "reports left", survivors, ids(f.Documents(t, "reports")))
	for _, collection := range []string{"reports_archive", "posts/p/reports"} {
		enginetest.Want(t, collection, []string{"due1"}, ids(f.Documents(t, collection)))
	}
	again := f.Run(t, "")
	enginetest.WantReport(t, again, engine.Completed, map[string]engine.Counts{})
	enginetest.Want(t, "scanned by a second run", 10, again.Scanned)
}

func TestNoReports(t *testing.T) {
	t.Parallel()
	f := newReports(t)
	got := f.Run(t, "")
	if got.Status != engine.Completed || got.Scanned != 0 || len(got.Actions) != 0 || len(got.Kept) != 0 {
		t.Errorf("report %+v", got)
	}
}

func TestReportChangedBetweenPlanAndApplySurvives(t *testing.T) {
	t.Parallel()
	f := newReports(t)
	old := monthAgo.AddDate(0, -1, 0)
	for _, id := range []string{"reopened", "touched", "deleted", "recreated", "left"} {
		f.Set(t, "reports/"+id, report("reviewed", old))
	}
	f.Hooks.BeforeApply = func() {
		f.Set(t, "reports/reopened", report("pending", old))
		f.Set(t, "reports/touched", map[string]any{"status": "reviewed", "createdAt": old, "note": "look again"})
		for _, id := range []string{"deleted", "recreated"} {
			if _, err := f.Firestore(t).Doc("reports/" + id).Delete(t.Context()); err != nil {
				t.Error(err)
			}
		}
		f.Set(t, "reports/recreated", report("pending", f.Now))
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, engine.Completed, map[string]engine.Counts{"delete report": {Planned: 5, Done: 1, Changed: 4}})
	enginetest.Want(t, "reports left", []string{"recreated", "reopened", "touched"}, ids(f.Documents(t, "reports")))
}
