package resolvedinquiries

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
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
		name   string
		data   map[string]any
		want   verdict
		reason string
	}{
		{"a tick under 6 days", resolved(ago(6).Add(tick)), keep, keptYoung},
		{"exactly 6 days", resolved(ago(6)), warn, "resolved 2026-01-04T18:00:00Z" + tomorrow},
		{"a tick over 6 days", resolved(ago(6).Add(-tick)), warn, "resolved 2026-01-04T17:59:59Z" + tomorrow},
		{"a tick under 7 days", resolved(ago(7).Add(tick)), warn, "resolved 2026-01-03T18:00:00Z" + tomorrow},
		{"exactly 7 days", resolved(ago(7)), archive, "resolved 2026-01-03T18:00:00Z" + over},
		{"a tick over 7 days", resolved(ago(7).Add(-tick)), archive, "resolved 2026-01-03T17:59:59Z" + over},
		{"years ago", resolved(now.AddDate(-3, 0, 0)), archive, "resolved 2023-01-10T18:00:00Z" + over},
		{"in another zone", resolved(ago(7).In(time.FixedZone("JST", 9*3600))), archive, "resolved 2026-01-03T18:00:00Z" + over},
		{"just now", resolved(now), keep, keptYoung},
		{"in the future", resolved(now.Add(time.Hour)), keep, keptYoung},

		{"told", with(resolved(ago(6)), notifiedAt, now.Add(-time.Minute)), keep, keptTold},
		{"told when it was resolved", with(resolved(ago(6)), notifiedAt, ago(6)), keep, keptTold},
		{"told of an earlier resolution", with(resolved(ago(6)), notifiedAt, ago(6).Add(-tick)), warn, "resolved 2026-01-04T18:00:00Z" + tomorrow},
		{"a mark that is no timestamp", with(resolved(ago(6)), notifiedAt, true), warn, "resolved 2026-01-04T18:00:00Z" + tomorrow},
		{"told, 7 days", with(resolved(ago(7)), notifiedAt, ago(1)), archive, "resolved 2026-01-03T18:00:00Z" + over},
		{"told in the future", with(resolved(ago(6)), notifiedAt, now.Add(tick)), warn, "resolved 2026-01-04T18:00:00Z" + tomorrow},
		{"told in the year 9999", with(resolved(ago(7)), notifiedAt, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)), archive, "resolved 2026-01-03T18:00:00Z" + over},
		{"told too late, under a day ago", with(resolved(ago(9)), notifiedAt, ago(1).Add(tick)), keep, keptPromised},
		{"told too late, a day ago", with(resolved(ago(9)), notifiedAt, ago(1)), archive, "resolved 2026-01-01T18:00:00Z" + over},
		{"told in time, under a day ago", with(resolved(ago(7)), notifiedAt, now.Add(-tick)), archive, "resolved 2026-01-03T18:00:00Z" + over},
		{"told, under 6 days", with(resolved(ago(5)), notifiedAt, ago(1)), keep, keptYoung},

		{"no user", map[string]any{"status": "resolved", "resolvedAt": ago(6)}, keepDoubtful, keptUntold},
		{"user is null", with(resolved(ago(6)), "userId", nil), keepDoubtful, keptUntold},
		{"user is a number", with(resolved(ago(6)), "userId", int64(7)), keepDoubtful, keptUntold},
		{"user is empty", with(resolved(ago(6)), "userId", ""), keepDoubtful, keptUntold},
		{"user is a path", with(resolved(ago(6)), "userId", "u1/notifications"), keepDoubtful, keptUntold},
		{"user is ..", with(resolved(ago(6)), "userId", ".."), keepDoubtful, keptUntold},
		{"user is reserved", with(resolved(ago(6)), "userId", "__u__"), keepDoubtful, keptUntold},
		{"user is as long as an id can be", with(resolved(ago(6)), "userId", strings.Repeat("u", 1500)), warn, "resolved 2026-01-04T18:00:00Z" + tomorrow},
		{"user is too long", with(resolved(ago(6)), "userId", strings.Repeat("u", 1501)), keepDoubtful, keptUntold},
		{"user is no UTF-8", with(resolved(ago(6)), "userId", "u\xff"), keepDoubtful, keptUntold},
		{"no user, 7 days", with(resolved(ago(7)), "userId", nil), archive, "resolved 2026-01-03T18:00:00Z" + over},
		{"no user, under 6 days", with(resolved(ago(5)), "userId", nil), keep, keptYoung},

		{"open", with(resolved(ago(30)), "status", "open"), keep, keptUnresolved},
		{"in capitals", with(resolved(ago(30)), "status", "Resolved"), keep, keptUnresolved},
		{"status is a number", with(resolved(ago(30)), "status", int64(1)), keep, keptUnresolved},
		{"status is null", with(resolved(ago(30)), "status", nil), keep, keptUnresolved},
		{"no status", map[string]any{"resolvedAt": ago(30)}, keep, keptUnresolved},
		{"no date", map[string]any{"status": "resolved"}, keepDoubtful, keptUndated},
		{"date is null", resolved(nil), keepDoubtful, keptUndated},
		{"date is a text", resolved("2020-01-01T00:00:00Z"), keepDoubtful, keptUndated},
		{"date is milliseconds", resolved(int64(1577836800000)), keepDoubtful, keptUndated},
		{"date is NaN", resolved(math.NaN()), keepDoubtful, keptUndated},
		{"date in the year 9999", resolved(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)), keep, keptYoung},
		{"date in the year 1", resolved(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)), archive, "resolved 0001-01-01T00:00:00Z" + over},
		{"date is a map", resolved(map[string]any{"_seconds": int64(0)}), keepDoubtful, keptUndated},
		{"empty", map[string]any{}, keep, keptUnresolved},
		{"no data at all", nil, keep, keptUnresolved},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, reason := judge(documents.Document{Path: "inquiries/i", Data: tt.data}, now, now)
			if got != tt.want || reason != tt.reason {
				t.Errorf("judge = %v, %q; want %v, %q", got, reason, tt.want, tt.reason)
			}
		})
	}
}
