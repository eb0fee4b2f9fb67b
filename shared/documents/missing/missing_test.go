package missing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firesweep/firesweep/shared/documents/missing"
)

// answerTime is how long each answer takes by the clock of a synctest bubble. That clock advances only while every goroutine
// waits.
const answerTime = 40 * time.Millisecond

// service answers for the documents of a collection.
type service struct {
	mu     sync.Mutex
	absent map[string]bool
	reads  int
	after  func(asked []string) // called after each answer
}

// found returns those of some ids that name a document.
func (s *service) found(ids []string) (found []string) {
	time.Sleep(answerTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	found = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return s.absent[id] })
	if s.after != nil {
		s.after(ids)
	}
	return found
}

func (s *service) billed(reads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads += max(1, reads)
}

func (s *service) lookup() missing.Lookup {
	return missing.Lookup{
		Count: func(_ context.Context, ids []string) (int, error) {
			s.billed(1)
			return len(s.found(ids)), nil
		},
		Find: func(_ context.Context, ids []string) ([]string, error) {
			found := s.found(ids)
			s.billed(len(found))
			return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(found, id) }), nil
		},
	}
}

func names(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("t%03d", i)
	}
	return ids
}

// TestThreeRoundTrips tries, for each number of ids and of missing ones, many arrangements.
func TestThreeRoundTrips(t *testing.T) {
	most := map[int]int{0: 1, 1: 11, 2: 15, 3: 19, 4: 23, 30: 1} // reads for thirty, as the comment of Of says
	for k := 5; k < 30; k++ {
		most[k] = 31 - k
	}
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(30, 2))
		for n := 1; n <= missing.Most; n++ {
			ids := names(n)
			for k := 0; k <= n; k++ {
				for range 6 {
					s := &service{absent: map[string]bool{}}
					for _, i := range random.Perm(n)[:k] {
						s.absent[ids[i]] = true
					}
					want := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !s.absent[id] })
					began := time.Now()
					got, err := s.lookup().Of(t.Context(), ids)
					if err != nil || !slices.Equal(got, want) {
						t.Fatalf("%d of %d: %v, %v; want %v", k, n, got, err, want)
					}
					if trips := time.Since(began) / answerTime; trips > 3 {
						t.Errorf("%d of %d: %d round trips", k, n, trips)
					}
					if s.reads > n && n > 1 {
						t.Errorf("%d of %d: %d reads, more than there are ids", k, n, s.reads)
					}
					if n == missing.Most && s.reads > most[k] {
						t.Errorf("%d of %d: %d reads, want at most %d", k, n, s.reads, most[k])
					}
				}
			}
		}
	})
}

// TestWhileSomebodyWrites changes which documents exist after each answer: one appears, another disappears. An id that is
// reported as missing must have been missing in an answer.
func TestWhileSomebodyWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 14))
		ids := names(missing.Most)
		for range 300 {
			s, ever := &service{absent: map[string]bool{}}, map[string]bool{}
			for _, i := range random.Perm(len(ids))[:1+random.IntN(5)] {
				s.absent[ids[i]] = true
			}
			s.after = func(asked []string) {
				for _, id := range asked {
					ever[id] = ever[id] || s.absent[id]
				}
				for id := range s.absent {
					delete(s.absent, id)
					break
				}
				s.absent[ids[random.IntN(len(ids))]] = true
			}
			got, err := s.lookup().Of(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range got {
				if !ever[id] {
					t.Errorf("%s is said to be missing, and existed whenever it was asked for", id)
				}
			}
		}
	})
}

// TestErrors: whichever answer is an error, so is the result, and no id is missing.
func TestErrors(t *testing.T) {
	for _, absent := range [][]string{{"t003"}, {"t003", "t011"}, names(9)} {
		for failing := 1; ; failing++ {
			s := &service{absent: map[string]bool{}}
			for _, id := range absent {
				s.absent[id] = true
			}
			var mu sync.Mutex
			asked := 0
			fails := func() error {
				mu.Lock()
				defer mu.Unlock()
				if asked++; asked == failing {
					return context.DeadlineExceeded
				}
				return nil
			}
			l := s.lookup()
			whole := l
			l.Count = func(ctx context.Context, ids []string) (int, error) {
				if err := fails(); err != nil {
					return 0, err
				}
				return whole.Count(ctx, ids)
			}
			l.Find = func(ctx context.Context, ids []string) ([]string, error) {
				if err := fails(); err != nil {
					return nil, err
				}
				return whole.Find(ctx, ids)
			}
			got, err := l.Of(t.Context(), names(missing.Most))
			if asked < failing {
				break
			}
			if err == nil {
				t.Errorf("request %d of %d missing failed: %v and no error", failing, len(absent), got)
			}
		}
	}
}
