package sampledata

import (
	"time"

	"github.com/firesweep/firesweep/shared/retention"
)

var reportsPart = part{
	job: "cleanupReports", of: reports,
	clients: map[string]Client{
		"reports": {
			Path: "reports/r", Creates: true, Private: true,
			Fields: map[string]any{"reporterId": Me, "status": "pending", "createdAt": RequestTime{}, "reason": "spam"},
			Harmless: map[string]string{
				"contentId": "people are shown it", "contentType": "people are shown it", "reason": "people are shown it",
			},
		},
	},
}

// reports is the part of cleanupReports: a report of each decision, and both sides of the month.
func reports(now time.Time, _ string) Sample {
	monthAgo := retention.MonthsBefore(now, 1)
	report := func(status string, created any) map[string]any {
		return map[string]any{
			"status": status, "createdAt": created, "reason": "spam",
			"reporterId": "user-hana", "contentType": "post", "contentId": "post-1204",
		}
	}
	return Sample{Documents: []Document{
		deleted("reports/reviewed-last-winter", report("reviewed", now.AddDate(0, -9, 0))),
		deleted("reports/dismissed-in-spring", report("dismissed", now.AddDate(0, -6, 0))),
		deleted("reports/reviewed-a-second-over-a-month-ago", report("reviewed", monthAgo.Add(-time.Second))),
		kept("reports/reviewed-exactly-a-month-ago", report("reviewed", monthAgo)),
		kept("reports/dismissed-yesterday", report("dismissed", now.AddDate(0, 0, -1))),
		kept("reports/pending-for-a-year", report("pending", now.AddDate(-1, 0, 0))),
		kept("reports/pending-since-today", report("pending", now.Add(-time.Hour))),
		kept("reports/reviewed-date-as-text", report("reviewed", "2024-01-01")),
		kept("reports/reviewed-without-date", map[string]any{"status": "reviewed", "reason": "abuse"}),
	}}
}
