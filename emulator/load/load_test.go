// Package load_test holds the tests of size, which run a job over many objects and documents and take it back, in processes of
// bounded memory. docs/contributing/reliability.md says how to run it at full size, and what it measured.
package load_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/bundletest"
	"github.com/firesweep/firesweep/emulator/process"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
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

	enginetest.Want(t, "done", map[string]int{"delete post media": n - len(objects)}, finish(t, p, now))
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

var write = flag.Bool("write", false, "write what the benchmarks measured to docs/contributing/performance.md")

// rows are what the benchmarks measured, by the names of the page's tables.
var rows = map[string][]string{}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if *write && code == 0 {
		if err := writePage(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// deletions are what the benchmarks delete, by one rule each.
var deletions = []struct {
	what, rule string
	seed       func(b *testing.B, f *enginetest.Function, n int)
}{
	{"documents", `{"collection": "reports", "age": {"field": "at", "days": 30}}`, func(b *testing.B, f *enginetest.Function, n int) {
		b.Helper()
		f.SetAlike(b, n, "reports/r%06d", map[string]any{"at": reportsNow, "text": strings.Repeat("報告", 50)})
	}},
	{"objects", `{"objects": "avatars/{uid}.*", "gone": [{"document": "users/{uid}"}], "age": {"hours": 24}}`, seedObjects},
	{"accounts", `{"accounts": "anonymous", "age": {"by": "lastActive", "days": 30}}`, func(b *testing.B, f *enginetest.Function, n int) {
		b.Helper()
		at := reportsNow.UnixMilli()
		for first := 0; first < n; first += 1000 {
			var users []*auth.UserToImport
			for i := first; i < min(n, first+1000); i++ {
				users = append(users, new(auth.UserToImport).UID(fmt.Sprintf("u%06d", i)).Metadata(&auth.UserMetadata{
					CreationTimestamp: at, LastLogInTimestamp: at}))
			}
			f.Import(b, users...)
		}
	}},
}

func seedObjects(b *testing.B, f *enginetest.Function, n int) {
	b.Helper()
	f.Set(b, "users/other", map[string]any{"name": "hana"}) // or the collection would be empty
	f.PutMany(b, n, func(i int) (string, map[string]string) { return fmt.Sprintf("avatars/u%06d.png", i), nil })
}

// benchmarked returns a function of a rule on a project, two days ahead, because objects are new.
func benchmarked(b *testing.B, p *backendstest.Project, what, rule string) *enginetest.Function {
	b.Helper()
	name := "cleanup" + strings.ToUpper(what[:1]) + what[1:]
	text := fmt.Sprintf(`{"rules": [{"name": %q, "schedule": "0 3 * * *", %s]}`, name, rule[1:])
	entries, err := manifest.ParseRules(manifest.File{Name: "bench", Text: []byte(text)})
	if err != nil {
		b.Fatal(err)
	}
	f := enginetest.On(b, engine.NewFunction(declared.Job(name, *entries[0].Rule), 30*time.Minute, entries[0].Uses()), p)
	f.Indexes = entries[0].Indexes
	f.Now = time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	return f
}

// BenchmarkDeletions deletes a thousand things by one run, at a time, on a link without delay and on slow ones.
func BenchmarkDeletions(b *testing.B) {
	const n = 1000
	for _, d := range deletions {
		took := map[time.Duration]time.Duration{}
		var row string
		for _, delay := range []time.Duration{0, 0, 10 * time.Millisecond, 40 * time.Millisecond} { // the first warms up
			b.Run(fmt.Sprintf("%s/%s", d.what, delay), func(b *testing.B) {
				var rep *report.Report
				var used runtime.MemStats
				var mallocs, bytes uint64
				b.StopTimer()
				for range b.N {
					p := backendstest.Start(b)
					if !p.EmbeddedFirestore() || !p.EmbeddedStorage() || !p.EmbeddedAuth() {
						b.Skip("what is measured is the function on the embedded backends")
					}
					f := benchmarked(b, p, d.what, d.rule)
					d.seed(b, f, n)
					behind(f, delay)
					runtime.ReadMemStats(&used)
					mallocs, bytes = mallocs-used.Mallocs, bytes-used.TotalAlloc
					b.StartTimer()
					rep = f.Run(b, `{"force":true}`)
					b.StopTimer()
					runtime.ReadMemStats(&used)
					mallocs, bytes = mallocs+used.Mallocs, bytes+used.TotalAlloc
					if rep.Status != report.Completed || rep.Done() != n {
						b.Fatalf("%s, %d done, failures %v", rep.Status, rep.Done(), rep.Failures)
					}
				}
				took[delay] = b.Elapsed() / time.Duration(b.N)
				u, times := rep.Usage, uint64(b.N)*n
				others := u.StorageClassA + u.StorageClassB + u.StorageDeletes + u.AuthCalls
				b.ReportMetric(float64(u.FirestoreReads), "reads")
				b.ReportMetric(float64(u.FirestoreWrites), "writes")
				if delay == 0 {
					row = fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |", d.what, u.FirestoreReads, u.FirestoreWrites, u.FirestoreDeletes, others,
						mallocs/times, bytes/times/1000)
				}
			})
		}
		if direct := took[0]; direct > 0 {
			rows["deletions"] = append(rows["deletions"], row+fmt.Sprintf(" %.1f | %.1f |", float64(took[10*time.Millisecond])/float64(direct),
				float64(took[40*time.Millisecond])/float64(direct)))
		}
	}
}

// behind has each request of a function wait as long as an answer takes on a slow link.
func behind(f *enginetest.Function, delay time.Duration) {
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(context.Context, string, any) error {
		time.Sleep(delay)
		return nil
	})...)
	f.Hooks.Transport = enginetest.OnStorage(func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		time.Sleep(delay)
		return send()
	})
	f.Hooks.Accounts = func(_ string, _ []string, send func() error) error {
		time.Sleep(delay)
		return send()
	}
}

