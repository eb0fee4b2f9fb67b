package main

import (
	"maps"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/emulator/lab/standin"
)

// written is when all data were written.
var written = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// fields are the fields of generated documents: each is a function of the document's number.
type fields map[string]func(i int) *pb.Value

// table returns a collection of n documents. The fields named last must ascend with the document's number.
func table(path string, n int, id func(i int) string, of fields, ascending ...string) standin.Collection {
	return standin.Collection{
		Path: path, Len: n, ID: id, Names: slices.Sorted(maps.Keys(of)), Ascending: ascending,
		Field: func(i int, name string) *pb.Value {
			if f := of[name]; f != nil {
				return f(i)
			}
			return nil
		},
	}
}

// always returns a field that is the same in all documents.
func always(v *pb.Value) func(int) *pb.Value { return func(int) *pb.Value { return v } }

// ids returns a function from the number of a document to its id, for n documents of a kind.
func ids(kind uint64, n int) func(i int) string { return func(i int) string { return id(kind, i, n) } }

// texts returns a field that holds texts.
func texts(of func(i int) string) func(int) *pb.Value {
	return func(i int) *pb.Value { return standin.Text(of(i)) }
}

// apart returns a time that is different for each number: as many milliseconds after another.
func apart(from time.Time, i int) *pb.Value {
	return standin.Time(from.Add(time.Duration(i) * time.Millisecond))
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// id returns an id of 20 characters, like those that Firestore makes. It ascends with i; the distances are about equal.
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

// media are n objects of posts. One of every `missing` posts has no document; 0: all have one.
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
func reports(n int, now time.Time) standin.World {
	return standin.World{Written: written, Collections: []standin.Collection{table("reports", n, ids(6, n), fields{
		"status":   always(standin.Text("reviewed")),
		"reporter": always(standin.Text("userXXXXXXXXXXXXXXXXXXXX")),
		"text":     always(standin.Text("This is not what this place is for, please look at it.")),
		"createdAt": func(i int) *pb.Value {
			if i < n/10 {
				return apart(now.Add(-100*day), i)
			}
			return apart(now.Add(-day), i)
		},
	}, "status", "createdAt")}}
}
