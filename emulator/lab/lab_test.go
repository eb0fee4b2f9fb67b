package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/lab/names"
	"github.com/firesweep/firesweep/emulator/lab/standin"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
)

// TestMain is the measured process as well, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		if err := runOne(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

func caseOf(t *testing.T, name string) measured {
	t.Helper()
	i := slices.IndexFunc(cases, func(m measured) bool { return m.name == name })
	if i < 0 {
		t.Fatalf("there is no case %q", name)
	}
	return cases[i]
}

// TestCases runs every case, job and seed, over a short link: all must be deleted that is due, by both, and nothing else.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, m := range cases {
		n := 440
		if m.task != nil {
			n = 3
		}
		for _, seed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, seed %t", m.name, seed), func(t *testing.T) {
				t.Parallel()
				r, err := measure(t.Context(), m, n, standin.Link{Firestore: time.Millisecond, Listing: time.Millisecond, Spread: 0.5}, seed, nil, "")
				if err != nil {
					t.Fatal(err)
				}
				if seed && m.due(n) > 0 && r.Traffic.Chain < 2 || r.Memory == 0 || r.Elapsed == 0 || r.Traffic.Requests == 0 {
					t.Errorf("measured %+v", r)
				}
				if r.Status != engine.Completed || r.Done != m.due(n) || r.Runs != 1 {
					t.Errorf("%s, %d done, want %d: %v", r.Status, r.Done, m.due(n), r.failures)
				}
			})
		}
	}
}

// TestLocalBackends runs jobs that between them use all services on the local backends: they do there what they do on the
// stand-in, however late the answers come.
func TestLocalBackends(t *testing.T) {
	t.Parallel()
	on, err := startLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = on.Close() })
	for name, n := range map[string]int{"circles": 40, "inquiries": 20, "projects": 40, "placeholder": 1, "missing": 44} {
		wait := time.Millisecond
		if name == "circles" {
			wait = 30 * time.Millisecond // longer than the emulator takes
		}
		m, link := caseOf(t, name), standin.Link{Firestore: wait, Listing: wait, Storage: wait}
		r, err := measure(t.Context(), m, n, link, false, &on, "")
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != engine.Completed || r.Done != m.due(n) || r.Traffic.Chain < 8 || r.Elapsed < time.Duration(r.Traffic.Chain)*link.Storage {
			t.Errorf("%s: %s, %d done, want %d, in %s with %d round trips: %v", name, r.Status, r.Done, m.due(n), r.Elapsed, r.Traffic.Chain, r.failures)
		}
	}
}

// TestCost bounds what DESIGN counts: reads, and how many requests wait for each other. Before anything ran side by side it
// were 8 round trips for each page of live objects, and some 40 where posts are missing.
func TestCost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		n           int
		reads       int64 // at most: what it cost when one question came after the other, in proportion
		trips, more int64 // at most: round trips, and pages listed of 1000 objects
	}{
		{"live", 20_000, 357, 60, 4},
		{"missing", 11_000, 3_713, 150, 4},
		{"projects", 2_000, 1_446, 45, 0},     // 32, which were 51; one of the reads is of what is pinned, where nothing is
		{"reports", 4_000, 420, 7, 0},         // 5, which were 8 and 816 reads
		{"warning", 1, 10, 9, 0},              // 7, which were 10
		{"placeholder", 3, 3 * 20, 3 * 18, 0}, // 14 for each task, which were 29 when each question waited for the one before
	} {
		r, err := measure(t.Context(), caseOf(t, tt.name), tt.n, standin.Link{Firestore: 20 * time.Millisecond, Listing: 20 * time.Millisecond, Storage: 20 * time.Millisecond}, false, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if u := r.Usage; u.FirestoreReads > tt.reads || r.Traffic.Chain > tt.trips || u.StorageClassA > tt.more*int64(tt.n)/1000 {
			t.Errorf("%s: %d reads, want at most %d; %d round trips, want at most %d; %d pages listed", tt.name, u.FirestoreReads, tt.reads, r.Traffic.Chain, tt.trips, u.StorageClassA)
		}
	}
}

