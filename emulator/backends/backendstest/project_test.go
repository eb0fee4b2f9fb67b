package backendstest_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

func TestProjectsAreApart(t *testing.T) {
	ctx := context.Background()
	a, b := backendstest.Start(t), backendstest.Start(t)
	at := time.Date(2026, 1, 10, 15, 0, 0, 0, time.UTC)
	a.Set(t, "c/d", map[string]any{"n": 1, "at": at})
	a.Set(t, "c/d/s/e", map[string]any{"text": "日本"})
	a.Put(t, "x/y", map[string]string{"k": "v"}, []byte("1"))
	if _, err := a.Auth(t).CreateUser(ctx, new(auth.UserToCreate).UID("u")); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{"d": {"n": int64(1), "at": at}}
	if diff := cmp.Diff(want, a.Documents(t, "c")); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]map[string]any{"e": {"text": "日本"}}, a.Documents(t, "c/d/s")); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x/y"}, a.Objects(t)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if got := b.Documents(t, "c"); len(got) != 0 {
		t.Errorf("the other's documents: %v", got)
	}
	if got := b.Objects(t); len(got) != 0 {
		t.Errorf("the other's objects: %v", got)
	}
	if _, err := b.Auth(t).GetUser(ctx, "u"); !auth.IsUserNotFound(err) {
		t.Errorf("the other's user: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	p := backendstest.Start(t)
	for key, want := range map[string]string{"GOOGLE_CLOUD_PROJECT": p.ID, "STORAGE_BUCKET": p.Bucket} {
		if p.Environment[key] != want {
			t.Errorf("%s=%s", key, p.Environment[key])
		}
	}
	for _, key := range []string{backends.FirestoreHost, backends.StorageHost, backends.FirebaseStorageHost, backends.AuthHost,
		backends.TasksHost} {
		if p.Environment[key] == "" || os.Getenv(key) != p.Environment[key] {
			t.Errorf("%s: the project has %q, the process %q", key, p.Environment[key], os.Getenv(key))
		}
	}
}

func TestProjectIDs(t *testing.T) {
	valid := regexp.MustCompile(`^demo-[a-z0-9-]{1,24}[a-z0-9]$`)
	seen := map[string]bool{}
	for _, name := range []string{"", "a", "UPPER/lower_1", "日本語", strings.Repeat("long", 9)} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				id := backendstest.Start(t).ID
				if !valid.MatchString(id) || len(id) > 30 {
					t.Errorf("id %q", id)
				}
				if seen[id] {
					t.Errorf("id %q twice", id)
				}
				seen[id] = true
			}
		})
	}
}

func TestDataIsClearedAtTheEnd(t *testing.T) {
	ctx := context.Background()
	var p *backendstest.Project
	t.Run("test", func(t *testing.T) {
		p = backendstest.Start(t)
		p.Set(t, "c/d", map[string]any{})
		p.Put(t, "x", nil, nil)
		if _, err := p.FirestoreDatabase(t, "second").Doc("c/d").Set(ctx, map[string]any{}); err != nil {
			t.Error(err)
		}
		if _, err := p.Auth(t).CreateUser(ctx, new(auth.UserToCreate).UID("u")); err != nil {
			t.Error(err)
		}
	})
	for _, database := range []string{firestore.DefaultDatabaseID, "second"} {
		client, err := firestore.NewClientWithDatabase(ctx, p.ID, database)
		if err != nil {
			t.Fatal(err)
		}
		left, err := client.Collection("c").Documents(ctx).GetAll()
		if err != nil || len(left) != 0 {
			t.Errorf("%s: %d documents are left, %v", database, len(left), err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Auth(t).GetUser(ctx, "u"); !auth.IsUserNotFound(err) {
		t.Errorf("the user is left: %v", err)
	}
}

func TestAllDocuments(t *testing.T) {
	p := backendstest.Start(t)
	want := []string{"a/b", "a/b/c/d/e/f", "a/missing/c/d", "x/y"}
	for _, path := range want {
		p.Set(t, path, map[string]any{"n": 1})
	}
	if _, err := p.FirestoreDatabase(t, "second").Doc("x/z").Set(context.Background(), map[string]any{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range p.All(t) {
		_, path, _ := strings.Cut(d.Ref.Path, "/documents/")
		got = append(got, path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("all documents (-want +got):\n%s", diff)
	}
}
