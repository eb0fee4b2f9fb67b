package collections_test

import (
	"os"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/collections"
)

// TestTerraform: Terraform refuses the same names.
func TestTerraform(t *testing.T) {
	text, err := os.ReadFile("../../terraform/declared/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	if names := `"^(` + strings.Join(collections.Names(), "|") + `)(/|$)"`; !strings.Contains(string(text), names) {
		t.Errorf("terraform/declared/main.tf does not refuse %s", names)
	}
}

func TestIsRecord(t *testing.T) {
	for path, want := range map[string]bool{
		"cleanupJobs": true, "cleanupJobs/j": true, "cleanupJobs/j/journal/e": true, "cleanupRuns/r/cleanupUndo/e": true,
		"authDeletionRetries/u": false, "cleanupJobsx/j": false, "x/cleanupJobs/j/y": false, "": false,
	} {
		if collections.IsRecord(path) != want {
			t.Errorf("%q: %t", path, !want)
		}
	}
}
