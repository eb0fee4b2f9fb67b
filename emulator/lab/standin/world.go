package standin

import (
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
)

// World is the data that exist at first. The zero value is empty.
type World struct {
	Objects  backends.Computed // computed from their numbers: ten million of them would not fit into memory otherwise
	Accounts []string          // user ids

	collections collections
}

// written is when all of a world was.
var written = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

// Put adds n documents to a collection.
func (w *World) Put(path string, n int, id func(i int) string, fields func(i int) Fields) {
	if w.collections == nil {
		w.collections = collections{}
	}
	c := w.collections.of(path, n)
	for i := range n {
		name := id(i)
		c.put(name, &doc{id: name, fields: fields(i), created: written, updated: written})
	}
}
