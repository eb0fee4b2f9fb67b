package resolvedinquiries

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

const (
	tick = time.Microsecond // Firestore's resolution
	day  = 24 * time.Hour
)

var now = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)

// newFunction returns the function on a project of its own, so that tests run beside each other.
func newFunction(t *testing.T) *sweeptest.Function {
	t.Helper()
	t.Parallel()
	f := sweeptest.New(t, functions.New(Job))
	f.Now = now
	f.Clock = func() time.Time { return f.Now } // promises count from the wall clock
	return f
}

func inquiry(age time.Duration) map[string]any {
	return map[string]any{
		"status": "resolved", "resolvedAt": now.Add(-age), "userId": "u1", "subject": "ログインできない", "category": "account",
	}
}

// message is the n-th of an inquiry's.
func message(n int) map[string]any {
	return map[string]any{
		"content": fmt.Sprintf("message %d", n), "senderType": "user", "createdAt": now.AddDate(0, -1, 0).Add(time.Duration(n) * time.Minute),
	}
}

func ids(documents map[string]map[string]any) []string { return slices.Sorted(maps.Keys(documents)) }

// wantIDs compares the ids of a collection's documents.
func wantIDs(t *testing.T, f *sweeptest.Function, collection string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := ids(f.Documents(t, collection)); !slices.Equal(got, want) {
		t.Errorf("%s holds %v, want %v", collection, got, want)
	}
}

// wantNothingBegun makes sure that no run has left a record.
func wantNothingBegun(t *testing.T, f *sweeptest.Function) {
	t.Helper()
	for _, records := range []string{"archives", "leftovers", "journal"} {
		wantIDs(t, f, "cleanupJobs/cleanupResolvedInquiries/"+records)
	}
}

func TestCleanupResolvedInquiries(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{"name": "花"})
	all := map[string]map[string]any{
		"young":  inquiry(6*day - tick),
		"six":    inquiry(6 * day),
		"nearly": inquiry(7*day - tick),
		"seven":  inquiry(7 * day),
		"i1":     inquiry(100 * day),
		"i12":    inquiry(time.Hour),

		"open":   {"status": "open", "resolvedAt": now.Add(-100 * day), "userId": "u1"},
		"odd":    {"status": "RESOLVED", "resolvedAt": now.Add(-100 * day), "userId": "u1"},
		"text":   {"status": "resolved", "resolvedAt": "2020-01-01T00:00:00Z", "userId": "u1"},
		"null":   {"status": "resolved", "resolvedAt": nil, "userId": "u1"},
		"empty":  {},
		"nobody": {"status": "resolved", "resolvedAt": now.Add(-6 * day), "userId": "a/b"},
	}
	for id, data := range all {
		f.Set(t, "inquiries/"+id, data)
		f.Set(t, "inquiries/"+id+"/messages/m1", message(1))
		f.Set(t, "inquiries/"+id+"/messages/m2", message(2))
	}
	f.Set(t, "archivedInquiries/i12", map[string]any{"from": "elsewhere"})
	f.Set(t, "inquiries_old/i1", inquiry(100*day))
	f.Set(t, "users/u1/inquiries/i1", inquiry(100*day))
	f.Set(t, "posts/i1/messages/m1", message(1))

	got := f.Run(t, "")
	want := &sweep.Report{
		Job: "cleanupResolvedInquiries", RunID: got.RunID, Status: sweep.Completed, Now: now, StartedAt: got.StartedAt,
		DurationMs: got.DurationMs, Database: got.Database, Bucket: got.Bucket, Scanned: 12,
		Actions: map[string]sweep.Counts{
			"warn user": {Planned: 2, Done: 2}, "archive and delete inquiry": {Planned: 2, Done: 2},
		},
		Kept:     map[string]int{keptYoung: 2, keptUnresolved: 3, keptUndated: 2, keptUntold: 1},
		Failures: []sweep.Failure{},
		Usage:    got.Usage,
	}
	sweeptest.Want(t, "report", want, got)
	survivors := f.Documents(t, "inquiries")
	for id, data := range all {
		switch id {
		case "seven", "i1":
			if survivors[id] != nil {
				t.Errorf("%s is still there", id)
			}
			wantIDs(t, f, "inquiries/"+id+"/messages")
			want := maps.Clone(data)
			want["messages"], want["archivedAt"] = []any{message(1), message(2)}, now
			sweeptest.Want(t, fmt.Sprintf("archive of %s", id), want, f.Documents(t, "archivedInquiries")[id])
		default:
			want := maps.Clone(data)
			if id == "six" || id == "nearly" {
				want["deletionWarningNotifiedAt"] = now
			}
			sweeptest.Want(t, id, want, survivors[id])
			wantIDs(t, f, "inquiries/"+id+"/messages", "m1", "m2")
		}
	}
	sweeptest.Want(t, "another archive", map[string]any{"from": "elsewhere"}, f.Documents(t, "archivedInquiries")["i12"])
	wantIDs(t, f, "archivedInquiries", "i1", "i12", "seven")
	wantIDs(t, f, "inquiries_old", "i1")
	wantIDs(t, f, "users/u1/inquiries", "i1")
	wantIDs(t, f, "posts/i1/messages", "m1")
	wantNothingBegun(t, f)
	if n := len(f.Documents(t, "users/u1/notifications")); n != 2 {
		t.Errorf("%d notifications, want 2", n)
	}

	again := f.Run(t, "")
	sweeptest.WantReport(t, again, sweep.Completed, map[string]sweep.Counts{})
	if again.Kept[keptTold] != 2 {
		t.Errorf("second run kept %v", again.Kept)
	}
}

