package pace

import (
	"testing"
	"time"
)

func TestBatchSize(t *testing.T) {
	type answer struct {
		n    int
		took time.Duration // 0: it failed
		want int           // the size afterwards
	}
	for name, answers := range map[string][]answer{
		"a quick database":   {{50, 100 * time.Millisecond, 100}, {100, 200 * time.Millisecond, 200}, {200, 400 * time.Millisecond, 200}},
		"as fast as may be":  {{50, time.Second, 50}, {50, 500 * time.Millisecond, 50}, {50, time.Second / 2, 50}},
		"a slow one":         {{50, 5 * time.Second, 10}, {10, time.Second, 10}, {10, 3 * time.Second, 10}, {10, 300 * time.Millisecond, 20}},
		"a little too slow":  {{50, 1250 * time.Millisecond, 40}, {40, 900 * time.Millisecond, 40}},
		"a few say nothing":  {{3, 30 * time.Millisecond, 50}, {49, 100 * time.Millisecond, 50}, {50, 100 * time.Millisecond, 100}},
		"a few that dawdle":  {{25, 1250 * time.Millisecond, 20}},
		"an earlier, larger": {{50, 5 * time.Second, 10}, {200, 2 * time.Second, 10}},
		"failures":           {{50, 0, 25}, {25, 0, 12}, {12, 0, 10}, {10, 0, 10}},
		"a day":              {{50, 24 * time.Hour, 10}},
	} {
		b := NewBatchSize()
		for i, a := range answers {
			if a.took == 0 {
				b.Failed()
			} else {
				b.Answered(a.n, a.took)
			}
			if got := b.Get(); got != a.want {
				t.Errorf("%s, after answer %d: %d, want %d", name, i+1, got, a.want)
			}
		}
	}
}
