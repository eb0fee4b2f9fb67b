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
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine"
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
			if r.Status != report.Completed {
				t.Errorf("%s: %v", r.Status, r.failures)
			}
			if r.Done != m.due(n) || r.Runs != 1 {
				t.Errorf("%d done in %d runs, want %d", r.Done, r.Runs, m.due(n))
			}
		})
	}
}

// TestOriginals: each job's page says how long its original takes. Of the smallest data that has all kinds of items, each request
// is counted here once more.
func TestOriginals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		n    int
		want int
	}{
		{"missing", 22, 3 + 22 + 2}, {"inquiries", 10, 1 + 9 + 1}, {"circles", 20, 1 + 2 + 21}, {"banned", 500, 1 + 2},
		{"banned", 10_000, 2 + 40}, {"reports", 20_000, 4}, {"comped", 20, 5}, {"projects", 2000, 1 + 5 + 400 + 2*100 + 3*100},
		{"warning", 1, 3}, {"invites", 2020, 1 + 2*2 + 1}, {"placeholders", 10, 3}, {"placeholder", 1, 9},
	} {
		if got := caseOf(tt.name).original(tt.n); got != tt.want {
			t.Errorf("%s of %d: %d requests, want %d", tt.name, tt.n, got, tt.want)
		}
	}
	for _, m := range cases {
		if !slices.ContainsFunc(cases, func(of measured) bool { return of.job == m.job && of.original != nil }) {
			t.Errorf("no case says how long the original of %s takes", m.job)
		}
	}
}

// measures fails the test if nothing was measured of a process.
func measures(t *testing.T, memory int64, elapsed time.Duration) {
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
		{"reports", 4_000, 420, 9, 0},         // 8, and 420 reads, which were 816; 5 when it read beside the lease and the pins
		{"warning", 1, 10, 9, 0},              // 7, which were 10
		{"placeholder", 3, 3 * 20, 3 * 18, 0}, // 14 for each task, which were 29 when each question waited for the one before
	} {
		r, err := measure(t.Context(), caseOf(tt.name), point{items: tt.n, answer: 20 * time.Millisecond})
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
	if r.Status != report.Completed {
		t.Errorf("%s", r.Status)
	}
	if turn := r.Traffic.Turn; turn < 10*time.Millisecond || turn > time.Second {
		t.Errorf("a lookup waited up to %s", turn)
	}
}

// TestPoints: each job is measured with nothing to do, each case with and without the link, and what is asked for besides.
func TestPoints(t *testing.T) {
	t.Parallel()
	const long, short = longLink, 10 * time.Millisecond
	for name, want := range map[string][]point{
		"missing":     {{50_000, 0}, {50_000, long}, {1_100_000, long}},
		"reports":     {{0, long}, {20_000, 0}, {20_000, long}, {20_000, short}},
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
	at := func(items int, answer, took time.Duration, memory int64) run {
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
	var said bytes.Buffer
	s, err := measureShards(t.Context(), 16_000, 0, &said)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range s.Parts {
		if p.Scanned < 1900 || p.Scanned > 2100 {
			t.Errorf("shard %d scanned %d, want a shards-th of 16,000", i, p.Scanned)
		}
		if p.Runs != 1 {
			t.Errorf("shard %d took %d runs", i, p.Runs)
		}
		if p.Usage.StorageClassA == 0 {
			t.Errorf("shard %d listed nothing", i)
		}
		measures(t, p.Memory, p.Elapsed)
	}
	if s.Cut.Scanned != 0 || s.Cut.Runs != 1 {
		t.Errorf("the run that splits scanned %d in %d runs", s.Cut.Scanned, s.Cut.Runs)
	}
	if len(s.Parts) != shards {
		t.Errorf("%d shards", len(s.Parts))
	}
	if !strings.Contains(said.String(), "shard 7") {
		t.Errorf("said %s", &said)
	}
}

// TestGoesOn has a job that needs two runs: they are measured together.
func TestGoesOn(t *testing.T) {
	google, err := standin.Start(project, bucket, &standin.World{}, standin.Link{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(google.Close)
	credentials := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(credentials, []byte(standin.Credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentials)
	google.Everywhere()
	f := engine.NewFunction(cleanup.Job{Name: "twice", Plan: func(_ context.Context, p *cleanup.Planner) error {
		p.Scanned(10)
		if p.Checkpoint != "" {
			return nil
		}
		return cmp.Or(p.SaveCheckpoint("half"), cleanup.ErrOutOfTime)
	}}, time.Minute, []config.Backend{config.Firestore})
	f.Log, f.Hooks.Dial = io.Discard, google.Dial()
	f.Getenv = func(name string) string {
		return map[string]string{"GOOGLE_CLOUD_PROJECT": project, "DRY_RUN": "false"}[name]
	}
	defer f.Close()
	rep, runs, err := measured{}.call(f, 1, time.Now().Add(-time.Second))
	if err != nil || rep.Status != report.Completed {
		t.Fatalf("%+v, %v", rep, err)
	}
	if runs != 2 || rep.Scanned != 20 {
		t.Errorf("%d runs scanned %d", runs, rep.Scanned)
	}
}

// everything returns figures of all cases: a run without a link takes a second, one over the link two.
func everything() (all results) {
	add := func(name, kind string, p point, took time.Duration) {
		all.Runs = append(all.Runs, run{
			Case: name, Kind: kind, Items: p.items, Answer: p.answer, Elapsed: took, Job: "job of " + name, Runs: 1,
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
	even := part{Scanned: 1_000_000, Runs: 1, Elapsed: 20 * time.Second}
	all.Shards = &sharded{Items: 8_000_000, Beside: 1, Cut: part{Elapsed: 10 * time.Second}, Parts: slices.Repeat([]part{even}, shards)}
	all.Shards.Parts[3].Elapsed = 25 * time.Second // 40,000 a second
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
			"| `cleanupReports` | reports | 20,000 documents | 1.0 s | 2.0 s | ", " | 4.0 s | 0.2 s | 0 | 0 | 4,000 | 50 MiB |",
			"| `cleanupOrphanedMedia` | missing | 50,000 objects | 1.0 s | 2.0 s | 2.00 | 4.5 s | 36 min |",
			"| live | 10,000,000 | 40ms | 2.0 s |  | 5,000,000 | 0 | 2,000,000 |", "| 10ms | 2.0 s | 0 | 4,000 | 2.00 | 50 MiB |",
			"| unicode | `posts/垲娽姝/彃宯.jpg` | 6.0 s | 1.50 | 2.00 | 6.0 s | 1.50 | 2.00 |",
			"split in 2 min, and the longest shard would take 5 min,\nin 2 runs of 285.0 s",
		},
		"performance/live.svg": {">1,000,000</text>"}, "performance/names.svg": {">unicode</text>"},
		"performance/jobs.svg": {">the original&#39;s algorithm, 40ms</text>"},
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
