package sampledata

import (
	"time"

	"github.com/firesweep/firesweep/functions/notifications"
	"github.com/firesweep/firesweep/shared/retention"
)

var ghostCirclesPart = part{
	job: "checkGhostCircles", of: ghostCircles,
	clients: map[string]Client{
		"circles": {
			Path: "circles/c", Fields: map[string]any{"ownerId": Me, "name": "…", "createdAt": RequestTime{}}, Creates: true,
			Edits: map[string]any{"name": "?"}, Wrong: map[string]any{"isDeleted": true},
			Harmless: map[string]string{"name": "people are shown it", "deleteReason": "nothing reads it"},
		},
		"users/notifications": {
			Path: "users/ken/notifications/n", Private: true,
			Fields: map[string]any{"title": "…", "isRead": false, "createdAt": time.Unix(0, 0), "circleId": "c"},
			Edits:  map[string]any{"isRead": true}, Deletes: true, Harmless: map[string]string{"isRead": "nothing reads it"},
		},
	},
}

// ghostCircles is the part of checkGhostCircles: a circle of each decision, with posts where their deletion matters.
func ghostCircles(now time.Time, bucket string) Sample {
	const mio, ren, job = "user-mio", "user-ren", "checkGhostCircles"
	const ja = notifications.Japanese
	daysAgo := func(n int) time.Time { return retention.DaysBefore(now, n) }
	circle := func(name, owner string, fields map[string]any) map[string]any {
		return with(map[string]any{"name": name, "ownerId": owner, "createdAt": daysAgo(900), "isDeleted": false}, fields)
	}
	warned := map[string]any{"ghostWarningNotifiedAt": now}
	post := func(circleID string, names ...string) map[string]any {
		data := map[string]any{"circleId": circleID, "userId": mio, "text": "今日の一枚", "createdAt": daysAgo(500)}
		if len(names) > 0 {
			items := []any{}
			for _, name := range names {
				items = append(items, map[string]any{"type": "image", "url": "gs://" + bucket + "/posts/user-mio/" + name})
			}
			data["mediaItems"] = items
		}
		return data
	}
	warning := func(owner, id, name string, text func(string) notifications.Text, since time.Time) notifications.Notification {
		return notifications.Notification{
			UserID: owner, Type: "circle_ghost_warning", Text: text(name), Fields: map[string]any{"circleId": id, "circleName": name},
			Announces: []string{id, since.UTC().Format(time.RFC3339Nano)},
		}
	}
	farewell := func(owner, id, name string, claimedAt time.Time) notifications.Notification {
		return notifications.Notification{
			UserID: owner, Type: "circle_ghost_deleted", Text: ja.GhostCircleDeleted(name), Fields: map[string]any{"circleName": name},
			Announces: []string{id, claimedAt.UTC().Format(time.RFC3339Nano)},
		}
	}
	told := func(n notifications.Notification) Document { return created(n.Ref().Path(), n.Data(now)) }

	revived := circle("将棋クラブ", ren, map[string]any{"lastHumanPostAt": daysAgo(1), "ghostWarningNotifiedAt": daysAgo(4)})
	staleNotice := warning(mio, "circle-photo", "写真部", ja.GhostCircleWarning, daysAgo(401))

	documents := []Document{
		kept("users/"+mio, map[string]any{"displayName": "澪"}),
		kept("users/"+ren, map[string]any{"displayName": "蓮"}),

		marked("circles/circle-haiku", circle("俳句の会", mio, map[string]any{"lastHumanPostAt": daysAgo(365)}), warned),
		told(warning(mio, "circle-haiku", "俳句の会", ja.GhostCircleWarning, now)),
		kept("posts/post-haiku", post("circle-haiku")),
		marked("circles/circle-marathon", circle("早朝マラソン", ren, map[string]any{"createdAt": daysAgo(40)}), warned),
		told(warning(ren, "circle-marathon", "早朝マラソン", ja.AbandonedCircleWarning, daysAgo(10))),
		marked("circles/circle-photo", circle("写真部", mio, map[string]any{
			"lastHumanPostAt": daysAgo(370), "ghostWarningNotifiedAt": daysAgo(400)}), warned),
		kept(staleNotice.Ref().Path(), staleNotice.Data(daysAgo(400))),
		told(warning(mio, "circle-photo", "写真部", ja.GhostCircleWarning, daysAgo(5))),
		kept("circles/circle-ownerless", circle("元会長の部屋", "user-who-left", map[string]any{"lastHumanPostAt": daysAgo(500)})),
		changed("circles/circle-chess", revived, without(revived, "ghostWarningNotifiedAt")),
		kept("circles/circle-tea", circle("お茶会", mio, map[string]any{
			"lastHumanPostAt": daysAgo(380), "ghostWarningNotifiedAt": daysAgo(7).Add(time.Second)})),
		kept("circles/circle-date-as-text", circle("読めない日付", mio, map[string]any{"lastHumanPostAt": "2020-01-01"})),

		deleted("circles/circle-cinema", circle("映画同好会", mio, map[string]any{
			"lastHumanPostAt": daysAgo(400), "ghostWarningNotifiedAt": daysAgo(7)})),
		told(farewell(mio, "circle-cinema", "映画同好会", now)),
		deleted("posts/post-cinema-1", post("circle-cinema", "cinema.png", "theatre.png")),
		deleted("posts/post-cinema-2", post("circle-cinema")),
		deleted("comments/on-cinema", map[string]any{"postId": "post-cinema-1", "text": "観たい"}),
		deleted("reactions/on-cinema", map[string]any{"postId": "post-cinema-1", "kind": "heart"}),
		kept("circles/circle-cinema-2", circle("映画同好会（新）", mio, map[string]any{"lastHumanPostAt": daysAgo(3)})),
		kept("posts/post-theatre", post("circle-cinema-2", "theatre.png")),
		kept("comments/on-theatre", map[string]any{"postId": "post-theatre", "text": "いいね"}),
		deleted("circles/circle-guitar", circle("ギター入門", ren, map[string]any{
			"createdAt": daysAgo(60), "ghostWarningNotifiedAt": daysAgo(8)})),
		told(farewell(ren, "circle-guitar", "ギター入門", now)),

		// A run claimed this one and was interrupted; its owner deleted the next.
		deleted("circles/circle-knitting", circle("編み物", ren, map[string]any{
			"lastHumanPostAt": daysAgo(400), "ghostWarningNotifiedAt": daysAgo(9),
			"isDeleted": true, "deletedAt": daysAgo(1), "deletedBy": job, "deleteReason": "ghost"})),
		told(farewell(ren, "circle-knitting", "編み物", daysAgo(1))),
		deleted("posts/post-knitting", post("circle-knitting")),
		kept("circles/circle-diary", circle("交換日記", ren, map[string]any{
			"lastHumanPostAt": daysAgo(400), "ghostWarningNotifiedAt": daysAgo(9),
			"isDeleted": true, "deletedAt": daysAgo(20), "deletedBy": ren})),
		kept("posts/post-diary", post("circle-diary")),
	}
	objects := []Object{
		{Name: "posts/user-mio/cinema.png", Metadata: map[string]string{"postId": "post-cinema-1"}},
		// somebody else's post names it, too
		{Name: "posts/user-mio/theatre.png", Metadata: map[string]string{"postId": "post-theatre"}, Kept: true},
		{Name: "circles/circle-cinema/icon/icon.png"},
		{Name: "circles/circle-cinema-2/icon/icon.png", Kept: true},
		{Name: "circles/circle-knitting/icon/icon.png"},
		{Name: "circles/circle-diary/icon/icon.png", Kept: true},
		{Name: "circles/circle-haiku/icon/icon.png", Kept: true},
	}
	return Sample{Documents: documents, Objects: objects}
}
