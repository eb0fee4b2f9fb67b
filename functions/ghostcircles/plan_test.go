package ghostcircles

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestOddCircles: circles that cannot be judged are counted, and up to twenty for each reason are named. A circle costs one read.
func TestOddCircles(t *testing.T) {
	f := newFunction(t)
	kinds := []map[string]any{
		circle(int64(1700000000000), daysAgo(400), nil), circle("2020-01-01", daysAgo(400), nil), // milliseconds, a text
		circle(time.Unix(0, 0), daysAgo(400), nil), with(circle(daysAgo(1), nil, nil), "isDeleted", "true"),
		circle(daysAgo(1), nil, "yesterday"), circle(nil, nil, nil), circle(nil, "yesterday", nil), circle(nil, time.Unix(0, 0), nil),
		with(circle(nil, nil, nil), "isDeleted", true), circle(daysAgo(1), nil, nil),
	}
	f.SetMany(t, 30*len(kinds), func(i int) (string, map[string]any) { return fmt.Sprintf("circles/c%04d", i), kinds[i%len(kinds)] })
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Completed, map[string]report.Counts{})
	enginetest.Want(t, "kept", map[string]int{
		keptOddPost: 90, keptOddDeleted: 30, keptOddWarning: 30, keptUndated: 90, keptDeleted: 30, keptInUse: 30,
	}, got.Kept)
	enginetest.Want(t, "scanned", 300, got.Scanned)
	if reads := got.Usage.FirestoreReads; reads > 300+20 {
		t.Errorf("%d reads", reads)
	}
}

// TestOutOfTime: a run that is out of time goes on behind the last circle that was read.
func TestOutOfTime(t *testing.T) {
	f := newFunction(t)
	f.SetMany(t, 501, func(i int) (string, map[string]any) { // one more than a page
		return fmt.Sprintf("circles/c%04d", i), circle(daysAgo(380), nil, nil)
	})
	f.Env["MAX_DUE_PERCENT"] = "100"
	outOfTime(f)
	first, second := f.Run(t, ""), f.Run(t, "")
	enginetest.WantReport(t, first, report.Partial, enginetest.Done(toWarn, 500))
	enginetest.WantReport(t, second, report.Completed, enginetest.Done(toWarn, 1))
	enginetest.Want(t, "scanned by each", []int{500, 1}, []int{first.Scanned, second.Scanned})
	enginetest.Want(t, "circles warned", 501, len(f.Documents(t, "circles")))
}

// outOfTime has time for planning be up behind the first page.
func outOfTime(f *enginetest.Function) {
	var asked atomic.Int64
	f.Clock = func() time.Time { // for the request, the lease and after each page
		if asked.Add(1) == 3 {
			return now.Add(f.Timeout/2 + time.Second)
		}
		return now
	}
}
