package sampledata

import (
	"slices"
	"time"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/retention"
)

var inactiveProjectsPart = part{
	job: "deleteInactiveProjects", of: inactiveProjects,
	clients: map[string]Client{
		"projects": {
			Path: "projects/p", Fields: map[string]any{"owner_ids": []any{Me}, "name": "…"}, Private: true,
			Edits:    map[string]any{"name": "?"},
			Harmless: map[string]string{"name": "people are shown it", "deleting_user": "nothing reads it"},
		},
	},
}

// inactiveProjects is the part of deleteInactiveProjects: a project to warn about, one to mark, one whose warning is void, and
// one for each reason to keep a project. One of their owners has a number as id. Projects are dormant after 9 months and
// deleted after 12.
func inactiveProjects(now time.Time, _ string) Sample {
	months := func(n int) time.Time { return now.AddDate(0, -n, -5) }
	project := func(name string, last time.Time, further map[string]any) map[string]any {
		return with(map[string]any{
			"name": name, "last_activity_at": last, "storage_size": 52_428_800, "organization_id": "sample-org",
			"owner_ids": []any{"sample-owner"}, "maintainer_ids": []any{4711},
		}, further)
	}
	entry := func(at time.Time) map[string]any {
		return map[string]any{"warned_on": at, "deletion_date": retention.MonthsAfter(at, 3).Format(time.DateOnly)}
	}
	const warnings = "inactive_project_deletion_warnings/"
	return Sample{Documents: append([]Document{
		kept("application_settings/current", map[string]any{
			"delete_inactive_projects": true, "inactive_projects_delete_after_months": 12,
			"inactive_projects_send_warning_email_after_months": 9, "inactive_projects_min_size_mb": 10,
		}),
		kept("users/sample-owner", map[string]any{"name": "Ida"}),
		kept("users/4711", map[string]any{"name": "Otto"}),
		kept("organizations/sample-org", map[string]any{"admin_bot_user_id": "sample-admin-bot"}),

		kept("projects/project-in-use", project("In use", months(1), nil)),
		kept("projects/project-small", project("Small", months(20), map[string]any{"storage_size": 4096})),
		kept("projects/project-marked-by-hand", project("Marked by hand", months(20),
			map[string]any{"marked_for_deletion_on": months(1)})),
		kept("projects/project-pending-delete", project("Pending", months(20), map[string]any{"pending_delete": true})),
		kept("projects/project-date-as-text", project("Date as text", now, map[string]any{"last_activity_at": "2020-01-01"})),
		kept("projects/project-of-nobody-to-warn", project("Nobody to warn", months(20),
			map[string]any{"owner_ids": []any{"gone@mail.invalid"}, "maintainer_ids": nil})),
		kept(warnings+"project-of-nobody-to-warn", entry(months(4))),
		kept("projects/project-of-no-bot", project("No bot", months(20), map[string]any{"organization_id": "sample-org-without-bot"})),
		kept("organizations/sample-org-without-bot", map[string]any{"name": "No bot"}),
		kept("projects/project-in-grace", project("In grace", months(10), nil)),
		kept(warnings+"project-in-grace", entry(months(1))),

		marked("projects/project-grace-over", project("Grace over", months(15), nil),
			map[string]any{"marked_for_deletion_on": now, "deleting_user": "sample-admin-bot"}),
		deleted(warnings+"project-grace-over", entry(months(4))),

		kept("projects/project-dormant", project("Dormant", months(10), nil)),
		created(warnings+"project-dormant", entry(now)),
		kept("projects/project-warned-long-ago", project("Awake for a while since", months(11), nil)),
		changed(warnings+"project-warned-long-ago", entry(months(14)), entry(now)),
	}, slices.Concat(
		announced(now, "project-dormant", "Dormant", months(10)),
		announced(now, "project-warned-long-ago", "Awake for a while since", months(11)))...)}
}

// announced returns what a warning given now leaves: the audit event and the e-mail.
func announced(now time.Time, id, name string, last time.Time) []Document {
	promise := retention.MonthsAfter(now, 3).Format(time.DateOnly)
	since := last.UTC().Format(time.RFC3339Nano)
	mail := notifications.Mail{
		ToUserIDs: []string{"sample-owner", "4711"}, Type: "inactive_project_warning",
		Text: notifications.Japanese.InactiveProjectWarning(name, promise), Announces: []string{id, since, promise},
	}
	return []Document{
		created(mail.Ref().Path(), mail.Data()),
		created("audit_events/"+digest.Of("inactive_project_scheduled_for_deletion", id, since), map[string]any{
			"name":      "inactive_project_scheduled_for_deletion",
			"message":   "Project is scheduled to be deleted on " + promise + " due to inactivity.",
			"author_id": "sample-admin-bot", "project_id": id, "deletion_date": promise, "created_at": now,
		}),
	}
}
