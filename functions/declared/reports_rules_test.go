package declared_test

import (
	"math"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine"
)

// judge decides about a document by a declared rule.
func judge(t *testing.T, job string, data map[string]any, now time.Time) engine.Decision {
	t.Helper()
	for _, e := range functions.All() {
		if e.Name == job {
			return declared.Judge(*e.Rule, documents.Document{Data: data}, now)
		}
	}
	t.Fatalf("no entry %s", job)
	return engine.Decision{}
}

func TestJudgeReport(t *testing.T) {
	const tick = time.Microsecond // Firestore's resolution
	date := func(y int, m time.Month, d, hour, minute, second int) time.Time {
		return time.Date(y, m, d, hour, minute, second, 0, time.UTC)
	}
	now := date(2026, 1, 10, 15, 0, 0)
	monthAgo := date(2025, 12, 10, 15, 0, 0)
	report := func(status, created any) map[string]any {
		return map[string]any{"status": status, "createdAt": created}
	}
	tests := []struct {
		name   string
		data   map[string]any
		now    time.Time
		reason string // why it is due; empty: kept
		kept   string
	}{
		{name: "reviewed, long ago", data: report("reviewed", date(2025, 11, 30, 1, 2, 3)), now: now,
			reason: "status reviewed, createdAt 2025-11-30T01:02:03Z, older than 1 month"},
		{name: "dismissed, long ago", data: report("dismissed", date(2020, 1, 1, 0, 0, 0)), now: now,
			reason: "status dismissed, createdAt 2020-01-01T00:00:00Z, older than 1 month"},
		{name: "a tick over a month", data: report("reviewed", monthAgo.Add(-tick)), now: now,
			reason: "status reviewed, createdAt 2025-12-10T14:59:59Z, older than 1 month"},
		{name: "exactly a month", data: report("reviewed", monthAgo), now: now, kept: keptYoung},
		{name: "a tick under a month", data: report("dismissed", monthAgo.Add(tick)), now: now, kept: keptYoung},
		{name: "from the future", data: report("reviewed", now.Add(time.Hour)), now: now, kept: keptYoung},
		{name: "pending for years", data: report("pending", date(2020, 1, 1, 0, 0, 0)), now: now, kept: keptUnsettled},

		{name: "31 March: 28 February is the cutoff", data: report("reviewed", date(2026, 2, 28, 0, 0, 0)),
			now: date(2026, 3, 31, 0, 0, 0), kept: keptYoung},
		{name: "31 March: before it", data: report("reviewed", date(2026, 2, 28, 0, 0, 0).Add(-tick)),
			now: date(2026, 3, 31, 0, 0, 0), reason: "status reviewed, createdAt 2026-02-27T23:59:59Z, older than 1 month"},
		{name: "31 March, leap year", data: report("reviewed", date(2028, 2, 28, 23, 59, 59)),
			now: date(2028, 3, 31, 0, 0, 0), reason: "status reviewed, createdAt 2028-02-28T23:59:59Z, older than 1 month"},
		{name: "31 March, leap year, kept", data: report("reviewed", date(2028, 2, 29, 0, 0, 0)),
			now: date(2028, 3, 31, 0, 0, 0), kept: keptYoung},
		{name: "29 February", data: report("reviewed", date(2028, 1, 29, 0, 0, 0)),
			now: date(2028, 2, 29, 0, 0, 0), kept: keptYoung},
		{name: "1 January", data: report("reviewed", date(2025, 12, 1, 0, 0, 0).Add(-tick)),
			now: date(2026, 1, 1, 0, 0, 0), reason: "status reviewed, createdAt 2025-11-30T23:59:59Z, older than 1 month"},
		{name: "1 January, kept", data: report("reviewed", date(2025, 12, 1, 0, 0, 0)),
			now: date(2026, 1, 1, 0, 0, 0), kept: keptYoung},
		{name: "31 December", data: report("reviewed", date(2025, 11, 30, 23, 59, 59)),
			now: date(2025, 12, 31, 23, 59, 59), kept: keptYoung},

		{name: "no status", data: map[string]any{"createdAt": date(2020, 1, 1, 0, 0, 0)}, now: now, kept: keptUnsettled},
		{name: "null status", data: report(nil, date(2020, 1, 1, 0, 0, 0)), now: now, kept: keptUnsettled},
		{name: "numeric status", data: report(int64(1), date(2020, 1, 1, 0, 0, 0)), now: now, kept: keptUnsettled},
		{name: "status in capitals", data: report("Reviewed", date(2020, 1, 1, 0, 0, 0)), now: now, kept: keptUnsettled},
		{name: "no date", data: map[string]any{"status": "reviewed"}, now: now, kept: keptUnset},
		{name: "null date", data: report("reviewed", nil), now: now, kept: keptUnset},
		{name: "date as text", data: report("reviewed", "2020-01-01T00:00:00Z"), now: now, kept: keptUndated},
		{name: "date as milliseconds", data: report("reviewed", int64(1577836800000)), now: now, kept: keptUndated},
		{name: "date is NaN", data: report("reviewed", math.NaN()), now: now, kept: keptUndated},
		{name: "date in the year 9999", data: report("reviewed", date(9999, 12, 31, 23, 59, 59)), now: now, kept: keptYoung},
		{name: "date in the year 1", data: report("reviewed", date(1, 1, 1, 0, 0, 0)), now: now, kept: keptUndated},
		{name: "date of 1970", data: report("reviewed", date(1971, 1, 1, 0, 0, 0).Add(-tick)), now: now, kept: keptUndated},
		{name: "date of 1971", data: report("reviewed", date(1971, 1, 1, 0, 0, 0)), now: now,
			reason: "status reviewed, createdAt 1971-01-01T00:00:00Z, older than 1 month"},
		{name: "empty status", data: report("", date(2020, 1, 1, 0, 0, 0)), now: now, kept: keptUnsettled},
		{name: "statuses in a list", data: report([]any{"reviewed"}, date(2020, 1, 1, 0, 0, 0)), now: now, kept: keptUnsettled},
		{name: "empty", data: map[string]any{}, now: now, kept: keptUnsettled},
		{name: "no data at all", now: now, kept: keptUnsettled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := judge(t, "cleanupReports", tt.data, tt.now)
			want := engine.Decision{Reason: tt.reason + tt.kept, Invalid: tt.kept == keptUndated}
			if tt.kept == "" {
				want.Kind = "delete report"
			}
			if d != want {
				t.Errorf("judge = %+v, want %+v", d, want)
			}
		})
	}
}
