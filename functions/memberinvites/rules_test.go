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
	tests := []struct {
		name string
		data fields
		want string
	}{
		{"a tick over 90 days", base, due},
		{"years ago", with(base, fields{"created_at": now.AddDate(-9, 0, 0)}), "not accepted, created 2017-01-10T15:10:00Z, more than 90 days ago"},
		{"in another zone", with(base, fields{"created_at": limit.Add(-tick).In(time.FixedZone("JST", 9*3600))}), due},
		{"no user_id", without(base, "user_id"), due},

		{"exactly 90 days", with(base, fields{"created_at": limit}), keptYoung},
		{"a tick under 90 days", with(base, fields{"created_at": limit.Add(tick)}), keptYoung},
		{"from the future", with(base, fields{"created_at": now.AddDate(1, 0, 0)}), keptYoung},

		{"accepted", with(base, fields{"user_id": "u1"}), keptAccepted},
		{"user_id is empty", with(base, fields{"user_id": ""}), keptAccepted},
		{"user_id is 0", with(base, fields{"user_id": int64(0)}), keptAccepted},
		{"user_id is false", with(base, fields{"user_id": false}), keptAccepted},

		{"no token", without(base, "invite_token"), keptTokenless},
		{"null token", with(base, fields{"invite_token": nil}), keptTokenless},
		{"empty token", with(base, fields{"invite_token": ""}), keptTokenless},
		{"numeric token", with(base, fields{"invite_token": int64(1)}), keptTokenless},

		{"no date", without(base, "created_at"), keptUndated},
		{"null date", with(base, fields{"created_at": nil}), keptUndated},
		{"date as text", with(base, fields{"created_at": "2020-01-01T00:00:00Z"}), keptUndated},
		{"date as milliseconds", with(base, fields{"created_at": int64(1577836800000)}), keptUndated},
		{"no data at all", nil, keptTokenless},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := sweep.Decision{Kind: "delete invite", Reason: tt.want}
			switch tt.want {
			case keptYoung, keptAccepted:
				want = sweep.Keep(tt.want)
			case keptTokenless, keptUndated:
				want = sweep.Invalid(tt.want)
			}
			if d := judge(sweep.Subject{Document: documents.Document{Data: tt.data}}, sweep.Run{Now: now}); d != want {
				t.Errorf("judge = %+v, want %+v", d, want)
			}
		})
	}
}
