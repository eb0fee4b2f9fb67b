package apply

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
)

// TestAccountsOfSeveralCommitsGoTogether holds the first call up until three commits wait: those go with the second call, each
// gets its own results, and a panic of a call is the failure of whatever was in it.
func TestAccountsOfSeveralCommitsGoTogether(t *testing.T) {
	var g gathered
	var calls [][]string
	begun := make(chan struct{})
	call := func(_ context.Context, uids []string) []error {
		calls = append(calls, uids)
		switch len(calls) {
		case 1:
			close(begun)
			for waiting := 0; waiting < 5; runtime.Gosched() {
				g.mu.Lock()
				waiting = len(g.waiting)
				g.mu.Unlock()
			}
		case 3:
			panic("the third")
		}
		results := make([]error, len(uids))
		for i, uid := range uids {
			if uid == "bad" {
				results[i] = errors.New("refused")
			}
		}
		return results
	}
	var underWay sync.WaitGroup
	results := make([][]error, 4)
	remove := func(uids ...string) (results []error) {
		items := make([]*decide.Item, len(uids))
		for i, uid := range uids {
			items[i] = &decide.Item{UID: uid}
		}
		g.delete(t.Context(), call, items)
		for _, item := range items {
			results = append(results, item.Fate.Err)
		}
		return results
	}
	for i, uids := range [][]string{{"first"}, {"a", "b"}, {"bad", "c"}, {"d"}} {
		underWay.Go(func() { results[i] = remove(uids...) })
		if i == 0 {
			<-begun
		}
	}
	underWay.Wait()
	if len(calls) != 2 {
		t.Fatalf("calls %v, want two", calls)
	}
	slices.Sort(calls[1])
	check.Same(t, "second call", []string{"a", "b", "bad", "c", "d"}, calls[1])
	check.Same(t, "results", "[[<nil>] [<nil> <nil>] [refused <nil>] [<nil>]]", fmt.Sprint(results))
	if third := remove("x", "y"); len(third) != 2 || third[0] == nil || third[1] == nil {
		t.Errorf("results of a call that panics: %v", third)
	}
	if fourth := remove("x"); fourth[0] != nil {
		t.Errorf("after that: %v", fourth)
	}
}

// TestNamesLastAMinute: one reading of what documents name serves a minute of deletions from its end; one that failed, those that
// were waiting.
func TestNamesLastAMinute(t *testing.T) {
	const takes = 70 * time.Second
	start := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	failed := errors.New("no answer")
	var n namedByDocuments
	reads := 0
	for _, step := range []struct {
		after time.Duration
		err   error // of a reading
		reads int
		fails bool
	}{
		{0, failed, 1, true}, {takes, nil, 1, true}, {takes + 1, nil, 2, false},
		{2*takes + time.Minute, failed, 2, false}, {2*takes + time.Minute + 1, failed, 3, true},
	} {
		asked := start.Add(step.after)
		now := asked
		var batches sync.WaitGroup
		for range 5 {
			batches.Go(func() {
				waits := false
				clock := func() time.Time {
					if !waits {
						waits = true
						return asked
					}
					return now
				}
				_, err := n.latest(clock, func() (func(string) bool, error) {
					reads++
					now = now.Add(takes)
					return func(string) bool { return true }, step.err
				})
				if (err != nil) != step.fails {
					t.Errorf("after %s: %v", step.after, err)
				}
			})
		}
		batches.Wait()
		check.Same(t, "readings after "+fmt.Sprint(step.after), step.reads, reads)
	}
}
