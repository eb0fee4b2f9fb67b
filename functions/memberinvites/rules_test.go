package memberinvites

import (
	"maps"
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
	now := time.Date(2026, 1, 10, 15, 10, 0, 0, time.UTC)
	limit := time.Date(2025, 10, 12, 15, 10, 0, 0, time.UTC)
	type fields = map[string]any
	with := func(changes fields) fields {
		data := fields{"invite_token": "t0ken", "created_at": limit.Add(-tick), "user_id": nil}
		maps.Copy(data, changes)
		return data
	}
	tests := []struct {
		name string
		data fields
		want string
	}{
		{"a tick over 90 days", with(nil), due},
		{"a second over 90 days", with(fields{"created_at": limit.Add(-time.Second)}), due},
		{"years ago", with(fields{"created_at": now.AddDate(-9, 0, 0)}), "not accepted, created 2017-01-10T15:10:00Z, more than 90 days ago"},
		{"in another zone", with(fields{"created_at": limit.Add(-tick).In(time.FixedZone("JST", 9*3600))}), due},
		{"no user_id", fields{"invite_token": "t0ken", "created_at": limit.Add(-tick)}, due},

		{"exactly 90 days", with(fields{"created_at": limit}), keptYoung},
		{"a tick under 90 days", with(fields{"created_at": limit.Add(tick)}), keptYoung},
		{"a second under 90 days", with(fields{"created_at": limit.Add(time.Second)}), keptYoung},
		{"today", with(fields{"created_at": now}), keptYoung},
		{"from the future", with(fields{"created_at": now.AddDate(1, 0, 0)}), keptYoung},

		{"accepted", with(fields{"user_id": "u1"}), keptAccepted},
		{"accepted by a number", with(fields{"user_id": int64(7)}), keptAccepted},
		{"user_id is empty", with(fields{"user_id": ""}), keptAccepted},
		{"user_id is 0", with(fields{"user_id": int64(0)}), keptAccepted},
		{"user_id is false", with(fields{"user_id": false}), keptAccepted},
		{"user_id is a list", with(fields{"user_id": []any{}}), keptAccepted},

		{"no token", fields{"created_at": limit.Add(-tick)}, keptTokenless},
		{"null token", with(fields{"invite_token": nil}), keptTokenless},
		{"empty token", with(fields{"invite_token": ""}), keptTokenless},
		{"numeric token", with(fields{"invite_token": int64(1)}), keptTokenless},
		{"token true", with(fields{"invite_token": true}), keptTokenless},

		{"no date", fields{"invite_token": "t0ken"}, keptUndated},
		{"null date", with(fields{"created_at": nil}), keptUndated},
		{"date as text", with(fields{"created_at": "2020-01-01T00:00:00Z"}), keptUndated},
		{"date as milliseconds", with(fields{"created_at": int64(1577836800000)}), keptUndated},
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
