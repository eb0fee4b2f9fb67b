package orphans

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"sync/atomic"
	"testing"
)

// bucket is a sorted folder. It answers as Cloud Storage does: with a page of names, and whether there are more.
type bucket struct {
	names []string
	asked atomic.Int64
}

func (b *bucket) between(from, before string) []string {
	i, j := sort.SearchStrings(b.names, from), len(b.names)
	if before != "" {
		j = sort.SearchStrings(b.names, before)
	}
	return b.names[i:max(i, j)]
}

func (b *bucket) weigh(prefix string) weigh {
	return func(_ context.Context, from, before string) (weight, error) {
		b.asked.Add(1)
		found := b.between(from, before)
		if len(found) <= 1000 {
			return weight{n: len(found)}, nil
		}
		return weightOfPage(max(from, prefix), found[0], found[999], 1000), nil
	}
}

func id(random *rand.Rand, n int) string {
	const all = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		b[i] = all[random.IntN(len(all))]
	}
	return string(b)
}

// TestDivide divides names like those of applications. The pieces must hold each name once, and shards made of them must be
// about equal.
func TestDivide(t *testing.T) {
	const n, shards = 200_000, 8
	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // it makes test data
	users := make([]string, 3000)
	for i := range users {
		users[i] = id(random, 28)
	}
	for name, tt := range map[string]struct {
		name  func(i int) string
		worst float64 // the largest shard, in equal ones
		even  bool    // names are everywhere as close together: finding the cuts costs less than listing
	}{
		"random ids":           {name: func(int) string { return "posts/" + id(random, 20) }, worst: 1.3, even: true},
		"by user":              {name: func(i int) string { return fmt.Sprintf("posts/%s/%d.png", users[i%len(users)], i) }, worst: 1.5, even: true},
		"twenty first letters": {name: func(int) string { return "posts/" + string(rune('A'+random.IntN(20))) + id(random, 19) }, worst: 1.5, even: true},
		"by time":              {name: func(i int) string { return fmt.Sprintf("posts/%d", 1_700_000_000_000+i*37_000) }, worst: 2},
		"by day":               {name: func(i int) string { return fmt.Sprintf("posts/2026-%02d-%02d/%d.png", i%12+1, i%28+1, i) }, worst: 2.1},
		"under one long name":  {name: func(int) string { return "posts/uploads/of/the/application/" + id(random, 8) }, worst: 1.5},
		"one user has most":    {name: func(i int) string { return fmt.Sprintf("posts/%s/%s", users[min(i%20, 1)], id(random, 8)) }, worst: 2},
		"letters nobody knows": {name: func(i int) string { return fmt.Sprintf("posts/写真%d/%d", i%50, i) }, worst: 4},
		"few":                  {name: func(i int) string { return fmt.Sprintf("posts/%d", i%900) }},
	} {
		b := &bucket{}
		for i := range n {
			b.names = append(b.names, tt.name(i))
		}
		slices.Sort(b.names)
		b.names = slices.Compact(b.names)
		pieces, err := divide(t.Context(), "posts/", shards, b.weigh("posts/"))
		if err != nil {
			t.Fatal(err)
		}
		before, total := "", 0
		var cuts []cut
		for _, p := range pieces {
			if p.from != before {
				t.Fatalf("%s: a piece begins at %q, the one before it ends at %q", name, p.from, before)
			}
			before = p.before
			cuts = append(cuts, cut{place{Name: p.from, Included: p.from != ""}, p.n})
			total += p.n
		}
		if before != "" {
			t.Errorf("%s: the last piece ends at %q", name, before)
		}
		all, err := joined(cuts, total, min(shards, total/leastShard))
		if err != nil {
			t.Fatal(err)
		}
		largest, looked := 0, 0
		for i, s := range all {
			if i > 0 && all[i-1].End != s.Begin || i == 0 && nameOf(t, s.Begin) != "" {
				t.Fatalf("%s: ranges %v", name, all)
			}
			n := len(b.between(nameOf(t, s.Begin), nameOf(t, s.End)))
			largest, looked = max(largest, n), looked+n
		}
		if len(b.names) < leastShard {
			if len(all) != 0 || b.asked.Load() != 1 {
				t.Errorf("%s: %d ranges, %d requests: it is not worth it", name, len(all), b.asked.Load())
			}
			continue
		}
		if looked != len(b.names) {
			t.Errorf("%s: ranges hold %d of %d", name, looked, len(b.names))
		}
		if ratio := float64(largest) * shards / float64(len(b.names)); ratio > tt.worst || len(all) < 2 {
			t.Errorf("%s: the largest of %d ranges is %.2f times as large as an equal one, want at most %.1f", name, len(all), ratio, tt.worst)
		}
		divisions := maxDivisions // where names are closer together at first, they seem to be more than they are
		if tt.even {
			divisions = freeDivisions
		}
		if asked, most := b.asked.Load(), int64(divisions*(len(letters)+10)); asked > most {
			t.Errorf("%s: %d requests, want at most %d", name, asked, most)
		}
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

func TestDivideFails(t *testing.T) {
	no := errors.New("no")
	for nth := range 3 {
		var asked atomic.Int64
		_, err := divide(t.Context(), "posts/", 4, func(context.Context, string, string) (weight, error) {
			if asked.Add(1) > int64(nth*30) {
				return weight{}, no
			}
			return weight{n: 100_000, many: true, alike: "posts/"}, nil
		})
		if !errors.Is(err, no) {
			t.Errorf("after %d: %v", nth*30, err)
		}
	}
}
