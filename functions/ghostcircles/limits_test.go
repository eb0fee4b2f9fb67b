package ghostcircles

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
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

// TestAFieldThatNobodyWrites: no circle has lastHumanPostAt, so the application calls it something else, and nobody is warned.
func TestAFieldThatNobodyWrites(t *testing.T) {
	f := newFunction(t)
	circlesOf(t, f, 120, 0, 0)
	before := f.Documents(t, "circles")
	const share = "MAX_DUE_PERCENT: 120 of 120 circles are due (100.0 %), but at most 50 %"
	enginetest.WantAborted(t, f.Run(t, ""), share)
	enginetest.Want(t, "circles", before, f.Documents(t, "circles"))
	f.Now = f.Now.Add(tick)
	enginetest.WantReport(t, f.Run(t, `{"force":true}`), report.Completed, enginetest.Done(toWarn, 120))

	f.Now = f.Now.Add(8 * day) // those that were warned are the same share again
	enginetest.WantAborted(t, f.Run(t, ""), share)
	enginetest.Want(t, "circles left", 120, len(f.Documents(t, "circles")))
}

// TestShareOfGhosts is at the limits to the letter: 19 and 20 circles, half of them and one more; the share is that of all
// documents, and deleted circles are never due.
func TestShareOfGhosts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		all, posted, active, deleted int
		aborted                      bool
	}{
		{19, 18, 1, 0, false}, {20, 19, 1, 0, true}, {20, 10, 10, 0, false}, {20, 11, 9, 0, true}, {19, 0, 0, 0, false}, {20, 0, 0, 0, true},
		{20, 20, 0, 20, false}, {20, 20, 0, 19, true},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			f := newFunction(t)
			circlesOf(t, f, tt.all, tt.posted, tt.active)
			f.SetMany(t, tt.deleted, func(i int) (string, map[string]any) {
				return fmt.Sprintf("circles/deleted%02d", i), with(circle(nil, daysAgo(100), nil), "isDeleted", true)
			})
			got := f.Run(t, "")
			if tt.aborted {
				enginetest.WantAborted(t, got, "MAX_DUE_PERCENT")
				enginetest.Want(t, "warned", 0, got.Actions[toWarn].Done)
			} else {
				enginetest.WantReport(t, got, report.Completed, enginetest.Done(toWarn, tt.all-tt.active))
			}
		})
	}
}
