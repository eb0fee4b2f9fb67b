package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/engine/report"
)

// WantAborted fails the test if a report is not that of a run that a safety limit stopped, or if its failures lack some of the parts.
func WantAborted(t testing.TB, got *report.Report, parts ...string) {
	t.Helper()
	Want(t, "status", report.Aborted, got.Status)
	said := fmt.Sprint(got.Failures)
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("the failures are %s, which does not say %q", said, part)
		}
	}
}
