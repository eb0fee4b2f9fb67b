package orphans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/objects"
)

// bucket holds objects in the order of their names, and answers listings of them as Cloud Storage does.
type bucket struct {
	names     []string
	noOffsets bool          // it answers as the Firebase Emulator Suite does
	takes     time.Duration // to answer
	requests  atomic.Int64
}

func (b *bucket) between(from, before string) []string {
	i, j := sort.SearchStrings(b.names, from), len(b.names)
	if before != "" {
		j = sort.SearchStrings(b.names, before)
	}
	return b.names[i:max(i, j)]
}

// RoundTrip implements http.RoundTripper.
func (b *bucket) RoundTrip(r *http.Request) (*http.Response, error) {
	b.requests.Add(1)
	time.Sleep(b.takes)
	q := r.URL.Query()
	if b.noOffsets {
		q.Del("startOffset")
		q.Del("endOffset")
	}
	found := b.between(max(q.Get("prefix"), q.Get("startOffset"), q.Get("pageToken")), q.Get("endOffset"))
	if n, err := strconv.Atoi(q.Get("maxResults")); err != nil || n != 1000 {
		return nil, fmt.Errorf("a page of %d, %w", n, err)
	}
	answer := struct {
		Kind     string              `json:"kind"`
		Items    []map[string]string `json:"items"`
		Prefixes []string            `json:"prefixes,omitempty"`
		Next     string              `json:"nextPageToken,omitempty"`
	}{Kind: "storage#objects"}
	for _, name := range found {
		folder, _, inFolder := strings.Cut(strings.TrimPrefix(name, q.Get("prefix")), "/")
		folder = q.Get("prefix") + folder + "/"
		if inFolder = inFolder && q.Get("delimiter") == "/"; inFolder && slices.Contains(answer.Prefixes, folder) {
			continue
		}
		if len(answer.Items)+len(answer.Prefixes) == 1000 {
			answer.Next = name
			break
		}
		if inFolder {
			answer.Prefixes = append(answer.Prefixes, folder)
			continue
		}
		answer.Items = append(answer.Items, map[string]string{"name": name})
	}
	text, err := json.Marshal(answer)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(text))), Request: r}, err
}

func (b *bucket) open(t *testing.T) objects.Reader {
	t.Helper()
	c, err := objects.Open(t.Context(), objects.Bucket{Name: "b", EmulatorHost: "nobody"}, func(http.RoundTripper) http.RoundTripper { return b })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.Reader()
}

func namesIn(t *testing.T, r objects.Reader, in objects.Names) iter.Seq2[[]string, error] {
	t.Helper()
	return objects.PagesOf(t.Context(), r, "posts/", in, nil, func(o objects.Object) string { return o.Name })
}

// listed is a pass that divides the names of a listing, for so many pages as there is time.
type listed struct {
	Pass
	names func(objects.Names) iter.Seq2[[]string, error]
	time  int // pages; 0: time for all
}

func (l listed) pieces(_ context.Context, _ *cleanup.Planner, in objects.Names) ([]piece, error) {
	pages := 0
	return sampled(l.names(in), func() error {
		if pages++; pages == l.time {
			return cleanup.ErrOutOfTime
		}
		return nil
	})
}

func (b *bucket) pass(t *testing.T) listed {
	t.Helper()
	r := b.open(t)
	return listed{names: func(in objects.Names) iter.Seq2[[]string, error] { return namesIn(t, r, in) }}
}

// wantShards checks that ranges hold all names of the bucket, each once, and that the largest is at most so many equal ones.
func (b *bucket) wantShards(t *testing.T, what string, ranges []cleanup.Bounds, shards int, most float64) {
	t.Helper()
	largest, sum := 0, 0
	for i, r := range ranges {
		if i > 0 && ranges[i-1].End != r.Begin {
			t.Fatalf("%s: a gap before the range %d of %v", what, i, ranges)
		}
		if i == 0 && nameOf(t, r.Begin) != "" || i == len(ranges)-1 && r.End != "" {
			t.Fatalf("%s: something lies before or behind %v", what, ranges)
		}
		n := len(b.between(nameOf(t, r.Begin), nameOf(t, r.End)))
		largest, sum = max(largest, n), sum+n
	}
	if len(ranges) != shards || sum != len(b.names) {
		t.Errorf("%s: %d ranges hold %d names, want %d and %d", what, len(ranges), sum, shards, len(b.names))
	}
	if ratio := float64(largest) * float64(shards) / float64(len(b.names)); ratio > most {
		t.Errorf("%s: the largest of %d ranges is %.3f times as large as an equal one, want at most %.3f", what, shards, ratio, most)
	}
}

