package engine

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/internal/tell"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/logging"
)

func TestPromiseFrom(t *testing.T) {
	at := time.Date(2026, 1, 10, 15, 0, 0, 123_456_789, time.FixedZone("JST", 9*60*60))
	day := 24 * time.Hour
	for name, c := range map[string]struct{ now, started, want time.Time }{
		"an old schedule time shortens no promise": {at.Add(-7 * day), at, at.UTC().Truncate(time.Microsecond)},
		"a schedule time ahead, on emulators":      {at.Add(7 * day), at, at.Add(7 * day).UTC().Truncate(time.Microsecond)},
	} {
		r := &run{Teller: &tell.Teller{Report: &report.Report{Now: c.now, StartedAt: c.started}}}
		if got := r.known().Promise; got != c.want {
			t.Errorf("%s: a rule promises from %v, want %v", name, got, c.want)
		}
	}
}

// TestRunIsBoundByTheMonotonicClock: a wall clock that is set back must not move the time at which a run stops. A time without
// a monotonic reading would be compared by the wall clock alone.
func TestRunIsBoundByTheMonotonicClock(t *testing.T) {
	f := &Function{Job: cleanup.Job{Name: "testJob"}, Timeout: time.Minute, Getenv: func(string) string { return "" }, Clock: time.Now}
	wall, no := f.Clock(), false
	r := f.newRun(&clients{Opened: &backends.Opened{Documents: new(documents.Client)}}, config.Config{}, logging.New(&bytes.Buffer{}), wall, wall.UTC(), request{dryRun: &no})
	for name, at := range map[string]time.Time{"begun": r.begun, "planUntil": r.planUntil, "stopAt": r.stopAt} {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("%s has no monotonic reading: %s", name, at)
		}
	}
	if strings.Contains(r.Report.StartedAt.String(), " m=") || r.Report.StartedAt.Location() != time.UTC {
		t.Errorf("the report's time is not one to write down: %s", r.Report.StartedAt)
	}
}

// TestSleepEndsACall: while a laptop sleeps, the monotonic clock may stand still.
func TestSleepEndsACall(t *testing.T) {
	begun := time.Now()
	woken := begun
	*(*uint64)(unsafe.Pointer(&woken)) += 3600 << 30 // the wall clock's seconds; nothing else makes such a time
	if woken.Sub(begun) != 0 || woken.Round(0).Sub(begun) != time.Hour {
		t.Fatalf("%s, and after an hour of sleep %s", begun, woken)
	}
	looks := 0
	d := deadline{clock: func() time.Time { return woken }, stopAt: begun.Add(time.Minute), canceled: func() bool { return false }}
	d.stop.look, d.stop.looked = func() { looks++ }, begun
	if !d.timeIsUp() || d.mustStop() || looks != 1 {
		t.Errorf("time is up: %t, looks: %d", d.timeIsUp(), looks)
	}
}
