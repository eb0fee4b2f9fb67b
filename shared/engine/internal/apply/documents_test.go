package apply

import (
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
)

// TestSizesOfCommits: what a commit teaches of how many items the next ones have, at its bounds.
func TestSizesOfCommits(t *testing.T) {
	t.Parallel()
	rule := cleanup.Rule[cleanup.Subject]{Name: "rule"}
	of := func(n, sent, bytes int) attempt {
		return attempt{outcomes: make([]decide.Outcome, n), sent: sent, bytes: bytes}
	}
	for name, tt := range map[string]struct {
		n       int
		tooMuch bool
		made    attempt
		want    int
	}{
		"it is full of little": {startShare, false, of(startShare, cleanup.MaxRoom/2, maxTogether/4), 2 * startShare},
		"it is not full":       {startShare - 1, false, of(startShare-1, 1, 1), startShare},
		"many writes":          {startShare, false, of(startShare, cleanup.MaxRoom/2+1, 1), startShare},
		"large documents":      {startShare, false, of(startShare, 1, maxTogether/4+1), startShare},
		"it failed":            {startShare, false, attempt{}, startShare},
		"it was too much":      {10, true, attempt{}, 5},
		"one was too much":     {1, true, attempt{}, 1},
	} {
		var a Applier
		a.shareOf(rule)
		for range 2 { // the second of two side by side teaches the same
			a.learn(rule, tt.n, tt.tooMuch, tt.made)
		}
		if got := a.shareOf(rule); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