func TestPoisonedInquiriesDoNotStopTheOthers(t *testing.T) {
	f := newFunction(t)
	f.Set(t, "users/u1", map[string]any{})
	f.Set(t, "inquiries/good", inquiry(8*day))
	f.Set(t, "inquiries/good/messages/m1", message(1))
	kept := map[string]map[string]any{
		"status":   {"status": []any{"resolved"}, "resolvedAt": now.Add(-8 * day)},
		"date":     {"status": "resolved", "resolvedAt": map[string]any{"seconds": 1}},
		"everyone": {"status": 3.5, "resolvedAt": true, "userId": []any{}, "subject": map[string]any{}, notifiedAt: "yes"},
		"user":     {"status": "resolved", "resolvedAt": now.Add(-6 * day), "userId": map[string]any{"id": "u1"}},
	}
	for id, data := range kept {
		f.Set(t, "inquiries/"+id, data)
		f.Set(t, "inquiries/"+id+"/messages/m1", map[string]any{"createdAt": 1, "imageUrl": []any{}})
	}
	// Of one that is due, odd values are archived as they are.
	odd := map[string]any{"status": "resolved", "resolvedAt": now.Add(-8 * day), "userId": 5.5, "subject": nil, notifiedAt: "yes"}
	f.Set(t, "inquiries/odd", odd)
	f.Set(t, "inquiries/odd/messages/m1", map[string]any{"createdAt": "yesterday", "imageUrl": map[string]any{"x": 1.5}})

	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{"archive and delete inquiry": {Planned: 2, Done: 2}})
	wantIDs(t, f, "inquiries", ids(kept)...)
	for id := range kept {
		wantIDs(t, f, "inquiries/"+id+"/messages", "m1")
	}
	want := maps.Clone(odd)
	want["archivedAt"], want["messages"] = now, []any{map[string]any{"createdAt": "yesterday", "imageUrl": map[string]any{"x": 1.5}}}
	sweeptest.Want(t, "archive", want, f.Documents(t, "archivedInquiries")["odd"])
	if got.Kept["an image whose imageUrl is not a text"] != 1 {
		t.Errorf("kept %v", got.Kept)
	}
}

// TestLongIDs has ids as long as ids can be, and an image's URL longer than any name.
func TestLongIDs(t *testing.T) {
	f := newFunction(t)
	long := func(begin string) string { return begin + strings.Repeat("x", 1500-len(begin)) }
	f.Set(t, "users/"+long("u"), map[string]any{})
	due, warned := inquiry(8*day), inquiry(6*day)
	due["userId"], warned["userId"] = long("u"), long("u")
	f.Set(t, "inquiries/"+long("due"), due)
	f.Set(t, "inquiries/"+long("due")+"/messages/"+long("m"), withImage(message(1), "gs://"+f.Bucket+"/inquiries/"+strings.Repeat("x", 100_000)))
	f.Set(t, "inquiries/"+long("warned"), warned)
	sweeptest.WantReport(t, f.Run(t, ""), sweep.Completed, map[string]sweep.Counts{
		"warn user": {Planned: 1, Done: 1}, "archive and delete inquiry": {Planned: 1, Done: 1},
	})
	wantIDs(t, f, "inquiries", long("warned"))
	wantIDs(t, f, "archivedInquiries", long("due"))
	wantIDs(t, f, "inquiries/"+long("due")+"/messages")
	if n := len(f.Documents(t, "users/"+long("u")+"/notifications")); n != 1 {
		t.Errorf("%d notifications, want 1", n)
	}
}
