package resolvedinquiries

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// large is a message so large that two do not fit in one document.
func large(n int) map[string]any {
	m := message(n)
	m["content"] = strings.Repeat(fmt.Sprintf("%06d", n), 100_000)
	return m
}

// deep returns a map with so many levels of maps.
func deep(levels int) map[string]any {
	m := map[string]any{"x": int64(1)}
	for range levels {
		m = map[string]any{"m": m}
	}
	return m
}

// TestArchiveThatDoesNotFit has inquiries whose messages are too large for one document, one by the last of many messages, or too
// deep, which Firestore refuses. They stay as they are, every night; a smaller one does not.
func TestArchiveThatDoesNotFit(t *testing.T) {
	f := newFunction(t)
	there := enginetest.World{"inquiries/fits": inquiry(8 * day), "inquiries/fits/messages/a": large(1)}
	stays := enginetest.World{
		"inquiries/large": inquiry(8 * day), "inquiries/large/messages/a": large(1), "inquiries/large/messages/b": large(2),
		"inquiries/deep": inquiry(8 * day), "inquiries/deep/messages/a": deep(19), // Firestore allows 20 levels, and the archive adds some
		"inquiries/many": inquiry(8 * day), "inquiries/many/messages/z": large(1),
	}
	for i := range 60 {
		m := message(i)
		m["content"] = strings.Repeat("x", 8000)
		stays[fmt.Sprintf("inquiries/many/messages/m%03d", i)] = m
	}
	there.Write(t, f)
	stays.Write(t, f)
	f.Put(t, "inquiries/large.png", nil, nil)
	f.Set(t, "inquiries/large/messages/a", withImage(large(1), "gs://"+f.Bucket+"/inquiries/large.png"))
	stays["inquiries/large/messages/a"] = f.Documents(t, "inquiries/large/messages")["a"]
	kind := "archive and delete inquiry"
	for n := range 2 {
		got := f.Run(t, "")
		enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{kind: {Planned: 4 - n, Done: 1 - n}})
		enginetest.Want(t, "kept", map[string]int{keptLarge: 3}, got.Kept)
	}
	for _, id := range []string{"large", "deep", "many"} {
		enginetest.Want(t, "times that the log names "+id, 2, len(f.Warnings(t)["inquiries/"+id]))
	}
	for path, data := range stays {
		collection, id := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
		if collection != "inquiries/many/messages" {
			enginetest.Want(t, path, data, f.Documents(t, collection)[id])
		}
	}
	enginetest.Want(t, "messages of many", 61, len(f.Documents(t, "inquiries/many/messages")))
	enginetest.Want(t, "objects", []string{"inquiries/large.png"}, f.Objects(t))
	wantIDs(t, f, "archivedInquiries", "fits")
	wantNothingBegun(t, f)
}
