package objects

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// Flags of TestNamesOfAllKinds. With -objects 1000000 it takes minutes.
var (
	howMany = flag.Int("objects", 30_000, "how many names of each kind")
	changed = flag.Float64("changed", 0.005, "the part of the names that come between two runs; half as many go")
)

// otherNamings are kinds that the listing was not made on.
var otherNamings = []naming{
	{"client", func(r namer) string { // somebody's files with the longest names, behind everybody's
		if r.i%4 > 0 {
			return r.users[r.i/50] + "/" + r.text(20, base62)
		}
		return "~" + r.text(1017, base62)
	}},
	{"giant", func(r namer) string { // nearly all in one folder of many
		if r.i%20 > 0 {
			return "m/" + r.text(8, hexes)
		}
		return r.text(3, base62) + "/" + r.text(300, base62)
	}},
	{"nested", func(r namer) string {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(r.word() + "/")
		}
		return b.String() + r.text(4, base62)
	}},
	{"emoji", func(r namer) string {
		return string(rune(0x1F300+r.IntN(700))) + string(rune(0x1F300+r.IntN(700))) + r.text(3, base62)
	}},
}

// nextNight returns the names of the next run: some have come and gone anywhere, and one of a hundred at the end.
func nextNight(names []string, change float64) []string {
	random := rand.New(rand.NewPCG(1, 2))
	now := make([]string, 0, len(names))
	for i, name := range names {
		if random.Float64() < change/2 {
			continue
		}
		now = append(now, name)
		_, last := utf8.DecodeLastRuneInString(name)
		if more := name[:len(name)-last] + "~"; random.Float64() < change || i > len(names)*99/100 && random.IntN(2) == 0 {
			now = append(now, more)
		}
	}
	slices.Sort(now)
	return slices.Compact(now)
}

// kept stands for what a job keeps of an object until it is its turn.
type kept struct {
	name string
	_    [24]uint64
}

// TestNamesOfAllKinds lists names of many kinds for the second time, by a simulated clock: a page takes from 90 to 150 ms, 120 on
// average, and taking it none. It tells how much longer that takes than 16 requests at once would.
func TestNamesOfAllKinds(t *testing.T) { //nolint:paralleltest // others would be counted with what is in memory
	for _, kind := range append(slices.Clone(namings), otherNamings...) {
		names := kind.names(*howMany)
		saved := cutsOf(names)
		names = nextNight(names, *changed)
		s := simulate(t, names, saved)
		pages := (len(names) + pageSize - 1) / pageSize
		ideal := time.Duration(pages) * 120 * time.Millisecond / atOnce
		more := 100 * float64(s.requests-pages) / float64(pages)
		t.Logf("%-11s %.2f times the ideal, %4.1f %% more requests than pages, %3d MiB, %3d cuts of %5d bytes", kind.name,
			float64(s.took)/float64(ideal), more, s.heap>>20, len(saved), len(strings.Join(saved, "")))
		if *changed <= 0.005 && (s.took > ideal*3/2+300*time.Millisecond || s.requests > pages+pages/50+1 || s.heap > 128<<20) {
			t.Errorf("%s: %s, ideal are %s; %d requests for %d pages; %d MiB", kind.name, s.took, ideal, s.requests, pages, s.heap>>20)
		}
	}
}

// simulated is what a listing over a link came to.
type simulated struct {
	took     time.Duration
	requests int
	heap     int // bytes of the pages ahead, by the garbage collector
}

func simulate(t *testing.T, names, saved []string) (s simulated) {
	t.Helper()
	f := fake(names)
	f.answers = func(from string) {
		by := fnv.New64a()
		_, _ = by.Write([]byte(from)) // it never fails
		time.Sleep(90*time.Millisecond + time.Duration(by.Sum64()%60_000)*time.Microsecond)
	}
	synctest.Test(t, func(t *testing.T) {
		began, before, given, pages := time.Now(), alive(), 0, 0
		l := listing[kept]{open: f.open("posts/"), of: func(o Object) kept { return kept{name: strings.Clone(o.Name)} }}
		if err := l.read(t.Context(), divide("posts/", Names{}, saved), func(page []kept) bool {
			given += len(page)
			if pages++; pages%25 == 10 {
				s.heap = max(s.heap, alive()-before)
			}
			return true
		}); err != nil || given != len(names) {
			t.Errorf("%d names of %d and %v", given, len(names), err)
		}
		s.took, s.requests = time.Since(began), int(f.requests.Load())
	})
	return s
}

// alive returns how many bytes are in use.
func alive() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
