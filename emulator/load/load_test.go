// Package load_test holds the tests of size, which run a job over many objects and documents and take it back, in processes of
// bounded memory. docs/contributing/reliability.md says how to run it at full size, and what it measured.
package load_test

import (
	"flag"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/emulator/process"
	"github.com/firesweep/firesweep/shared/engine/report"
)

const job = "cleanupOrphanedMedia"

// maxMemory is what manifest.json gives the function, in bytes.
const maxMemory = 256 << 20

var objectCount = flag.Int("objects", 100*smallest, "how many objects there are, a multiple of 2,000; half as many documents")

// besideOthers lets a test run beside the others if it has little data: each waits for rates and for processes.
func besideOthers(t *testing.T, little bool) {
	t.Helper()
	if little {
		t.Parallel()
	}
}

func TestLoad(t *testing.T) {
	besideOthers(t, *objectCount == 100*smallest)
	w := world{Project: backendstest.Start(t), units: *objectCount / 100}
	if !w.EmbeddedFirestore() || !w.EmbeddedStorage() {
		t.Skip("what is measured is the function on the embedded backends; the Firebase Emulator Suite takes an upload for each object")
	}
	if w.units < smallest || w.units%smallest != 0 {
		t.Fatalf("-objects %d is not a multiple of 2,000", *objectCount)
	}
	begun := time.Now()
	w.load(t)
	t.Logf("%d objects and %d documents, made in %s", w.all(), w.posts()+w.circles()+w.tasks(),
		time.Since(begun).Round(time.Second))
	now := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second) // the objects' age cannot be chosen

	w.wantActions(t, w.finish(t, now))
	w.wantDone(t)
}

// finish runs the job in a process of its own until a run completes, as Cloud Scheduler does day by day: a machine may be too
// slow for one run. It returns what the runs did together.
func (w world) finish(t *testing.T, now time.Time) (sum map[string]report.Counts) {
	t.Helper()
	sum = map[string]report.Counts{}
	for range 20 {
		p := bundletest.Start(t, job, w.Environment)
		samples := sample(p.PID)
		rep := p.Run(t, "", now)
		memory := samples()
		p.Stop()
		logRun(t, job, rep)
		logMemory(t, memory)
		for kind, c := range rep.Actions {
			had := sum[kind]
			sum[kind] = report.Counts{Done: had.Done + c.Done, Changed: had.Changed + c.Changed, Failed: had.Failed + c.Failed}
		}
		if rep.Status == report.Completed {
			return sum
		}
		if rep.Status != report.Partial {
			t.Fatalf("%s, failures %v", rep.Status, rep.Failures)
		}
	}
	t.Fatal("twenty runs did not complete")
	return nil
}

// wantActions checks that the runs did what there was to do, and each thing once.
func (w world) wantActions(t *testing.T, got map[string]report.Counts) {
	t.Helper()
	for kind, n := range map[string]int{
		"delete post media":           perPost*w.posts()/10 + w.units,
		"delete circle image":         perCircle * w.circles() / 10,
		"delete task attachment":      w.units / 2,
		"delete orphaned circle post": w.postsOfGoneCircles(),
	} {
		if want := (report.Counts{Done: n}); got[kind] != want {
			t.Errorf("%s: %+v, want %+v", kind, got[kind], want)
		}
	}
}

// sample samples a process's memory until the function it returns is called. The last sample is the most that was held.
func sample(pid int) func() []int {
	if runtime.GOOS != "linux" {
		return func() []int { return nil }
	}
	var samples []int
	most := 0
	look := func() {
		if now, peak, err := process.Memory(pid); err == nil { // without, the process has ended
			samples, most = append(samples, now), max(most, peak)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for over := false; !over; look() {
			select {
			case <-stop:
				over = true
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() []int {
		close(stop)
		<-stopped
		return append(samples, most)
	}
}

// logMemory logs the most memory in each tenth of the run and checks the limit.
func logMemory(t *testing.T, samples []int) {
	t.Helper()
	if samples == nil {
		return
	}
	var tenths []int
	for i := range 10 {
		if part := samples[i*len(samples)/10 : (i+1)*len(samples)/10]; len(part) > 0 {
			tenths = append(tenths, slices.Max(part)>>20)
		}
	}
	peak := slices.Max(samples)
	t.Logf("memory: peak %d MiB; the most in each tenth of the run: %v MiB", peak>>20, tenths)
	if peak > maxMemory || peak == 0 {
		t.Errorf("the process held %d MiB, want some, and at most %d", peak>>20, maxMemory>>20)
	}
}

func logRun(t *testing.T, what string, r *report.Report) {
	t.Helper()
	t.Logf("%s: %s in %.1f s; %d scanned; actions %v; kept %v; usage %+v", what, r.Status, float64(r.DurationMs)/1000, r.Scanned,
		r.Actions, r.Kept, r.Usage)
}
