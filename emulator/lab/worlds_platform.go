package main

import (
	"strconv"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/standin"
)

// comped are n rows of members, one each; the first of twenty have expired.
func comped(n int, now time.Time) *standin.World {
	w, member := &standin.World{}, ids("members", n)
	put(w, "members_products", n, func(i int) fields {
		expires := apart(now.Add(30*day), i)
		if i < n/20 {
			expires = apart(now.Add(-10*day), i)
		}
		return fields{"member_id": member(i), "product_id": "gold", "expiry_at": expires}
	})
	putAlike(w, "members", n, member, fields{"status": "comped", "email": "somebody@example.com"})
	return w
}

const organizations = 9

// projectsATask is how many projects there are for each task of the worker.
const projectsATask = 10

// warnedProject is the project of the i-th of n tasks, one that nobody was warned about.
func warnedProject(i, n int) string { return ids("projects", projectsATask*n)(projectsATask/2*n + i) }

// projects are n projects, of which the first fifth is dormant. Every fourth of those was never warned about, the next one was
// warned about long ago, and the other two a month ago.
func projects(n int, now time.Time) *standin.World {
	w, dormant, project := &standin.World{}, n/5, ids("projects", n)
	putOne(w, "application_settings", "current", fields{
		"delete_inactive_projects": true, "inactive_projects_min_size_mb": 0,
		"inactive_projects_send_warning_email_after_months": 6, "inactive_projects_delete_after_months": 9,
	})
	put(w, "projects", n, func(i int) fields {
		active := apart(now.Add(-day), i)
		if i < dormant {
			active = apart(now.AddDate(-1, 0, 0), i)
		}
		return fields{
			"name": "x", "storage_size": 1 << 30, "pending_delete": false, "organization_id": strconv.Itoa(i%organizations + 1),
			"owner_ids": []any{"somebody"}, "last_activity_at": active,
		}
	})
	putOne(w, "users", "somebody", fields{})
	putAlike(w, "organizations", organizations, func(i int) string { return strconv.Itoa(i + 1) },
		fields{"admin_bot_user_id": "bot"})
	of := func(entry int) int { return entry/3*4 + entry%3 + 1 } // the project of an entry
	entries := dormant - every(dormant, 4, 0)
	entry := func(e int) standin.Fields {
		given := now.AddDate(0, -1, 0)
		if of(e)%4 == 1 {
			given = now.AddDate(0, -5, 0)
		}
		return standin.Make(fields{"warned_on": given, "deletion_date": given.AddDate(0, 3, 0).Format(time.DateOnly)})
	}
	w.Put("inactive_project_deletion_warnings", entries, func(e int) string { return project(of(e)) }, entry)
	return w
}

// invites are n members, of whom the last tenth are invitations, and of those the first half is due.
func invites(n int, now time.Time) *standin.World {
	w, first, token := &standin.World{}, n-n/10, ids("tokens", n)
	put(w, "members", n, func(i int) fields {
		switch {
		case i < first:
			return fields{"invite_token": nil, "user_id": "somebody", "created_at": apart(now.Add(-400*day), i)}
		case i < n-n/20:
			return fields{"invite_token": token(i), "user_id": nil, "created_at": apart(now.Add(-100*day), i)}
		}
		return fields{"invite_token": token(i), "user_id": nil, "created_at": apart(now.Add(-10*day), i)}
	})
	return w
}

// placeholders are n details of placeholder users, of which the first are in no namespace.
func placeholders(n, unclaimed int) *standin.World {
	w, user := &standin.World{}, ids("users", n)
	put(w, "import_placeholder_user_details", n, func(i int) fields {
		of := fields{"namespace_id": 7, "placeholder_user_id": user(i), "deletion_attempts": 0}
		if i < unclaimed {
			of["namespace_id"] = nil
		}
		return of
	})
	putOne(w, "posts", "imported", fields{"userId": "somebody"})
	putAlike(w, "users", n, user, fields{"user_type": "placeholder", "name": "x"})
	for i := range n {
		w.Accounts = append(w.Accounts, user(i))
	}
	return w
}
