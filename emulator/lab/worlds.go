package main

import (
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/lab/standin"
)

// A measured is something to measure: a job, and the world that it runs in.
type measured struct {
	name  string // of the case
	job   string
	about string // one sentence
	items string // what is counted
	world func(n int) standin.World
	seed  seed
	due   func(n int) int // how many of n are deleted
	quota float64         // of deletions a second
	usual int             // items that are always measured
}

// written is when everything was made.
var written = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

var cases = []measured{
	{
		name: "live", job: "cleanupOrphanedMedia", items: "objects",
		about: "Two objects of each post, all of which exist: nothing is to be done.",
		world: func(n int) standin.World { return media(n, 0) }, seed: seedMedia,
		due: func(int) int { return 0 }, usual: 200_000,
	},
	{
		name: "missing", job: "cleanupOrphanedMedia", items: "objects",
		about: "The same, but every eleventh post does not exist, so its objects are deleted.",
		world: func(n int) standin.World { return media(n, 11) }, seed: seedMedia,
		due: func(n int) int { return objectsAPost * (n / objectsAPost / 11) }, quota: 1000, usual: 50_000,
	},
	{
		name: "reports", job: "cleanupReports", items: "documents",
		about: "Reports that were all reviewed, a tenth of them more than a month ago: that tenth is deleted.",
		world: reports, seed: seedReports, due: func(n int) int { return n / 10 }, quota: 500, usual: 20_000,
	},
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// id returns an id of 20 characters, as Firestore makes them. It ascends with i, as numbers of equal distance with some
// chance in it.
func id(what uint64, i, n int) string {
	step := ^uint64(0)/uint64(n) + 1
	if n == 1 {
		step = ^uint64(0)
	}
	at := uint64(i)*step + standin.Hash(what, uint64(i), 3)%step
	var b [20]byte
	for k := 10; k >= 0; k-- {
		b[k], at = letters[at%62], at/62
	}
	rest := standin.Hash(what, uint64(i), 4)
	for k := 11; k < 20; k++ {
		b[k], rest = letters[rest%62], rest/62
	}
	return string(b[:])
}

const objectsAPost, objectsAUser = 2, 40

// media are n objects of posts. Of every so many posts one has no document; 0: all have.
func media(n, missing int) standin.World {
	posts, users := (n+objectsAPost-1)/objectsAPost, (n+objectsAUser-1)/objectsAUser
	post := func(k int) string { return id(1, k, posts) }
	exists := posts
	if missing > 0 {
		exists -= posts / missing
	}
	return standin.World{
		Written: written,
		Collections: []standin.Collection{
			{
				Path: "posts", Len: exists, Names: []string{"userId", "text"}, Field: func(int, string) *pb.Value { return standin.Text("u") },
				ID: func(i int) string {
					if missing > 0 {
						i += i / (missing - 1)
					}
					return post(i)
				},
			},
			{Path: "circles", Len: 10, ID: func(i int) string { return id(2, i, 10) }, Field: func(int, string) *pb.Value { return nil }},
		},
		Objects: standin.Objects{
			Len: n,
			Name: func(i int) string {
				return "posts/" + id(4, i/objectsAUser, users) + "/" + id(5, i%objectsAUser, objectsAUser) + ".jpg"
			},
			Metadata: func(i int, add func(name, value string)) { add("postId", post(i/objectsAPost)) },
		},
	}
}

// reports are n reports; a tenth is due.
func reports(n int) standin.World {
	reviewed, reporter, text := standin.Text("reviewed"), standin.Text("userXXXXXXXXXXXXXXXXXXXX"), standin.Text("This is not what this place is for, please look at it.")
	now := time.Now()
	return standin.World{
		Written: written,
		Collections: []standin.Collection{{
			Path: "reports", Len: n, ID: func(i int) string { return id(6, i, n) },
			Names: []string{"status", "createdAt", "reporter", "text"}, Ascending: []string{"status", "createdAt"},
			Field: func(i int, name string) *pb.Value {
				switch name {
				case "status":
					return reviewed
				case "createdAt":
					at := now.Add(-24 * time.Hour) // too young
					if i < n/10 {
						at = now.Add(-100 * 24 * time.Hour)
					}
					return standin.Time(at.Add(time.Duration(i) * time.Millisecond))
				case "reporter":
					return reporter
				case "text":
					return text
				}
				return nil
			},
		}},
	}
}
