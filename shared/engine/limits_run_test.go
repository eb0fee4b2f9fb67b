package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
)

// TestNoLimitOnMissingDocumentsIsSaid in the log of each run, and 99 percent is a limit.
func TestNoLimitOnMissingDocumentsIsSaid(t *testing.T) {
	for percent, want := range map[string]int{"100": 1, "99": 0} {
		f := newFunction(t, thingsJob(10))
		f.Env["MAX_MISSING_PERCENT"] = percent
		f.Run(t, "")
		said := 0
		for _, line := range f.LogLines(t) {
			if line["severity"] == "WARNING" && strings.Contains(fmt.Sprint(line["message"]), "no limit on missing documents") {
				said++
			}
		}
		enginetest.Want(t, "warnings with "+percent, want, said)
	}
}
