package objects

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/firesweep/firesweep/emulator/check"
)

// fakeBucket answers a listing from names in order, as Cloud Storage does, a page of pageSize at most.
type fakeBucket struct {
	now      func() []string // names in order
	answers  func(from string)
	requests atomic.Int64
	fail     int64 // the request that fails
}

func fake(names []string) *fakeBucket {
	return &fakeBucket{now: func() []string { return names }, answers: func(string) {}}
}

var errFake = errors.New("it was made to fail")

// mayBegin reports whether a name can begin so.
func mayBegin(offset string) bool {
	return len(offset) <= maxName && utf8.ValidString(offset) && !strings.ContainsAny(offset, "\x00\r\n")
}

func (b *fakeBucket) open(prefix string) func(context.Context, Names) pager {
	return func(ctx context.Context, names Names) pager {
		from := max(prefix, names.From)
		return func() (page []Object, more bool, err error) {
			if !mayBegin(from) || !mayBegin(names.Before) {
				return nil, false, fmt.Errorf("the offsets %q and %q can begin no names", from, names.Before)
			}
			if b.answers(from); ctx.Err() != nil {
				return nil, false, ctx.Err()
			}
			if b.requests.Add(1) == b.fail {
				return nil, false, errFake
			}
			all := b.now()
			i, _ := slices.BinarySearch(all, from)
			for n := 0; i < len(all) && strings.HasPrefix(all[i], prefix) && (names.Before == "" || all[i] < names.Before); i++ {
				if n++; n > pageSize {
					from = all[i]
					return page, true, nil
				}
				if names.hold(all[i]) {
					page = append(page, Object{Name: all[i]})
				}
			}
			return page, false, nil
		}
	}
}

// list returns all names of a listing.
func (b *fakeBucket) list(ctx context.Context, prefix string, names Names, saved []string) (got []string, err error) {
	l := listing[string]{open: b.open(prefix), of: func(o Object) string { return o.Name }}
	err = l.read(ctx, divide(prefix, names, saved), func(page []string) bool { got = append(got, page...); return true })
	return got, err
}

// cutsOf returns the cuts that a listing of names leaves.
func cutsOf(names []string) []string {
	var c Cutter
	for _, name := range names {
		c.See(name)
	}
	return c.Cuts(nil, "", "", true)
}

// denser returns what a listing would leave that were cut much more often, so that few names have many cuts.
func denser(names []string, every int) (saved []string) {
	var cuts []string
	for i := every; i < len(names) && len(cuts) < maxCuts; i += every {
		cuts = append(cuts, names[i])
	}
	return packed(cuts)
}

// forged are cuts that no listing leaves, or not one of these names.
func forged(random *rand.Rand, names []string) map[string][]string {
	own := denser(names, len(names)/60+1)
	var texts []string
	for i := range own {
		texts = append(texts, own[len(own)-1-i])
	}
	all := map[string][]string{
		"unsorted": texts, "twice": append(slices.Clone(own), own...), "no cuts": {"", ":", "x", "-1:a", "1:", "9999999999999999999999:a"},
		"invalid": {"0:posts/\xe5"}, "too long": {"0:posts/" + strings.Repeat("x", 1019)}, "with a zero": {"0:posts/a\x00"},
		"a part of a character": {"0:posts/写", "7:\x86b"}, "before and behind all": packed([]string{"a", "b/", "posts", "posts0", "q"}),
		"of the folder itself": packed([]string{"posts/"}), "too many": denser(make([]string, 0), 1), "empty": {},
	}
	for i := range 2 * maxCuts {
		all["too many"] = append(all["too many"], fmt.Sprintf("0:posts/%05d", i))
	}
	cuts := []string{}
	for range 100 {
		if len(names) > 0 {
			name := names[random.IntN(len(names))]
			cuts = append(cuts, name[:random.IntN(len(name)+1)]+string(rune('0'+random.IntN(9000))))
		}
	}
	slices.Sort(cuts)
	all["stale"] = packed(slices.Compact(slices.DeleteFunc(cuts, func(cut string) bool { return !mayBegin(cut) })))
	return all
}

