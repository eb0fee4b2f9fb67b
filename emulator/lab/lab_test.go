package main

import (
	"bytes"
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
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/usage"
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

// TestCases runs every case over a short link: all must be deleted that is due, and nothing else.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, m := range cases {
		n := 440
		if m.task != nil {
			n = 3
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r, err := measure(t.Context(), m, point{n, time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if m.due(n) > 0 && r.Traffic.Chain < 2 {
				t.Errorf("only %d round trips", r.Traffic.Chain)
			}
			measures(t, r.Memory, r.Elapsed)
			if r.Traffic.Requests == 0 {
				t.Error("no request was counted")
			}
			if r.Done != m.due(n) {
				t.Errorf("%d done, want %d", r.Done, m.due(n))
			}
		})
	}
}

// measures fails the test if nothing was measured of a process.
func measures(t *testing.T, memory int, elapsed time.Duration) {
	t.Helper()
	if memory == 0 {
		t.Error("no memory was measured")
	}
	if elapsed == 0 {
		t.Error("no time was measured")
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
		{"reports", 4_000, 820, 20, 0},        // each is read once more in the commit that deletes it, of which the first are small
		{"warning", 1, 10, 9, 0},              // 7, which were 10
		{"placeholder", 3, 3 * 20, 3 * 18, 0}, // 14 for each task, which were 29 when each question waited for the one before
	} {
		var r run
		var err error
		// On a busy machine, what is asked side by side may come after an answer: the longer answers take, the more rarely.
		for answer := 20 * time.Millisecond; answer <= 180*time.Millisecond; answer *= 3 {
			if r, err = measure(t.Context(), caseOf(tt.name), point{items: tt.n, answer: answer}); err != nil || r.Traffic.Chain <= tt.trips {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for what, n := range map[string][2]int64{
			"reads":       {r.Usage.FirestoreReads, tt.reads},
			"round trips": {r.Traffic.Chain, tt.trips},
			"pages":       {r.Usage.StorageClassA, tt.more * int64(tt.n) / 1000},
		} {
			if n[0] > n[1] {
				t.Errorf("%s: %d %s, want at most %d", tt.name, n[0], what, n[1])
			}
		}
	}
}

// TestBusyService: a service that bears few lookups is asked for few at once, so nobody waits long for it. All at once would wait two
// seconds.
func TestBusyService(t *testing.T) {
	t.Parallel()
	r, err := measure(t.Context(), caseOf("busy"), point{items: 20_000, answer: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if turn := r.Traffic.Turn; turn < 10*time.Millisecond || turn > time.Second {
		t.Errorf("a lookup waited up to %s", turn)
	}
}

// TestPoints: each job is measured with nothing to do, each case with and without the link, and what is asked for besides.
func TestPoints(t *testing.T) {
	t.Parallel()
	const long = longLink
	for name, want := range map[string][]point{
		"missing":     {{50_000, 0}, {50_000, long}, {1_100_000, long}},
		"reports":     {{0, long}, {20_000, 0}, {20_000, long}},
		"placeholder": {{20, 0}, {20, long}},
	} {
		if got := caseOf(name).points(0); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got, want := caseOf("live").points(30), []point{{0, long}, {30, 0}, {30, long}}; !slices.Equal(got, want) {
		t.Errorf("live of 30: %v, want %v", got, want)
	}
	if got := len(caseOf("live").points(0)); got != 1+2*5+2+1 {
		t.Errorf("live has %d runs", got)
	}
}

// TestMedians: of runs that measured the same, the median time counts, and the most memory.
func TestMedians(t *testing.T) {
	at := func(items int, answer, took time.Duration, memory int) run {
		return run{Case: "live", Items: items, Answer: answer, Elapsed: took, Memory: memory}
	}
	var got []string
	for _, r := range medians([]run{
		at(1000, 0, 7, 1), at(2000, 0, 30, 5), at(2000, 40, 90, 4), at(2000, 0, 10, 9), at(2000, 40, 60, 8), at(2000, 0, 20, 6), at(2000, 40, 70, 2),
	}) {
		got = append(got, fmt.Sprintf("%d over %d: %d, %d bytes", r.Items, r.Answer, r.Elapsed, r.Memory))
	}
	if want := []string{"1000 over 0: 7, 1 bytes", "2000 over 0: 20, 9 bytes", "2000 over 40: 70, 8 bytes"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWorlds checks that the objects' names ascend, as the stand-in demands.
func TestWorlds(t *testing.T) {
	t.Parallel()
	for _, m := range cases {
		for _, n := range []int{1, 11, 1000} {
			objects := m.world(n, time.Now()).Objects
			for i := 1; i < objects.Len; i++ {
				if a, b := objects.Name(i-1), objects.Name(i); a >= b {
					t.Fatalf("%s of %d: object %d is %s, and then comes %s", m.name, n, i-1, a, b)
				}
			}
		}
	}
}

// TestNames measures two kinds of names, each without a link and over one.
func TestNames(t *testing.T) {
	t.Parallel()
	kinds := slices.DeleteFunc(slices.Clone(names.Kinds), func(k names.Kind) bool { return k.Name != "skew" && k.Name != "unicode" })
	runs, err := measureNames(t.Context(), kinds, 3000, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, r := range runs {
		got = append(got, fmt.Sprintf("%d of %s over %s", r.Items, r.Kind, r.Answer))
		if r.Traffic.Listings < 5 || r.Usage.FirestoreReads < int64(r.Items)/2/30 || r.Memory == 0 { // two more folders are listed
			t.Errorf("%s: %+v", got[i], r)
		}
	}
	if want := []string{"3000 of unicode over 0s", "3000 of unicode over 40ms", "2885 of skew over 0s", "2885 of skew over 40ms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestInShards splits a run, and has each shard run in a process of its own: together they look at everything once.
func TestInShards(t *testing.T) {
	t.Parallel()
	runs, err := measureShards(t.Context(), 16_000, 0, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 1+shards || runs[0].Kind != theSplit || runs[0].Items != 0 {
		t.Fatalf("%+v", runs)
	}
	for _, r := range runs[1:] {
		if r.Items < 1900 || r.Items > 2100 {
			t.Errorf("%s scanned %d, want a shards-th of 16,000", r.Kind, r.Items)
		}
		if r.Usage.StorageClassA == 0 || r.Traffic.Requests == 0 {
			t.Errorf("%s listed nothing: %+v", r.Kind, r)
		}
		measures(t, r.Memory, r.Elapsed)
	}
}

// everything returns figures of all cases: a run without a link takes a second, one over the link two.
func everything() (all results) {
	add := func(name, kind string, p point, took time.Duration) {
		all.Runs = append(all.Runs, run{
			Case: name, Kind: kind, Items: p.items, Answer: p.answer, Elapsed: took, Job: "job of " + name,
			Status: report.Completed, Memory: 50 << 20, Done: p.items / 10, Usage: usage.Usage{FirestoreReads: int64(p.items / 5)},
			Traffic: standin.Traffic{Listings: int64(p.items / 500)},
		})
	}
	for _, m := range cases {
		for _, p := range slices.Compact(m.points(0)) {
			took := time.Second
			if p.answer > 0 {
				took = 2 * time.Second
			}
			add(m.name, "", p, took)
		}
	}
	for _, kind := range names.Kinds {
		for _, n := range sizesOfNames {
			add(namesCase, kind.Name, point{items: n}, 4*time.Second)
			add(namesCase, kind.Name, point{items: n, answer: longLink}, 6*time.Second)
		}
	}
	add(shardsCase, theSplit, point{0, longLink}, 10*time.Second)
	for i := range shards {
		add(shardsCase, fmt.Sprintf("shard %d", i), point{1_000_000 + 1000*i, longLink}, 20*time.Second)
	}
	return all
}

// TestPage writes the page, within its size.
func TestPage(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	if err := os.Mkdir(filepath.Join(docs, "performance"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := everything().write(docs); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"performance.md": {
			"| `cleanupReports` | reports | 20,000 documents | 1.0 s | 2.0 s | ", " | 4.0 s | 0 | 0 | 4,000 | 50 MiB |",
			"| `cleanupOrphanedMedia` | missing | 50,000 objects | 1.0 s | 2.0 s | 2.00 | 4.5 s | 0 |",
			"| live | 10,000,000 | 40ms | 2.0 s |  | 5,000,000 | 0 | 2,000,000 |",
			"| unicode | `posts/垲娽姝/彃宯.jpg` | 6.0 s | 1.50 | 2.00 | 6.0 s | 1.50 | 2.00 |",
			"| the split | 0 | 40ms | 10.0 s |", "| its largest shard | 1,007,000 | 40ms | 20.0 s |  | 50,350 |",
			"| its slowest shard | 1,000,000 | 40ms | 20.0 s |  | 50,000 |",
		},
		"performance/live.svg": {">1,000,000</text>"}, "performance/names.svg": {">unicode</text>"},
		"performance/jobs.svg": {">answers after 40ms</text>"},
		"performance/usage.json": {
			`{"Case":"reports","Job":"job of reports","Items":20000,"Done":2000,"Usage":{"firestoreReads":4000}}`,
		},
	} {
		text, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if strings.Count(string(text), part) != 1 {
				t.Errorf("%s does not say %q once:\n%s", name, part, text)
			}
		}
		if most := map[bool]int{true: 13_500, false: 4096}[name == "performance.md"]; len(text) > most {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}

// TestWrongUse refuses what the command does not know.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"x"}, {"-case", "x"}, {"-items", "-1"}, {"-full"}} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
