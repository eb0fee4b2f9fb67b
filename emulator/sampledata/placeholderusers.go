package sampledata

import "time"

var placeholderUsersPart = part{job: "cleanupPlaceholderUsers", of: placeholderUsers}

// placeholderUsers is the part of cleanupPlaceholderUsers: placeholders that nothing refers to, one that a post and one that a
// project refers to, one that a comment refers to by its number, and some that are not due.
func placeholderUsers(now time.Time, _ string) Sample {
	const details = "import_placeholder_user_details/"
	user := func(name string) map[string]any { return map[string]any{"user_type": "placeholder", "name": name} }
	detail := func(userID, namespace, attempts, last any) map[string]any {
		return map[string]any{"placeholder_user_id": userID, "namespace_id": namespace,
			"deletion_attempts": attempts, "last_deletion_attempt_at": last}
	}
	tried := func(id string, before map[string]any, attempts int) Document {
		return marked(details+id, before, map[string]any{"deletion_attempts": attempts, "last_deletion_attempt_at": now})
	}
	daysAgo := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	return Sample{
		Documents: []Document{
			deleted("users/placeholder-unused", user("Import of Ada")),
			deleted(details+"detail-unused", detail("placeholder-unused", nil, 0, nil)),
			deleted("users/placeholder-released", user("Import of Grace")), // nothing refers to it any more
			deleted(details+"detail-released", detail("placeholder-released", nil, 14, daysAgo(3))),

			kept("users/placeholder-author", user("Import of Edsger")),
			tried("detail-author", detail("placeholder-author", nil, 4, daysAgo(3)), 5),
			kept("posts/post-imported", map[string]any{"userId": "placeholder-author", "text": "imported", "createdAt": daysAgo(30)}),
			kept("users/placeholder-owner", user("Import of Barbara")),
			tried("detail-owner", detail("placeholder-owner", nil, 0, nil), 1),
			kept("projects/project-imported", map[string]any{"name": "Imported", "owner_ids": []any{"placeholder-owner"},
				"maintainer_ids": []any{}, "last_activity_at": now}),
			kept("users/4712", user("Import of Radia")),
			tried("detail-of-a-number", detail(4712, nil, 0, nil), 1),
			kept("comments/comment-imported", map[string]any{"userId": 4712, "text": "imported", "createdAt": daysAgo(30)}),

			kept("users/placeholder-mapped", user("Import of Donald")),
			kept(details+"detail-mapped", detail("placeholder-mapped", "sample-group", 0, nil)),
			kept("users/placeholder-tried-yesterday", user("Import of Niklaus")),
			kept(details+"detail-tried-yesterday", detail("placeholder-tried-yesterday", nil, 1, daysAgo(1))),
			kept("users/placeholder-given-up", user("Import of Alan")),
			kept(details+"detail-given-up", detail("placeholder-given-up", nil, 15, daysAgo(9))),
			// The user is a real one by now: the detail's attempt counts, and the worker leaves the user alone.
			kept("users/placeholder-claimed", map[string]any{"user_type": "human", "name": "Kathleen"}),
			tried("detail-claimed", detail("placeholder-claimed", nil, 0, nil), 1),
		},
		Accounts: []Account{
			{UID: "placeholder-unused"},
			{UID: "placeholder-author", Kept: true},
			{UID: "placeholder-claimed", Kept: true},
		},
	}
}