// TestListing: each name comes once, in order, whatever the names and the cuts are. The cuts of a listing cost the next one few
// requests more than there are pages.
func TestListing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 14))
	for _, kind := range namings {
		for _, n := range []int{0, 1, pageSize, pageSize + 1, 9000} {
			names := kind.names(n)
			all := append(slices.Clone(names), "posts", "postsx", "a", "q")
			slices.Sort(all)
			tried := forged(random, names)
			tried["none"], tried["its own"], tried["dense"] = nil, cutsOf(names), denser(names, 40)
			for what, saved := range tried {
				b := fake(all)
				got, err := b.list(t.Context(), "posts/", Names{}, saved)
				if err != nil || !slices.Equal(got, names) {
					t.Fatalf("%d %s with cuts %s: %d names and %v", len(names), kind.name, what, len(got), err)
				}
				pages := max(1, (len(names)+pageSize-1)/pageSize)
				if most := pages + len(unpacked(saved)); int(b.requests.Load()) > most {
					t.Errorf("%d %s with cuts %s: %d requests, want at most %d", len(names), kind.name, what, b.requests.Load(), most)
				}
				if what == "its own" && int(b.requests.Load()) > pages+1 {
					t.Errorf("%d %s with its own cuts: %d requests for %d pages", len(names), kind.name, b.requests.Load(), pages)
				}
			}
		}
	}
}

// TestListingThatIsStopped after any page goes on behind the last name that was given, with the same cuts.
func TestListingThatIsStopped(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	names := namings[0].names(12_000)
	for _, saved := range [][]string{nil, cutsOf(names), denser(names, 700), denser(names, 77)} {
		for range 6 {
			var got []string
			for again := true; again; {
				left := random.IntN(8)
				l := listing[string]{open: fake(names).open("posts/"), of: func(o Object) string { return o.Name }}
				in := Names{}
				if len(got) > 0 {
					in = Names{From: got[len(got)-1], After: true}
				}
				again = false
				if err := l.read(t.Context(), divide("posts/", in, saved), func(page []string) bool {
					got = append(got, page...)
					left--
					again = left < 0
					return !again
				}); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, names) {
				t.Fatalf("%d names, want %d", len(got), len(names))
			}
		}
	}
}

// TestListingWhileObjectsComeAndGo: what exists all the time is listed once, in order, and nothing twice, whatever happens meanwhile.
func TestListingWhileObjectsComeAndGo(t *testing.T) {
	t.Parallel()
	for _, kind := range namings {
		all := kind.names(9000)
		var requests atomic.Int64
		b := fake(nil)
		b.now = func() (now []string) {
			request := int(requests.Add(1))
			for i, name := range all {
				if i%5 > 1 || (i+request)%2 == 0 { // two of five come and go
					now = append(now, name)
				}
			}
			return now
		}
		got, err := b.list(t.Context(), "posts/", Names{}, denser(all, 900))
		check.OK(t, err)
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s: not in order, or twice", kind.name)
		}
		for i, name := range all {
			if _, found := slices.BinarySearch(got, name); i%5 > 1 && !found {
				t.Fatalf("%s: %s is left out", kind.name, name)
			}
		}
	}
}

// TestListingFailsAsAWhole: if one request fails, the caller got the names before it, and none behind it.
func TestListingFailsAsAWhole(t *testing.T) {
	t.Parallel()
	names := namings[1].names(25_000)
	for _, saved := range [][]string{nil, cutsOf(names), denser(names, 400)} {
		for fail := int64(1); fail < 20; fail += 3 {
			b := fake(names)
			b.fail = fail
			got, err := b.list(t.Context(), "posts/", Names{}, saved)
			if !errors.Is(err, errFake) || len(got) == len(names) || !slices.Equal(got, names[:len(got)]) {
				t.Errorf("request %d fails: %d names and %v", fail, len(got), err)
			}
		}
	}
}

// TestCanceledListing ends with an error, though pages wait.
func TestCanceledListing(t *testing.T) {
	t.Parallel()
	names := namings[1].names(25_000)
	ctx, cancel := context.WithCancel(t.Context())
	b := fake(names)
	b.answers = func(string) {
		if b.requests.Load() > 10 {
			cancel()
		}
	}
	if got, err := b.list(ctx, "posts/", Names{}, denser(names, 900)); !errors.Is(err, context.Canceled) || len(got) == len(names) {
		t.Errorf("%d names and %v", len(got), err)
	}
}