// BenchmarkPlan plans the deletion of many objects.
func BenchmarkPlan(b *testing.B) {
	p := backendstest.Start(b)
	if !p.EmbeddedFirestore() || !p.EmbeddedStorage() {
		b.Skip("what is measured is the function on the embedded backends")
	}
	f := benchmarked(b, p, "objects", deletions[1].rule)
	n, each := 0, map[int]time.Duration{}
	for _, n = range []int{*objectCount / 10, *objectCount} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.StopTimer()
			seedObjects(b, f, n)
			b.StartTimer()
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range b.N {
				rep, err := f.Plan(b.Context(), engine.Options{Now: f.Now, Force: true})
				if err != nil {
					b.Fatal(err)
				}
				if rep.Status != report.Completed || len(rep.Plan) != n {
					b.Fatalf("%s, %+v", rep.Status, rep.Actions)
				}
			}
			runtime.ReadMemStats(&after)
			each[n] = b.Elapsed() / time.Duration(b.N*n)
			all := uint64(b.N * n)
			rows["plan"] = append(rows["plan"], fmt.Sprintf("| %d | %.1f | %d | %d |", n, float64(each[n])/float64(each[*objectCount/10]),
				(after.Mallocs-before.Mallocs)/all, (after.TotalAlloc-before.TotalAlloc)/all))
		})
	}
}

const performance = "../../docs/contributing/performance.md"

// writePage writes the tables of what was measured, and that of the listing, which is simulated by the tests of shared/objects.
func writePage() error {
	listing := exec.Command("go", "test", "../../shared/objects", "-run", "NamesOfAllKinds", "-v", "-count=1", "-args", "-objects", "1000000")
	output, err := listing.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	kinds := regexp.MustCompile(`: (.+?) +([0-9.]+) times the ideal, +([0-9.-]+) % more requests than pages, +(\d+) MiB`)
	alike := map[string][]string{} // kinds of names, by what their listing takes
	most := map[string]int{}       // MiB, by the same
	for _, m := range kinds.FindAllStringSubmatch(string(output), -1) {
		took := m[2] + " | " + m[3]
		held, err := strconv.Atoi(m[4])
		if err != nil {
			return err
		}
		alike[took], most[took] = append(alike[took], m[1]), max(most[took], held)
	}
	for _, took := range slices.Sorted(maps.Keys(alike)) {
		rows["listing"] = append(rows["listing"], fmt.Sprintf("| %s | %s | %d |", strings.Join(alike[took], ", "), took, most[took]))
	}
	page, err := os.ReadFile(performance)
	if err != nil {
		return err
	}
	text := string(page)
	for name, all := range rows {
		begin, end := "<!-- "+name+" -->\n", "<!-- end "+name+" -->"
		before, rest, found := strings.Cut(text, begin)
		old, after, ended := strings.Cut(rest, end)
		head := strings.SplitAfterN(old, "\n", 3)
		if !found || !ended || len(head) < 3 {
			return fmt.Errorf("%s has no table %s", performance, name)
		}
		text = before + begin + head[0] + head[1] + strings.Join(all, "\n") + "\n" + end + after
	}
	text = regexp.MustCompile(`Measured on \S+`).ReplaceAllString(text, "Measured on "+time.Now().UTC().Format(time.DateOnly)+".")
	return os.WriteFile(performance, []byte(text), 0o644) //nolint:gosec // people read it
}
