package ghostcircles

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/notifications"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

func newFunction(t *testing.T) *sweeptest.Function {
	t.Helper()
	f := sweeptest.New(t, functions.New(Job))
	f.Now = now
	f.Clock = func() time.Time { return f.Now } // promises count from the wall clock
	return f
}

// world is what a database holds, by path.
type world map[string]map[string]any

func (w world) load(t *testing.T, f *sweeptest.Function) {
	t.Helper()
	paths := slices.Sorted(maps.Keys(w))
	f.SetMany(t, len(paths), func(i int) (string, map[string]any) { return paths[i], w[paths[i]] })
}

// read adds the documents of collections, less the engine's own records.
func (w world) read(t *testing.T, db *firestore.Client, collections *firestore.CollectionIterator) {
	t.Helper()
	all, err := collections.GetAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.ID == "cleanupJobs" || c.ID == "cleanupRuns" {
			continue
		}
		refs, err := c.DocumentRefs(t.Context()).GetAll() // with those that only lead to others
		if err != nil {
			t.Fatal(err)
		}
		documents, err := db.GetAll(t.Context(), refs)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			if d.Exists() {
				_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
				w[path] = d.Data()
			}
			w.read(t, db, d.Ref.Collections(t.Context()))
		}
	}
}

// without returns the world without some documents.
func (w world) without(paths ...string) world {
	rest := maps.Clone(w)
	for _, path := range paths {
		if rest[path] == nil {
			panic(path + " is not in this world")
		}
		delete(rest, path)
	}
	return rest
}

// changed returns the world with fields of a document set, or removed where they are nil.
func (w world) changed(path string, fields map[string]any) world {
	rest := maps.Clone(w)
	data := maps.Clone(rest[path])
	if data == nil {
		data = map[string]any{}
	}
	for field, value := range fields {
		if value == nil {
			delete(data, field)
		} else {
			data[field] = value
		}
	}
	rest[path] = data
	return rest
}

func (w world) tell(n notifications.Notification, at time.Time) world {
	return w.changed(n.Path(), n.Data(at))
}

// is compares the world with the database, less the engine's own records, and the files with the bucket.
func (w world) is(t *testing.T, f *sweeptest.Function, files ...string) {
	t.Helper()
	found := world{}
	found.read(t, f.Firestore(t), f.Firestore(t).Collections(t.Context()))
	if diff := cmp.Diff(w, found); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	slices.Sort(files)
	if diff := cmp.Diff(append([]string{}, files...), f.Objects(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, remembers := range []string{"leftovers", "journal"} {
		if left := f.Documents(t, "cleanupJobs/"+jobName+"/"+remembers); len(left) != 0 {
			t.Errorf("%s: %v", remembers, left)
		}
	}
}

// owned returns a circle of an owner's with a name.
func owned(data map[string]any, owner any, name string) map[string]any {
	data["ownerId"], data["name"] = owner, name
	return data
}

func user(name string) map[string]any { return map[string]any{"displayName": name} }

func put(t *testing.T, f *sweeptest.Function, postID string, names ...string) {
	t.Helper()
	var metadata map[string]string
	if postID != "" {
		metadata = map[string]string{"postId": postID}
	}
	for _, name := range names {
		f.Put(t, name, metadata, []byte("x"))
	}
}

func gs(f *sweeptest.Function, name string) string { return "gs://" + f.Bucket + "/" + name }

func post(circle any, urls ...string) map[string]any {
	items := []any{}
	for _, url := range urls {
		items = append(items, map[string]any{"type": "image", "url": url})
	}
	return map[string]any{"circleId": circle, "text": "こんにちは", "mediaItems": items}
}

func on(post string) map[string]any { return map[string]any{"postId": post, "text": "!"} }

// warnedOf and toldOf are the notifications about a circle, the former one of hana's, as they must be.
func warnedOf(id, name string, text func(string) notifications.Text, since time.Time) notifications.Notification {
	return notifications.Notification{
		UserID: "hana", Type: "circle_ghost_warning", Text: text(name),
		Fields:    map[string]any{"circleId": id, "circleName": name},
		Announces: []string{id, since.UTC().Format(time.RFC3339Nano)},
	}
}

func toldOf(owner, id, name string, claimedAt time.Time) notifications.Notification {
	return notifications.Notification{
		UserID: owner, Type: "circle_ghost_deleted", Text: notifications.Japanese.GhostCircleDeleted(name),
		Fields:    map[string]any{"circleName": name},
		Announces: []string{id, claimedAt.UTC().Format(time.RFC3339Nano)},
	}
}
