package bannedusers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

func TestJudge(t *testing.T) {
	const tick = time.Microsecond // Firestore's resolution
	banned := func(status, due any) map[string]any {
		return map[string]any{"banStatus": status, "permanentBanScheduledDeletionAt": due}
	}
	due := func(date string) cleanup.Decision {
		return cleanup.Do("delete user", "permanently banned, deletion scheduled for "+date)
	}
	long := time.Date(2020, 1, 1, 9, 0, 0, 0, time.FixedZone("JST", 9*60*60))
	for _, tt := range []struct {
		name string
		data map[string]any
		want cleanup.Decision
	}{
		{"long due", banned("permanent", long), due("2020-01-01T00:00:00Z")},
		{"a tick past", banned("permanent", now.Add(-tick)), due("2026-01-10T18:59:59Z")},
		{"due exactly now", banned("permanent", now), due("2026-01-10T19:00:00Z")},
		{"due in a tick", banned("permanent", now.Add(tick)), cleanup.Keep(keptNotYet)},
		{"due next month", banned("permanent", now.AddDate(0, 1, 0)), cleanup.Keep(keptNotYet)},

		{"banned for a time", banned("temporary", long), cleanup.Keep(keptNotBanned)},
		{"unbanned, date left", banned("none", long), cleanup.Keep(keptNotBanned)},
		{"status in capitals", banned("Permanent", long), cleanup.Keep(keptNotBanned)},
		{"null status", banned(nil, long), cleanup.Keep(keptNotBanned)},
		{"no status", map[string]any{"permanentBanScheduledDeletionAt": long}, cleanup.Keep(keptNotBanned)},
		{"no date", map[string]any{"banStatus": "permanent"}, cleanup.Invalid(keptUndated)},
		{"null date", banned("permanent", nil), cleanup.Invalid(keptUndated)},
		{"date as text", banned("permanent", "2020-01-01T00:00:00Z"), cleanup.Invalid(keptUndated)},
		{"date in the year 9999", banned("permanent", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)), cleanup.Keep(keptNotYet)},
		{"date of 1970", banned("permanent", documents.Earliest.Add(-tick)), cleanup.Invalid(keptUndated)},
		{"date of 1971", banned("permanent", documents.Earliest), due("1971-01-01T00:00:00Z")},
		{"empty", map[string]any{}, cleanup.Keep(keptNotBanned)},
		{"no data at all", nil, cleanup.Keep(keptNotBanned)},
	} {
		user := cleanup.Subject{Document: documents.Document{Path: "users/u1", Data: tt.data}, Found: true}
		enginetest.Want(t, tt.name, tt.want, judgeUser(user, cleanup.Run{Now: now}))
	}
}

func TestWarning(t *testing.T) {
	const since = "user document deleted 2026-01-10T19:00:00Z, failed attempts to delete the account since: "
	const again, last = "): every run tries again",
		"): every run tries again; look up the error, then delete the account in the Firebase console, or fix the service account's role"
	for _, tt := range []struct {
		data map[string]any
		uid  string
		err  string
		want string
	}{
		{map[string]any{"addedAt": now, "attempts": int64(1)}, "u1", "quota", "u1: quota (" + since + "1" + again},
		{map[string]any{"addedAt": now, "attempts": int64(2)}, "u1", "quota", "u1: quota (" + since + "2" + again},
		{map[string]any{"addedAt": now, "attempts": int64(3)}, "u1", "quota", "u1: quota (" + since + "3" + last},
		{map[string]any{"addedAt": now, "attempts": int64(1)}, "u\n1", "{\r\n\t\"error\": \u2028403\n}", "u 1: {   \"error\":  403 } (" + since + "1" + again},
		{map[string]any{"addedAt": now, "attempts": int64(1)}, "u1", strings.Repeat("長", 301), "u1: " + strings.Repeat("長", 300) + "… (" + since + "1" + again},
		{map[string]any{"addedAt": now}, "u1", "quota", "u1: quota (" + since + "0" + again},
		{map[string]any{"addedAt": now, "attempts": int64(-5)}, "u1", "quota", "u1: quota (" + since + "0" + again},
		{map[string]any{"addedAt": now, "attempts": 2.5}, "u1", "quota", "u1: quota (" + since + "0" + again},
		{map[string]any{"addedAt": "today", "attempts": "two"}, "u1", "quota", "u1: quota (the user document is gone, the account may not be" + again},
		{nil, "u1", "quota", "u1: quota (the user document is gone, the account may not be" + again},
	} {
		got := warning(documents.Document{Path: "authDeletionRetries/" + tt.uid, Data: tt.data}, errors.New(tt.err))
		enginetest.Want(t, "warning", "Auth delete failed for "+tt.want, got.Message)
		enginetest.Want(t, "alert", strings.HasSuffix(tt.want, last), got.Fields["alert"] == "account")
	}
}
