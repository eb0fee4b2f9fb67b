package sampledata

import (
	"strconv"
	"time"
)

var orphanedMediaPart = part{
	job: "cleanupOrphanedMedia", of: orphanedMedia,
	clients: map[string]Client{
		"posts": {
			Path: "posts/p", Fields: map[string]any{"userId": Me, "circleId": "there", "text": "…"}, Creates: true,
			Edits: map[string]any{"text": "?"}, Deletes: true,
			Harmless: map[string]string{
				"text":       "people are shown it",
				"createdAt":  "only circles are judged by it",
				"mediaItems": "only objects go that name this post themselves or are its author's, see docs/storage.rules",
			},
		},
		"comments": {
			Path: "comments/c", Fields: map[string]any{"userId": Me, "postId": "p", "text": "…"}, Creates: true,
			Edits: map[string]any{"text": "?"}, Deletes: true, Chosen: []string{"postId"},
			Harmless: map[string]string{"text": "people are shown it", "createdAt": "only circles are judged by it"},
		},
		"reactions": {
			Path: "reactions/r", Fields: map[string]any{"userId": Me, "postId": "p"}, Creates: true, Deletes: true,
			Chosen: []string{"postId"}, Harmless: map[string]string{"kind": "people are shown it"},
		},
		"tasks": {
			Path: "tasks/t", Fields: map[string]any{"userId": Me, "title": "…"}, Creates: true, Private: true,
			Edits: map[string]any{"title": "?"}, Deletes: true,
			Harmless: map[string]string{"title": "people are shown it", "userId": "only posts and inquiries are judged by it"},
		},
	},
}

// orphanedMedia is the part of cleanupOrphanedMedia: files of owners that exist, do not exist, or were never finished, and posts
// of a circle that does not exist. At the demo's now all objects are older than a day, except by their uploadedAt.
func orphanedMedia(now time.Time, bucket string) Sample {
	post := func(fields map[string]any) map[string]any {
		return with(map[string]any{"text": "おはよう", "userId": "user-hana", "createdAt": now.AddDate(0, 0, -10)}, fields)
	}
	goneCirclePost := post(map[string]any{"circleId": "circle-closed", "mediaItems": []any{
		map[string]any{"type": "image", "url": "https://firebasestorage.googleapis.com/v0/b/" + bucket +
			"/o/posts%2Fuser-ken%2F%E5%B1%B1%20%F0%9F%97%BB.png?alt=media&token=t"},
		map[string]any{"type": "image", "url": "gs://" + bucket + "/posts/user-hana/sunrise.png"},
	}})
	of := func(postID string) map[string]string { return map[string]string{"postId": postID} }
	documents := []Document{
		kept("posts/post-sunrise", post(nil)),
		kept("posts/post-in-circle", post(map[string]any{"circleId": "circle-lively"})),
		kept("comments/on-post-in-circle", map[string]any{"postId": "post-in-circle", "text": "いいね"}),
		kept("circles/circle-lively", map[string]any{
			"name": "朝活", "ownerId": "user-hana", "createdAt": now.AddDate(-2, 0, 0),
			"lastHumanPostAt": now.AddDate(0, 0, -10), "isDeleted": false}),
		kept("tasks/task-essay", map[string]any{"title": "essay", "userId": "user-hana"}),
		deleted("posts/post-in-closed-circle", goneCirclePost),
		deleted("comments/on-closed-1", map[string]any{"postId": "post-in-closed-circle", "text": "また明日"}),
		deleted("comments/on-closed-2", map[string]any{"postId": "post-in-closed-circle", "text": "元気で"}),
		deleted("reactions/on-closed", map[string]any{"postId": "post-in-closed-circle", "kind": "heart"}),
	}
	objects := []Object{
		{Name: "posts/user-hana/sunrise.png", Metadata: of("post-sunrise"), Kept: true}, // named by another's post, too
		{Name: "posts/user-hana/no-post-named.png", Kept: true},
		{Name: "posts/user-hana/just-uploaded.png", Kept: true,
			Metadata: map[string]string{"postId": "PENDING", "uploadedAt": strconv.FormatInt(now.Add(-time.Hour).UnixMilli(), 10)}},
		{Name: "posts/user-hana/never posted.png", Metadata: of("PENDING")},
		{Name: "posts/user-hana/of-deleted-post.mp4", Metadata: of("post-deleted-long-ago")},
		{Name: "posts/user-ken/山 🗻.png", Metadata: of("post-in-closed-circle")}, // goes with its post
		{Name: "circles/circle-lively/icon/icon.png", Kept: true},
		{Name: "circles/circle-closed/icon/icon.png"},
		{Name: "task_attachments/user-hana/task-essay/draft.pdf", Kept: true},
		{Name: "task_attachments/user-hana/task-thrown-away/draft.pdf"},
		{Name: "avatars/user-hana.png", Kept: true},
	}
	return Sample{Documents: documents, Objects: objects}
}