// TestPagesThatNobodyTakes: while the caller is busy, no more is read ahead than may wait, whatever the objects hold.
func TestPagesThatNobodyTakes(t *testing.T) {
	t.Parallel()
	names := namings[0].names(200_000)
	for what, o := range map[string]struct {
		metadata int
		cuts     bool
		most     int // pages that are read when one was given
	}{
		"small": {0, true, maxBytes/(pageSize*300) + 1 + atOnce}, "large": {8 << 10, true, maxBytes/(pageSize*8500) + 1 + atOnce},
		"without cuts": {0, false, 1 + maxReady}, "large without cuts": {64 << 10, false, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := fake(names)
			open := b.open("posts/")
			metadata := map[string]string{"m": strings.Repeat("x", o.metadata)}
			l := listing[Object]{of: func(o Object) Object { return o }, open: func(ctx context.Context, names Names) pager {
				next := open(ctx, names)
				return func() ([]Object, bool, error) {
					page, more, err := next()
					for i := range page {
						page[i].Metadata = metadata
					}
					return page, more, err
				}
			}}
			var saved []string
			if o.cuts {
				saved = cutsOf(names)
			}
			given := 0
			err := l.read(t.Context(), divide("posts/", Names{}, saved), func([]Object) bool {
				synctest.Wait()
				given++
				if got := int(b.requests.Load()) - given + 1; got > o.most {
					t.Errorf("%s: %d pages were asked for when %d were given, want at most %d besides", what, got, given, o.most)
				}
				return given < 40
			})
			check.Same(t, "pages", []any{40, nil}, []any{given, err})
		})
	}
}

// TestCuts: those of a listing that got through take the place of all before it in its folder, those of one that was stopped only of
// those up to where it got.
func TestCuts(t *testing.T) {
	t.Parallel()
	before := packed([]string{"a/x", "posts/00003", "posts/00005", "posts/08000", "posts/09990", "q/x"})
	for what, tt := range map[string]struct {
		from, last string
		ended      bool
		want       []string
	}{
		"through":    {"", "posts/09999", true, []string{"a/x", "posts/0395", "posts/079", "q/x"}},
		"stopped":    {"", "posts/05000", false, []string{"a/x", "posts/0395", "posts/08000", "posts/09990", "q/x"}},
		"continued":  {"posts/00004", "posts/05000", false, []string{"a/x", "posts/00003", "posts/03955", "posts/08000", "posts/09990", "q/x"}},
		"its end":    {"posts/09000", "posts/09999", true, []string{"a/x", "posts/00003", "posts/00005", "posts/08000", "q/x"}},
		"few at all": {"posts/09998", "posts/09999", false, unpacked(before)},
	} {
		var c Cutter
		for i := range 10_000 {
			if name := fmt.Sprintf("posts/%05d", i); name > tt.from && name <= tt.last {
				c.See(name)
			}
		}
		check.Same(t, what, tt.want, unpacked(c.Cuts(before, "posts/", tt.from, tt.ended)))
	}
}

// TestCutsAreFew, however many names there are, and about as far from each other.
func TestCutsAreFew(t *testing.T) {
	t.Parallel()
	for _, n := range []int{cutEvery, cutEvery + 1, 1_100_000} {
		var c Cutter
		name := func(i int) string { return fmt.Sprintf("posts/%s%08d", strings.Repeat("写", 300), i) }
		for i := range n {
			c.See(name(i))
		}
		saved := c.Cuts(nil, "posts/", "", true)
		cuts := unpacked(saved)
		if len(saved) > maxCuts || len(cuts) != len(saved) || len(strings.Join(saved, "")) > maxCutBytes || len(cuts) < min(maxCuts/2, n/cutEvery)-1 {
			t.Fatalf("%d names: %d cuts of %d bytes, %d of use", n, len(saved), len(strings.Join(saved, "")), len(cuts))
		}
		at := 0
		for i, cut := range append(cuts, name(n)) {
			next := at
			for next < n && name(next) < cut {
				next++
			}
			if i < len(cuts) && next-at != c.every || next-at > 2*c.every || c.every > 4*cutEvery {
				t.Fatalf("%d names: %d between cuts %d and %d, want %d", n, next-at, i, i+1, c.every)
			}
			at = next
		}
	}
}

// TestListingThatPanics: what panics while an object is looked at ends the listing with an error, and not the process.
func TestListingThatPanics(t *testing.T) {
	t.Parallel()
	l := listing[bool]{open: fake([]string{"f/a"}).open("f/"), of: func(o Object) bool { panic("of " + o.Name) }}
	err := l.read(t.Context(), divide("f/", Names{}, nil), func([]bool) bool { return true })
	if err == nil || !strings.HasPrefix(err.Error(), "panic: of f/a\n") {
		t.Errorf("it ended with %v", err)
	}
}

