package apply

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
)

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
