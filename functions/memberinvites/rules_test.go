package memberinvites

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
)

func TestJudge(t *testing.T) {
	const (
		tick = time.Microsecond // Firestore's resolution
		due  = "not accepted, created 2025-10-12T15:09:59Z, more than 90 days ago"
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

		{"exactly 90 days", with(base, fields{"created_at": limit}), keptYoung},
		{"a tick under 90 days", with(base, fields{"created_at": limit.Add(tick)}), keptYoung},

		{"accepted", with(base, fields{"user_id": "u1"}), keptAccepted},
		{"user_id is empty", with(base, fields{"user_id": ""}), keptAccepted},

		{"no token", without(base, "invite_token"), keptTokenless},
		{"empty token", with(base, fields{"invite_token": ""}), keptTokenless},
		{"numeric token", with(base, fields{"invite_token": int64(1)}), keptTokenless},

		{"no date", without(base, "created_at"), keptUndated},
		{"null date", with(base, fields{"created_at": nil}), keptUndated},
		{"date as text", with(base, fields{"created_at": "2020-01-01T00:00:00Z"}), keptUndated},
		{"no data at all", nil, keptTokenless},
	} {
		want := sweep.Do("delete invite", tt.want)
		switch tt.want {
		case keptYoung, keptAccepted:
			want = sweep.Keep(tt.want)
		case keptTokenless, keptUndated:
			want = sweep.Invalid(tt.want)
		}
		if d := judge(sweep.Subject{Document: documents.Document{Data: tt.data}}, sweep.Run{Now: now}); d != want {
			t.Errorf("%s: %+v, want %+v", tt.name, d, want)
		}
	}
}
