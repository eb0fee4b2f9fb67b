package expiredcomped

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

func TestCutoff(t *testing.T) {
	jst := time.FixedZone("JST", 9*60*60)
	for _, tt := range []struct{ now, want time.Time }{
		{now, today},
		{today, today},
		{today.Add(-tick), today.Add(-day)},
		{today.Add(day - tick), today},
		{time.Date(2026, 1, 10, 8, 59, 59, 0, jst), today.Add(-day)}, // still the 9th in UTC
		{time.Date(2026, 1, 10, 9, 0, 0, 0, jst), today},
		{time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)},
		{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if got := cutoff(tt.now); !got.Equal(tt.want) || got.Location() != time.UTC {
			t.Errorf("cutoff(%s) = %s, want %s", tt.now, got, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name   string
		data   map[string]any
		want   verdict
		reason string
	}{
		{"yesterday's last tick", row("m", yesterday), toDelete, "members_products/r expired 2026-01-09T23:59:59Z"},
		{"in another zone", row("m", yesterday.In(time.FixedZone("JST", 9*60*60))), toDelete, "members_products/r expired 2026-01-09T23:59:59Z"},
		{"long ago", row("m", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)), toDelete, "members_products/r expired 2020-01-01T00:00:00Z"},
		{"today's first tick", row("m", today), toKeep, keptUnexpired},
		{"an hour ago", row("m", now.Add(-time.Hour)), toKeep, keptUnexpired},
		{"tomorrow", row("m", today.Add(day)), toKeep, keptUnexpired},
		{"tomorrow, of nobody", row(nil, today.Add(day)), toKeep, keptUnexpired},
		{"null", row("m", nil), toKeep, keptEndless},
		{"missing", map[string]any{"member_id": "m"}, toDoubt, keptUndated},
		{"text", row("m", "2020-01-01T00:00:00Z"), toDoubt, keptUndated},
		{"milliseconds", row("m", int64(1577836800000)), toDoubt, keptUndated},
		{"real", row("m", 0.0), toDoubt, keptUndated},
		{"false", row("m", false), toDoubt, keptUndated},
		{"a map", row("m", map[string]any{"seconds": int64(0)}), toDoubt, keptUndated},
		{"empty", map[string]any{}, toDoubt, keptUndated},
		{"no data at all", nil, toDoubt, keptUndated},
		{"of nobody", map[string]any{"expiry_at": yesterday}, toDoubt, keptNoMember},
		{"of null", row(nil, yesterday), toDoubt, keptNoMember},
		{"of a number", row(int64(1), yesterday), toDelete, "members_products/r expired 2026-01-09T23:59:59Z"},
		{"of the longest id", row(strings.Repeat("x", 1499), yesterday), toDelete, "members_products/r expired 2026-01-09T23:59:59Z"},
		{"of an id too long to be asked for", row(strings.Repeat("x", 1500), yesterday), toDoubt, keptLongMember},
		{"of a longer one", row(strings.Repeat("x", 1501), yesterday), toDoubt, keptNoMember},
		{"of 0", row(int64(0), yesterday), toDoubt, keptNoMember},
		{"of a negative number", row(int64(-1), yesterday), toDoubt, keptNoMember},
		{"of a real number", row(1.0, yesterday), toDoubt, keptNoMember},
		{"of not a number", row(math.NaN(), yesterday), toDoubt, keptNoMember},
		{"of a list", row([]any{"m"}, yesterday), toDoubt, keptNoMember},
		{"of an empty id", row("", yesterday), toDoubt, keptNoMember},
		{"of a path", row("members/m", yesterday), toDoubt, keptNoMember},
		{"of a reserved id", row("__m__", yesterday), toDoubt, keptNoMember},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, reason := judge(documents.Document{Path: "members_products/r", Data: tt.data}, now)
			if got != tt.want || reason != tt.reason {
				t.Errorf("judge = %v, %q; want %v, %q", got, reason, tt.want, tt.reason)
			}
		})
	}
}

func TestEventID(t *testing.T) {
	of := func(id string, expiry time.Time) documents.Document {
		return documents.Document{Path: "members_products/" + id, Data: row("m", expiry)}
	}
	a, b := of("a", yesterday), of("b", yesterday)
	id := eventID(now, "m", []documents.Document{a, b})
	if again := eventID(now.In(time.FixedZone("JST", 9*60*60)), "m", []documents.Document{b, a}); again != id {
		t.Errorf("the same cause makes %q and %q", id, again)
	}
	for name, other := range map[string]string{
		"another second": eventID(now.Add(time.Second), "m", []documents.Document{a, b}),
		"another member": eventID(now, "m2", []documents.Document{a, b}),
		"another row":    eventID(now, "m", []documents.Document{a}),
		"another expiry": eventID(now, "m", []documents.Document{a, of("b", yesterday.Add(-tick))}),
	} {
		if other == id {
			t.Errorf("%s: the same id", name)
		}
	}
}
