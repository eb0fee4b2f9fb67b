package modeltest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"firebase.google.com/go/v4/auth"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// World is everything that a project holds.
type World struct {
	Documents map[string]map[string]any    // fields by path
	Objects   map[string]map[string]string // metadata by name
	Accounts  map[string]string            // names by uid
	// User returns the account that its name describes; nil: an account with nothing but the name.
	User func(uid, name string) *auth.UserToImport
}

// NewWorld returns an empty world.
func NewWorld() World {
	return World{Documents: map[string]map[string]any{}, Objects: map[string]map[string]string{}, Accounts: map[string]string{}}
}

// Clone returns a copy. It shares the values of fields: a model must replace them, not change them.
func (w World) Clone() World {
	c := World{Documents: map[string]map[string]any{}, Objects: maps.Clone(w.Objects), Accounts: maps.Clone(w.Accounts),
		User: w.User}
	for path, data := range w.Documents {
		c.Documents[path] = maps.Clone(data)
	}
	return c
}

// In returns the ids and fields of a collection's documents.
func (w World) In(collection string) map[string]map[string]any {
	found := map[string]map[string]any{}
	for path, data := range w.Documents {
		if id, ok := strings.CutPrefix(path, collection+"/"); ok && !strings.Contains(id, "/") {
			found[id] = data
		}
	}
	return found
}

// Load replaces everything that the project holds with this world.
func (w World) Load(t testing.TB, p *backendstest.Project) {
	t.Helper()
	p.Reset(t)
	paths := sortedKeys(w.Documents)
	p.SetMany(t, len(paths), func(i int) (string, map[string]any) { return paths[i], w.Documents[paths[i]] })
	names := sortedKeys(w.Objects)
	p.PutMany(t, len(names), func(i int) (string, map[string]string) { return names[i], w.Objects[names[i]] })
	uids := sortedKeys(w.Accounts)
	users := make([]*auth.UserToImport, len(uids))
	for i, uid := range uids {
		if users[i] = new(auth.UserToImport).UID(uid).DisplayName(w.Accounts[uid]); w.User != nil {
			users[i] = w.User(uid, w.Accounts[uid])
		}
	}
	p.Import(t, users...)
}

// Read returns what the project holds, without the engine's own records of jobs and runs.
func Read(t testing.TB, p *backendstest.Project) World {
	t.Helper()
	w := NewWorld()
	for _, d := range p.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		unfinished := strings.HasPrefix(path, collections.Jobs+"/") && d.Ref.Parent.ID == collections.Todo
		if unfinished || !collections.IsOwn(path) {
			w.Documents[path] = d.Data()
		}
	}
	withoutACL := &storage.Query{Projection: storage.ProjectionNoACL}
	for o, err := range each.Of(p.Storage(t).Bucket(p.Bucket).Objects(context.Background(), withoutACL)) {
		if err != nil {
			t.Fatal(err)
		}
		w.Objects[o.Name] = o.Metadata
	}
	for user, err := range each.Of(p.Auth(t).Users(context.Background(), "")) {
		if err != nil {
			t.Fatal(err)
		}
		w.Accounts[user.UID] = user.DisplayName
	}
	return w
}

// Renamed returns the world with other paths for documents whose ids are derived, so that a model need not know the ids. name
// returns the other path, or "" for a document that keeps its path.
func (w World) Renamed(name func(path string, data map[string]any) string) World {
	renamed := w.Clone()
	for _, path := range sortedKeys(w.Documents) {
		to := name(path, w.Documents[path])
		if to == "" {
			continue
		}
		delete(renamed.Documents, path)
		renamed.Add(to, w.Documents[path])
	}
	return renamed
}

// Add adds a document whose id is derived, under a name as [World.Renamed] gives it. A second one with the same name is a
// difference.
func (w World) Add(name string, data map[string]any) {
	for n := 1; ; n++ {
		unique := fmt.Sprintf("%s (%d)", name, n)
		if _, taken := w.Documents[unique]; !taken {
			w.Documents[unique] = data
			return
		}
	}
}

// Is compares the world of a model with that of the project.
func (w World) Is(t *rapid.T, when string, got World) {
	t.Helper()
	for _, o := range []World{w, got} {
		for name, metadata := range o.Objects {
			if len(metadata) == 0 {
				o.Objects[name] = nil
			}
		}
	}
	withoutUser := cmpopts.IgnoreFields(World{}, "User")
	if diff := gocmp.Diff(w, got, enginetest.SameReference, cmpopts.EquateNaNs(), withoutUser); diff != "" {
		t.Fatalf("%s (-model +project):\n%s", when, diff)
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
