package posts_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/functions/posts"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/docsize"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

var start = time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)

// due deletes a post whose field due is true.
func due(post posts.State, _ cleanup.Run) cleanup.Decision {
	if post.Data["due"] != true {
		return cleanup.Keep("not due")
	}
	return cleanup.Do("delete post", "due")
}

type judge = func(posts.State, cleanup.Run) cleanup.Decision

// newFunction returns a function that proposes to delete the posts with these ids.
func newFunction(t *testing.T, judge judge, ids ...string) *enginetest.Function {
	t.Helper()
	rule := posts.Rule("post", judge)
	job := cleanup.Job{Name: "testJob", Rules: []cleanup.AnyRule{rule}, Plan: func(ctx context.Context, p *cleanup.Planner) error {
		proposed := make([]cleanup.Proposal, len(ids))
		for i, id := range ids {
			proposed[i] = cleanup.Proposal{Document: documents.Document{Path: "posts/" + id}, Decision: cleanup.Do("delete post", "due")}
		}
		return p.ProposeItems(ctx, rule, proposed)
	}}
	f := enginetest.New(t, engine.NewFunction(job, 5*time.Minute, []config.Backend{config.Firestore, config.Storage}))
	f.Clock = func() time.Time { return start }
	return f
}

// dueData is a post of u1's that is due, with files.
func dueData(urls ...string) map[string]any {
	var items []any
	for _, url := range urls {
		items = append(items, map[string]any{"type": "image", "url": url})
	}
	return map[string]any{"due": true, "userId": "u1", "text": "こんにちは", "mediaItems": items}
}

func gs(f *enginetest.Function, name string) string { return "gs://" + f.Bucket + "/" + name }

// want compares what is left of the posts, their children, the files and the Todos.
func want(t *testing.T, f *enginetest.Function, state map[string][]string) {
	t.Helper()
	got := map[string][]string{"files": f.Objects(t), "todos": f.IDs(t, "cleanupJobs/testJob/cleanupTodo")}
	for _, collection := range []string{"posts", "comments", "reactions"} {
		got[collection] = f.IDs(t, collection)
	}
	for name, list := range got {
		if len(list) == 0 {
			delete(got, name)
		}
	}
	enginetest.Want(t, "left", state, got)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	f := newFunction(t, due, "p1", "bare")
	f.Set(t, "posts/p1", dueData(
		gs(f, "posts/own.png"),
		"https://firebasestorage.googleapis.com/v0/b/"+f.Bucket+"/o/posts%2Fu1%2Funnamed%20%E5%86%99.png?alt=media&token=1",
		"https://storage.googleapis.com/"+f.Bucket+"/posts/gone.png",
		gs(f, "posts/own.png"),
		gs(f, "posts/unnamed.png"), gs(f, "posts/u12/unnamed.png"), gs(f, "posts/u1/of-p12.png"), gs(f, "posts/u12/own.png"),
		gs(f, "posts/of-p12.png"), gs(f, "posts/pending.png"), gs(f, "circles/c1/icon.png"), gs(f, "posts.png"),
		"gs://somebody-elses/posts/own.png", "https://example.com/posts/own.png", "posts/plain.png",
	))
	f.Set(t, "posts/p12", dueData(gs(f, "posts/of-p12.png")))
	f.Set(t, "posts/bare", map[string]any{"due": true})
	f.Set(t, "posts_archive/p1", dueData())
	for _, collection := range []string{"comments", "reactions"} {
		for id, postID := range map[string]any{"a": "p1", "b": "p1", "c": "p12", "d": "P1", "e": "", "f": nil, "g": []any{"p1"}, "h": f.Firestore(t).Doc("posts/p1"),
			"i": f.Firestore(t).Doc("posts/p12"), "j": f.Firestore(t).Doc("posts_archive/p1"), "k": "posts/p1"} {
			f.Set(t, collection+"/"+id, map[string]any{"postId": postID, "text": "!"})
		}
		f.Set(t, collection+"/none", map[string]any{"text": "!"})
		f.Set(t, "posts/p12/"+collection+"/a", map[string]any{"postId": "p1"})
	}
	for name, postID := range map[string]string{
		"posts/own.png": "p1", "posts/u1/unnamed 写.png": "", "posts/unnamed.png": "", "posts/u12/unnamed.png": "",
		"posts/u1/of-p12.png": "p12", "posts/u12/own.png": "p1", "posts/of-p12.png": "p12", "posts/pending.png": "PENDING",
		"posts/own.png.bak": "p1", "posts/plain.png": "p1", "circles/c1/icon.png": "", "posts.png": "p1",
	} {
		f.PutOf(t, postID, name)
	}
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, enginetest.Done("delete post", 2))
	others := []string{"c", "d", "e", "f", "g", "i", "j", "k", "none"}
	want(t, f, map[string][]string{
		"posts": {"p12"}, "comments": others, "reactions": others,
		"files": {"circles/c1/icon.png", "posts.png", "posts/of-p12.png", "posts/own.png.bak", "posts/pending.png", "posts/plain.png",
			"posts/u1/of-p12.png", "posts/u12/unnamed.png", "posts/unnamed.png"},
	})
	for _, lookalike := range []string{"posts_archive", "posts/p12/comments", "posts/p12/reactions"} {
		enginetest.Want(t, "documents of "+lookalike, 1, len(f.Documents(t, lookalike)))
	}
	kept := map[string]int{
		"a file that belongs to another post":                                3,
		"a file without postId outside the folder of its document's author":  2,
		"mediaItems[].url names an object outside posts/":                    2,
		"mediaItems[].url holds a URL of another bucket":                     1,
		"mediaItems[].url holds a URL that names no object of Cloud Storage": 2,
	}
	enginetest.Want(t, "kept", kept, got.Kept)
}