func nameOf(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	at, ok := placeOf(text)
	if !ok {
		t.Fatalf("%q is no place", text)
	}
	return at.Name
}

func id(random *rand.Rand, n int) string {
	const all = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		b[i] = all[random.IntN(len(all))]
	}
	return string(b)
}

// kinds are names like those of applications.
func kinds(random *rand.Rand) map[string]func(i int) string {
	users := make([]string, 3000)
	for i := range users {
		users[i] = id(random, 28)
	}
	uuid := func() string {
		a, b := random.Uint64(), random.Uint64()
		return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48, b&0xffffffffffff)
	}
	const start = 1_700_000_000_000 // ms
	return map[string]func(i int) string{
		"users":           func(i int) string { return fmt.Sprintf("%s/%s.jpg", users[i%len(users)], id(random, 20)) },
		"users, in time":  func(i int) string { return fmt.Sprintf("%s/%d.jpg", users[i%len(users)], start+i*37_000) },
		"in time":         func(i int) string { return fmt.Sprintf("%d.jpg", start+i*37_000) },
		"UUIDs":           func(int) string { return uuid() + ".jpg" },
		"folders":         func(i int) string { return fmt.Sprintf("%05d/%04d.jpg", i/2000, i%2000) },
		"dates":           func(i int) string { return fmt.Sprintf("2025/%02d/%02d/%s.jpg", i%12+1, i/12%28+1, id(random, 8)) },
		"kanji":           func(i int) string { return fmt.Sprintf("写真%c%c/%d", '一'+rune(i%500), '一'+rune(i/500), i) },
		"long prefix":     func(int) string { return strings.Repeat("exports-of-2025/", 12) + id(random, 20) },
		"numbers":         strconv.Itoa,
		"skewed folder":   func(i int) string { return fmt.Sprintf("%s/%09d", "ab"[min(i%100, 1):][:1], i*i) },
		"two clusters":    func(i int) string { return fmt.Sprintf("%s%d", []string{"A1b2", "zz9/"}[i%2], start+i) },
		"one heavy user":  func(i int) string { return fmt.Sprintf("%s/%s", users[max(0, i%10-8)*(i%len(users))], id(random, 12)) },
		"odd characters":  func(i int) string { return string([]rune("\"<&>\u2028😀é+%?#")[i%11]) + " " + strconv.Itoa(i) },
		"longest":         func(i int) string { return fmt.Sprintf("%s%08d", strings.Repeat("長", 336), i) },
		"random, 20 long": func(int) string { return id(random, 20) },
	}
}

func bucketOf(n int, name func(i int) string) *bucket {
	b := &bucket{}
	for i := range n {
		b.names = append(b.names, "posts/"+name(i))
	}
	slices.Sort(b.names)
	b.names = slices.Compact(b.names)
	return b
}

// TestShardsOfObjects: whatever the names are, shards are equal, and finding them costs what a listing does. By a clock that
// advances only while every goroutine waits, each request takes a tenth of a second.
func TestShardsOfObjects(t *testing.T) {
	t.Parallel()
	const shards = 16
	for what, name := range kinds(rand.New(rand.NewPCG(7, 7))) { //nolint:gosec // it makes test data
		b := bucketOf(60_000, name)
		b.takes = 100 * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			for _, err := range b.open(t).Pages(t.Context(), "posts/", objects.Names{}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			listing := b.requests.Swap(0)
			ranges, err := Split(b.pass(t))(t.Context(), &cleanup.Planner{}, shards)
			if err != nil {
				t.Fatal(err)
			}
			b.wantShards(t, what, ranges, shards, 1.01)
			if got := b.requests.Load(); got*5 > listing*6 {
				t.Errorf("%s: %d requests, but %d list everything", what, got, listing)
			}
		})
	}
}

