package declared_test

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine"
)

func TestJudgeInvite(t *testing.T) {
	const (
		tick = time.Microsecond // Firestore's resolution
		due  = "not accepted, created_at 2025-10-12T15:09:59Z, older than 90 days"
	)
	base := invite("t0ken", limit.Add(-tick))
	for _, tt := range []struct {
		name string
		data fields
		want string
	}{
		{"a tick over 90 days", base, due},
		{"in another zone", with(base, fields{"created_at": limit.Add(-tick).In(time.FixedZone("JST", 9*3600))}), due},
		{"no user_id", without(base, "user_id"), due},

		{"exactly 90 days", with(base, fields{"created_at": limit}), inviteYoung},
		{"a tick under 90 days", with(base, fields{"created_at": limit.Add(tick)}), inviteYoung},

		{"accepted", with(base, fields{"user_id": "u1"}), keptAccepted},
		{"user_id is empty", with(base, fields{"user_id": ""}), keptAccepted},

		{"no token", without(base, "invite_token"), keptTokenless},
		{"empty token", with(base, fields{"invite_token": ""}), keptTokenless},
		{"numeric token", with(base, fields{"invite_token": int64(1)}), keptTokenless},

		{"no date", without(base, "created_at"), inviteUnset},
		{"null date", with(base, fields{"created_at": nil}), inviteUnset},
		{"date as text", with(base, fields{"created_at": "2020-01-01T00:00:00Z"}), inviteUndated},
		{"no data at all", nil, keptTokenless},
	} {
		want := engine.Do("delete invite", tt.want)
		switch tt.want {
		case inviteYoung, keptAccepted, inviteUnset:
			want = engine.Keep(tt.want)
		case keptTokenless, inviteUndated:
			want = engine.Invalid(tt.want)
		}
		if d := judge(t, "removeUnacceptedMemberInvites", tt.data, now); d != want {
			t.Errorf("%s: %+v, want %+v", tt.name, d, want)
		}
	}
}
