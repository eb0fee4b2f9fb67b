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

// howMany is a flag of TestNamesOfAllKinds. With -objects 1000000 it takes minutes.
var howMany = flag.Int("objects", 30_000, "how many names of each kind")

// changed is the part of the names that come between two runs; half as many go.
const changed = 0.005

// nextNight returns the names of the next run: some have come and gone anywhere, and one of a hundred at the end.
func nextNight(names []string) []string {
	random := rand.New(rand.NewPCG(1, 2))
	now := make([]string, 0, len(names))
	for i, name := range names {
		if random.Float64() < changed/2 {
			continue
		}
		now = append(now, name)
		_, last := utf8.DecodeLastRuneInString(name)
		if more := name[:len(name)-last] + "~"; random.Float64() < changed || i > len(names)*99/100 && random.IntN(2) == 0 {
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
	for _, kind := range namings {
		names := kind.names(*howMany)
		saved := cutsOf(names)
		names = nextNight(names)
		s := simulate(t, names, saved)
		pages := (len(names) + pageSize - 1) / pageSize
		ideal := time.Duration(pages) * 120 * time.Millisecond / atOnce
		more := 100 * float64(s.requests-pages) / float64(pages)
		t.Logf("%-11s %.2f times the ideal, %4.1f %% more requests than pages, %3d MiB, %3d cuts of %5d bytes", kind.name,
			float64(s.took)/float64(ideal), more, s.heap>>20, len(saved), len(strings.Join(saved, "")))
		if s.took > ideal*3/2+300*time.Millisecond || s.requests > pages+pages/50+1 || s.heap > 128<<20 {
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
