package engine_test

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/usage"
)

// TestMonth: a job's record says what its runs have used since the month began, previews not included. Another month begins anew,
// and so does one that nobody can read.
func TestMonth(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(10))
	f.Clock = func() time.Time { return f.Now }
	month := func() report.Month {
		return stateOf(t, f).Month.At(f.Now)
	}
	seed(t, f, 3)
	var used usage.Usage
	for range 2 {
		f.Run(t, `{"dryRun":true}`)
		used = used.Plus(f.Run(t, "").Usage)
		f.Now = f.Now.Add(time.Minute)
	}
	of := f.Now.UTC().Format("2006-01")
	enginetest.Want(t, "two runs", report.Month{Of: of, Runs: 2, Usage: used}, month())

	f.Now = f.Now.AddDate(0, 1, 0)
	next := report.Month{Of: f.Now.UTC().Format("2006-01")}
	enginetest.Want(t, "before the month's first run", next, month())
	next.Runs, next.Usage = 1, f.Run(t, "").Usage
	enginetest.Want(t, "the next month", next, month())

	for _, wrong := range []any{7, "x", map[string]any{"of": next.Of, "runs": "many"}, map[string]any{"of": next.Of, "usage": 1}} {
		f.Set(t, "cleanupJobs/testJob", map[string]any{"month": wrong})
		f.Now = f.Now.Add(time.Minute)
		next.Usage = f.Run(t, "").Usage
		enginetest.Want(t, "one that nobody can read", next, month())
	}
}
