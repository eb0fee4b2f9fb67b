package expiredcomped

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
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
	} {
		if got := cutoff(tt.now); !got.Equal(tt.want) || got.Location() != time.UTC {
			t.Errorf("cutoff(%s) = %s, want %s", tt.now, got, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	expired := cleanup.Do(kind, "members_products/r expired 2026-01-09T23:59:59Z")
	const database = "projects/p/databases/(default)"
	ref := func(path string) *firestore.DocumentRef {
		return &firestore.DocumentRef{Path: database + "/documents/" + path}
	}
	for _, tt := range []struct {
		name string
		data map[string]any
		want cleanup.Decision
	}{
		{"yesterday's last tick", row("m", yesterday), expired},
		{"in another zone", row("m", yesterday.In(time.FixedZone("JST", 9*60*60))), expired},
		{"today's first tick", row("m", today), cleanup.Keep(keptUnexpired)},
		{"an hour ago", row("m", now.Add(-time.Hour)), cleanup.Keep(keptUnexpired)},
		{"tomorrow, of nobody", row(nil, today.Add(day)), cleanup.Keep(keptUnexpired)},
		{"null", row("m", nil), cleanup.Keep(keptEndless)},
		{"missing", map[string]any{"member_id": "m"}, cleanup.Invalid(keptUndated)},
		{"text", row("m", "2020-01-01T00:00:00Z"), cleanup.Invalid(keptUndated)},
		{"the last tick of 1970", row("m", documents.Earliest.Add(-tick)), cleanup.Invalid(keptUndated)},
		{"the first of 1971", row("m", documents.Earliest), cleanup.Do(kind, "members_products/r expired 1971-01-01T00:00:00Z")},
		{"no data at all", nil, cleanup.Invalid(keptUndated)},
		{"of nobody", map[string]any{"expiry_at": yesterday}, cleanup.Invalid(keptNoMember)},
		{"of a number", row(int64(1), yesterday), expired},
		{"of the longest id", row(strings.Repeat("x", 1499), yesterday), expired},
		{"of an id too long to be asked for", row(strings.Repeat("x", 1500), yesterday), cleanup.Invalid(keptLongMember)},
		{"of a path", row("members/m", yesterday), cleanup.Invalid(keptNoMember)},
		{"of a reference to something else", row(ref("users/m"), yesterday), cleanup.Invalid(keptNoMember)},
		{"of a reference too long to be asked for", row(ref("members/"+strings.Repeat("x", 1490)), yesterday), cleanup.Invalid(keptLongMember)},
	} {
		enginetest.Want(t, tt.name, tt.want, judge(documents.Document{Database: database, Path: "members_products/r", Data: tt.data}, now))
	}
}

func TestEventID(t *testing.T) {
	of := func(id string, expiry time.Time) documents.Document {
		return documents.Document{Path: "members_products/" + id, Data: row("m", expiry)}
	}
	a, b := of("a", yesterday), of("b", yesterday)
	id := eventID(now, "m", []documents.Document{a, b})
	if len(id) != 24 || id[:8] != "6961d2dd" { // 1768018653 seconds
		t.Errorf("id %q, want 24 digits that begin with the Unix seconds", id)
	}
	if ObjectID(now, "a", "b") == ObjectID(now, "ab") {
		t.Error("it makes no difference where a cause ends")
	}
	enginetest.Want(t, "of the same cause", id, eventID(now.In(time.FixedZone("JST", 9*60*60)), "m", []documents.Document{b, a}))
	for name, other := range map[string]string{
		"another second": eventID(now.Add(time.Second), "m", []documents.Document{a, b}),
		"another member": eventID(now, "m2", []documents.Document{a, b}),
		"another row":    eventID(now, "m", []documents.Document{a}),
		"another expiry": eventID(now, "m", []documents.Document{a, of("b", yesterday.Add(-tick))}),
	} {
		enginetest.Want(t, name+" gives the same id", false, other == id)
	}
}

func TestReasonFor(t *testing.T) {
	for n, want := range map[int]string{1: "a", 3: "a, b, c", 4: "a, b, c and 1 more", 5: "a, b, c and 2 more"} {
		enginetest.Want(t, "reason", want, reasonFor([]string{"a", "b", "c", "d", "e"}[:n]))
	}
}

func TestLines(t *testing.T) {
	want := &cleanup.Lines{
		Begun:    "Starting cleanup of expired comp subscriptions",
		Ended:    "Removed %d expired subscriptions, updated %d members in %dms",
		Counted:  [2]string{"delete members_products", "update members"},
		Canceled: "Expired complimentary subscriptions cleanup cancelled before completion",
	}
	enginetest.Want(t, "lines", want, Job.Lines)
}
