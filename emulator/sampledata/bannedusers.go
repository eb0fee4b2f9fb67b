package sampledata

import "time"

var bannedUsersPart = part{
	job: "cleanupBannedUsers", of: bannedUsers,
	clients: map[string]Client{
		"users": {
			Path: "users/ken", Fields: map[string]any{"displayName": "Ken"}, Creates: true, Private: true,
			Edits: map[string]any{"displayName": "K."}, Harmless: map[string]string{
				"name": "nothing reads it of a user", "displayName": "people are shown it", "createdAt": "nothing reads it of a user",
			},
		},
	},
}

// bannedUsers is the part of cleanupBannedUsers: a user of each decision, both sides of the scheduled deletion, what a deleted
// user wrote, and an account that an earlier run could not delete.
func bannedUsers(now time.Time, _ string) Sample {
	user := func(status string, due any) map[string]any {
		return map[string]any{
			"displayName": "サンプル", "createdAt": now.AddDate(-1, 0, 0),
			"banStatus": status, "permanentBanScheduledDeletionAt": due,
		}
	}
	documents := []Document{
		deleted("users/user-banned-last-month", user("permanent", now.AddDate(0, 0, -1))),
		deleted("users/user-banned-due-now", user("permanent", now)),
		kept("users/user-banned-due-in-a-second", user("permanent", now.Add(time.Second))),
		kept("users/user-banned-this-week", user("permanent", now.AddDate(0, 0, 27))),
		kept("users/user-banned-date-as-text", user("permanent", "2024-01-01")),
		kept("users/user-banned-for-a-week", user("temporary", now.AddDate(0, 0, -1))),
		kept("users/user-unbanned", user("none", now.AddDate(0, 0, -1))),

		kept("posts/post-by-banned-user", map[string]any{
			"userId": "user-banned-last-month", "text": "こんにちは", "createdAt": now.AddDate(0, -2, 0)}),
		kept("comments/comment-by-banned-user", map[string]any{
			"userId": "user-banned-last-month", "postId": "post-by-banned-user", "text": "どうぞ", "createdAt": now.AddDate(0, -2, 0)}),

		deleted("authDeletionRetries/user-banned-last-year", map[string]any{"addedAt": now.AddDate(0, 0, -1), "attempts": 1}),
	}
	accounts := []Account{
		{UID: "user-banned-last-month"},
		{UID: "user-banned-last-year"}, // an earlier run deleted its document, and could not delete the account
		// user-banned-due-now has no account, which counts as deleted
		{UID: "user-banned-due-in-a-second", Kept: true},
		{UID: "user-banned-this-week", Kept: true},
		{UID: "user-banned-date-as-text", Kept: true},
		{UID: "user-banned-for-a-week", Kept: true},
		{UID: "user-unbanned", Kept: true},
	}
	return Sample{Documents: documents, Accounts: accounts}
}
