package engine

import (
	"testing"
	"time"
)

func TestPromiseFrom(t *testing.T) {
	at := time.Date(2026, 1, 10, 15, 0, 0, 123_456_789, time.FixedZone("JST", 9*60*60))
	day := 24 * time.Hour
	for name, c := range map[string]struct{ now, started, want time.Time }{
		"an old schedule time shortens no promise": {at.Add(-7 * day), at, at.UTC().Truncate(time.Microsecond)},
		"a schedule time ahead, on emulators":      {at.Add(7 * day), at, at.Add(7 * day).UTC().Truncate(time.Microsecond)},
	} {
		r := &run{report: &Report{Now: c.now, StartedAt: c.started}}
		if got := r.known().Promise; got != c.want {
			t.Errorf("%s: a rule promises from %v, want %v", name, got, c.want)
		}
	}
}
