// Package load_test holds the tests of size, which run a job over many objects and documents and take it back, in processes of
// bounded memory. docs/contributing/reliability.md says how to run it at full size, and what it measured.
package load_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/emulator/process"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const job = "cleanupOrphanedMedia"

// maxMemory is what manifest.json gives the function, in bytes.
const maxMemory = 256 << 20

const fewObjects = 2200

var objectCount = flag.Int("objects", fewObjects, "how many objects there are; nearly half as many documents")

// image is the i-th of two objects of a post. Of 110 posts, which are those of 110 users, 100 have a document: those without lie
// together in the listing, for the emulator takes a second to tell apart 30 of which only some exist.
func image(i int) (name, post string, stays bool) {
	id := i / 2
	return fmt.Sprintf("posts/u%03d/%06d-%d.png", id%110, id, i%2), fmt.Sprintf("p%06d", id), id%110 < 100
}

func TestLoad(t *testing.T) {
	n := *objectCount
	if n == fewObjects { // beside others: each waits for rates and for processes
		t.Parallel()
	}
	p := backendstest.Start(t)
	if !p.EmbeddedFirestore() || !p.EmbeddedStorage() {
		t.Skip("what is measured is the function on the embedded backends; the Firebase Emulator Suite takes an upload for each object")
	}
	var posts, objects []string
	for i := range n {
		if name, post, stays := image(i); stays {
			objects = append(objects, name)
			if i%2 == 0 {
				posts = append(posts, post)
			}
		}
	}
	begun := time.Now()
	p.PutMany(t, n, func(i int) (string, map[string]string) {
		name, post, _ := image(i)
		return name, map[string]string{"postId": post}
	})
	p.SetMany(t, len(posts), func(i int) (string, map[string]any) {
		return "posts/" + posts[i], map[string]any{"userId": "u", "text": "おはよう", "circleId": nil}
	})
	t.Logf("%d objects and %d documents, made in %s", n, len(posts), time.Since(begun).Round(time.Second))
	now := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second) // the objects' age cannot be chosen

	if want, got := map[string]int{"delete post media": n - len(objects)}, finish(t, p, now); !cmp.Equal(want, got) {
		t.Errorf("done %v, want %v", got, want)
	}
	slices.Sort(objects)
	wantSame(t, "objects", objects, p.Objects(t))
	wantSame(t, "posts", posts, names(t, p, "posts"))
	wantSame(t, "todos", nil, names(t, p, "cleanupJobs/"+job+"/cleanupTodo"))
}

// finish runs the job in a process of its own until a run completes, as Cloud Scheduler does day by day: a machine may be too
// slow for one run. It returns how much the runs did together.
func finish(t *testing.T, project *backendstest.Project, now time.Time) map[string]int {
	t.Helper()
	done := map[string]int{}
	for range 20 {
		rep := measured(t, project.Environment, job, now)
		for kind, c := range rep.Actions {
			done[kind] += c.Done
		}
		if rep.Status == report.Completed {
			return done
		}
		if rep.Status != report.Partial {
			t.Fatalf("%s, failures %v", rep.Status, rep.Failures)
		}
	}
	t.Fatal("twenty runs did not complete")
	return nil
}

// measured runs a job once, in a process of its own, and checks how much memory that held.
func measured(t *testing.T, environment map[string]string, job string, now time.Time) *report.Report {
	t.Helper()
	p := bundletest.Start(t, job, environment)
	defer p.Stop()
	r := p.Run(t, "", now)
	t.Logf("%s: %s in %.1f s; %d scanned; actions %v; kept %v; usage %+v", job, r.Status, float64(r.DurationMs)/1000, r.Scanned,
		r.Actions, r.Kept, r.Usage)
	if _, peak, err := process.Memory(p.PID); err == nil || runtime.GOOS == "linux" { // which alone tells
		checkMemory(t, peak)
	}
	return r
}

// checkMemory checks how much a process held at most.
func checkMemory(t *testing.T, peak int) {
	t.Helper()
	t.Logf("memory: at most %d MiB", peak>>20)
	if peak > maxMemory || peak == 0 {
		t.Errorf("the process held %d MiB, want some, and at most %d", peak>>20, maxMemory>>20)
	}
}

// names returns the ids of a collection's documents in order, without reading what they hold.
func names(t *testing.T, p *backendstest.Project, collection string) (all []string) {
	t.Helper()
	snapshots, err := p.Firestore(t).Collection(collection).Select().Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatalf("list %s: %v", collection, err)
	}
	for _, s := range snapshots {
		all = append(all, s.Ref.ID)
	}
	return all
}

// wantSame compares two sorted lists; it names the first difference only.
func wantSame(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		if i >= len(got) || i >= len(want) || want[i] != got[i] {
			t.Errorf("%d %s are left, want %d; the first that differs is number %d: %v, want %v", len(got), what, len(want), i,
				got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
			return
		}
	}
}
