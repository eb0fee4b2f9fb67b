package objects

import (
	"context"
	"flag"
	"hash/fnv"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// simulated is what a listing over a link came to.
type simulated struct {
	pages, requests, most, held int     // most: requests at once
	asked                       int     // requests for folders
	times                       float64 // how much longer than taking the pages alone
}

// simulate lists names, of which a page answers after 120 ms, a quarter earlier or later, and is taken in some time.
func simulate(t *testing.T, names []string, each time.Duration) (s simulated) {
	synctest.Test(t, func(t *testing.T) {
		b := &fakeBucket{names: names}
		var mu sync.Mutex
		underWay, read, given := 0, 0, 0
		began, last := time.Now(), ""
		l := newListing(func(ctx context.Context, prefix string, in Names) ([]Object, bool, error) {
			mu.Lock()
			underWay++
			s.most = max(s.most, underWay)
			mu.Unlock()
			by := fnv.New64a()
			_, _ = by.Write([]byte(in.From)) // it never fails
			time.Sleep(90*time.Millisecond + time.Duration(by.Sum64()%60_000)*time.Microsecond)
			mu.Lock()
			defer mu.Unlock()
			underWay--
			page, more, err := b.list(ctx, prefix, in)
			read += len(page)
			s.held = max(s.held, (read-given)/pageSize)
			return page, more, err
		}, func(ctx context.Context, parent, from string) ([]string, bool, error) {
			time.Sleep(110 * time.Millisecond)
			return b.folders(ctx, parent, from)
		}, "posts/", Names{}, func(o Object) string { return o.Name })
		err := l.read(t.Context(), func(page []string) bool {
			mu.Lock()
			given += len(page)
			mu.Unlock()
			if page[0] <= last || !slices.IsSorted(page) {
				t.Errorf("%s comes after %s", page[0], last)
			}
			last = page[len(page)-1]
			time.Sleep(time.Duration(len(page)) * each / pageSize)
			return true
		})
		if err != nil || given != len(names) {
			t.Errorf("%d names of %d and %v", given, len(names), err)
		}
		s.pages, s.requests = (len(names)+pageSize-1)/pageSize, int(b.requests.Load())
		s.asked = int(b.asked.Load())
		s.times = float64(time.Since(began)) / float64(each) / float64(len(names)) * pageSize
	})
	return s
}

// TestNamesOfAllKinds lists names of many kinds over a link. Whatever they look like, that takes few requests more than there are
// pages, and a fraction of the time that page after page would take, which is 13.3 of the time to take them.
func TestNamesOfAllKinds(t *testing.T) {
	t.Parallel()
	const n = 60_000
	for _, kind := range namings {
		s := simulate(t, kind.names(n), 9*time.Millisecond)
		t.Logf("%-11s %3d pages, %3d requests, at most %2d at once, %3d pages held, %.2f times as long as taking them",
			kind.name, s.pages, s.requests, s.most, s.held, s.times)
		if s.requests > s.pages*5/4+35 || s.times > 8 || s.most > maxRanges || s.held > maxHeld {
			t.Errorf("%s: %d requests for %d pages, at most %d at once; %d pages held; %.2f times as long as taking them",
				kind.name, s.requests, s.pages, s.most, s.held, s.times)
		}
	}
}

var million = flag.Bool("million", false, "list a million names of each kind, too, which takes minutes")

// TestLongListings lists 300 pages, each of which is taken in 6 ms, or 1,000 in 9 ms. That is to take at most twice the time that
// taking them takes, in at most 15 % more requests than pages. For these kinds 300 pages take more; nothing may become worse.
func TestLongListings(t *testing.T) {
	t.Parallel()
	type most struct{ times, requests float64 }
	more := map[string]most{
		"uuid": {2.1, 1.15}, "folder": {2.3, 1.15}, "date": {2.1, 1.15}, "unpadded": {2.75, 1.15}, "skew": {2.2, 1.17},
		"clusters": {2.1, 1.15}, "email": {2.3, 1.15}, "words": {2.9, 1.18}, "tinyfolders": {2.6, 1.15}, "hugefolders": {2.1, 1.15},
		"gaps": {2.2, 1.15}, "reversed": {2.6, 1.15}, "tenants": {2.1, 1.15}, "versions": {2.3, 1.15},
	}
	long := func(kind naming, n int, each time.Duration, want most) {
		s := simulate(t, kind.names(n), each)
		if got := float64(s.requests) / float64(s.pages); got > want.requests {
			t.Errorf("%s: %.2f requests a page, want at most %.2f", kind.name, got, want.requests)
		}
		if s.times > want.times {
			t.Errorf("%s: %.2f times as long as taking the pages, want at most %.2f", kind.name, s.times, want.times)
		}
		if s.most > maxRanges {
			t.Errorf("%s: %d requests at once, want at most %d", kind.name, s.most, maxRanges)
		}
		if most := askMore + int(mayAsk*float64(s.pages)); s.asked > most {
			t.Errorf("%s: %d requests for folders, want at most %d", kind.name, s.asked, most)
		}
		t.Logf("%-11s %.2f times as long, %.2f requests a page, %d for folders", kind.name, s.times, float64(s.requests)/float64(s.pages),
			s.asked)
	}
	for _, kind := range namings {
		want, ok := more[kind.name]
		if !ok {
			want = most{2, 1.15}
		}
		long(kind, 300_000, 6*time.Millisecond, want)
		if *million {
			long(kind, 1_000_000, 9*time.Millisecond, most{2, 1.15})
		}
	}
}

// TestCompletedCharacters: a cut in the middle of a character is moved to the first character that begins so, if there is one.
func TestCompletedCharacters(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a": "a", "é": "é", "é\xe5": "é\xe5\x80\x80", "é\xe5\x86": "é\xe5\x86\x80", "\xe0": "\xe0\xa0\x80", "\xf0": "\xf0\x90\x80\x80",
		"\xed": "\xed\x80\x80", "\xff": "", "é\x86": "", "a\x80": "", "\xe5a": "", "é\xe5\x86\x99\x99": "", "写\xf4\x90": "",
	} {
		if got := valid(name); got != want {
			t.Errorf("%q is completed to %q, want %q", name, got, want)
		}
	}
}