// TestAMistakenID names no post: what lost its post stays, though a post has that id.
func TestAMistakenID(t *testing.T) {
	t.Parallel()
	f := newFunction(t, due, "undefined", "p1")
	for _, id := range []string{"undefined", "p1"} {
		f.Set(t, "posts/"+id, dueData())
		f.Set(t, "comments/of-"+id, map[string]any{"postId": id})
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete post", 2))
	want(t, f, map[string][]string{"comments": {"of-undefined"}})
}

// TestOfWhomAPostIs takes along what names no post only from the folder of the post's author, which TestDelete proves of others' folders.
func TestOfWhomAPostIs(t *testing.T) {
	t.Parallel()
	f := newFunction(t, due, "number", "text", "reference", "none", "odd", "elsewhere")
	nobodys := "posts//a.png"
	if !f.EmbeddedStorage() { // for the Firebase Emulator Suite's Storage this would be posts/a.png
		nobodys = "posts/ /a.png"
	}
	var urls []string
	for _, name := range []string{"posts/7/a.png", "posts/hana/a.png", "posts/ken/a.png", nobodys, "posts/undefined/a.png", "posts/a.png"} {
		f.PutOf(t, "", name)
		urls = append(urls, gs(f, name))
	}
	for id, author := range map[string]any{
		"number": int64(7), "text": "hana", "reference": f.Firestore(t).Doc("users/ken"), "none": nil, "odd": "undefined",
		"elsewhere": f.Firestore(t).Doc("people/hana"),
	} {
		f.Set(t, "posts/"+id, enginetest.With(dueData(urls...), "userId", author))
	}
	enginetest.WantReport(t, f.Run(t, ""), report.Completed, enginetest.Done("delete post", 6))
	want(t, f, map[string][]string{"files": {nobodys, "posts/a.png", "posts/undefined/a.png"}})
}

// TestManyFilesOfAPost follows 200 of a post's files, whose names and URLs are as long as can be, and counts and names the rest.
func TestManyFilesOfAPost(t *testing.T) {
	t.Parallel()
	const files = 201
	f := newFunction(t, due, "p1")
	var urls []string
	noise := rand.NewChaCha8([32]byte{1}) // what can be compressed proves nothing of room
	for i := range files {
		random := make([]byte, 1024)
		_, _ = noise.Read(random) // it never fails
		name := fmt.Sprintf("posts/%03d", i) + base64.RawURLEncoding.EncodeToString(random)
		name = name[:1024]
		f.PutOf(t, "p1", name)
		urls = append(urls, gs(f, name), gs(f, name)) // named twice, it counts once
	}
	f.Set(t, "posts/p1", dueData(urls...))
	f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return enginetest.StorageRefuses(r, http.StatusForbidden), nil
	})
	first := f.Run(t, "")
	enginetest.WantReport(t, first, report.Failed, map[string]report.Counts{"delete post": {Planned: 1, Failed: 1}})
	for id, entry := range f.Documents(t, "cleanupJobs/testJob/cleanupTodo") {
		if size := docsize.Of("cleanupJobs/testJob/cleanupTodo/"+id, entry); size < 140<<10 || size >= docsize.Max/2 {
			t.Errorf("what is remembered of 200 files takes %d bytes", size)
		}
	}
	const reason = "one document names more than 200 objects"
	enginetest.Want(t, "kept", 2, first.Kept[reason]) // the last file's two URLs
	lines := f.Warnings(t)["posts/p1"]
	if len(lines) != 1 || lines[0]["message"] != "posts/p1: deleted, but not 2 of its objects: "+reason {
		t.Errorf("warnings %v", lines)
	}
	enginetest.On(t, newFunction(t, due).Function, f.Project).Run(t, "")
	if left := f.Objects(t); len(left) != 1 || !strings.HasPrefix(left[0], "posts/200") {
		t.Errorf("%d files left", len(left))
	}
}
