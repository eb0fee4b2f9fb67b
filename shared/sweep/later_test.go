package sweep_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
)

// TestLeftToALaterRun has an action that is neither done nor failed: the run is no failure that Cloud Scheduler repeats.
func TestLeftToALaterRun(t *testing.T) {
	f := newFunction(t, stepsJob(map[string]sweep.Steps{
		"a": func(context.Context, *sweep.Writers) error { return fmt.Errorf("a: %w", sweep.ErrLater) },
		"b": func(context.Context, *sweep.Writers) error { return nil },
	}))
	got := f.Run(t, "")
	sweeptest.WantReport(t, got, sweep.Completed, map[string]sweep.Counts{"do": {Planned: 2, Done: 1}})
	if len(got.Failures) != 0 {
		t.Errorf("failures %v", got.Failures)
	}
}
