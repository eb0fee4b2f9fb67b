package sweeptest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/own"
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
	for path, data := range f.documents(t) {
		if _, id, isJob := strings.Cut(path, own.Jobs+"/"); !strings.HasPrefix(path, own.Runs+"/") && (!isJob || strings.Contains(id, "/")) {
			found[path] = data
		}
	}
	Want(t, "documents", w, found)
	Want(t, "objects", append([]string{}, slices.Sorted(slices.Values(objects))...), f.Objects(t))
}

// Everything returns all that the project holds: the fields of a document under its path, and nil under "gs://bucket/name" of an
// object and "account uid" of an account.
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
