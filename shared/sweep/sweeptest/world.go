package sweeptest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
)

// World is the documents that a database holds, fields by path. Its methods return other worlds and leave it as it is.
type World map[string]map[string]any

// Write writes the documents; nil stands for one that is deleted.
func (w World) Write(t testing.TB, f *Function) {
	t.Helper()
	paths := slices.Sorted(maps.Keys(w))
	for _, path := range paths {
		if w[path] == nil {
			f.Delete(t, path)
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return w[path] == nil })
	f.SetMany(t, len(paths), func(i int) (string, map[string]any) { return paths[i], w[paths[i]] })
}

// With returns the world with further documents, or others in their places, or, where they are nil, none.
func (w World) With(others World) World {
	all := maps.Clone(w)
	maps.Copy(all, others)
	maps.DeleteFunc(all, func(_ string, data map[string]any) bool { return data == nil })
	return all
}

// Without returns the world without some of its documents.
func (w World) Without(paths ...string) World {
	rest := maps.Clone(w)
	for _, path := range paths {
		if rest[path] == nil {
			panic(path + " is not in this world")
		}
		delete(rest, path)
	}
	return rest
}

// Changed returns the world with fields of a document set, or removed where they are nil.
func (w World) Changed(path string, fields map[string]any) World {
	data := maps.Clone(w[path])
	if data == nil {
		panic(path + " is not in this world")
	}
	maps.Copy(data, fields)
	maps.DeleteFunc(data, func(field string, value any) bool {
		_, changed := fields[field]
		return changed && value == nil
	})
	return w.With(World{path: data})
}

// Is compares the world with all documents and some objects with the bucket. The records of jobs and runs do not count, nor does
// what is kept of a run to take it back, but what the journal or an earlier version still remembers does.
func (w World) Is(t testing.TB, f *Function, objects ...string) {
	t.Helper()
	found := World{}
	found.read(t, f.Firestore(t), f.Firestore(t).Collections(t.Context()))
	Want(t, "documents", w, found)
	Want(t, "objects", append([]string{}, slices.Sorted(slices.Values(objects))...), f.Objects(t))
}

func (w World) read(t testing.TB, db *firestore.Client, collections *firestore.CollectionIterator) {
	t.Helper()
	all, err := collections.GetAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		refs, err := c.DocumentRefs(t.Context()).GetAll() // with those that only lead to others
		if err != nil {
			t.Fatal(err)
		}
		read, err := db.GetAll(t.Context(), refs)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range read {
			_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
			if isRecord := path == "cleanupJobs/"+d.Ref.ID || strings.HasPrefix(path, "cleanupRuns/"); d.Exists() && !isRecord {
				w[path] = d.Data()
			}
			w.read(t, db, d.Ref.Collections(t.Context()))
		}
	}
}
