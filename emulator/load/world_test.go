package load_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

// world is a project for cleanupOrphanedMedia with 100 objects and 50 documents for each unit: 40 posts, a tenth of a circle and
// 9.9 tasks; the smallest has ten circles. Of every eleven ids that objects name, one has no document. It is the same each time it
// is made.
type world struct {
	*backendstest.Project
	units int
}

const (
	postsAUnit = 40
	perPost    = 2  // objects
	perCircle  = 50 // objects
	smallest   = 20 // units
)

func (w world) posts() int   { return postsAUnit * w.units }
func (w world) circles() int { return max(10, w.units/10) }
func (w world) tasks() int   { return 10*w.units - w.circles() }

// Of every 110 ids of posts and tasks, which are those of 110 users, 100 have a document: those without lie together in the
// listing, for the emulator takes a second to tell apart 30 of which only some exist.
func ids(n int) int          { return n + n/100*10 }
func existing(k int) int     { return k + k/100*10 }
func documented(id int) bool { return id%110 < 100 }

// Of every 11 ids of circles, 10 have one.
func circleIDs(n int) int          { return n + n/10 }
func existingCircle(k int) int     { return k + k/10 }
func documentedCircle(id int) bool { return id%11 < 10 }

// ofGoneCircle says of a post that has a document that its circle has none: it must go.
func ofGoneCircle(id int) bool { return documented(id) && id%50 == 1 }

type object struct {
	name, postID string
	stays        bool
}

// objects calls f for each object of the bucket.
func (w world) objects(f func(object)) {
	for id := range ids(w.posts()) {
		for n := range perPost {
			f(object{postObject(id, n), fmt.Sprintf("p%05d", id), documented(id) && !ofGoneCircle(id)})
		}
	}
	for n := range w.units {
		f(object{fmt.Sprintf("posts/u%03d/unfinished-%05d.png", n%110, n), "PENDING", false})
	}
	for id := range circleIDs(w.circles()) {
		for n := range perCircle {
			f(object{fmt.Sprintf("circles/c%03d/%d.png", id, n), "", documentedCircle(id)})
		}
	}
	for id := range 11 * w.units / 2 { // not every task has one
		f(object{fmt.Sprintf("task_attachments/u%03d/t%05d/a.pdf", id%110, id), "", documented(id)})
	}
}

// all counts the objects.
func (w world) all() (n int) {
	w.objects(func(object) { n++ })
	return n
}

func postObject(id, n int) string { return fmt.Sprintf("posts/u%03d/%05d-%d.png", id%110, id, n) }

// put stores the objects.
func (w world) put(t *testing.T) {
	t.Helper()
	var all []object
	w.objects(func(o object) { all = append(all, o) })
	w.PutMany(t, len(all), func(i int) (string, map[string]string) {
		if all[i].postID == "" {
			return all[i].name, nil
		}
		return all[i].name, map[string]string{"postId": all[i].postID}
	})
}

// setPosts writes the posts' documents.
func (w world) setPosts(t *testing.T) {
	t.Helper()
	w.SetMany(t, w.posts(), func(i int) (string, map[string]any) {
		id := existing(i)
		var circle any // most belong to none: the emulator takes minutes to look for gaps between 40,000
		switch {
		case id%50 == 3:
			circle = fmt.Sprintf("c%03d", existingCircle(id%w.circles()))
		case ofGoneCircle(id):
			circle = fmt.Sprintf("gone%02d", id%max(1, w.units/20))
		}
		var media []any
		for n := range perPost {
			media = append(media, map[string]any{"type": "image", "url": "gs://" + w.Bucket + "/" + postObject(id, n)})
		}
		return fmt.Sprintf("posts/p%05d", id), map[string]any{"circleId": circle, "userId": "u", "text": "おはよう", "mediaItems": media}
	})
}

// load fills the empty project.
func (w world) load(t *testing.T) {
	t.Helper()
	w.put(t)
	w.setPosts(t)
	w.SetMany(t, w.circles(), func(i int) (string, map[string]any) {
		return fmt.Sprintf("circles/c%03d", existingCircle(i)), map[string]any{"name": "n"}
	})
	w.SetMany(t, w.tasks(), func(i int) (string, map[string]any) {
		return fmt.Sprintf("tasks/t%05d", existing(i)), map[string]any{"title": "t"}
	})
}

// postsOfGoneCircles counts the posts that the job must delete.
func (w world) postsOfGoneCircles() (n int) {
	for k := range w.posts() {
		if ofGoneCircle(existing(k)) {
			n++
		}
	}
	return n
}

// wantDone compares everything with what a run must leave.
func (w world) wantDone(t *testing.T) {
	t.Helper()
	var stay []string
	w.objects(func(o object) {
		if o.stays {
			stay = append(stay, o.name)
		}
	})
	slices.Sort(stay)
	wantSame(t, "objects", stay, w.Objects(t))
	var posts, circles, tasks []string
	for k := range w.posts() {
		if id := existing(k); !ofGoneCircle(id) {
			posts = append(posts, fmt.Sprintf("p%05d", id))
		}
	}
	for k := range w.circles() {
		circles = append(circles, fmt.Sprintf("c%03d", existingCircle(k)))
	}
	for k := range w.tasks() {
		tasks = append(tasks, fmt.Sprintf("t%05d", existing(k)))
	}
	wantSame(t, "posts", posts, w.names(t, "posts"))
	wantSame(t, "circles", circles, w.names(t, "circles"))
	wantSame(t, "tasks", tasks, w.names(t, "tasks"))
	wantSame(t, "todos", nil, w.names(t, "cleanupJobs/"+job+"/cleanupTodo"))
}

// names returns the ids of a collection's documents in order, without reading what they hold.
func (w world) names(t *testing.T, collection string) []string {
	t.Helper()
	snapshots, err := w.Firestore(t).Collection(collection).Select().Documents(context.Background()).GetAll()
	if err != nil {
		t.Fatalf("list %s: %v", collection, err)
	}
	names := make([]string, len(snapshots))
	for i, s := range snapshots {
		names[i] = s.Ref.ID
	}
	return names
}

// wantSame compares two sorted lists; it names the first difference only.
func wantSame(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got) || i < len(want) && want[i] < got[i]:
			t.Errorf("%d %s are left, want %d: %s is missing", len(got), what, len(want), want[i])
			return
		case i >= len(want) || want[i] > got[i]:
			t.Errorf("%d %s are left, want %d: %s should be gone", len(got), what, len(want), got[i])
			return
		}
	}
}
