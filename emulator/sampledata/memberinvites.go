package sampledata

import (
	"time"

	"github.com/firesweep/firesweep/shared/retention"
)

var memberInvitesPart = part{job: "removeUnacceptedMemberInvites", of: memberInvites}

// memberInvites is the part of removeUnacceptedMemberInvites: a member of each decision, and both sides of the 90 days.
func memberInvites(now time.Time, _ string) Sample {
	limit := retention.DaysBefore(now, 90)
	invite := func(token string, created any) map[string]any {
		return map[string]any{
			"invite_token": token, "invite_email": token + "@example.com", "created_at": created,
			"user_id": nil, "source_id": "group-42", "access_level": 30,
		}
	}
	return Sample{Documents: []Document{
		deleted("members/invited-last-year", invite("sample-token-1", now.AddDate(-1, 0, 0))),
		deleted("members/invited-without-user-id", without(invite("sample-token-2", now.AddDate(0, -5, 0)), "user_id")),
		deleted("members/invited-a-second-over-90-days-ago", invite("sample-token-3", limit.Add(-time.Second))),
		kept("members/invited-exactly-90-days-ago", invite("sample-token-4", limit)),
		kept("members/invited-and-accepted", with(invite("sample-token-5", now.AddDate(0, -6, 0)),
			map[string]any{"user_id": "user-hana"})),
		kept("members/invited-yesterday", invite("sample-token-6", now.AddDate(0, 0, -1))),
		kept("members/invited-date-as-text", invite("sample-token-7", "2024-01-01")),
		kept("members/invited-with-empty-token", invite("", now.AddDate(-1, 0, 0))),
		kept("members/invited-with-a-number", map[string]any{
			"invite_token": 4711, "created_at": now.AddDate(-1, 0, 0), "user_id": nil}),
		kept("members/member-since-years", map[string]any{
			"invite_token": nil, "created_at": now.AddDate(-3, 0, 0), "user_id": "user-ken", "source_id": "group-42", "access_level": 40,
		}),
	}}
}
