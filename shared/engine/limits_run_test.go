package engine_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestNoLimitOnMissingDocumentsIsSaid in the log of each run, and 99 percent is a limit.
func TestNoLimitOnMissingDocumentsIsSaid(t *testing.T) {
	for percent, want := range map[string]int{"100": 1, "99": 0} {
		f := newFunction(t, thingsJob(10))
		f.Env["MAX_MISSING_PERCENT"] = percent
		f.Run(t, "")
		enginetest.Want(t, "warnings with "+percent, want, len(linesWith(t, f, "no limit on missing documents")))
	}
}
