package main

import (
	"net/url"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/lab/standin"
)

const postsACircle = 10

// circlePosts are n posts, ten of each circle. Of every eleven circles one has no document.
func circlePosts(n int, _ time.Time) *standin.World {
	w, all := &standin.World{}, max(1, n/postsACircle)
	circle := ids("circles", all)
	putAlike(w, "circles", all-all/11, func(i int) string { return circle(i + i/10) }, fields{"name": "x"})
	put(w, "posts", n, func(i int) fields { return fields{"circleId": circle(min(all-1, i/postsACircle)), "text": "x"} })
	answers(w, n)
	return w
}

// answers adds a comment and a reaction to each of n posts.
func answers(w *standin.World, n int) {
	post := ids("posts", n)
	for _, collection := range []string{"comments", "reactions"} {
		put(w, collection, n, func(i int) fields { return fields{"postId": post(i)} })
	}
}

// address is the download URL of an object.
func address(object string) string {
	return "https://firebasestorage.googleapis.com/v0/b/" + bucket + "/o/" + url.QueryEscape(object) + "?alt=media&token=x"
}

const messagesAnInquiry = 5

// inquiries are n inquiries. The first half is open; then come a tenth that is to be archived, a tenth whose users are to be
// told, and those that were resolved yesterday. The first message of each has an image.
func inquiries(n int, now time.Time) *standin.World {
	due, users, inquiry := n/10, max(1, n/4), ids("inquiries", n)
	user := ids("users", users)
	image := func(i int) string { return "inquiries/" + inquiry(i) + ".jpg" }
	w := &standin.World{Objects: backends.Computed{Len: n, Name: image, Metadata: func(int, func(string, string)) {}}}
	put(w, "inquiries", n, func(i int) fields {
		of := fields{"subject": "I cannot sign in", "userId": user(i % users), "status": "resolved"}
		switch {
		case i < n/2:
			of["status"], of["resolvedAt"] = "open", nil
		case i < n/2+due:
			of["resolvedAt"] = apart(now.Add(-8*day), i)
		case i < n/2+2*due:
			of["resolvedAt"] = apart(now.Add(-13*day/2), i)
		default:
			of["resolvedAt"] = apart(now.Add(-day), i)
		}
		return of
	})
	for i := range n {
		put(w, "inquiries/"+inquiry(i)+"/messages", messagesAnInquiry, func(k int) fields {
			of := fields{"content": "It says that my password is wrong.", "createdAt": apart(now.Add(-20*day), k)}
			if k == 0 {
				of["imageUrl"] = address(image(i))
			}
			return of
		})
	}
	putAlike(w, "users", users, user, fields{"name": "x"})
	return w
}

const postsAGhost = 3

// circles are n circles: of each twenty the first is a ghost whose owner is to be warned, and the second is due for deletion.
func circles(n int, now time.Time) *standin.World {
	posts, owners := postsAGhost*n, max(1, n/10)
	circle, post, owner := ids("circles", n), ids("posts", posts), ids("users", owners)
	image := func(k int) string { return "posts/" + post(k) + ".jpg" }
	w := &standin.World{Objects: backends.Computed{
		Len: n + posts,
		Name: func(i int) string {
			if i < n {
				return "circles/" + circle(i) + "/icon/x.jpg"
			}
			return image(i - n)
		},
		Metadata: func(i int, add func(name, value string)) {
			if i >= n {
				add("postId", post(i-n))
			}
		},
	}}
	put(w, "circles", n, func(i int) fields {
		of := fields{"name": "Walks with dogs", "ownerId": owner(i % owners), "isDeleted": false}
		of["createdAt"], of["lastHumanPostAt"] = now.Add(-800*day), now.Add(-10*day)
		if i%20 < 2 {
			of["lastHumanPostAt"] = now.Add(-400 * day)
		}
		if i%20 == 1 {
			of["ghostWarningNotifiedAt"] = now.Add(-8 * day)
		}
		return of
	})
	put(w, "posts", posts, func(k int) fields {
		return fields{"circleId": circle(k / postsAGhost), "text": "x", "mediaItems": []any{fields{"url": address(image(k))}}}
	})
	answers(w, posts)
	putAlike(w, "users", owners, owner, fields{"name": "x"})
	return w
}

// circlesInUse are n circles: of each twenty the first is new, and nobody has posted to it; the second was deleted long ago.
func circlesInUse(n int, now time.Time) *standin.World {
	circle := func(deleted bool, created, posted int) standin.Fields {
		of := fields{"name": "Walks with dogs", "ownerId": "owner", "isDeleted": deleted}
		of["createdAt"] = now.Add(-time.Duration(created) * day)
		if posted > 0 {
			of["lastHumanPostAt"] = now.Add(-time.Duration(posted) * day)
		}
		return standin.Make(of)
	}
	fresh, deleted, used := circle(false, 10, 0), circle(true, 800, 500), circle(false, 800, 10)
	w := &standin.World{}
	w.Put("circles", n, ids("circles", n), func(i int) standin.Fields {
		switch i % 20 {
		case 0:
			return fresh
		case 1:
			return deleted
		}
		return used
	})
	return w
}

// banned are n users, of whom the last are banned for good, and of those the first half is due.
func banned(n int, now time.Time) *standin.World {
	w, all := &standin.World{}, n/250
	first := n - all
	put(w, "users", n, func(i int) fields {
		switch {
		case i < first:
			return fields{"name": "x", "banStatus": "none", "permanentBanScheduledDeletionAt": nil}
		case i < first+all/2:
			return fields{"name": "x", "banStatus": "permanent", "permanentBanScheduledDeletionAt": apart(now.Add(-30*day), i)}
		}
		return fields{"name": "x", "banStatus": "permanent", "permanentBanScheduledDeletionAt": apart(now.Add(30*day), i)}
	})
	user := ids("users", n)
	for i := first; i < n; i++ {
		w.Accounts = append(w.Accounts, user(i))
	}
	return w
}
