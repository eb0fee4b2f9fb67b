package resolvedinquiries

import (
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

func TestJudge(t *testing.T) {
	ago := func(days int) time.Time { return now.Add(-time.Duration(days) * 24 * time.Hour) }
	resolved := func(at any) map[string]any {
		return map[string]any{"status": "resolved", "resolvedAt": at, "userId": "u1"}
	}
	with := func(data map[string]any, field string, value any) map[string]any {
		data[field] = value
		return data
	}
	const tomorrow, over = ", 6 days ago or more: to be deleted tomorrow", ", 7 days ago or more"
	for _, tt := range []struct {
		name string
		data map[string]any
		want cleanup.Decision
	}{
		{"a tick under 6 days", resolved(ago(6).Add(tick)), cleanup.Keep(keptYoung)},
		{"exactly 6 days", resolved(ago(6)), cleanup.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"a tick under 7 days", resolved(ago(7).Add(tick)), cleanup.Do(warn, "resolved 2026-01-03T18:00:00Z"+tomorrow)},
		{"exactly 7 days", resolved(ago(7)), cleanup.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},
		{"in another zone", resolved(ago(7).In(time.FixedZone("JST", 9*3600))), cleanup.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},

		{"told", with(resolved(ago(6)), notifiedAt, now.Add(-time.Minute)), cleanup.Keep(keptTold)},
		{"told when it was resolved", with(resolved(ago(6)), notifiedAt, ago(6)), cleanup.Keep(keptTold)},
		{"told of an earlier resolution", with(resolved(ago(6)), notifiedAt, ago(6).Add(-tick)), cleanup.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"told, 7 days", with(resolved(ago(7)), notifiedAt, ago(1)), cleanup.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},
		{"told in the future", with(resolved(ago(6)), notifiedAt, now.Add(tick)), cleanup.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"told too late, under a day ago", with(resolved(ago(9)), notifiedAt, ago(1).Add(tick)), cleanup.Keep(keptPromised)},
		{"told too late, a day ago", with(resolved(ago(9)), notifiedAt, ago(1)), cleanup.Do(archive, "resolved 2026-01-01T18:00:00Z"+over)},
		{"told in time, under a day ago", with(resolved(ago(7)), notifiedAt, now.Add(-tick)), cleanup.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},

		{"no user", map[string]any{"status": "resolved", "resolvedAt": ago(6)}, cleanup.Invalid(keptUntold)},
		{"user is a path", with(resolved(ago(6)), "userId", "u1/notifications"), cleanup.Invalid(keptUntold)},
		{"user is as long as an id can be", with(resolved(ago(6)), "userId", strings.Repeat("u", 1500)), cleanup.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"user is too long", with(resolved(ago(6)), "userId", strings.Repeat("u", 1501)), cleanup.Invalid(keptUntold)},
		{"no user, 7 days", with(resolved(ago(7)), "userId", nil), cleanup.Do(archive, "resolved 2026-01-03T18:00:00Z"+over)},

		{"open", with(resolved(ago(30)), "status", "open"), cleanup.Keep(keptUnresolved)},
		{"status is null", with(resolved(ago(30)), "status", nil), cleanup.Keep(keptUnresolved)},
		{"no date", map[string]any{"status": "resolved"}, cleanup.Invalid(keptUndated)},
		{"date is null", resolved(nil), cleanup.Invalid(keptUndated)},
		{"date of 1970", resolved(documents.Earliest.Add(-tick)), cleanup.Invalid(keptUndated)},
		{"date of 1971", resolved(documents.Earliest), cleanup.Do(archive, "resolved 1971-01-01T00:00:00Z"+over)},
		{"user is a number", with(resolved(ago(6)), "userId", int64(42)), cleanup.Do(warn, "resolved 2026-01-04T18:00:00Z"+tomorrow)},
		{"no data at all", nil, cleanup.Keep(keptUnresolved)},
	} {
		enginetest.Want(t, tt.name, tt.want, judge(documents.Document{Path: "inquiries/i", Data: tt.data}, now, now))
	}
}
