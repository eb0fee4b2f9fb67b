package main

import (
	"hash/fnv"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/lab/standin"
)

const day = 24 * time.Hour

// fields are a document's, as [standin.Make] takes them.
type fields = map[string]any

// put adds n documents to a collection, each with fields of its own. Their ids are those of [ids] for the collection.
func put(w *standin.World, collection string, n int, of func(i int) fields) {
	w.Put(collection, n, ids(collection, n), func(i int) standin.Fields { return standin.Make(of(i)) })
}

// putAlike adds n documents that all have the same fields.
func putAlike(w *standin.World, path string, n int, id func(i int) string, of fields) {
	same := standin.Make(of)
	w.Put(path, n, id, func(int) standin.Fields { return same })
}

// putOne adds a document.
func putOne(w *standin.World, collection, id string, of fields) {
	putAlike(w, collection, 1, func(int) string { return id }, of)
}

// apart returns a time that is different for each number: as many milliseconds after another.
func apart(from time.Time, i int) time.Time { return from.Add(time.Duration(i) * time.Millisecond) }

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// ids returns a function from the number of a thing to its id, for n things of a kind, such as the documents of a collection. Ids
// have 20 characters, like those that Firestore makes. They ascend with the number; the distances are about equal.
func ids(kind string, n int) func(i int) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(kind)) // it never fails
	what, step := sum.Sum64(), ^uint64(0)
	if n > 1 {
		step = step/uint64(n) + 1
	}
	return func(i int) string {
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
}

const objectsAPost, objectsAUser = 2, 40

// media are n objects of posts. One of every `missing` posts has no document; 0: all have one.
func media(n, missing int) *standin.World {
	posts := (n + objectsAPost - 1) / objectsAPost
	post, user, file := ids("posts", posts), ids("users", (n+objectsAUser-1)/objectsAUser), ids("files", objectsAUser)
	exists := posts
	if missing > 0 {
		exists -= posts / missing
	}
	w := &standin.World{Objects: backends.Computed{
		Len:      n,
		Name:     func(i int) string { return "posts/" + user(i/objectsAUser) + "/" + file(i%objectsAUser) + ".jpg" },
		Metadata: func(i int, add func(name, value string)) { add("postId", post(i/objectsAPost)) },
	}}
	putAlike(w, "posts", exists, func(i int) string {
		if missing > 0 {
			i += i / (missing - 1)
		}
		return post(i)
	}, fields{"userId": "u", "text": "u"})
	putAlike(w, "circles", 10, ids("circles", 10), nil)
	return w
}

// reports are n reports; a tenth is due.
func reports(n int, now time.Time) *standin.World {
	w := &standin.World{}
	put(w, "reports", n, func(i int) fields {
		created := apart(now.Add(-day), i)
		if i < n/10 {
			created = apart(now.Add(-100*day), i)
		}
		return fields{"status": "reviewed", "reporter": "userXXXXXXXXXXXXXXXXXXXX",
			"text": "This is not what this place is for, please look at it.", "createdAt": created}
	})
	return w
}
