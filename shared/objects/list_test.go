package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/storage"
	"google.golang.org/api/option"
)

// fakeBucket answers a listing from names in order, as Cloud Storage does, a page of pageSize at most.
type fakeBucket struct {
	names    []string
	requests atomic.Int64
	asked    atomic.Int64 // requests for folders

	fail int64
}

var errFake = errors.New("it was made to fail")

// mayBegin reports whether a name can begin so.
func mayBegin(offset string) bool {
	return len(offset) <= maxName && utf8.ValidString(offset) && !strings.ContainsAny(offset, "\x00\r\n")
}

func (b *fakeBucket) list(ctx context.Context, prefix string, names Names) (page []Object, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	for _, offset := range []string{names.From, names.Before} {
		if !mayBegin(offset) {
			return nil, false, fmt.Errorf("the offset %q can begin no name", offset)
		}
	}
	if b.requests.Add(1) == b.fail {
		return nil, false, errFake
	}
	i, _ := slices.BinarySearch(b.names, max(prefix, names.From))
	n := 0
	for ; i < len(b.names) && strings.HasPrefix(b.names[i], prefix) && (names.Before == "" || b.names[i] < names.Before); i++ {
		if n++; n > pageSize {
			return page, true, nil
		}
		if !names.After || b.names[i] != names.From {
			page = append(page, Object{Name: b.names[i]})
		}
	}
	return page, false, nil
}

// folders answers with the names and folders directly in a folder, as Cloud Storage does.
func (b *fakeBucket) folders(ctx context.Context, parent, from string) (found []string, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if !mayBegin(from) {
		return nil, false, fmt.Errorf("the offset %q can begin no name", from)
	}
	b.requests.Add(1)
	b.asked.Add(1)
	i, _ := slices.BinarySearch(b.names, max(parent, from))
	for i < len(b.names) && strings.HasPrefix(b.names[i], parent) {
		if len(found) == pageSize {
			return found, true, nil
		}
		folder := folderIn(parent, b.names[i])
		if folder == "" {
			found = append(found, b.names[i])
			i++
			continue
		}
		found = append(found, folder)
		i, _ = slices.BinarySearch(b.names, behindFolder(folder))
	}
	return found, false, nil
}

// listAll returns all objects of a listing.
func (b *fakeBucket) listAll(t *testing.T, prefix, after string) ([]string, error) {
	t.Helper()
	l := newListing(b.list, b.folders, prefix, Names{From: after, After: after != ""}, whole)
	var got []string
	err := l.read(t.Context(), func(objects []Object) bool {
		for _, o := range objects {
			got = append(got, o.Name)
		}
		return true
	})
	return got, err
}

// named are sets of names: some whose ranges are easy to guess, and some whose ranges are hard to guess.
func named(random *rand.Rand, n int) map[string][]string {
	sorted := func(name func(i int) string) []string {
		var names []string
		for i := range n {
			names = append(names, name(i))
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	users := sorted(func(int) string { return text(28) })
	return map[string][]string{
		"random":        sorted(func(int) string { return "f/" + text(20) }),
		"of users":      sorted(func(i int) string { return "f/" + users[i%max(1, n/40)] + "/" + text(20) + ".jpg" }),
		"of few users":  sorted(func(i int) string { return "f/" + users[i%min(n, 3)] + "/" + text(20) + ".jpg" }),
		"numbered":      sorted(func(i int) string { return fmt.Sprintf("f/%d", i) }),
		"padded":        sorted(func(i int) string { return fmt.Sprintf("f/u/%09d-0.png", i) }),
		"in time":       sorted(func(i int) string { return fmt.Sprintf("f/u/%d-%s", 1_700_000_000_000+int64(i)*7919, text(4)) }),
		"times, joined": sorted(func(i int) string { return fmt.Sprintf("f/%d%s", 1_700_000_000_000+int64(i)*7919, text(4)) }),
		"in Japanese":   sorted(func(i int) string { return fmt.Sprintf("f/写真%c%c", '一'+rune(i%5000), '一'+rune(i/5000)) }),
		"all alike":     sorted(func(i int) string { return "f/" + strings.Repeat("x", 100) + fmt.Sprint(i) }),
		"most of one": sorted(func(i int) string {
			return "f/" + map[bool]string{true: "heavy", false: text(5)}[i%10 > 0] + "/" + text(8)
		}),
		"sparse, dense": sorted(func(i int) string { return "f/" + strings.Repeat(text(1), 1+i%9) + text(3) }),
		"folders":       sorted(func(i int) string { return map[bool]string{true: "f/", false: "g/"}[i%2 == 0] + text(9) }),
	}
}

// TestListing compares the listing by ranges side by side with all names: each comes once, in order, whatever the names are.
func TestListing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 14))
	for _, n := range []int{0, 1, pageSize - 1, pageSize, pageSize + 1, 2*pageSize - 2, 12_000} {
		for what, names := range named(random, n) {
			within := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, "f/") })
			for _, from := range []int{-1, 0, len(within) / 3, len(within) - 1} {
				after, want := "", within
				if from >= 0 && from < len(within) {
					after, want = within[from], within[from+1:]
				}
				b := &fakeBucket{names: names}
				got, err := b.listAll(t, "f/", after)
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%d %s from %q: %d names and %v, want %d", n, what, after, len(got), err, len(want))
				}
				pages := int64(len(want) / pageSize)
				most := 2*pages + atFirst + 2 // those under way when it ends are in vain
				if pages >= wanted {
					most = 2*pages + maxRanges
				}
				// A small folder costs no more requests than it has pages; one name of a page may be left out.
				if len(want) < pageSize-1 {
					most = int64(1 + len(want)/(pageSize-1))
				}
				if b.requests.Load() > most {
					t.Errorf("%d %s from %q: %d requests, want at most %d", n, what, after, b.requests.Load(), most)
				}
			}
		}
	}
}