// TestPiecesOfAListing: however many names there are, so many are kept that pieces are small, and all names count.
func TestPiecesOfAListing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 999, mostPieces - 1, mostPieces, mostPieces + 1, 2*mostPieces - 1, 2 * mostPieces, 3 * mostPieces, 300_001} {
		pages := func(yield func([]string, error) bool) {
			for i := 0; i < n; i += 1000 {
				var page []string
				for j := i; j < min(n, i+1000); j++ {
					page = append(page, fmt.Sprintf("%09d", j))
				}
				if !yield(page, nil) {
					return
				}
			}
		}
		pieces, err := sampled(pages, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		before := 0
		for _, p := range pieces {
			if from := fmt.Sprintf("%09d", before); p.from != from {
				t.Fatalf("of %d names: a piece from %q, want %q", n, p.from, from)
			}
			if p.n < 1 || p.n > max(1, 2*n/mostPieces) {
				t.Fatalf("of %d names: a piece of %d", n, p.n)
			}
			before += p.n
		}
		if before != n {
			t.Errorf("of %d names: the pieces hold %d", n, before)
		}
		if len(pieces) > mostPieces || len(pieces) < min(n, mostPieces/2) {
			t.Errorf("of %d names: %d pieces", n, len(pieces))
		}
	}
}

// TestFewObjects: what is not worth two shards is not split, and of one page nothing but that page is requested.
func TestFewObjects(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 0, 1: 0, 1000: 0, 1999: 0, 2000: 2, 2999: 2, 3000: 3, 16_000: 8} {
		b := bucketOf(n, func(i int) string { return fmt.Sprintf("%05d", i) })
		ranges, err := Split(b.pass(t))(t.Context(), &cleanup.Planner{}, 8)
		if err != nil || len(ranges) != want {
			t.Errorf("%d objects: %d ranges and %v, want %d", n, len(ranges), err, want)
		}
		if got := b.requests.Load(); n <= 1000 && got != 1 {
			t.Errorf("%d objects: %d requests", n, got)
		}
		if want > 0 {
			b.wantShards(t, fmt.Sprint(n), ranges, want, 1.01)
		}
	}
}

// TestNoTimeToListAll: what was listed is divided, and all else, other passes included, is a shard of its own.
func TestNoTimeToListAll(t *testing.T) {
	t.Parallel()
	b := bucketOf(30_000, func(i int) string { return fmt.Sprintf("%05d", i) })
	hurried, never := b.pass(t), listed{names: func(objects.Names) iter.Seq2[[]string, error] {
		t.Error("a pass was begun without time")
		return func(func([]string, error) bool) {}
	}}
	for pages, want := range map[int][]int{
		1: nil, 2: {1332, 28_668}, 8: {2666, 2666, 2666, 22_002},
	} {
		hurried.time = pages
		ranges, err := Split(hurried, never)(t.Context(), &cleanup.Planner{}, 4)
		if !errors.Is(err, cleanup.ErrOutOfTime) {
			t.Errorf("%d pages: %v", pages, err)
		}
		var got []int
		for _, r := range ranges {
			got = append(got, len(b.between(nameOf(t, r.Begin), nameOf(t, r.End))))
		}
		if !slices.Equal(got, want) || len(ranges) > 0 && ranges[len(ranges)-1].End != "" {
			t.Errorf("%d pages: shards of %d, want %d", pages, got, want)
		}
	}
}

// TestShardsOfABucketWithoutOffsets: together they list each object once.
func TestShardsOfABucketWithoutOffsets(t *testing.T) {
	t.Parallel()
	b := bucketOf(7000, func(i int) string { return fmt.Sprintf("%05d", i) })
	b.noOffsets = true
	ranges, err := Split(b.pass(t))(t.Context(), &cleanup.Planner{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	b.wantShards(t, "without offsets", ranges, 4, 1.01)
	var got []string
	for _, r := range ranges {
		for page, err := range namesIn(t, b.open(t), objects.Names{From: nameOf(t, r.Begin), Before: nameOf(t, r.End)}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
		}
	}
	if !slices.Equal(got, b.names) {
		t.Errorf("the shards list %d objects, want %d", len(got), len(b.names))
	}
}

// TestListingOfNamesFails: then nothing is split.
func TestListingOfNamesFails(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	fails := listed{names: func(objects.Names) iter.Seq2[[]string, error] {
		return func(yield func([]string, error) bool) {
			if yield(make([]string, 5000), nil) {
				yield(nil, no)
			}
		}
	}}
	if ranges, err := Split(fails)(t.Context(), &cleanup.Planner{}, 4); !errors.Is(err, no) || ranges != nil {
		t.Errorf("%v, %v", ranges, err)
	}
}
