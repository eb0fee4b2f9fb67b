package sweep

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
		p := &Planner{Now: c.now, run: &run{report: &Report{StartedAt: c.started}}}
		w := &Writers{Now: c.now, Started: c.started}
		if got := p.PromiseFrom(); got != c.want {
			t.Errorf("%s: a planner promises from %v, want %v", name, got, c.want)
		}
		if got := w.PromiseFrom(); got != c.want {
			t.Errorf("%s: writers promise from %v, want %v", name, got, c.want)
		}
	}
}
