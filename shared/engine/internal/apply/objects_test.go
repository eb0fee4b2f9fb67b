package apply

import (
	"errors"
	"testing"
	"time"
)

// TestNamesLastAMinute: one reading of what documents name serves a minute of deletions, one that failed none.
func TestNamesLastAMinute(t *testing.T) {
	start := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	failed := errors.New("no answer")
	var n namedByDocuments
	reads := 0
	for _, step := range []struct {
		after time.Duration
		err   error // of a reading
		reads int
	}{
		{0, failed, 1}, {0, nil, 2}, {0, failed, 2}, {time.Minute - 1, failed, 2}, {time.Minute, nil, 3}, {2*time.Minute - 1, failed, 3}, {2 * time.Minute, failed, 4},
	} {
		before := reads
		named, err := n.latest(func() time.Time { return start.Add(step.after) }, func() (func(string) bool, error) {
			reads++
			if step.err != nil {
				return nil, step.err
			}
			return func(string) bool { return true }, nil
		})
		if reads != step.reads {
			t.Errorf("%d readings after %s, want %d", reads, step.after, step.reads)
		}
		if fails := reads > before && step.err != nil; fails != (err != nil) || fails == (named != nil) {
			t.Errorf("after %s: %v", step.after, err)
		}
	}
}
