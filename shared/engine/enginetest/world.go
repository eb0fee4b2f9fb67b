package enginetest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/collections"
)

// World is the documents of a database: fields by path. Its methods return another world and do not change this one.
type World map[string]map[string]any

// Write writes the documents to the function's project. It deletes those that are nil.
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

// With returns the world with further or replaced documents, and without those that are nil in others.
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

// Changed returns the world with some fields of a document set. A field that is nil is removed.
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

// Is compares the world with all documents of the function's project, and objects with those of its bucket. The reports,
// leases and undo logs of runs do not count. What is still to be done, and what an earlier version remembers, does.
func (w World) Is(t testing.TB, f *Function, objects ...string) {
	t.Helper()
	found := World{}
	for path, data := range f.documents(t) {
		_, id, isJob := strings.Cut(path, collections.Jobs+"/")
		if !strings.HasPrefix(path, collections.Runs+"/") && (!isJob || strings.Contains(id, "/")) {
			found[path] = data
		}
	}
	Want(t, "documents", w, found)
	Want(t, "objects", append([]string{}, slices.Sorted(slices.Values(objects))...), f.Objects(t))
}

// Everything returns everything that the project holds. A document's fields are under its path. Objects are under
// "gs://bucket/name" and accounts under "account uid", with the value nil.
func (f *Function) Everything(t testing.TB) map[string]any {
	t.Helper()
	all := map[string]any{}
	for path, data := range f.documents(t) {
		all[path] = data
	}
	for _, name := range f.Objects(t) {
		all["gs://"+f.Bucket+"/"+name] = nil
	}
	for _, uid := range f.Accounts(t) {
		all["account "+uid] = nil
	}
	return all
}

func (f *Function) documents(t testing.TB) World {
	t.Helper()
	all := World{}
	for _, d := range f.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		all[path] = d.Data()
	}
	return all
}