// TestListingWhileObjectsComeAndGo: what exists all the time is listed once, in order, and nothing twice, whatever happens meanwhile.
func TestListingWhileObjectsComeAndGo(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for what, all := range named(random, 12_000) {
		exists := func(i, request int) bool { return i%5 > 1 || (i+request)%2 == 0 } // two of five come and go
		var requests atomic.Int64
		now := func() *fakeBucket {
			request := int(requests.Add(1))
			var now []string
			for i, name := range all {
				if exists(i, request) {
					now = append(now, name)
				}
			}
			return &fakeBucket{names: now}
		}
		l := newListing(func(ctx context.Context, prefix string, in Names) ([]Object, bool, error) {
			return now().list(ctx, prefix, in)
		}, func(ctx context.Context, parent, from string) ([]string, bool, error) {
			return now().folders(ctx, parent, from)
		}, "f/", Names{}, whole)
		var got []string
		if err := l.read(t.Context(), func(page []Object) bool {
			for _, o := range page {
				got = append(got, o.Name)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s: not in order, or twice", what)
		}
		for i, name := range all {
			if _, found := slices.BinarySearch(got, name); i%5 > 1 && strings.HasPrefix(name, "f/") && !found {
				t.Fatalf("%s: %s is left out", what, name)
			}
		}
	}
}

// TestFoldersThatAreNotSo: whatever an answer about folders says, and whenever it comes, each name comes once, in order.
func TestFoldersThatAreNotSo(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(15, 16))
	all := named(random, 20_000)
	for i := range 60_000 {
		all["within folders"] = append(all["within folders"], fmt.Sprintf("f/%c/%x/%c%05d", "acm"[i/20_000], 7*(i/100), "xyz"[i%3], i))
	}
	slices.Sort(all["within folders"])
	for what, names := range all {
		for turn := range 24 {
			synctest.Test(t, func(t *testing.T) {
				b := &fakeBucket{names: slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, "f/") })}
				var mu sync.Mutex
				chance := func(n int) int {
					mu.Lock()
					defer mu.Unlock()
					return random.IntN(n)
				}
				l := newListing(func(ctx context.Context, prefix string, in Names) ([]Object, bool, error) {
					time.Sleep(time.Duration(50+chance(100)) * time.Millisecond)
					return b.list(ctx, prefix, in)
				}, func(ctx context.Context, parent, from string) ([]string, bool, error) {
					time.Sleep(time.Duration(50+chance(2000)) * time.Millisecond)
					found, more, err := b.folders(ctx, parent, from)
					switch chance(3) + turn/12 {
					case 2:
						return nil, more, errFake
					case 3:
						return append(found[:len(found)/2], "a/", "f/", from, parent+"none/", "z/"), !more, err
					}
					return found, more, err
				}, "f/", Names{}, func(o Object) string { return o.Name })
				var got []string
				err := l.read(t.Context(), func(page []string) bool { got = append(got, page...); return true })
				if err != nil || !slices.Equal(got, b.names) {
					t.Errorf("%s: %d names and %v, want %d", what, len(got), err, len(b.names))
				}
			})
		}
	}
}

