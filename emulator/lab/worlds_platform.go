package main

import (
	"strconv"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/lab/standin"
)

// Kinds of ids of the platforms' documents.
const (
	rowID = 40 + iota
	memberID
	projectID
	inviteID
	detailID
	placeholderID
)

// comped are n rows of members, one each; the first of twenty have expired.
func comped(n int, now time.Time) standin.World {
	now, member := time.Now(), ids(memberID, n)
	return standin.World{Written: written, Collections: []standin.Collection{
		table("members_products", n, ids(rowID, n), fields{
			"member_id": texts(member), "product_id": always(standin.Text("gold")),
			"expiry_at": func(i int) *pb.Value {
				if i < n/20 {
					return apart(now.Add(-10*day), i)
				}
				return apart(now.Add(30*day), i)
			},
		}, "member_id", "expiry_at"),
		table("members", n, member, fields{"status": always(standin.Text("comped")), "email": always(standin.Text("somebody@example.com"))}),
	}}
}

const organizations = 9

// projectsATask is how many projects there are for each task of the worker.
const projectsATask = 10

// warnedProject is the project of the i-th of n tasks, one that nobody was warned about.
func warnedProject(i, n int) string { return id(projectID, projectsATask/2*n+i, projectsATask*n) }

// projects are n projects, of which the first fifth is dormant. Every fourth of those was never warned about, the next one was
// warned about long ago, and the other two a month ago.
func projects(n int, now time.Time) standin.World {
	dormant := n / 5
	project := ids(projectID, n)
	of := func(entry int) int { return entry/3*4 + entry%3 + 1 } // the project of an entry
	given := func(entry int) time.Time {
		if of(entry)%4 == 1 {
			return now.AddDate(0, -5, 0)
		}
		return now.AddDate(0, -1, 0)
	}
	return standin.World{Written: written, Collections: []standin.Collection{
		table("application_settings", 1, func(int) string { return "current" }, fields{
			"delete_inactive_projects": always(standin.Bool(true)), "inactive_projects_min_size_mb": always(standin.Int(0)),
			"inactive_projects_send_warning_email_after_months": always(standin.Int(6)), "inactive_projects_delete_after_months": always(standin.Int(9)),
		}),
		table("projects", n, project, fields{
			"name": always(standin.Text("x")), "storage_size": always(standin.Int(1 << 30)), "pending_delete": always(standin.Bool(false)),
			"organization_id": texts(func(i int) string { return strconv.Itoa(i%organizations + 1) }),
			"owner_ids":       always(standin.List(standin.Text("somebody"))),
			"last_activity_at": func(i int) *pb.Value {
				if i < dormant {
					return apart(now.AddDate(-1, 0, 0), i)
				}
				return apart(now.Add(-day), i)
			},
		}, "last_activity_at"),
		table("users", 1, func(int) string { return "somebody" }, fields{}),
		table("organizations", organizations, func(i int) string { return strconv.Itoa(i + 1) }, fields{"admin_bot_user_id": always(standin.Text("bot"))}),
		table("inactive_project_deletion_warnings", dormant-every(dormant, 4, 0), func(e int) string { return project(of(e)) }, fields{
			"warned_on":     func(e int) *pb.Value { return standin.Time(given(e)) },
			"deletion_date": func(e int) *pb.Value { return standin.Text(given(e).AddDate(0, 3, 0).Format(time.DateOnly)) },
		}),
	}}
}

// invites are n members, of whom the last tenth are invitations, and of those the first half is due.
func invites(n int, now time.Time) standin.World {
	first := n - n/10
	return standin.World{Written: written, Collections: []standin.Collection{table("members", n, ids(inviteID, n), fields{
		"invite_token": func(i int) *pb.Value {
			if i < first {
				return standin.Null()
			}
			return standin.Text(id(inviteID, i, n))
		},
		"user_id": func(i int) *pb.Value {
			if i < first {
				return standin.Text("somebody")
			}
			return standin.Null()
		},
		"created_at": func(i int) *pb.Value {
			switch {
			case i < first:
				return apart(now.Add(-400*day), i)
			case i < n-n/20:
				return apart(now.Add(-100*day), i)
			default:
				return apart(now.Add(-10*day), i)
			}
		},
	}, "invite_token", "created_at")}}
}

// placeholders are n details of placeholder users, of which the first are in no namespace.
func placeholders(n, unclaimed int) standin.World {
	user := ids(placeholderID, n)
	return standin.World{
		Written: written,
		Collections: []standin.Collection{
			table("import_placeholder_user_details", n, ids(detailID, n), fields{
				"namespace_id": func(i int) *pb.Value {
					if i < unclaimed {
						return standin.Null()
					}
					return standin.Int(7)
				},
				"placeholder_user_id": texts(user), "deletion_attempts": always(standin.Int(0)),
			}, "namespace_id", "placeholder_user_id"),
			table("posts", 1, ids(postID, 1), fields{"userId": always(standin.Text("somebody"))}, "userId"),
			table("users", n, user, fields{"user_type": always(standin.Text("placeholder")), "name": always(standin.Text("x"))}),
		},
		Accounts: standin.Accounts{Len: n, UID: user},
	}
}
