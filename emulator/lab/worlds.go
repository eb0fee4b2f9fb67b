package main

import (
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/lab/standin"
)

const day = 24 * time.Hour

// fields are a document's, as [standin.Make] takes them.
type fields = map[string]any

// put adds n documents to a collection, each with fields of its own.
func put(w *standin.World, path string, n int, id func(i int) string, of func(i int) fields) {
	w.Put(path, n, id, func(i int) standin.Fields { return standin.Make(of(i)) })
}

// putAlike adds n documents that all have the same fields.
func putAlike(w *standin.World, path string, n int, id func(i int) string, of fields) {
	same := standin.Make(of)
	w.Put(path, n, id, func(int) standin.Fields { return same })
}

// ids returns a function from the number of a document to its id, for n documents of a kind.
func ids(kind uint64, n int) func(i int) string { return func(i int) string { return id(kind, i, n) } }

// apart returns a time that is different for each number: as many milliseconds after another.
func apart(from time.Time, i int) time.Time { return from.Add(time.Duration(i) * time.Millisecond) }

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// id returns an id of 20 characters, like those that Firestore makes. It ascends with i; the distances are about equal.
func id(what uint64, i, n int) string {
	step := ^uint64(0)/uint64(n) + 1
	if n == 1 {
		step = ^uint64(0)
	}
	at := uint64(i)*step + standin.Hash(uint64(i), what)%step
	var b [20]byte
	for k := 10; k >= 0; k-- {
		b[k], at = letters[at%62], at/62
	}
	rest := standin.Hash(uint64(i), ^what)
	for k := 11; k < 20; k++ {
		b[k], rest = letters[rest%62], rest/62
	}
	return string(b[:])
}

const objectsAPost, objectsAUser = 2, 40

// media are n objects of posts. One of every `missing` posts has no document; 0: all have one.
func media(n, missing int) *standin.World {
	posts, users := (n+objectsAPost-1)/objectsAPost, (n+objectsAUser-1)/objectsAUser
	post := ids(1, posts)
	exists := posts
	if missing > 0 {
		exists -= posts / missing
	}
	w := &standin.World{Objects: backends.Computed{
		Len: n,
		Name: func(i int) string {
			return "posts/" + id(4, i/objectsAUser, users) + "/" + id(5, i%objectsAUser, objectsAUser) + ".jpg"
		},
		Metadata: func(i int, add func(name, value string)) { add("postId", post(i/objectsAPost)) },
	}}
	putAlike(w, "posts", exists, func(i int) string {
		if missing > 0 {
			i += i / (missing - 1)
		}
		return post(i)
	}, fields{"userId": "u", "text": "u"})
	putAlike(w, "circles", 10, ids(2, 10), nil)
	return w
}

// reports are n reports; a tenth is due.
func reports(n int, now time.Time) *standin.World {
	w := &standin.World{}
	put(w, "reports", n, ids(6, n), func(i int) fields {
		created := apart(now.Add(-day), i)
		if i < n/10 {
			created = apart(now.Add(-100*day), i)
		}
		return fields{"status": "reviewed", "reporter": "userXXXXXXXXXXXXXXXXXXXX",
			"text": "This is not what this place is for, please look at it.", "createdAt": created}
	})
	return w
}