// TestListingFailsAsAWhole: if one request fails, the caller got the names before it, and none behind it.
func TestListingFailsAsAWhole(t *testing.T) {
	t.Parallel()
	names := named(rand.New(rand.NewPCG(1, 2)), 25_000)["random"]
	for fail := int64(1); fail < 20; fail += 6 {
		b := &fakeBucket{names: names, fail: fail}
		got, err := b.listAll(t, "f/", "")
		if !errors.Is(err, errFake) || !slices.Equal(got, names[:len(got)]) {
			t.Errorf("request %d fails: %d names and %v", fail, len(got), err)
		}
	}
}

// TestAPageBesideOneThatFailed is taken: the listing ends with the error of the other once all before it is given.
func TestAPageBesideOneThatFailed(t *testing.T) {
	t.Parallel()
	l := newListing(nil, nil, "posts/", Names{}, func(o Object) string { return o.Name })
	page := &part[string]{Names: Names{Before: "posts/m"}, found: []string{"posts/a"}, names: []string{"posts/a"}, asked: true}
	l.parts = []*part[string]{page, {Names: Names{From: "posts/m"}, cut: true, asked: true, done: true, err: errFake}}
	l.receive(page)
	if len(l.parts) != 2 || page.last != "posts/a" {
		t.Errorf("%d parts, the first until %q", len(l.parts), page.last)
	}
}

// bucketOf answers each listing with the objects of some names, a thousand at a time, and heeds no offsets.
func bucketOf(t *testing.T, names []string) Reader {
	t.Helper()
	client, err := storage.NewClient(t.Context(), option.WithHTTPClient(&http.Client{Transport: roundTripper(func(r *http.Request) *http.Response {
		from, _ := strconv.Atoi(r.URL.Query().Get("pageToken")) // none is 0
		to := min(from+pageSize, len(names))
		answer := map[string]any{"kind": "storage#objects"}
		var items []map[string]string
		for _, name := range names[from:to] {
			items = append(items, map[string]string{"name": name, "generation": "1", "metageneration": "1"})
		}
		answer["items"] = items
		if to < len(names) {
			answer["nextPageToken"] = strconv.Itoa(to)
		}
		body, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader(body)), Request: r,
		}
	})}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return (&Client{storage: client, bucket: client.Bucket("b"), name: "b"}).Reader()
}

// TestBucketWithoutOffsets: when a bucket turns out not to support offsets, the rest is listed page after page, and each object
// comes once.
func TestBucketWithoutOffsets(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 4500 {
		names = append(names, fmt.Sprintf("f/%05d", i))
	}
	r := bucketOf(t, names)
	for after, want := range map[string][]string{"": names, "f/01500": names[1501:]} {
		var got []string
		for page, err := range PagesOf(t.Context(), r, "f/", Names{From: after, After: after != ""}, func(o Object) string { return o.Name }) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %q: %d names, want %d", after, len(got), len(want))
		}
	}
}

// TestListingThatPanics: what panics while an object is looked at ends the listing with an error, and not the process.
func TestListingThatPanics(t *testing.T) {
	t.Parallel()
	var err error
	for _, err = range PagesOf(t.Context(), bucketOf(t, []string{"f/a"}), "f/", Names{}, func(o Object) bool { panic("of " + o.Name) }) {
	}
	if err == nil || !strings.HasPrefix(err.Error(), "list f/ of bucket b: panic: of f/a\n") {
		t.Errorf("it ended with %v", err)
	}
}

func FuzzListing(f *testing.F) {
	f.Add("a b c", "", uint16(3))
	f.Add("a/1 a/2 b/1 \x7f é 写", "a/1", uint16(1))
	f.Add("a b c d e f g 写真 写 \U0010ffff z", "b", uint16(399))
	f.Add("写写 \xe5 写\xff a\x00", "", uint16(399))
	f.Fuzz(func(t *testing.T, text, after string, times uint16) {
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
		if got, err := (&fakeBucket{names: names}).listAll(t, "", after); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d names behind %q: %d and %v", len(want), after, len(got), err)
		}
	})
}
