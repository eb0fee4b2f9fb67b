package apply

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// TestNamesLastAMinute: one reading of what documents name serves a minute of deletions from its end, whatever came of it.
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
		{0, failed, 1, true}, {takes + time.Minute - 1, nil, 1, true}, {takes + time.Minute, nil, 2, false},
		{2*takes + 2*time.Minute - 1, failed, 2, false}, {2 * (takes + time.Minute), failed, 3, true},
	} {
		now := start.Add(step.after)
		var batches sync.WaitGroup
		for range 5 {
			batches.Go(func() {
				_, err := n.latest(func() time.Time { return now }, func() (func(string) bool, error) {
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
		if reads != step.reads {
			t.Errorf("%d readings after %s, want %d", reads, step.after, step.reads)
		}
	}
}
