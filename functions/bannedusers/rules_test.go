package bannedusers

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

func TestJudge(t *testing.T) {
	const tick = time.Microsecond // Firestore's resolution
	banned := func(status, due any) map[string]any {
		return map[string]any{"banStatus": status, "permanentBanScheduledDeletionAt": due}
	}
	long := time.Date(2020, 1, 1, 9, 0, 0, 0, time.FixedZone("JST", 9*60*60))
	tests := []struct {
		name   string
		id     string // "u1" if empty
		data   map[string]any
		reason string // why it is due; empty: kept
		kept   string
	}{
		{name: "long due", data: banned("permanent", long), reason: "permanently banned, deletion scheduled for 2020-01-01T00:00:00Z"},
		{name: "a tick past", data: banned("permanent", now.Add(-tick)), reason: "permanently banned, deletion scheduled for 2026-01-10T18:59:59Z"},
		{name: "due exactly now", data: banned("permanent", now), reason: "permanently banned, deletion scheduled for 2026-01-10T19:00:00Z"},
		{name: "due in a tick", data: banned("permanent", now.Add(tick)), kept: keptNotYet},
		{name: "due next month", data: banned("permanent", now.AddDate(0, 1, 0)), kept: keptNotYet},

		{name: "banned for a time", data: banned("temporary", long), kept: keptNotBanned},
		{name: "unbanned, date left", data: banned("none", long), kept: keptNotBanned},
		{name: "status in capitals", data: banned("Permanent", long), kept: keptNotBanned},
		{name: "status with a space", data: banned("permanent ", long), kept: keptNotBanned},
		{name: "empty status", data: banned("", long), kept: keptNotBanned},
		{name: "null status", data: banned(nil, long), kept: keptNotBanned},
		{name: "true as status", data: banned(true, long), kept: keptNotBanned},
		{name: "list as status", data: banned([]any{"permanent"}, long), kept: keptNotBanned},
		{name: "no status", data: map[string]any{"permanentBanScheduledDeletionAt": long}, kept: keptNotBanned},
		{name: "no date", data: map[string]any{"banStatus": "permanent"}, kept: keptUndated},
		{name: "null date", data: banned("permanent", nil), kept: keptUndated},
		{name: "date as text", data: banned("permanent", "2020-01-01T00:00:00Z"), kept: keptUndated},
		{name: "date as milliseconds", data: banned("permanent", int64(1577836800000)), kept: keptUndated},
		{name: "date is NaN", data: banned("permanent", math.NaN()), kept: keptUndated},
		{name: "date in the year 9999", data: banned("permanent", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)), kept: keptNotYet},
		{name: "date in the year 1", data: banned("permanent", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)),
			reason: "permanently banned, deletion scheduled for 0001-01-01T00:00:00Z"},
		{name: "date in a map", data: banned("permanent", map[string]any{"seconds": int64(0)}), kept: keptUndated},
		{name: "empty", data: map[string]any{}, kept: keptNotBanned},
		{name: "no data at all", kept: keptNotBanned},

		{name: "longest uid", id: strings.Repeat("花", 128), data: banned("permanent", long),
			reason: "permanently banned, deletion scheduled for 2020-01-01T00:00:00Z"},
		{name: "id longer than a uid", id: strings.Repeat("a", 129), data: banned("permanent", long),
			reason: "permanently banned, deletion scheduled for 2020-01-01T00:00:00Z"},
		{name: "longest id", id: strings.Repeat("a", 1500), data: banned("permanent", long),
			reason: "permanently banned, deletion scheduled for 2020-01-01T00:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.id == "" {
				tt.id = "u1"
			}
			want := sweep.Do("delete user", tt.reason)
			if tt.reason == "" {
				want = sweep.Decision{Reason: tt.kept, Invalid: tt.kept == keptUndated}
			}
			user := sweep.Subject{Document: documents.Document{Path: "users/" + tt.id, Data: tt.data}, Found: true}
			if got := judgeUser(user, sweep.Run{Now: now}); got != want {
				t.Errorf("judged %+v, want %+v", got, want)
			}
		})
	}
}

// TestOneCommit: the document goes and the note comes in one commit, and the account is nothing that the journal repeats.
func TestOneCommit(t *testing.T) {
	user := sweep.Subject{Document: documents.Document{Path: "users/u1"}, Found: true}
	got := userRule.Change(user, sweep.Decision{}, sweep.Run{Now: now})
	note := documents.Ref{Collection: "authDeletionRetries", ID: "u1"}
	want := []documents.Write{
		{Op: documents.Delete, Ref: user.Ref()}, {Op: documents.Set, Ref: note, Data: map[string]any{"addedAt": now, "attempts": int64(0)}},
	}
	if diff := cmp.Diff(want, got.Writes); diff != "" || len(got.Then) != 1 || got.Then[0].Account != "u1" || got.Then[0].Noted == nil {
		t.Errorf("then %+v, writes (-want +got):\n%s", got.Then, diff)
	}
}

func TestWarning(t *testing.T) {
	const attempts = "user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: "
	for name, tt := range map[string]struct {
		n    note
		uid  string
		err  string
		want string
	}{
		"first": {note{now, 1}, "u1", "quota", "Auth delete failed for u1: quota (" + attempts + "1): every run tries again"},
		"third": {note{now, 3}, "u1", "quota", "Auth delete failed for u1: quota (" + attempts + "3): every run tries again; " +
			"look up the error, then delete the account in the Firebase console, or mend the service account's role"},
		"several lines": {note{now, 1}, "u\n1", "{\r\n\t\"error\": \u2028403\n}",
			"Auth delete failed for u 1: {   \"error\":  403 } (" + attempts + "1): every run tries again"},
		"long": {note{now, 1}, "u1", strings.Repeat("長", 301), "Auth delete failed for u1: " + strings.Repeat("長", 300) + "… (" + attempts + "1): every run tries again"},
	} {
		if got := tt.n.warning(tt.uid, errors.New(tt.err)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestNoteReason(t *testing.T) {
	const unsaid = "the user document is gone, the account may not be"
	for name, tt := range map[string]struct {
		data map[string]any
		want string
	}{
		"as written":  {map[string]any{"addedAt": now, "attempts": int64(2)}, "user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: 2"},
		"no attempts": {map[string]any{"addedAt": now}, "user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: 0"},
		"impossible":  {map[string]any{"addedAt": now, "attempts": int64(-5)}, "user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: 0"},
		"a number":    {map[string]any{"addedAt": now, "attempts": 2.5}, "user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: 0"},
		"wrong types": {map[string]any{"addedAt": "today", "attempts": "two"}, unsaid},
		"empty":       {nil, unsaid},
	} {
		if got := noteOf(documents.Document{Path: "authDeletionRetries/u1", Data: tt.data}).reason(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
