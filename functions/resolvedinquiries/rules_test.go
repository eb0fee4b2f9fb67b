package resolvedinquiries

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

func TestJudge(t *testing.T) {
	const tick = time.Microsecond // Firestore's resolution
	ago := func(days int) time.Time { return now.Add(-time.Duration(days) * 24 * time.Hour) }
	resolved := func(at any) map[string]any {
		return map[string]any{"status": "resolved", "resolvedAt": at, "userId": "u1"}
	}
	with := func(data map[string]any, field string, value any) map[string]any {
		data[field] = value
		return data
	}
	const tomorrow, over = ", 6 days ago or more: to be deleted tomorrow", ", 7 days ago or more"
	tests := []struct {
		name string
		data map[string]any
		want sweep.Decision
	}{
		{"a tick under 6 days", resolved(ago(6).Add(tick)), sweep.Keep(keptYoung)},
		{"exactly 6 days", resolved(ago(6)), sweep.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"a tick over 6 days", resolved(ago(6).Add(-tick)), sweep.Do(warn, "resolved 2026-01-04T17:59:59Z"+tomorrow)},
		{"a tick under 7 days", resolved(ago(7).Add(tick)), sweep.Do(warn, "resolved 2026-01-03T18:00:00Z"+tomorrow)},
		{"exactly 7 days", resolved(ago(7)), sweep.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},
		{"a tick over 7 days", resolved(ago(7).Add(-tick)), sweep.Do(archive, "resolved 2026-01-03T17:59:59Z"+over)},
		{"years ago", resolved(now.AddDate(-3, 0, 0)), sweep.Do(archive, "resolved 2023-01-10T18:00:00Z"+over)},
		{"in another zone", resolved(ago(7).In(time.FixedZone("JST", 9*3600))), sweep.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},
		{"just now", resolved(now), sweep.Keep(keptYoung)},
		{"in the future", resolved(now.Add(time.Hour)), sweep.Keep(keptYoung)},

		{"told", with(resolved(ago(6)), notifiedAt, now.Add(-time.Minute)), sweep.Keep(keptTold)},
		{"told when it was resolved", with(resolved(ago(6)), notifiedAt, ago(6)), sweep.Keep(keptTold)},
		{"told of an earlier resolution", with(resolved(ago(6)), notifiedAt, ago(6).Add(-tick)), sweep.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"a mark that is no timestamp", with(resolved(ago(6)), notifiedAt, true), sweep.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"told, 7 days", with(resolved(ago(7)), notifiedAt, ago(1)), sweep.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},
		{"told in the future", with(resolved(ago(6)), notifiedAt, now.Add(tick)), sweep.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"told in the year 9999", with(resolved(ago(7)), notifiedAt, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)), sweep.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},
		{"told too late, under a day ago", with(resolved(ago(9)), notifiedAt, ago(1).Add(tick)), sweep.Keep(keptPromised)},
		{"told too late, a day ago", with(resolved(ago(9)), notifiedAt, ago(1)), sweep.Do(archive, "resolved 2026-01-01T18:00:00Z"+over)},
		{"told in time, under a day ago", with(resolved(ago(7)), notifiedAt, now.Add(-tick)), sweep.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},
		{"told, under 6 days", with(resolved(ago(5)), notifiedAt, ago(1)), sweep.Keep(keptYoung)},

		{"no user", map[string]any{"status": "resolved", "resolvedAt": ago(6)}, sweep.Invalid(keptUntold)},
		{"user is null", with(resolved(ago(6)), "userId", nil), sweep.Invalid(keptUntold)},
		{"user is a number", with(resolved(ago(6)), "userId", int64(7)), sweep.Invalid(keptUntold)},
		{"user is empty", with(resolved(ago(6)), "userId", ""), sweep.Invalid(keptUntold)},
		{"user is a path", with(resolved(ago(6)), "userId", "u1/notifications"), sweep.Invalid(keptUntold)},
		{"user is ..", with(resolved(ago(6)), "userId", ".."), sweep.Invalid(keptUntold)},
		{"user is reserved", with(resolved(ago(6)), "userId", "__u__"), sweep.Invalid(keptUntold)},
		{"user is as long as an id can be", with(resolved(ago(6)), "userId", strings.Repeat("u", 1500)), sweep.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"user is too long", with(resolved(ago(6)), "userId", strings.Repeat("u", 1501)), sweep.Invalid(keptUntold)},
		{"user is no UTF-8", with(resolved(ago(6)), "userId", "u\xff"), sweep.Invalid(keptUntold)},
		{"no user, 7 days", with(resolved(ago(7)), "userId", nil), sweep.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},
		{"no user, under 6 days", with(resolved(ago(5)), "userId", nil), sweep.Keep(keptYoung)},

		{"open", with(resolved(ago(30)), "status", "open"), sweep.Keep(keptUnresolved)},
		{"in capitals", with(resolved(ago(30)), "status", "Resolved"), sweep.Keep(keptUnresolved)},
		{"status is a number", with(resolved(ago(30)), "status", int64(1)), sweep.Keep(keptUnresolved)},
		{"status is null", with(resolved(ago(30)), "status", nil), sweep.Keep(keptUnresolved)},
		{"no status", map[string]any{"resolvedAt": ago(30)}, sweep.Keep(keptUnresolved)},
		{"no date", map[string]any{"status": "resolved"}, sweep.Invalid(keptUndated)},
		{"date is null", resolved(nil), sweep.Invalid(keptUndated)},
		{"date is a text", resolved("2020-01-01T00:00:00Z"), sweep.Invalid(keptUndated)},
		{"date is milliseconds", resolved(int64(1577836800000)), sweep.Invalid(keptUndated)},
		{"date is NaN", resolved(math.NaN()), sweep.Invalid(keptUndated)},
		{"date in the year 9999", resolved(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)), sweep.Keep(keptYoung)},
		{"date in the year 1", resolved(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)), sweep.Do(archive, "resolved 0001-01-01T00:00:00Z"+over)},
		{"date is a map", resolved(map[string]any{"_seconds": int64(0)}), sweep.Invalid(keptUndated)},
		{"empty", map[string]any{}, sweep.Keep(keptUnresolved)},
		{"no data at all", nil, sweep.Keep(keptUnresolved)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(documents.Document{Path: "inquiries/i", Data: tt.data}, now, now); got != tt.want {
				t.Errorf("judge = %+v, want %+v", got, tt.want)
			}
		})
	}
}
