package main

import (
	"net/url"
	"strings"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/lab/standin"
)

// Kinds of ids of the application's documents. Different kinds have different ids.
const (
	circleID = 20 + iota
	postID
	commentID
	reactionID
	inquiryID
	messageID
	ownerID
	userID
	bannedID
)

const postsACircle = 10

// circlePosts are n posts, ten of each circle. Of every eleven circles one has no document.
func circlePosts(n int, _ time.Time) standin.World {
	all := max(1, n/postsACircle)
	circle := ids(circleID, all)
	post := ids(postID, n)
	return standin.World{Written: written, Collections: []standin.Collection{
		table("circles", all-all/11, func(i int) string { return circle(i + i/10) }, fields{"name": always(standin.Text("x"))}),
		table("posts", n, post, fields{"circleId": texts(func(i int) string { return circle(min(all-1, i/postsACircle)) }), "text": always(standin.Text("x"))}, "circleId"),
		table("comments", n, ids(commentID, n), fields{"postId": texts(post)}, "postId"),
		table("reactions", n, ids(reactionID, n), fields{"postId": texts(post)}, "postId"),
	}}
}

// address is the download URL of an object.
func address(object string) *pb.Value {
	return standin.Text("https://firebasestorage.googleapis.com/v0/b/" + bucket + "/o/" + url.QueryEscape(object) + "?alt=media&token=x")
}

const messagesAnInquiry = 5

// inquiries are n inquiries. The first half is open; then come a tenth that is to be archived, a tenth whose users are to be
// told, and those that were resolved yesterday. The first message of each has an image.
func inquiries(n int, now time.Time) standin.World {
	due, users := n/10, max(1, n/4)
	inquiry := ids(inquiryID, n)
	image := func(i int) string { return "inquiries/" + inquiry(i) + ".jpg" }
	open := func(i int) bool { return i < n/2 }
	return standin.World{
		Written: written,
		Collections: []standin.Collection{
			func() standin.Collection {
				c := table("inquiries", n, inquiry, fields{
					"subject": always(standin.Text("I cannot sign in")), "userId": texts(func(i int) string { return id(userID, i%users, users) }),
					"status": func(i int) *pb.Value {
						if open(i) {
							return standin.Text("open")
						}
						return standin.Text("resolved")
					},
					"resolvedAt": func(i int) *pb.Value {
						switch {
						case open(i):
							return standin.Null()
						case i < n/2+due:
							return apart(now.Add(-8*day), i)
						case i < n/2+2*due:
							return apart(now.Add(-13*day/2), i)
						default:
							return apart(now.Add(-day), i)
						}
					},
				}, "status", "resolvedAt")
				c.Sub = []string{"messages"}
				return c
			}(),
			table("users", users, ids(userID, users), fields{"name": always(standin.Text("x"))}),
		},
		Below: func(path string) standin.Collection {
			parts := strings.Split(path, "/")
			if len(parts) != 3 || parts[0] != "inquiries" || parts[2] != "messages" {
				return standin.Collection{}
			}
			return table(path, messagesAnInquiry, ids(messageID, messagesAnInquiry), fields{
				"content": always(standin.Text("It says that my password is wrong.")), "createdAt": func(i int) *pb.Value { return apart(written, i) },
				"imageUrl": func(i int) *pb.Value {
					if i > 0 {
						return nil
					}
					return address("inquiries/" + parts[1] + ".jpg")
				},
			}, "createdAt")
		},
		Objects: standin.Objects{Len: n, Name: image, Metadata: func(int, func(string, string)) {}},
	}
}

const postsAGhost = 3

// circles are n circles: of each twenty the first is a ghost whose owner is to be warned, and the second is due for deletion.
func circles(n int, now time.Time) standin.World {
	posts, owners := postsAGhost*n, max(1, n/10)
	circle, post := ids(circleID, n), ids(postID, posts)
	image := func(k int) string { return "posts/" + post(k) + ".jpg" }
	idle := func(i int) bool { return i%20 < 2 }
	return standin.World{
		Written: written,
		Collections: []standin.Collection{
			table("circles", n, circle, fields{
				"name": always(standin.Text("Walks with dogs")), "ownerId": texts(func(i int) string { return id(ownerID, i%owners, owners) }),
				"isDeleted": always(standin.Bool(false)), "createdAt": always(standin.Time(now.Add(-800 * day))),
				"lastHumanPostAt": func(i int) *pb.Value {
					if idle(i) {
						return standin.Time(now.Add(-400 * day))
					}
					return standin.Time(now.Add(-10 * day))
				},
				"ghostWarningNotifiedAt": func(i int) *pb.Value {
					if i%20 != 1 {
						return nil
					}
					return standin.Time(now.Add(-8 * day))
				},
			}),
			table("posts", posts, post, fields{
				"circleId": texts(func(k int) string { return circle(k / postsAGhost) }), "text": always(standin.Text("x")),
				"mediaItems": func(k int) *pb.Value {
					return standin.List(standin.Map(map[string]*pb.Value{"url": address(image(k))}))
				},
			}, "circleId"),
			table("comments", posts, ids(commentID, posts), fields{"postId": texts(post)}, "postId"),
			table("reactions", posts, ids(reactionID, posts), fields{"postId": texts(post)}, "postId"),
			table("users", owners, ids(ownerID, owners), fields{"name": always(standin.Text("x"))}),
		},
		Objects: standin.Objects{
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
		},
	}
}

// circlesInUse are n circles: of each twenty the first is new, and nobody has posted to it; the second was deleted long ago.
func circlesInUse(n int, now time.Time) standin.World {
	ago := func(days int) *pb.Value { return standin.Time(now.Add(-time.Duration(days) * day)) }
	return standin.World{
		Written: written,
		Collections: []standin.Collection{
			table("circles", n, ids(circleID, n), fields{
				"name": always(standin.Text("Walks with dogs")), "ownerId": always(standin.Text("owner")),
				"isDeleted": func(i int) *pb.Value { return standin.Bool(i%20 == 1) },
				"createdAt": func(i int) *pb.Value {
					if i%20 == 0 {
						return ago(10)
					}
					return ago(800)
				},
				"lastHumanPostAt": func(i int) *pb.Value {
					switch i % 20 {
					case 0:
						return nil
					case 1:
						return ago(500)
					}
					return ago(10)
				},
			}),
		},
	}
}

// banned are n users, of whom the last are banned for good, and of those the first half is due.
func banned(n int, now time.Time) standin.World {
	all := n / 250
	first := n - all
	return standin.World{
		Written: written,
		Collections: []standin.Collection{table("users", n, ids(bannedID, n), fields{
			"name": always(standin.Text("x")),
			"banStatus": func(i int) *pb.Value {
				if i < first {
					return standin.Text("none")
				}
				return standin.Text("permanent")
			},
			"permanentBanScheduledDeletionAt": func(i int) *pb.Value {
				switch {
				case i < first:
					return standin.Null()
				case i < first+all/2:
					return apart(now.Add(-30*day), i)
				default:
					return apart(now.Add(30*day), i)
				}
			},
		}, "banStatus", "permanentBanScheduledDeletionAt")},
		Accounts: standin.Accounts{Len: all, UID: func(i int) string { return id(bannedID, first+i, n) }},
	}
}