// TestBusyService: a service that bears few lookups is asked for few at once, so nobody waits long for it. All at once would wait two
// seconds.
func TestBusyService(t *testing.T) {
	t.Parallel()
	r, err := measure(t.Context(), caseOf(t, "busy"), 20_000, standin.Link{Firestore: 10 * time.Millisecond}, false, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != engine.Completed || r.Traffic.Turn < 10*time.Millisecond || r.Traffic.Turn > time.Second {
		t.Errorf("%s; a lookup waited up to %s", r.Status, r.Traffic.Turn)
	}
}

// TestMedians: of runs that measured the same, the median time counts, and the most memory.
func TestMedians(t *testing.T) {
	at := func(items int, latency, took time.Duration, memory int64) run {
		return run{Case: "live", Items: items, Link: standin.Link{Firestore: latency}, Elapsed: took, Memory: memory}
	}
	var got []string
	for _, r := range medians([]run{
		at(1000, 0, 7, 1), at(2000, 0, 30, 5), at(2000, 40, 90, 4), at(2000, 0, 10, 9), at(2000, 40, 60, 8), at(2000, 0, 20, 6), at(2000, 40, 70, 2),
	}) {
		got = append(got, fmt.Sprintf("%d over %d: %d, %d bytes", r.Items, r.Link.Firestore, r.Elapsed, r.Memory))
	}
	if want := []string{"1000 over 0: 7, 1 bytes", "2000 over 0: 20, 9 bytes", "2000 over 40: 70, 8 bytes"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLinkThatFails loses one request of twenty and refuses as many: the run comes to the same.
func TestLinkThatFails(t *testing.T) {
	t.Parallel()
	m := caseOf(t, "missing")
	r, err := measure(t.Context(), m, 1100, standin.Link{Errors: 0.05, Quota: 0.05, Seed: 3}, false, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != engine.Completed || r.Done+r.Changed != m.due(1100) || r.Traffic.Refused == 0 {
		t.Errorf("%+v", r)
	}
}

// TestWorlds checks that what is made ascends, as the stand-in demands.
func TestWorlds(t *testing.T) {
	t.Parallel()
	for _, m := range cases {
		for _, n := range []int{1, 11, 1000} {
			w := m.world(n, time.Now())
			for i := 1; i < w.Objects.Len; i++ {
				if a, b := w.Objects.Name(i-1), w.Objects.Name(i); a >= b {
					t.Fatalf("%s of %d: object %d is %s, and then comes %s", m.name, n, i-1, a, b)
				}
			}
			for _, c := range w.Collections {
				for i := 1; i < c.Len; i++ {
					if a, b := c.ID(i-1), c.ID(i); a >= b {
						t.Fatalf("%s of %d: %s %d is %s, and then comes %s", m.name, n, c.Path, i-1, a, b)
					}
				}
			}
		}
	}
}

// TestNames measures two kinds of names, each without a link and over one. The page says what the link makes of the time.
func TestNames(t *testing.T) {
	t.Parallel()
	kinds := slices.DeleteFunc(slices.Clone(names.Kinds), func(k names.Kind) bool { return k.Name != "skew" && k.Name != "unicode" })
	o := options{only: namesCase, items: []int{3000}, latencies: []time.Duration{time.Millisecond, 10 * time.Millisecond}}
	runs, err := measureNames(t.Context(), o, kinds, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, r := range runs {
		got = append(got, fmt.Sprintf("%d of %s over %s, %s", r.Items, r.Kind, r.Link.Firestore, r.Link.Listing))
		if r.Traffic.Listings < 5 || r.Usage.FirestoreReads < int64(r.Items)/2/30 || r.Memory == 0 { // two more folders are listed
			t.Errorf("%s: %+v", got[i], r)
		}
		runs[i].Elapsed, runs[i].Traffic.Listings = time.Duration(i+2)*time.Second, 7
	}
	if want := []string{"3000 of unicode over 0s, 0s", "3000 of unicode over 10ms, 30ms", "2885 of skew over 0s, 0s", "2885 of skew over 10ms, 30ms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	path := filepath.Join(t.TempDir(), "performance.md")
	live := run{Case: "live", Items: 1000, Link: runs[1].Link, Elapsed: time.Second}
	for _, again := range []struct {
		name string
		runs []run
	}{{namesCase, runs[2:]}, {"live", []run{live}}, {namesCase, runs}} { // what was measured before and not again stays
		if err := writePage(path, o, nil, again.name, again.runs, nil); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Names of objects\n")
	table, _, _ = strings.Cut(table[strings.Index(table, "--:|\n")+5:], "\n\n")
	want := "| unicode | `posts/垲娽姝/彃宯.jpg` | 3,000 | 2.0 s | 10ms | 3.0 s | 1.50 | 7 | 2.33 |\n" +
		"| skew | `posts/all/0323080937.jpg` | 2,885 | 4.0 s | 10ms | 5.0 s | 1.25 | 7 | 2.33 |"
	if table != want || strings.Count(string(page), " | 1,000 | 10ms | 1.0 s |") != 1 {
		t.Errorf("the table is\n%s\nwant\n%s\non the page\n%s", table, want, page)
	}
}

// TestInShards splits a run, and has each shard run in a process of its own: together they look at everything once. The page says
// what that comes to.
func TestInShards(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	s, err := measureShards(t.Context(), 16_000, standin.Link{}, &said)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range s.Parts {
		if p.Scanned < 1900 || p.Scanned > 2100 || p.Runs != 1 || p.Elapsed == 0 || p.Memory == 0 || p.Usage.StorageClassA == 0 {
			t.Errorf("shard %d: %+v", i, p)
		}
	}
	if s.Cut.Scanned != 0 || s.Cut.Runs != 1 || len(s.Parts) != shards || !strings.Contains(said.String(), "shard 7") {
		t.Errorf("%+v, said %s", s, &said)
	}
	even := part{Scanned: 1_000_000, Runs: 1, Elapsed: 20 * time.Second}
	s = sharded{Items: 8_000_000, Beside: 1, Cut: part{Elapsed: 10 * time.Second}, Parts: slices.Repeat([]part{even}, shards)}
	s.Parts[3].Elapsed = 25 * time.Second // 40,000 a second
	path := filepath.Join(t.TempDir(), "performance.md")
	if err := writePage(path, options{}, nil, shardsCase, nil, &s); err != nil {
		t.Fatal(err)
	}
	if err := writePage(path, options{only: "live"}, nil, "live", nil, nil); err != nil { // what was measured before stays
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| the run that splits |  | 10.0 s |", "the longest shard: 35.0 s", "100,000,000 / 8 × 1.00 / 40,000 a second = 5 min, in 2 runs",
		"lists all names: 100,000,000 in 2 min.\n"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	s.Cut.Elapsed = time.Minute
	var slow strings.Builder
	s.write(&slow, section{})
	if want := "lists all names: 100,000,000 in 12 min. A run has 570.0 s for it, so the last shard would be larger"; !strings.Contains(slow.String(), want) {
		t.Errorf("the page does not say %q:\n%s", want, &slow)
	}
}

// TestGoesOn has a job that needs two runs: they are measured together.
func TestGoesOn(t *testing.T) {
	google, err := standin.Start(project, bucket, standin.World{}, standin.Link{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = google.Close() })
	credentials := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(credentials, google.Credentials, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentials)
	f := engine.NewFunction(engine.Job{Name: "twice", Plan: func(_ context.Context, p *engine.Planner) error {
		p.Scanned(10)
		if p.Checkpoint() != "" {
			return nil
		}
		return cmp.Or(p.SaveCheckpoint("half"), engine.ErrOutOfTime)
	}}, time.Minute, []config.Backend{config.Firestore})
	f.Log, f.Hooks.Dial = io.Discard, google.Dial()
	f.Getenv = func(name string) string {
		return map[string]string{"GOOGLE_CLOUD_PROJECT": project, "DRY_RUN": "false"}[name]
	}
	defer f.Close()
	report, runs, err := measured{}.call(f, 1, time.Now().Add(-time.Second))
	if err != nil || runs != 2 || report.Status != engine.Completed || report.Scanned != 20 {
		t.Errorf("%d runs, %+v, %v", runs, report, err)
	}
}

// TestPage writes the page of some runs, and refuses wrong use.
func TestPage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "performance.md")
	var runs []run
	for _, ms := range []int{0, 40} {
		for _, n := range []int{1000, 50_000} {
			r := run{Case: "missing", Items: n, Link: linkOf(time.Duration(ms)*time.Millisecond, options{}), Job: "cleanupOrphanedMedia", Status: engine.Completed, Runs: 1, Memory: 50 << 20}
			r.Elapsed = time.Duration(ms+1) * time.Second
			runs = append(runs, r)
		}
	}
	if err := writePage(path, options{}, []string{"-full"}, "missing", runs, nil); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plot, err := os.ReadFile(filepath.Join(filepath.Dir(path), "performance", "missing.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lab -full", "50,000 objects, answers after 40ms make the run 41.00 times", "commit 8d7683e", "16,876"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	if !bytes.Contains(plot, []byte("job, 40ms")) {
		t.Errorf("the plot lacks a line:\n%s", plot)
	}
	again := runs[len(runs)-1]
	again.Elapsed = 3 * time.Second
	idle := run{Case: "live", Job: "cleanupOrphanedMedia", Status: engine.Completed, Link: again.Link}
	if err := writePage(path, options{only: "missing", items: []int{50_000}}, []string{"-case", "missing"}, "missing", []run{again, idle}, nil); err != nil {
		t.Fatal(err)
	}
	if page, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{"| cleanupOrphanedMedia | 50,000 | 40ms | 3.0 s |": 1, "lab -full": 1, "## Nothing to do": 1, "| cleanupOrphanedMedia | 1,000 | 0s | 1.0 s |": 1,
		"50,000 objects took 3.0 s, so 16,666 a second": 1, "10,000,000 / 16,666 = 10 min": 1} {
		if got := strings.Count(string(page), want); got != times {
			t.Errorf("the page says %q %d times, want %d:\n%s", want, got, times, page)
		}
	}
	// A run of all cases that fails at the second one keeps the first, and leaves the others and their command as they were.
	live := run{Case: "live", Items: 1000, Job: "cleanupOrphanedMedia", Status: engine.Completed, Runs: 1, Memory: 50 << 20, Link: again.Link, Elapsed: time.Second}
	if err := writePage(path, options{}, []string{"-seed", "3"}, "live", []run{live}, nil); err != nil {
		t.Fatal(err)
	}
	if err := writePage(path, options{items: []int{5}}, []string{"-items", "5"}, shardsCase, nil, nil); err != nil { // of each case some rows
		t.Fatal(err)
	}
	if page, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lab -full", "| cleanupOrphanedMedia | 1,000 | 40ms | 1.0 s |", "| cleanupOrphanedMedia | 50,000 | 40ms | 3.0 s |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	if err := writePage(path, options{}, []string{"-seed", "3"}, shardsCase, nil, nil); err != nil {
		t.Fatal(err)
	}
	if page, err = os.ReadFile(path); err != nil || !strings.Contains(string(page), "lab -seed 3") || strings.Contains(string(page), "lab -full") {
		t.Errorf("the page does not name the command: %v\n%s", err, page)
	}
	for _, args := range [][]string{{"x"}, {"-backend", "x"}, {"-case", "x"}, {"-items", "0"}, {"-latency", "1"}, {"-errors", "1"}} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
