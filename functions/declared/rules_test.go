package declared_test

import (
	"math"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

const tick = time.Microsecond // Firestore's resolution

// wantJudged compares what a job's rule decides about a document. A reason to keep it is one of kept, with whether it is invalid.
func wantJudged(t *testing.T, job, name string, data fields, now time.Time, kept map[string]bool, want string) {
	t.Helper()
	for _, e := range functions.All() {
		if e.Name == job {
			decision := cleanup.Do(e.Kind(), want)
			if invalid, is := kept[want]; is {
				decision = cleanup.Decision{Reason: want, Invalid: invalid}
			}
			enginetest.Want(t, name, decision, declared.Judge(*e.Rule, documents.Document{Data: data}, now))
			return
		}
	}
	t.Errorf("no entry %s", job)
}

func TestJudgeReport(t *testing.T) {
	date := func(y int, m time.Month, d, hour, minute, second int) time.Time {
		return time.Date(y, m, d, hour, minute, second, 0, time.UTC)
	}
	const older = ", older than 1 month"
	kept := map[string]bool{keptYoung: false, keptUnsettled: false, keptUnset: false, keptUndated: true, keptEarly: true}
	now, long := date(2026, 1, 10, 15, 0, 0), date(2020, 1, 1, 0, 0, 0)
	for _, tt := range []struct {
		name string
		data fields
		now  time.Time
		want string // why it is due, or kept
	}{
		{"reviewed, long ago", reported("reviewed", date(2025, 11, 30, 1, 2, 3)), now, "status reviewed, createdAt 2025-11-30T01:02:03Z" + older},
		{"dismissed, long ago", reported("dismissed", long), now, "status dismissed, createdAt 2020-01-01T00:00:00Z" + older},
		{"a tick over a month", reported("reviewed", monthAgo.Add(-tick)), now, "status reviewed, createdAt 2025-12-10T14:59:59Z" + older},
		{"exactly a month", reported("reviewed", monthAgo), now, keptYoung},
		{"a tick under a month", reported("dismissed", monthAgo.Add(tick)), now, keptYoung},
		{"from the future", reported("reviewed", now.Add(time.Hour)), now, keptYoung},
		{"pending for years", reported("pending", long), now, keptUnsettled},

		{"31 March: 28 February is the cutoff", reported("reviewed", date(2026, 2, 28, 0, 0, 0)), date(2026, 3, 31, 0, 0, 0), keptYoung},
		{"31 March: before it", reported("reviewed", date(2026, 2, 28, 0, 0, 0).Add(-tick)), date(2026, 3, 31, 0, 0, 0),
			"status reviewed, createdAt 2026-02-27T23:59:59Z" + older},
		{"31 March, leap year", reported("reviewed", date(2028, 2, 28, 23, 59, 59)), date(2028, 3, 31, 0, 0, 0),
			"status reviewed, createdAt 2028-02-28T23:59:59Z" + older},
		{"31 March, leap year, kept", reported("reviewed", date(2028, 2, 29, 0, 0, 0)), date(2028, 3, 31, 0, 0, 0), keptYoung},
		{"29 February", reported("reviewed", date(2028, 1, 29, 0, 0, 0)), date(2028, 2, 29, 0, 0, 0), keptYoung},
		{"1 January", reported("reviewed", date(2025, 12, 1, 0, 0, 0).Add(-tick)), date(2026, 1, 1, 0, 0, 0),
			"status reviewed, createdAt 2025-11-30T23:59:59Z" + older},
		{"1 January, kept", reported("reviewed", date(2025, 12, 1, 0, 0, 0)), date(2026, 1, 1, 0, 0, 0), keptYoung},
		{"31 December", reported("reviewed", date(2025, 11, 30, 23, 59, 59)), date(2025, 12, 31, 23, 59, 59), keptYoung},

		{"no status", fields{"createdAt": long}, now, keptUnsettled},
		{"null status", reported(nil, long), now, keptUnsettled},
		{"numeric status", reported(int64(1), long), now, keptUnsettled},
		{"status in capitals", reported("Reviewed", long), now, keptUnsettled},
		{"empty status", reported("", long), now, keptUnsettled},
		{"statuses in a list", reported([]any{"reviewed"}, long), now, keptUnsettled},
		{"no date", fields{"status": "reviewed"}, now, keptUnset},
		{"null date", reported("reviewed", nil), now, keptUnset},
		{"date as text", reported("reviewed", "2020-01-01T00:00:00Z"), now, keptUndated},
		{"date as milliseconds", reported("reviewed", int64(1577836800000)), now, keptUndated},
		{"date is NaN", reported("reviewed", math.NaN()), now, keptUndated},
		{"date in the year 9999", reported("reviewed", date(9999, 12, 31, 23, 59, 59)), now, keptYoung},
		{"date in the year 1", reported("reviewed", date(1, 1, 1, 0, 0, 0)), now, keptEarly},
		{"date of 1970", reported("reviewed", documents.Earliest.Add(-tick)), now, keptEarly},
		{"date of 1971", reported("reviewed", documents.Earliest), now, "status reviewed, createdAt 1971-01-01T00:00:00Z" + older},
		{"no data at all", nil, now, keptUnsettled},
	} {
		wantJudged(t, "cleanupReports", tt.name, tt.data, tt.now, kept, tt.want)
	}
}

func TestJudgeInvite(t *testing.T) {
	const due = "invite_token is a non-empty string, user_id is null or missing, created_at 2025-10-12T15:09:59Z, older than 90 days"
	kept := map[string]bool{inviteYoung: false, keptAccepted: false, inviteUnset: false, keptTokenless: true, inviteUndated: true}
	base := invite("t0ken", limit.Add(-tick))
	for _, tt := range []struct {
		name string
		data fields
		want string // why it is due, or kept
	}{
		{"a tick over 90 days", base, due},
		{"in another zone", with(base, "created_at", limit.Add(-tick).In(time.FixedZone("JST", 9*3600))), due},
		{"no user_id", with(base, "user_id", enginetest.Missing), due},
		{"exactly 90 days", with(base, "created_at", limit), inviteYoung},
		{"a tick under 90 days", with(base, "created_at", limit.Add(tick)), inviteYoung},
		{"accepted", with(base, "user_id", "u1"), keptAccepted},
		{"user_id is empty", with(base, "user_id", ""), keptAccepted},
		{"no token", with(base, "invite_token", enginetest.Missing), keptTokenless},
		{"empty token", with(base, "invite_token", ""), keptTokenless},
		{"numeric token", with(base, "invite_token", int64(1)), keptTokenless},
		{"no date", with(base, "created_at", enginetest.Missing), inviteUnset},
		{"null date", with(base, "created_at", nil), inviteUnset},
		{"date as text", with(base, "created_at", "2020-01-01T00:00:00Z"), inviteUndated},
		{"no data at all", nil, keptTokenless},
	} {
		wantJudged(t, "removeUnacceptedMemberInvites", tt.name, tt.data, now, kept, tt.want)
	}
}
