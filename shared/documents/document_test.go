package documents_test

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
)

func TestInstant(t *testing.T) {
	now := time.Date(2026, 1, 10, 18, 0, 0, 1000, time.UTC)
	d := documents.Document{Data: map[string]any{
		"time": now, "null": nil, "text": "2026-01-10T18:00:00Z", "number": now.UnixMilli(), "false": false, "map": map[string]any{"seconds": int64(0)},
		"first": documents.Earliest, "before": documents.Earliest.Add(-time.Microsecond), "epoch": time.Unix(0, 0).UTC(), "zero": time.Time{},
	}}
	for field, want := range map[string]struct{ set, ok bool }{
		"time": {true, true}, "null": {false, true}, "missing": {false, true},
		"first": {true, true}, "before": {false, false}, "epoch": {false, false}, "zero": {false, false},
		"text": {false, false}, "number": {false, false}, "false": {false, false}, "map": {false, false},
	} {
		at, set, ok := d.Instant(field)
		if set != want.set || ok != want.ok {
			t.Errorf("%s: set %v, ok %v", field, set, ok)
		}
		if set && !at.Equal(now) && field != "first" || !set && !at.IsZero() {
			t.Errorf("%s: %s", field, at)
		}
	}
	if _, set, ok := (documents.Document{}).Instant("time"); set || !ok {
		t.Errorf("no data at all: set %v, ok %v", set, ok)
	}
}