// FuzzListing: each name comes once, in order, whatever the cuts are, and the cuts of a listing are of use.
func FuzzListing(f *testing.F) {
	f.Add("a b c", "0:a 1:b", "", uint16(3))
	f.Add("a/1 a/2 b/1 \x7f é 写", "0:a/2 0:é 2:x", "a/1", uint16(1))
	f.Add("a b c d e f g 写真 写 \U0010ffff z", "0:写 1:\x86 x", "b", uint16(399))
	f.Add("写写 \xe5 写\xff a\x00", "0:b 0:a", "", uint16(399))
	f.Fuzz(func(t *testing.T, text, saved, after string, times uint16) {
		var names []string
		for _, word := range strings.Fields(text) {
			for i := range int(times) % 400 {
				if name := fmt.Sprintf("%s%d", word, i*i); mayBegin(name) {
					names = append(names, name)
				}
			}
		}
		if !mayBegin(after) {
			t.Skip("no object can have this name")
		}
		slices.Sort(names)
		names = slices.Compact(names)
		want := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name <= after && after != "" })
		got, err := fake(names).list(t.Context(), "", Names{From: after, After: after != ""}, strings.Fields(saved))
		check.Same(t, fmt.Sprintf("behind %q", after), []any{want, nil}, []any{got, err})
		c := Cutter{every: 3}
		for _, name := range names {
			c.n += cutEvery / 7
			c.See(name)
		}
		cuts := c.Cuts(strings.Fields(saved), "", "", true)
		if again := packed(unpacked(cuts)); !slices.Equal(again, cuts) || len(c.cuts) > 0 && len(cuts) == 0 {
			t.Errorf("cuts %q are read as %q", cuts, again)
		}
	})
}

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
	{"longprefix", func(r namer) string { return strings.Repeat("abcdefghij", 20) + "/" + r.text(12, base62) + ".jpg" }},
	{"unpadded", func(r namer) string { return fmt.Sprintf("%d.jpg", r.i) }},
	{"skew", func(r namer) string { return fmt.Sprintf("all/%010d.jpg", int64(math.Pow(r.Float64(), 6)*9.99e9)) }},
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

type roundTripper func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// slowly is a body of which each read takes a second.
type slowly struct{ io.Reader }

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return s.Reader.Read(p)
}

// readAll reads what a request is answered, so many bytes at a time.
func readAll(ctx context.Context, transport http.RoundTripper, path string) (n int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://storage.googleapis.com"+path, nil)
	if err != nil {
		return 0, err
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	for part := make([]byte, usualPage); err == nil; {
		var more int
		more, err = answer.Body.Read(part)
		n += more
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, errors.Join(err, answer.Body.Close())
}

// answering answers each request with so many bytes.
func answering(size int) http.RoundTripper {
	return newFewLarge(roundTripper(func(*http.Request) *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(slowly{bytes.NewReader(make([]byte, size))})}
	}))
}

const listingPath = "/storage/v1/b/b/o"

// TestLargeAnswers of listings are read two at a time, from where they turn out to be large; others wait for nobody.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		size    int
		path    string
		seconds int
	}{
		"usual pages": {usualPage, listingPath, 2}, "large pages": {4 * usualPage, listingPath, 2 + 3*3},
		"objects": {4 * usualPage, listingPath + "/x", 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport, began := answering(tt.size), time.Now()
			var underWay sync.WaitGroup
			for range 3 * largeAtOnce {
				underWay.Go(func() {
					n, err := readAll(t.Context(), transport, tt.path)
					check.Same(t, what+": bytes", []any{tt.size, nil}, []any{n, err})
				})
			}
			underWay.Wait()
			check.Same(t, what+": it took", time.Duration(tt.seconds)*time.Second, time.Since(began))
		})
	}
}

// TestLargeAnswerThatIsCanceled does not wait for others.
func TestLargeAnswerThatIsCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := answering(100 * usualPage)
		var underWay sync.WaitGroup
		for range largeAtOnce {
			underWay.Go(func() { _, _ = readAll(t.Context(), transport, listingPath) })
		}
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if n, err := readAll(ctx, transport, listingPath); n != 2*usualPage || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d bytes and %v", n, err)
		}
		underWay.Wait()
	})
}
