package ghostcircles

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// circlesOf writes circles, the first posted of which have a human post of long ago, the next active one of yesterday.
func circlesOf(t *testing.T, f *enginetest.Function, n, posted, active int) {
	t.Helper()
	f.Set(t, "users/hana", hana)
	f.SetMany(t, n, func(i int) (string, map[string]any) {
		c := circle(nil, daysAgo(100), nil)
		switch {
		case i < posted:
			c = circle(daysAgo(380), nil, nil)
		case i < posted+active:
			c = circle(daysAgo(1), nil, nil)
		}
		return fmt.Sprintf("circles/c%03d", i), owned(c, "hana", "x")
	})
}

func wantTripped(t *testing.T, got *engine.Report, parts ...string) {
	t.Helper()
	if got.Status != engine.Aborted || len(got.Failures) != 1 {
		t.Fatalf("%s %v %v, want aborted", got.Status, got.Actions, got.Failures)
	}
	for _, part := range parts {
		if !strings.Contains(got.Failures[0].Error, part) {
			t.Errorf("%q does not say %q", got.Failures[0].Error, part)
		}
	}
}

// TestAFieldThatNobodyWrites: no circle has lastHumanPostAt, so the application calls it something else, and nobody is warned.
func TestAFieldThatNobodyWrites(t *testing.T) {
	t.Parallel()
	f := newFunction(t)
	circlesOf(t, f, 120, 0, 0)
	before := f.Documents(t, "circles")
	unwritten := []string{"unwritten field: none of 120 documents of circles has lastHumanPostAt", `run once with {"lift":["unwritten:circles.lastHumanPostAt"]}`}
	share := "MAX_DUE_PERCENT: 120 of 120 circles are due (100.0 %), but at most 50 %"
	wantTripped(t, f.Run(t, ""), append(unwritten, share)...)
	wantTripped(t, f.Run(t, `{"force":true}`), unwritten...)
	wantTripped(t, f.Run(t, `{"lift":["unwritten:circles.lastHumanPostAt"]}`), share)
	enginetest.Want(t, "circles", before, f.Documents(t, "circles"))
	f.Now = f.Now.Add(tick)

	f.Set(t, "circles/c000", owned(circle(daysAgo(380), nil, nil), "hana", "x")) // somebody writes it
	got := f.Run(t, "")
	if strings.Contains(got.Failures[0].Error, "unwritten") {
		t.Errorf("%q, but one circle has the field", got.Failures[0].Error)
	}
	wantTripped(t, got, share)
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), engine.Completed, enginetest.Done(toWarn, 120))

	f.Now = f.Now.Add(8 * day) // those that were warned are the same share again
	wantTripped(t, f.Run(t, ""), share)
	if n := len(f.Documents(t, "circles")); n != 120 {
		t.Errorf("%d circles left", n)
	}
}

// TestShareOfGhosts is at the limits to the letter: 19 and 20 circles, half of them and one more. Deleted circles are no part of
// the whole.
func TestShareOfGhosts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		all, posted, active int
		aborted             bool
	}{{19, 18, 1, false}, {20, 19, 1, true}, {20, 10, 10, false}, {20, 11, 9, true}, {19, 0, 0, false}, {20, 0, 0, true}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Parallel()
			f := newFunction(t)
			circlesOf(t, f, tt.all, tt.posted, tt.active)
			f.SetMany(t, 30, func(i int) (string, map[string]any) {
				return fmt.Sprintf("circles/deleted%02d", i), with(circle(nil, daysAgo(100), nil), "isDeleted", true)
			})
			if got := f.Run(t, ""); (got.Status == engine.Aborted) != tt.aborted || (got.Actions[toWarn].Done == 0) != tt.aborted {
				t.Errorf("%s %v %v", got.Status, got.Actions, got.Failures)
			}
		})
	}
}
