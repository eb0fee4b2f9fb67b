package resolvedinquiries

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const (
	tick = time.Microsecond // Firestore's resolution
	day  = 24 * time.Hour
)

var now = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)

// newFunction returns the function on a project of its own, so that tests can be parallel.
func newFunction(t *testing.T) *enginetest.Function {
	t.Helper()
	t.Parallel()
	f := enginetest.New(t, functions.New(Job))
	f.Now = now
	f.Env["NOTIFICATION_LOCALE"] = "ja"
	f.Clock = func() time.Time { return f.Now } // promises count from the wall clock
	return f
}

func inquiry(age time.Duration) map[string]any {
	return map[string]any{
		"status": "resolved", "resolvedAt": now.Add(-age), "userId": "u1", "subject": "ログインできない", "category": "account",
	}
}

// message returns the n-th message of an inquiry.
func message(n int) map[string]any {
	return map[string]any{
		"content": fmt.Sprintf("message %d", n), "senderType": "user", "createdAt": now.AddDate(0, -1, 0).Add(time.Duration(n) * time.Minute),
	}
}

func ids(documents map[string]map[string]any) []string { return slices.Sorted(maps.Keys(documents)) }

// wantIDs compares the ids of a collection's documents.
func wantIDs(t *testing.T, f *enginetest.Function, collection string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := ids(f.Documents(t, collection)); !slices.Equal(got, want) {
		t.Errorf("%s holds %v, want %v", collection, got, want)
	}
}

// wantNothingBegun makes sure that no run left a record.
func wantNothingBegun(t *testing.T, f *enginetest.Function) {
	t.Helper()
	wantIDs(t, f, "cleanupJobs/cleanupResolvedInquiries/cleanupTodo")
}

// TestWhatIsKeptAndCounted also has odd values. They are archived unchanged if the inquiry is due.
func TestWhatIsKeptAndCounted(t *testing.T) {
	f := newFunction(t)
	kept := map[string]map[string]any{
		"young": inquiry(6*day - tick), "told": inquiry(6 * day), "open": {"status": "open", "resolvedAt": now.Add(-100 * day)}, "empty": {},
		"null": {"status": "resolved", "resolvedAt": nil}, "map": {"status": "resolved", "resolvedAt": map[string]any{"seconds": 1}},
		"odd":    {"status": 3.5, "resolvedAt": true, "userId": []any{}, "subject": map[string]any{}, notifiedAt: "yes"},
		"unset":  {"status": "resolved", "resolvedAt": time.Time{}, "userId": "u1"},
		"epoch":  {"status": "resolved", "resolvedAt": time.Unix(0, 0), "userId": "u1"},
		"nobody": {"status": "resolved", "resolvedAt": now.Add(-6 * day), "userId": map[string]any{"id": "u1"}},
	}
	kept["told"][notifiedAt] = now.Add(-time.Hour)
	due := map[string]any{"status": "resolved", "resolvedAt": now.Add(-8 * day), "userId": 5.5, "subject": nil, notifiedAt: "yes"}
	odd := map[string]any{"createdAt": "yesterday", "imageUrl": map[string]any{"x": 1.5}}
	f.Set(t, "inquiries/due", due)
	f.Set(t, "inquiries/due/messages/m1", odd)
	for id, data := range kept {
		f.Set(t, "inquiries/"+id, data)
		f.Set(t, "inquiries/"+id+"/messages/m1", odd)
	}
	neighbors := []string{"inquiries_old", "users/u1/inquiries"}
	for _, collection := range neighbors {
		f.Set(t, collection+"/i1", inquiry(100*day))
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, archivedOnce)
	enginetest.Want(t, "scanned", 11, got.Scanned)
	enginetest.Want(t, "kept", map[string]int{
		"not due": 4, keptTold: 1, "no usable age": 4, keptUntold: 1, "imageUrl holds no string": 1,
	}, got.Kept)
	for _, id := range []string{"null", "map", "unset", "epoch"} {
		enginetest.Want(t, "warnings of inquiries/"+id, 1, len(f.Warnings(t)["inquiries/"+id]))
	}
	wantIDs(t, f, "inquiries", ids(kept)...)
	for id := range kept {
		wantIDs(t, f, "inquiries/"+id+"/messages", "m1")
	}
	due["archivedAt"], due["messages"] = now, []any{odd}
	enginetest.Want(t, "archives", map[string]map[string]any{"due": due}, f.Documents(t, "archivedInquiries"))
	for _, collection := range neighbors {
		wantIDs(t, f, collection, "i1")
	}
}
