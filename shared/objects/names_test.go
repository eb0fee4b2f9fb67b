package objects

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
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

const (
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base64 = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	hexes  = "0123456789abcdef"
)

// namer makes names.
type namer struct {
	*rand.Rand
	users []string
	i, n  int
}

func (r namer) text(n int, letters string) string {
	b := make([]byte, n)
	for k := range b {
		b[k] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func (r namer) kanji(n int) string {
	b := make([]rune, n)
	for k := range b {
		b[k] = '\u4e00' + rune(r.IntN(5000))
	}
	return string(b)
}

func (r namer) word() string {
	const consonants, vowels = "bcdfghklmnprstvwz", "aaeeiou"
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(r.text(1, consonants) + r.text(1, vowels))
	}
	return b.String()
}

// naming is a way to name objects: how long a listing takes depends on how their names look.
type naming struct {
	name string
	make func(r namer) string // the i-th of n names
}

// namings: the first twelve are those that ways to list were compared on; the others stand for what else there may be.
var namings = []naming{
	{"uidmillis", func(r namer) string {
		return r.users[r.i/20] + "/" + fmt.Sprint(1600000000000+int64(r.i%20)*5_000_000_000+int64(r.i%7)*1000003) + ".jpg"
	}},
	{"uid", func(r namer) string { return r.users[r.i/50] + "/" + r.text(32, hexes) + ".jpg" }},
	{"millis", func(r namer) string {
		return fmt.Sprint(1500000000000+int64(r.i)*250_000_000_000/int64(r.n)) + "_" + r.text(6, base62) + ".jpg"
	}},
	{"uuid", func(r namer) string {
		return r.text(8, hexes) + "-" + r.text(4, hexes) + "-" + r.text(20, hexes) + ".jpg"
	}},
	{"folder", func(r namer) string { return fmt.Sprintf("u%04d/%09d.jpg", r.i/2000, r.i) }},
	{"date", func(r namer) string {
		day := r.i / 400
		return fmt.Sprintf("%04d/%02d/%02d/IMG_%05d.jpg", 2015+day/336, 1+day/28%12, 1+day%28, r.i%400)
	}},
	{"unicode", func(r namer) string { return r.kanji(3) + "/" + r.kanji(2) + ".jpg" }},
	{"longprefix", func(r namer) string {
		return strings.Repeat("abcdefghij", 20) + "/" + r.text(12, base62) + ".jpg"
	}},
	{"unpadded", func(r namer) string { return fmt.Sprintf("%d.jpg", r.i) }},
	{"skew", func(r namer) string {
		return fmt.Sprintf("all/%010d.jpg", int64(math.Pow(r.Float64(), 6)*9.99e9))
	}},
	{"clusters", func(r namer) string {
		if r.i%2 == 0 {
			return "aaaa/" + fmt.Sprintf("%09d", r.i) + ".jpg"
		}
		return "zzzz/" + r.text(16, hexes) + ".jpg"
	}},
	{"heavy", func(r namer) string {
		if r.i%10 > 0 {
			return "heavyUser0000000000000000000/" + r.text(16, base62) + ".jpg"
		}
		return r.text(28, base62) + "/" + r.text(16, base62) + ".jpg"
	}},
	{"base64", func(r namer) string { return r.text(22, base64) }},
	{"email", func(r namer) string {
		at := []string{"gmail.com", "example.org", "web.de", "yahoo.co.jp"}[r.IntN(4)]
		return r.word() + "." + r.word() + fmt.Sprint(r.IntN(100)) + "@" + at + "/avatar.png"
	}},
	{"words", func(r namer) string {
		w := r.word()
		return strings.ToUpper(w[:r.IntN(2)]) + w[r.IntN(2):] + " " + r.word() + " (" + fmt.Sprint(r.IntN(1000)) + ")%20.JPG"
	}},
	{"snowflake", func(r namer) string {
		return fmt.Sprint((int64(r.i)*400_000_000_000/int64(r.n)+r.Int64N(1000))<<22 | r.Int64N(1<<12))
	}},
	{"hashed", func(r namer) string {
		h := r.text(32, hexes)
		return h[:2] + "/" + h[2:4] + "/" + h + ".bin"
	}},
	{"tinyfolders", func(r namer) string { return fmt.Sprintf("post-%d/thumb_%d.webp", r.i/2, r.i%2) }},
	{"hugefolders", func(r namer) string {
		return []string{"archive", "exports/2023", "exports/2024", "incoming", "public/img", "tmp", "videos"}[r.i%7] + "/" +
			r.text(10, base62)
	}},
	{"gaps", func(r namer) string {
		at := r.i
		for _, gap := range []int{1_000, 27_000, 100_000, 200_000} {
			if r.i > gap {
				at += gap * 13
			}
		}
		return fmt.Sprintf("img_%012d.png", at)
	}},
	{"reversed", func(r namer) string {
		return fmt.Sprint(9999999999999-(1_700_000_000_000+int64(r.Float64()*r.Float64()*4e10)*3)) + "-" + r.text(4, hexes)
	}},
	{"tenants", func(r namer) string {
		switch r.i % 5 {
		case 0:
			return "acme/" + fmt.Sprintf("%08d", r.i) + ".pdf"
		case 1:
			return "bluth/" + r.text(8, hexes) + "-" + r.text(12, hexes)
		case 2:
			return "cyberdyne/2024-" + fmt.Sprintf("%02d-%02d", 1+r.IntN(12), 1+r.IntN(28)) + "/" + r.text(6, base62)
		case 3:
			return "日本/" + r.kanji(2) + r.kanji(2)
		}
		return "zorg/" + r.users[r.i/50] + "/" + fmt.Sprint(r.i)
	}},
	{"zipf", func(r namer) string {
		return r.users[int(math.Pow(float64(len(r.users)), r.Float64()))-1] + "/" + r.text(20, base62)
	}},
	{"versions", func(r namer) string {
		return fmt.Sprintf("app/v%d.%d.%d/assets/chunk.%s.js", r.i/90_000, r.i/3000%30, r.i/100%30, r.text(8, hexes))
	}},
	{"longtail", func(r namer) string {
		if r.i < r.n*98/100 {
			return "a/" + r.text(20, base62)
		}
		return r.text(1+r.IntN(4), base62[36:]) + "/" + r.text(5+r.IntN(100), base62)
	}},
	{"longest", func(r namer) string {
		return strings.Repeat("写", 300) + r.text(1024-len("posts/")-900-1, base62) + "/"
	}},
	{"ulid", func(r namer) string {
		const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
		at := 1_650_000_000_000 + int64(r.i)*100_000_000_000/int64(r.n)
		var b [10]byte
		for k := 9; k >= 0; k, at = k-1, at>>5 {
			b[k] = crockford[at&31]
		}
		return string(b[:]) + r.text(16, crockford)
	}},
}

// names returns about n names, in order and each once. They all begin with posts/.
func (k naming) names(n int) []string {
	r := namer{Rand: rand.New(rand.NewPCG(7, 9)), n: n}
	for range n/20 + 1 {
		r.users = append(r.users, r.text(28, base62))
	}
	out := make([]string, 0, n)
	for r.i = range n {
		out = append(out, "posts/"+k.make(r))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
