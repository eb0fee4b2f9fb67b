package objects

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"unicode/utf8"
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
		if err != nil {
			t.Fatal(err)
		}
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
			if err != nil || given != 40 {
				t.Errorf("%d pages and %v", given, err)
			}
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
		if got := unpacked(c.Cuts(before, "posts/", tt.from, tt.ended)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", what, got, tt.want)
		}
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
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d names behind %q: %d and %v", len(want), after, len(got), err)
		}
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
