package sampledata

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/functions/expiredcomped"
	"github.com/firesweep/firesweep/shared/retention"
)

var expiredCompedPart = part{job: "cleanExpiredComped", of: expiredComped}

// expiredComped is the part of cleanExpiredComped: both sides of the start of the day in UTC, members of every status, one
// who still has a subscription, and one whose id is a number.
func expiredComped(now time.Time, _ string) Sample {
	today := now.UTC().Truncate(retention.Day)
	yesterday, longAgo := today.Add(-time.Second), today.AddDate(0, -2, 0)
	const number = 4711
	row := func(member, expiry any) map[string]any {
		return map[string]any{"member_id": member, "product_id": "product-gold", "sort_order": 0, "expiry_at": expiry}
	}
	member := func(status string) map[string]any {
		return map[string]any{"email": "sample@example.com", "name": "サンプル", "status": status, "updated_at": now.AddDate(0, -3, 0)}
	}
	freed := func(path string) Document {
		return marked(path, member("comped"), map[string]any{"status": "free", "updated_at": now})
	}
	ended := func(row string, expiry time.Time) string { return row + "/" + expiry.Format(time.RFC3339Nano) }
	event := func(member any, rows ...string) Document {
		id := expiredcomped.ObjectID(now, append([]string{fmt.Sprint(member)}, rows...)...)
		return created("members_status_events/"+id, map[string]any{
			"member_id": member, "from_status": "comped", "to_status": "free", "created_at": now})
	}
	return Sample{Documents: []Document{
		deleted("members_products/comp-expired-yesterday", row("member-comped", yesterday)),
		freed("members/member-comped"),
		event("member-comped", ended("comp-expired-yesterday", yesterday)),
		deleted("members_products/comp-expired-long-ago", row("member-comped-twice", longAgo)),
		deleted("members_products/comp-expired-too", row("member-comped-twice", yesterday)),
		freed("members/member-comped-twice"),
		event("member-comped-twice", ended("comp-expired-long-ago", longAgo), ended("comp-expired-too", yesterday)),
		deleted("members_products/comp-expired-of-a-number", row(number, longAgo)),
		freed("members/4711"),
		event(number, ended("comp-expired-of-a-number", longAgo)),
		deleted("members_products/comp-expired-then-paid", row("member-paid", longAgo)),
		kept("members/member-paid", member("paid")),
		deleted("members_products/comp-of-deleted-member", row("member-deleted", longAgo)),

		deleted("members_products/comp-expired-of-two", row("member-comped-on", longAgo)),
		kept("members_products/comp-endless", row("member-comped-on", nil)),
		kept("members/member-comped-on", member("comped")),
		kept("members_products/comp-expires-today", row("member-last-day", today)),
		kept("members/member-last-day", member("comped")),
		kept("members_products/comp-date-as-text", row("member-odd", "2024-01-01")),
		kept("members/member-odd", member("comped")),
		kept("members_products/comp-of-nobody", map[string]any{"product_id": "product-gold", "expiry_at": longAgo}),
	}}
}
